"""Declared controls that are switched on and off in a running world."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as some

from agentworld_sim import MemoryStore, Scenario, ScenarioError, ToolCall, UsageError, World
from agentworld_sim.controls import Fault
from agentworld_sim.controls.control_list import DECLARED, declarations_of
from agentworld_sim.runtime.world_history import is_switch
from agentworld_sim.store.home import open_store
from tests.properties import examples

ECHO = ToolCall("bash", {"command": "echo hi"})
OUTAGE = {"kind": "fault", "name": "outage", "tool": "bash", "error": "no"}


async def said(world: World, at: str | None = None) -> str:
    return (await world.step(ECHO, at=at)).observation.text


async def test_the_next_call_meets_a_control_and_no_call_meets_one_that_is_off() -> None:
    async with await World.create() as world:
        assert await said(world) == "hi\n"
        await world.switch_controls(add=[OUTAGE])
        assert await said(world) == "no\n"
        await world.switch_controls(remove=["outage"])
        assert await said(world) == "hi\n"
        assert (await world.state()).values == {}


async def test_a_switch_is_a_turn_of_the_history_and_no_call_of_the_agent() -> None:
    async with await World.create() as world:
        first = await world.step(ECHO)
        ref = await world.switch_controls(add=[OUTAGE])
        second = await world.step(ECHO)
        assert [turn.call for turn in await world.trajectory()] == [ECHO, ECHO]
        switch = world.store.lineage(world.ref)[1]
        assert is_switch(switch)
        assert (switch.parent, switch.ref, second.parent) == (first.ref, ref, ref)
        assert switch.call.arguments == {"add": [OUTAGE], "remove": []}
        assert switch.observation.provenance == "enforced"
        assert not (await world.diff()).values


async def test_time_travel_undoes_a_switch_and_forks_inherit_it() -> None:
    async with await World.create() as world:
        await world.step(ECHO)
        before = (await world.step(ECHO)).parent
        await world.switch_controls(add=[OUTAGE])
        async with await world.fork() as fork, await world.fork(at=before) as earlier:
            assert await said(fork) == "no\n"
            assert await said(earlier) == "hi\n"
        assert await said(world, at=before) == "hi\n"
        await world.rewind(before)
        assert await said(world) == "hi\n"


async def test_a_run_that_carries_its_point_meets_a_switch_made_there() -> None:
    async with await World.create() as world:
        stood = (await world.step(ECHO)).ref
        await world.switch_controls(add=[{**OUTAGE, "times": 1}])
        last = await world.switch_controls(add=[{**OUTAGE, "name": "other", "error": "worse"}])
        turn = await world.step(ECHO, at=stood)
        assert (turn.observation.text, turn.parent) == ("no\n", last)
        # Somebody who goes back there now has seen what came after it.
        assert await said(world, at=stood) == "hi\n"


async def test_another_process_switches_under_a_running_world() -> None:
    store = MemoryStore()
    async with await World.create(id="w", store=store) as running:
        stood = (await running.step(ECHO)).ref
        async with await World.open("w", store=store) as operator:
            await operator.switch_controls(add=[OUTAGE])
        assert await said(running, at=stood) == "no\n"
        async with await World.open("w", store=store) as operator:
            await operator.switch_controls(remove=["outage"])
        assert await said(running) == "hi\n"


async def test_a_call_that_is_being_answered_meanwhile_is_answered_again() -> None:
    store, begun, switched = MemoryStore(), asyncio.Event(), asyncio.Event()

    async def slow() -> str:
        begun.set()
        await switched.wait()
        return "hi"

    tool: dict[str, Any] = {"name": "slow", "input_schema": {"type": "object", "properties": {}}}
    scenario = Scenario.model_validate({"name": "s", "domains": ["mcp"], "tools": [tool]})
    async with await World.create(scenario, id="w", store=store, answers={"slow": slow}) as running:
        call = asyncio.create_task(running.step(ToolCall("slow", {})))
        await begun.wait()
        async with await World.open("w", store=store) as operator:
            ref = await operator.switch_controls(add={**OUTAGE, "tool": "slow"})
        switched.set()
        turn = await call
        assert (turn.observation.text, turn.parent) == ("no", ref)
        assert len(store.lineage(running.ref)) == 2


async def test_branches_that_meet_meet_a_switch_made_meanwhile() -> None:
    async with await World.create() as world:
        root = world.ref
        tips = [
            (await world.step(ToolCall("bash", {"command": f"touch /{name}"}), at=root)).ref
            for name in "ab"
        ]
        await world.switch_controls(add=[OUTAGE])
        assert await said(world, at="+".join(tips)) == "no\n"
        assert {"/a", "/b"} <= set((await world.state()).files)


async def test_a_control_that_is_off_keeps_nothing() -> None:
    once = {**OUTAGE, "times": 1}
    async with await World.create() as world:
        for _ in range(2):
            await world.switch_controls(add=[once])
            assert [await said(world), await said(world)] == ["no\n", "hi\n"]
            await world.switch_controls(remove=["outage"])
        assert (await world.state()).values == {}


async def test_all_of_a_profile_are_switched_off_by_a_pattern() -> None:
    async with await World.create() as world:
        await world.switch_controls(add=["flaky-api", OUTAGE])
        assert len(declarations_of(await world.state())) > 1
        await world.switch_controls(remove=["flaky-api-*"])
        assert declarations_of(await world.state()) == [OUTAGE]


async def test_one_alone_needs_no_list() -> None:
    async with await World.create(answers={"joins_later": "yes"}) as world:
        await world.switch_controls(add=OUTAGE)
        await world.switch_controls(remove="outage")
        await world.switch_controls(add="flaky-api")
        assert len(declarations_of(await world.state())) > 1


async def test_one_of_the_same_name_gives_way_in_one_turn() -> None:
    async with await World.create() as world:
        await world.switch_controls(add=[OUTAGE])
        await world.switch_controls(add=[{**OUTAGE, "error": "busy"}], remove=["outage"])
        assert await said(world) == "busy\n"
        assert len(declarations_of(await world.state())) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"add": [{"kind": "fualt", "name": "x"}]}, "Did you mean 'fault'?"),
        ({"add": [{**OUTAGE, "tools": "bash"}]}, "controls[0].tools: "),
        ({"add": [{**OUTAGE, "when": len}]}, "controls[0].when: a Python function belongs"),
        ({"add": [{**OUTAGE, "name": "x"}, {**OUTAGE, "name": "x"}]}, "are named 'x'"),
        ({"add": [OUTAGE]}, "are named 'outage'"),
        ({"add": [{**OUTAGE, "name": "own"}]}, "are named 'own'"),
        ({"remove": ["outages"]}, "no control 'outages' is declared here. Did you mean 'outage'?"),
        ({"remove": ["own"]}, "A control that a process gave its world ends with that process."),
    ],
)
async def test_what_cannot_be_switched_is_one_clear_error_and_leaves_the_world_alone(
    change: dict[str, Any], message: str
) -> None:
    own = Fault(name="own", tool="bash", latency_us=1)
    async with await World.create(controls=[own]) as world:
        ref = await world.switch_controls(add=[OUTAGE])
        with pytest.raises(UsageError) as failure:
            await world.switch_controls(**change)
        assert message in str(failure.value)
        assert world.ref == ref == world.store.world(world.id).head


async def test_a_control_of_no_kind_is_told_as_in_a_scenario() -> None:
    async with await World.create() as world:
        with pytest.raises(ScenarioError):
            await world.switch_controls(add=[{"name": "x"}])


@settings(max_examples=examples(100), deadline=None)
@given(some.lists(some.sampled_from(["call", "on", "off", "reopen", "fork"]), max_size=12))
def test_every_point_of_a_session_has_the_controls_that_it_had_live(acts: list[str]) -> None:
    async def session() -> None:
        store = MemoryStore()
        world = await World.create(store=store)
        live = {world.ref: list(declarations_of(await world.state()))}
        for act in acts:
            on = bool(declarations_of(await world.state()))
            if act == "call":
                assert await said(world) == ("no\n" if on else "hi\n")
            elif act == "on" and not on:
                await world.switch_controls(add=[OUTAGE])
            elif act == "off" and on:
                await world.switch_controls(remove=["outage"])
            elif act in ("reopen", "fork"):
                other = await (world.fork() if act == "fork" else World.open(world.id, store=store))
                await world.close()
                world = other
            live[world.ref] = list(declarations_of(await world.state()))
        for ref, declared in live.items():
            assert list(declarations_of(store.state(ref))) == declared
            async with await world.fork(at=ref) as fork:
                assert await said(fork) == ("no\n" if declared else "hi\n")
        await world.close()

    asyncio.run(session())


async def test_switches_of_many_at_once_all_happen() -> None:
    async with await World.create() as world:
        async with asyncio.TaskGroup() as group:
            for number in range(8):
                one = {**OUTAGE, "name": f"c{number}", "tool": "none"}
                group.create_task(world.switch_controls(add=[one]))
                group.create_task(world.step(ECHO))
        state = await world.state()
        assert len(state.values[DECLARED]) == 8
        assert len(await world.trajectory()) == 8


AGENT = """
import asyncio, sys
from agentworld_sim import ToolCall, World
from agentworld_sim.store.home import open_store

