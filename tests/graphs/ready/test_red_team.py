"""`red_team`: one agent, one task, several ways in which the world misbehaves."""

from __future__ import annotations

from typing import Any

import pytest

from agentworld_graphs import ScriptedChatModel, SimulationInterrupted
from agentworld_graphs._demo._demo_agent import real_calls
from agentworld_graphs.ready import predict_then_act, react, red_team, rehearse
from agentworld_graphs.ready._agent import store_of_process
from agentworld_sim import UsageError, World
from agentworld_sim.controls import Fault
from tests.graphs.ready.conftest import START, THREAD, call, kept, says


async def test_each_control_has_its_row_and_its_outcome() -> None:
    before = len(store_of_process().worlds())
    state = await red_team.graph.ainvoke(START)
    found = {one["control"]: one for one in state["outcomes"]}
    assert list(found) == ["nothing", *red_team.CONTROLS]
    assert {name: one["goals_met"] for name, one in found.items()} == {
        "nothing": 3,
        "shell-fails-once": 3,
        "edits-fail": 2,
        "slow-shell": 3,
        "short-files": 3,
        "bad-advice": 3,
    }
    assert {name: one["enforced"] for name, one in found.items() if one["enforced"]} == {
        "shell-fails-once": 1,
        "edits-fail": 1,
        "short-files": 1,
        "bad-advice": 1,
    }
    assert found["edits-fail"]["differs"] == ["/srv/app/src/csv.sh"]
    assert found["slow-shell"]["seconds"] - found["nothing"]["seconds"] == 3 * 45
    assert (found["nothing"]["calls"], found["nothing"]["steps"]) == (5, 6)
    table = state["messages"][-1].content
    assert "| edits-fail | 2 of 3 | 5 | 1 | 6 | 0.4 | /srv/app/src/csv.sh |" in table
    assert len(table.splitlines()) == 2 + len(found)
    # Every run was a fork that is gone, and the world itself is as it was.
    assert len(store_of_process().worlds()) == before + 1
    world = await World.open(state["world"], store=store_of_process())
    async with world:
        assert (bool(await world.diff()), world.ref) == (False, world.root)
    assert real_calls == []


async def test_a_second_time_gives_the_same() -> None:
    graph = kept(red_team.graph)
    context = {"controls": ["edits-fail"]}
    first = await graph.ainvoke(START, THREAD, context=context)
    second = await graph.ainvoke(START, THREAD, context=context)
    assert first["outcomes"] == second["outcomes"]
    assert len(first["outcomes"]) == 2


async def test_an_agent_that_never_ends_is_stopped() -> None:
    script = [says("", call("bash", f"c{number}", command="ls")) for number in range(30)]
    graph = red_team.build(red_team.Agent(script=script), controls=[])
    state = await graph.ainvoke(START, context={"steps": 9, "controls": []})
    (outcome,) = state["outcomes"]
    assert (outcome["stopped"], outcome["steps"]) == (True, 5)
    assert "stopped after too many steps" in state["messages"][-1].content


async def test_controls_of_ones_own_are_tried() -> None:
    control = Fault(name="no-make", tool="bash", error="make: not found", times=2)
    graph = red_team.build(controls=[control])
    state = await graph.ainvoke(START)
    assert [one["control"] for one in state["outcomes"]] == ["nothing", "no-make"]
    assert state["outcomes"][1]["enforced"] == 2


async def test_a_control_that_never_struck_is_told() -> None:
    graph = red_team.build(controls=[Fault(name="no-git", tool="git", error="git: not found")])
    state = await graph.ainvoke(START)
    assert [one["struck"] for one in state["outcomes"]] == [True, False]
    assert "| nothing: the control never struck |" in state["messages"][-1].content


@pytest.mark.parametrize("module", [react, predict_then_act, rehearse, red_team])
def test_a_compiled_graph_is_no_agent(module: Any) -> None:
    with pytest.raises(
        UsageError, match="build takes an Agent, not 'CompiledStateGraph'"
    ) as caught:
        module.build(react.graph)
    assert "simulate_graph(graph)" in str(caught.value)


class BreaksOnce(ScriptedChatModel):
    """A chat model whose provider fails in the middle, once."""

    left: int = 9

    def _generate(self, *arguments: Any, **options: Any) -> Any:
        self.left -= 1
        if self.left == 0:
            raise ConnectionError("gone")
        return super()._generate(*arguments, **options)

    async def _agenerate(self, *arguments: Any, **options: Any) -> Any:
        return self._generate(*arguments, **options)


async def test_runs_that_were_broken_off_begin_again() -> None:
    context = {"controls": ["edits-fail"]}
    clean = await red_team.graph.ainvoke(START, context=context)
    model = BreaksOnce(script=red_team.Agent().script)
    graph = kept(red_team.build(red_team.Agent(chat_model=model)))
    with pytest.raises(ConnectionError, match="gone"):
        await graph.ainvoke(START, THREAD, context=context)
    state = await graph.ainvoke(None, THREAD, context=context)
    assert state["outcomes"] == clean["outcomes"]


def test_no_control_takes_the_name_of_the_run_without_one() -> None:
    with pytest.raises(UsageError, match="cannot be named 'nothing'"):
        red_team.build(controls=[Fault(name="nothing", tool="bash")])


async def test_an_unknown_control_is_told() -> None:
    with pytest.raises(SimulationInterrupted, match="Did you mean 'edits-fail'"):
        await red_team.graph.ainvoke(START, context={"controls": ["edit-fails"]})
