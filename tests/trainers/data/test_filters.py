"""Filters: what is no target, and what stays in the conversation all the same."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from agentworld_sim import ToolCall, World
from agentworld_sim.controls import Fault
from agentworld_sim.errors import UsageError
from agentworld_sim.ports import PromptContext
from agentworld_sim.scoring import BenchRow
from agentworld_trainers.data import SourceTrajectory, imagined_tools
from agentworld_trainers.data._filter_counts import STEPS, FilterCounts, counts_table
from agentworld_trainers.data._filters import filter_trajectory
from agentworld_trainers.data._prepared_trajectory import (
    PreparedTrajectory,
    prepare_row,
    prepare_source,
)
from agentworld_trainers.recipes.schema import DataPart
from tests.trainers.data.sources import PAGE, browsing, row
from tests.trainers.data.worlds import CODING, computed, scenario


def passed(prepared: PreparedTrajectory, **settings: Any) -> tuple[list[int], dict[str, int]]:
    """The numbers of the turns that are left, and how many samples each step left out."""
    counts = FilterCounts()
    counts.read(prepared.samples)
    left = filter_trajectory(prepared, DataPart(**settings), counts)
    turns = left.turns if left else ()
    dropped = {
        step["step"]: step["samples"] for step in counts.to_json()["steps"] if step["samples"]
    }
    return [turn.number for turn in turns if turn.sample], dropped


async def coding(*commands: str, **changes: Any) -> PreparedTrajectory:
    calls = [ToolCall("Bash", {"command": command}) for command in commands]
    return prepare_source(await computed(calls, **changes))


async def test_trajectories_with_few_turns_are_left_out() -> None:
    one = await coding("ls /srv")
    assert passed(one) == ([], {"too few turns": 1})
    assert passed(one, min_turns=1) == ([1], {})


async def test_trajectories_that_call_undeclared_tools_are_left_out() -> None:
    source = await computed(CODING)
    tools = {name: tool for name, tool in source.tools.items() if name != "Write"}
    counts = FilterCounts()
    assert (
        filter_trajectory(prepare_source(replace(source, tools=tools)), DataPart(), counts) is None
    )
    steps = {step["step"]: step for step in counts.to_json()["steps"]}
    assert steps["undeclared tool"]["trajectories"] == 1
    assert "turn 3 calls 'Write'" in steps["undeclared tool"]["examples"][0]


async def test_a_failed_call_and_its_equal_retry_are_no_targets_but_later_turns_know_them() -> None:
    prepared = await coding(
        "ls /srv",
        "cat /srv/late.txt",
        "cat /srv/late.txt",
        "echo x > /srv/late.txt",
        "cat /srv/late.txt",
    )
    left, dropped = passed(prepared)
    assert (left, dropped) == ([1, 4, 5], {"failed and tried again": 2})
    counts = FilterCounts()
    done = filter_trajectory(prepared, DataPart(), counts)
    assert done is not None
    last = done.turns[-1].sample
    assert last is not None
    assert json.dumps(last.messages[1:]).count("No such file") == 2
    assert [one.keep for one in done.documents] == [(1.0, 0.0, 0.0, 1.0, 1.0)]


async def test_a_failed_call_that_is_followed_by_another_is_a_target() -> None:
    left, dropped = passed(await coding("cat /srv/nope", "cat /srv/app/notes.txt"))
    assert (left, dropped) == ([1, 2], {})


async def test_what_a_control_answered_is_no_target() -> None:
    fault = Fault(name="once", tool="Bash", error="I/O error", times=1)
    async with await World.create(scenario(), model=False, controls=(fault,)) as world:
        for command in ("ls /srv", "ls /srv/app"):
            await world.step(ToolCall("Bash", {"command": command}))
        turns = (await world.trajectory()).turns
        tools = imagined_tools(world.tools, turns)
    source = SourceTrajectory(id="t", task="t", turns=turns, tools=tools)
    assert passed(prepare_source(source)) == ([2], {"enforced by a control": 1})


async def test_silent_turns_are_kept_unless_the_recipe_says_otherwise() -> None:
    prepared = await coding("cd /srv", "mkdir one", "ls")
    silent = [turn.number for turn in prepared.turns if not (turn.observation or "").strip()]
    assert passed(prepared) == ([1, 2, 3], {})
    left, dropped = passed(prepared, silent_turns="leave-out")
    assert [*silent, *left] == [*silent, *(n for n in (1, 2, 3) if n not in silent)]
    assert dropped.get("silent", 0) == len(silent)


def test_turns_that_leave_a_screen_as_it_was_are_no_targets() -> None:
    first, same = PAGE.format(ref=1, text="none"), PAGE.format(ref=7, text="none")
    other = PAGE.format(ref=1, text="one")
    ran = f"### Ran Playwright code\n```js\nawait page.click();\n```\n{same}"
    left, dropped = passed(browsing(first, same, ran, other, first))
    assert (left, dropped) == ([1, 4, 5], {"no visible effect": 2})


def test_the_first_turn_is_compared_with_what_was_there_at_first() -> None:
    first, other = PAGE.format(ref=1, text="none"), PAGE.format(ref=1, text="one")
    shown = PromptContext(initial_state={"web": first})
    assert passed(browsing(first, other, prompt_context=shown)) == ([2], {"no visible effect": 1})


@pytest.mark.parametrize(
    "broken",
    ["", "  \n", "### Page\n- Page Title: Shop", PAGE.format(ref=1, text="x").removesuffix("```")],
    ids=["empty", "blank", "no address", "open fence"],
)
def test_a_trajectory_with_a_broken_screen_is_left_out(broken: str) -> None:
    pages = [PAGE.format(ref=1, text=str(number)) for number in range(3)]
    assert passed(browsing(*pages)) == ([1, 2, 3], {})
    assert passed(browsing(pages[0], broken, pages[1])) == ([], {"broken screen": 3})


def test_a_screen_that_is_told_in_another_form_is_broken() -> None:
    page = PAGE.format(ref=1, text="none")
    rows = '[ 0] | button | text="Buy" | bounds=[0,0][9,9] | clickable'
    assert passed(browsing(page, rows))[1] == {"broken screen": 2}


def test_words_on_a_screen_are_no_failure_but_the_tools_own_section_is() -> None:
    first = PAGE.format(ref=1, text="Error: login failed, not found")
    failed = "### Error\nno such element"
    prepared = browsing(first, failed)
    assert [turn.failed for turn in prepared.turns] == [False, True]
    assert passed(prepared)[0] == [1, 2]


@pytest.mark.parametrize("answer", [None, "", " \n"])
def test_a_row_without_an_observation_is_counted_or_refused(answer: str | None) -> None:
    value = row(["ls\n", "pwd\n"], ["a  b", answer], 2)
    prepared = prepare_row(
        BenchRow.from_json(value, place="x.jsonl, line 3", domain="terminal"),
        place="x.jsonl, line 3",
    )
    assert passed(prepared) == ([], {"no target": 1})
    with pytest.raises(UsageError, match=r"x\.jsonl, line 3, turn 2.*no observation to predict"):
        passed(prepared, without_target="refuse")


def test_the_table_tells_every_step_with_examples() -> None:
    counts = FilterCounts()
    counts.read(1200)
    counts.drop("silent", "somewhere, turn 7: Bash", samples=200)
    counts.notes["samples with thinking"] += 5
    table = counts_table({**counts.to_json(), "rows": {"sft": 1000}})
    lines = {line.split("  ")[0]: line.split() for line in table.splitlines()}
    assert lines["silent"][-1] == "1,000"
    assert lines["written: sft"][-1] == "1,000"
    assert "left out (silent): somewhere, turn 7: Bash" in table
    assert "5 samples with thinking" in table
    assert all(step in table for step in STEPS)