async def main():
    async with await World.create(id="lab", store=open_store()) as world:
        for line in sys.stdin:
            turn = await world.step(ToolCall("bash", {"command": "echo hi"}))
            print(turn.observation.text, end="", flush=True)

asyncio.run(main())
"""


@pytest.mark.slow
def test_the_command_switches_under_an_agent_of_another_process(tmp_path: Path) -> None:
    environment = {**os.environ, "AGENTWORLD_STORE": str(tmp_path / "store.db")}
    agent = subprocess.Popen(
        [sys.executable, "-c", AGENT],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert agent.stdin is not None
    assert agent.stdout is not None

    def ask() -> str:
        assert agent.stdin is not None
        assert agent.stdout is not None
        agent.stdin.write("\n")
        agent.stdin.flush()
        return agent.stdout.readline()

    def control(*arguments: str) -> None:
        command = [
            sys.executable,
            "-m",
            "agentworld_sim.cli",
            "world",
            "control",
            "lab",
            *arguments,
        ]
        subprocess.run(command, env=environment, check=True, capture_output=True, timeout=60)

    with agent:
        assert ask() == "hi\n"
        control("add", "fault", "name=outage", "tool=bash", "error=no")
        assert [ask(), ask()] == ["no\n", "no\n"]
        control("remove", "outage")
        assert ask() == "hi\n"
        agent.stdin.close()
    turns = open_store(str(tmp_path / "store.db")).lineage
    record = open_store(str(tmp_path / "store.db")).world("lab")
    assert [is_switch(turn) for turn in turns(record.head)] == [0, 1, 0, 0, 1, 0]
