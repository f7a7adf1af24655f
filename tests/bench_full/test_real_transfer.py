"""Tasks inside worlds, and the same calls in a locked-in shell, at a real MCP server and in a real Chromium."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentworld_sim.bench.transfer.scripted_agents import WEAKNESS
from agentworld_sim.bench.transfer.task_list import shipped_tasks
from agentworld_sim.bench.transfer.transfer_figures import transfer_figures
from agentworld_sim.bench.transfer.transfer_run import run_transfer
from agentworld_sim.errors import EngineFailure
from agentworld_sim.llm.client import ChatClient
from agentworld_sim.llm.scripted import ModelRequest, ScriptedModelServer
from agentworld_sim.llm.settings import ModelSettings
from agentworld_sim.report.transfer_page import transfer_page
from agentworld_sim.rollouts.hermes import write_call
from agentworld_sim.types.tools import ToolCall

TASKS = shipped_tasks()
OF_EACH_FAMILY = {task.family: task for task in reversed(TASKS)}


def change_port(request: ModelRequest) -> str:
    """A model that reads the port, after two calls that are none."""
    said = [one["content"] for one in request.messages if one["role"] == "user"]
    if len(said) == 1:
        wrong = [ToolCall("cat", {"path": "app.conf"}), ToolCall("bash", {"line": "cat app.conf"})]
        return "<tool_call>cat app.conf</tool_call>" + "".join(map(write_call, wrong))
    if len(said) == 2:
        assert all(text in said[1] for text in ("not valid JSON", "no tool 'cat'", "command"))
        return write_call(ToolCall("bash", {"command": "cat app.conf"}))
    port = said[2].split("port = ")[1].split()[0]
    command = {"command": f"sed -i 's/^PORT=.*/PORT={port}/' service.env"}
    return write_call(ToolCall("bash", command)) if len(said) == 3 else "Done."


@pytest.mark.usefixtures("jail")
async def test_a_served_model_is_one_more_agent(tmp_path: Path) -> None:
    with ScriptedModelServer(change_port) as server:
        model = ChatClient(ModelSettings(url=server.url))
        (trial,) = await run_transfer(
            [OF_EACH_FAMILY["change-port"]],
            tmp_path / "transfer.jsonl",
            engines=["computed", "text"],
            agents=[],
            model=model,
        )
        assert trial.agent == (await model.served_model()).name
        await model.close()
    assert (trial.calls, trial.inside, trial.outside, trial.divergence) == (2, [], [], None)


@pytest.mark.usefixtures("jail")
async def test_calls_in_a_shell_are_replayed_and_an_unfinished_run_is_gone_on_with(
    tmp_path: Path,
) -> None:
    output, tasks = tmp_path / "transfer.jsonl", [OF_EACH_FAMILY["change-port"]]
    agents = ("perfect", "reads nothing")
    trials = await run_transfer(tasks, output, engines=["computed", "text"], agents=agents)
    passed = {one.id[:2]: (not one.inside, not one.outside) for one in trials}
    assert passed == {
        ("computed", "perfect"): (True, True),
        ("computed", "reads nothing"): (False, False),
        ("text", "perfect"): (True, False),
        ("text", "reads nothing"): (True, False),
    }
    divergence = next(one.divergence for one in trials if one.id[:2] == ("text", "perfect"))
    assert divergence is not None
    assert divergence["step"] == 1
    assert divergence["inside"]["stdout"] == "8080\n"

    lines = output.read_text().splitlines(keepends=True)
    output.write_text("".join(lines[:-1]) + lines[-1][:20])
    done: list[int] = []
    again = await run_transfer(
        tasks,
        output,
        engines=["computed", "text"],
        agents=agents,
        on_trial=lambda: done.append(1),
    )
    assert len(done) == 1
    assert again == trials
    assert len(output.read_text().splitlines()) == 5

    html = transfer_page(transfer_figures(trials), trials)
    assert "passed inside only" in html
    assert "8080" in html


async def test_calls_of_tools_are_replayed_at_a_real_server(tmp_path: Path) -> None:
    trials = await run_transfer(
        [OF_EACH_FAMILY["hand-over"]],
        tmp_path / "transfer.jsonl",
        engines=["computed"],
        agents=["perfect"],
    )
    assert [(one.inside, one.outside, one.divergence) for one in trials] == [([], [], None)]


@pytest.mark.usefixtures("jail")
async def test_the_world_picks_the_same_winner(tmp_path: Path) -> None:
    trials = await run_transfer(
        TASKS, tmp_path / "transfer.jsonl", engines=["computed"], agents=list(WEAKNESS)
    )
    figures = transfer_figures(trials)["computed"]
    assert figures["ratio"] >= 0.97
    assert figures["worst"] <= 0.01
    assert figures["tau"]["value"] >= 0.9


async def test_a_real_server_that_does_not_start_is_told(tmp_path: Path) -> None:
    with pytest.raises(EngineFailure, match="cannot be started"):
        await run_transfer(
            [OF_EACH_FAMILY["hand-over"]],
            tmp_path / "transfer.jsonl",
            engines=["computed"],
            agents=["perfect"],
            server=["/bin/false"],
        )
