"""The source `files`: turns, rows in AgentWorldBench form, and stores of worlds."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agentworld_sim import SqliteStore, ToolCall, World
from agentworld_sim.checks import judge_all
from agentworld_sim.engines import FunctionEngine
from agentworld_sim.errors import UsageError
from agentworld_sim.scoring import (
    PredictionSample,
    check_input,
    checks_of,
    parse_action,
    parse_call,
    read_observation,
)
from agentworld_sim.toolkits.tool_specs import spec_of
from agentworld_sim.types.turns import Trajectory
from agentworld_trainers.data import SourceTrajectory, read_rows, samples_of
from agentworld_trainers.data._files import read_files
from agentworld_trainers.data._prepared_trajectory import PreparedTrajectory
from agentworld_trainers.recipes import Recipe
from agentworld_trainers.stages import Run, make_data
from tests.trainers.data.sources import MARKER, SYSTEM, row, write_lines
from tests.trainers.data.worlds import CODING, FILES, computed, scenario

ACTIONS = ["ls\n", "cat a.txt\n", "pwd\n"]
ANSWERS: list[str | None] = ["me@box:~$ ls\na.txt\nme@box:~$ ", "me@box:~$ cat a.txt\n7", "/root"]


def rows_of(path: Path, **settings: Any) -> list[PreparedTrajectory]:
    found = list(read_files([str(path)], settings))
    assert all(isinstance(one, PreparedTrajectory) for one in found)
    return [one for one in found if isinstance(one, PreparedTrajectory)]


def trajectories_of(*patterns: str, **settings: Any) -> list[SourceTrajectory]:
    return [one for one in read_files(patterns, settings) if isinstance(one, SourceTrajectory)]


def sample_of(prepared: PreparedTrajectory) -> PredictionSample:
    (sample,) = [turn.sample for turn in prepared.turns if turn.sample]
    return sample


def test_a_row_in_agentworldbench_form_is_used_as_it_is_given(tmp_path: Path) -> None:
    given = row(ACTIONS, ANSWERS, 2)
    (prepared,) = rows_of(write_lines(tmp_path / "terminal_test.jsonl", [given]))
    sample = sample_of(prepared)
    assert [*sample.messages] == [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": given["prompt"][0]},
        {"role": "assistant", "content": given["response"][0]},
        {"role": "user", "content": given["prompt"][1]},
    ]
    assert given["response"][0].startswith(MARKER)
    assert sample.observation == ANSWERS[1]
    assert (sample.task, sample.turn, sample.domain) == ("count-lines", 2, "terminal")
    (document,) = prepared.documents
    assert len(document.keep) == 3


def test_checks_judge_what_a_row_tells(tmp_path: Path) -> None:
    (prepared,) = rows_of(write_lines(tmp_path / "terminal.jsonl", [row(ACTIONS, ANSWERS, 2)]))
    sample = sample_of(prepared)
    refused: dict[str, list[str]] = {}
    for text in (sample.observation, "nothing typed", "me@box:~$ cat a.txt\nThis is a simulation."):
        given = check_input(sample, read_observation(sample, text))
        assert given is not None
        verdicts = judge_all(checks_of("terminal"), given)
        refused[text] = [one.check for one in verdicts if not one.accepted]
    assert list(refused.values()) == [[], ["terminal-screen"], ["no-pretence"]]


def test_rows_of_one_trajectory_are_known_as_such(tmp_path: Path) -> None:
    values = [row(ACTIONS, ANSWERS, turn, id=f"x{turn}") for turn in (1, 2, 3)]
    values.append(row(ACTIONS, ["other", "b", "c"], 2))
    samples = [sample_of(one) for one in rows_of(write_lines(tmp_path / "web.jsonl", values))]
    assert len({one.trajectory for one in samples[:3]}) == 1
    assert len({one.trajectory for one in samples}) == 2


@pytest.mark.parametrize(
    ("name", "changes", "settings", "domain"),
    [
        ("swe_test.jsonl", {}, {}, "swe"),
        ("rows.jsonl", {"domain": "MCP"}, {}, "mcp"),
        ("rows.jsonl", {}, {"domain": "web"}, "web"),
        ("rows.jsonl", {"task": "Search"}, {}, "search"),
    ],
)
def test_the_domain_of_a_row_is_found(
    tmp_path: Path, name: str, changes: dict[str, Any], settings: dict[str, Any], domain: str
) -> None:
    path = write_lines(tmp_path / name, [row(ACTIONS, ANSWERS, 2, **changes)])
    sample = sample_of(rows_of(path, **settings)[0])
    assert sample.domain == domain
    # A domain's name as the task would put all of its rows on one side.
    assert sample.task == ("count-lines-1" if "task" in changes else "count-lines")


BAD_ROWS: dict[str, tuple[Any, str]] = {
    "no JSON": ("{", "line 2: not JSON"),
    "no object": ([1], "line 2: list is no row"),
    "neither": ({"promt": [], "answer": ""}, "'promt': Did you mean 'prompt'?"),
    "a key is missing": (
        {k: v for k, v in row(ACTIONS, ANSWERS, 1).items() if k != "turn_idx"} | {"turn_index": 1},
        "no 'turn_idx'. Did you mean 'turn_index'?",
    ),
    "a wrong type": (row(ACTIONS, ANSWERS, 1, response="x"), "'response' is str, and must be list"),
    "a wrong item": (row(ACTIONS, ANSWERS, 1, prompt=[1]), "'prompt' holds int"),
    "no such turn": (row(ACTIONS, ANSWERS, 1, turn_idx=4), "`turn_idx` is 4, and the row has 3"),
    "an earlier answer is missing": (row(ACTIONS, [None, "x"], 2), "no observation for turn 1"),
    "no such domain": (row(ACTIONS, ANSWERS, 1, domain="terminl"), "Did you mean 'terminal'?"),
    "a damaged turn": ({"parent": "", "call": {}, "action": ""}, "line 2: not a turn"),
}


@pytest.mark.parametrize(("bad", "told"), BAD_ROWS.values(), ids=BAD_ROWS.keys())
def test_a_line_that_is_neither_form_is_told_with_its_file_and_number(
    tmp_path: Path, bad: Any, told: str
) -> None:
    path = tmp_path / "terminal.jsonl"
    text = bad if isinstance(bad, str) else json.dumps(bad)
    path.write_text(json.dumps(row(ACTIONS, ANSWERS, 1)) + "\n" + text + "\n")
    with pytest.raises(UsageError) as caught:
        list(read_files([str(path)], {}))
    assert told in str(caught.value)
    assert f"{path}, line 2" in str(caught.value)


def test_a_row_that_tells_no_domain_is_refused(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "rows.jsonl", [row(ACTIONS, ANSWERS, 1)])
    with pytest.raises(UsageError, match="does not tell its domain"):
        list(read_files([str(path)], {}))


def test_a_misspelt_file_gets_its_nearest_name(tmp_path: Path) -> None:
    write_lines(tmp_path / "terminal.jsonl", [])
    with pytest.raises(UsageError, match=r"Did you mean 'terminal\.jsonl'"):
        list(read_files([str(tmp_path / "terminl.jsonl")], {}))


def scenario_file(folder: Path) -> Path:
    path = folder / "shop.yaml"
    made = {"name": "shop", "domains": ["terminal", "swe"], "files": FILES, "seed": 3}
    path.write_text(json.dumps(made))
    return path


async def test_our_own_trajectories_are_read_with_their_scenario(tmp_path: Path) -> None:
    source = await computed(CODING)
    other = await computed(CODING[:2])
    path = tmp_path / "sorting-7.jsonl"
    with path.open("w") as file:
        Trajectory(source.turns).write(file)
        Trajectory(other.turns).write(file)
    chosen = {"scenario": str(scenario_file(tmp_path))}
    one, two = await asyncio.to_thread(lambda: trajectories_of(str(path), **chosen))
    assert (one.turns, two.turns) == (source.turns, other.turns)
    assert (one.task, two.place) == ("sorting-7", f"{path}, line {len(CODING) + 1}")
    assert [(s.messages, s.observation) for s in samples_of(one)] == [
        (s.messages, s.observation) for s in samples_of(source)
    ]
    first = samples_of(one)[1]
    assert first.evidence == samples_of(source)[1].evidence


async def test_turns_without_a_scenario_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    Trajectory((await computed(CODING[:2])).turns).write(path)
    with pytest.raises(UsageError, match=r"t\.jsonl, line 1: turns do not say which tools"):
        list(read_files([str(path)], {}))


async def test_of_another_scenario_the_first_state_is_not_known(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    Trajectory((await computed(CODING[:2], seed=9)).turns).write(path)
    chosen = {"scenario": str(scenario_file(tmp_path)), "task": "scenario"}
    (source,) = await asyncio.to_thread(lambda: trajectories_of(str(path), **chosen))
    assert source.before is None
    assert source.task == "shop"


def test_all_worlds_of_a_store_become_rows(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "worlds.sqlite")

    async def play() -> None:
        for number in range(3):
            made = scenario(name=f"shop-{number}")
            async with await World.create(made, id=f"w{number}", store=store, model=False) as world:
                for call in (*CODING[:3], ToolCall("Bash", {"command": f"echo {number}"})):
                    await world.step(call)

    asyncio.run(play())
    store.close()
    files = [str(tmp_path / "*.sqlite")]
    data = {"files": files, "held_out": 0.34, "near_duplicate": 1.0}
    recipe = Recipe.model_validate({"name": "r", "output": str(tmp_path / "out"), "data": data})
    folder = make_data(recipe, Run(recipe))
    trained = list(read_rows(folder / "sft.jsonl", PredictionSample))
    held_out = list(read_rows(folder / "eval.jsonl", PredictionSample))
    assert {one.task for one in (*trained, *held_out)} == {"shop-0", "shop-1", "shop-2"}
    # The first turns of all three are equal, and what is held out has them.
    assert len(held_out) + len(trained) == 6
    assert min(one.turn for one in trained) == 4
    evidence = trained[0].evidence
    assert evidence is not None
    assert evidence["history"][1]["observation"]["text"]


LISTED = {"name": "lookup", "inputSchema": {"type": "object", "properties": {}}}


@pytest.mark.parametrize("listed", [[LISTED], {"tools": [LISTED]}], ids=["list", "listing"])
def test_tools_that_were_added_to_a_world_are_declared_by_a_listing(
    tmp_path: Path, listed: Any
) -> None:
    store = SqliteStore(tmp_path / "worlds.sqlite")
    said = FunctionEngine({"lookup": lambda arguments, values: "found"})

    async def play() -> None:
        async with await World.create(scenario(), store=store, engines=[said]) as world:
            world.add_tools([spec_of(LISTED)])
            for _ in range(2):
                await world.step(ToolCall("lookup", {}))

    asyncio.run(play())
    store.close()
    (tmp_path / "tools.json").write_text(json.dumps(listed))
    pattern = str(tmp_path / "worlds.sqlite")
    (without,) = trajectories_of(pattern)
    assert "lookup" not in without.tools
    (source,) = trajectories_of(pattern, tools=str(tmp_path / "tools.json"))
    assert [one.domain for one in samples_of(source)] == ["mcp", "mcp"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "cannot be read"),
        ("{", "is not JSON"),
        ("{}", "no list of tools"),
        ("[1]", "1 is no"),
    ],
)
def test_a_listing_that_cannot_be_read_is_told(
    tmp_path: Path, content: str | None, told: str
) -> None:
    SqliteStore(tmp_path / "worlds.sqlite").close()
    if content is not None:
        (tmp_path / "tools.json").write_text(content)
    with pytest.raises(UsageError, match=told):
        trajectories_of(str(tmp_path / "worlds.sqlite"), tools=str(tmp_path / "tools.json"))


@pytest.mark.parametrize(
    ("action", "name", "arguments"),
    [
        ('{"name": "Read", "arguments": {"path": "/a"}}', "Read", {"path": "/a"}),
        ('[{"keystrokes": "ls\\n"}]', "keystrokes", {"keystrokes": [{"keystrokes": "ls\n"}]}),
        ("[]", "keystrokes", {"keystrokes": []}),
        ('{"action_type": "click", "index": 3}', "action", {"action_type": "click", "index": 3}),
        ("browser_click(ref='e1')", "browser_click", {}),
        ("x = 1\ny = 2", "action", {"code": "x = 1\ny = 2"}),
        ("7", "action", {"code": "7"}),
    ],
)
@pytest.mark.parametrize("fence", ["", "json"])
def test_the_call_of_a_row_is_read_from_its_action(
    action: str, name: str, arguments: dict[str, Any], fence: str
) -> None:
    written = f"```{fence}\n{action}\n```\n\nAnswer in tags." if fence else action
    told = parse_action(f"### Turn 3\n**Current State:**\nx\n\n**Action:**\n{written}")
    assert told == action
    assert parse_call(told) == ToolCall(name, arguments)
