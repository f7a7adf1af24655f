"""Controls that count, and faults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from agentworld_sim import (
    Answer,
    Control,
    FunctionEngine,
    MemoryStore,
    Observation,
    Scenario,
    ToolCall,
    ToolSpec,
    Turn,
    UsageError,
    World,
    WorldState,
)
from agentworld_sim.controls import Fault, Next, StepContext
from agentworld_sim.toolkits import known_tools
from agentworld_sim.types import FileTree, MemoryBlobs

LS = ToolCall("bash", {"command": "echo hi"})


async def machine(*controls: Control) -> World:
    return await World.create(
        Scenario.model_validate({"name": "m", "domains": ["terminal"]}), controls=controls
    )


async def said(world: World, call: ToolCall = LS, at: str | None = None) -> str:
    return (await world.step(call, at=at)).observation.text


async def test_a_fault_fails_the_calls_it_is_for_and_is_marked_as_enforced() -> None:
    fault = Fault(name="one", tool="bash", error="disk full", times=1)
    async with await machine(fault) as world:
        turn = await world.step(LS)
        assert turn.observation == Observation(text="disk full\n", provenance="enforced")
        assert turn.change.values == {"control/one": 1}
        assert turn.change.clock_us == world.scenario.clock_us
        assert await said(world) == "hi\n"


async def test_a_fault_strikes_only_where_its_condition_holds() -> None:
    def sudden(arguments: Mapping[str, Any]) -> bool:
        return "boom" in arguments["command"]

    async with await machine(Fault(name="one", tool="bash", when=sudden, error="no")) as world:
        assert await said(world) == "hi\n"
        assert await said(world, ToolCall("bash", {"command": "boom"})) == "no\n"
        other = ToolCall("keystrokes", {"keystrokes": [{"keystrokes": "boom"}]})
        assert "no" not in await said(world, other)


async def test_forks_and_earlier_points_have_their_own_count() -> None:
    async with await machine(Fault(name="one", tool="bash", error="no", times=2)) as world:
        first = await world.step(LS)
        fork = await world.fork()
        assert [await said(world), await said(world)] == ["no\n", "hi\n"]
        assert [await said(fork), await said(fork)] == ["no\n", "hi\n"]
        assert await said(world, at=world.root) == "no\n"
        assert await said(world, at=first.ref) == "no\n"
        await world.rewind()
        assert [await said(world) for _ in range(3)] == ["no\n", "no\n", "hi\n"]


async def test_a_reopened_world_goes_on_counting() -> None:
    store, fault = MemoryStore(), Fault(name="one", tool="bash", error="no", times=2)
    scenario = Scenario.model_validate({"name": "m", "domains": ["terminal"]})
    async with await World.create(scenario, id="w", store=store, controls=[fault]) as world:
        assert await said(world) == "no\n"
    async with await World.open("w", store=store, controls=[fault]) as again:
        assert [await said(again), await said(again)] == ["no\n", "hi\n"]


async def test_a_slow_call_takes_time_on_the_worlds_clock_and_keeps_its_answer() -> None:
    fault = Fault(name="slow", tool="bash", latency_us=30_000_000, times=1)
    async with await machine(fault) as world:
        async with await machine() as quick:
            plain = await quick.step(LS)
        slow = await world.step(LS)
        assert slow.observation == plain.observation
        assert slow.change.clock_us - plain.change.clock_us == 30_000_000
        assert slow.change.values == {"control/slow": 1}
        date = ToolCall("bash", {"command": "date +%s"})
        before = slow.change.clock_us // 1_000_000
        assert before <= int(await said(world, date)) <= before + 1


async def test_a_call_that_fails_slowly_does_both() -> None:
    fault = Fault(name="one", tool="bash", error="timed out", latency_us=5_000_000)
    async with await machine(fault) as world:
        turn = await world.step(LS)
        assert turn.observation.text == "timed out\n"
        assert turn.change.clock_us - world.scenario.clock_us == 5_000_000


async def test_the_engine_of_a_call_that_fails_is_not_asked() -> None:
    asked: list[str] = []

    def answer(arguments: Mapping[str, Any], values: Mapping[str, Any]) -> Observation:
        asked.append("asked")
        return Observation(text="paid")

    engine = FunctionEngine({"pay": answer})
    fault = Fault(name="one", tool="pay", error="503", times=1)
    scenario = Scenario.model_validate(
        {"name": "m", "domains": ["mcp"], "tools": [{"name": "pay"}]}
    )
    async with await World.create(scenario, engines=[engine], controls=[fault]) as world:
        first = (await world.step(ToolCall("pay"))).observation
        assert first == Observation(text="503", is_error=True, provenance="enforced")
        assert asked == []
        assert await said(world, ToolCall("pay")) == "paid"


class Counter(Control):
    """A control that counts calls, and answers one."""

    def __init__(self, name: str, stop_at: int | None = None) -> None:
        self.name = name
        self.stop_at = stop_at

    async def handle(self, step: StepContext, next: Next) -> Answer:
        count = step.values.get("count", 0) + 1
        stop = count == self.stop_at
        answer = step.enforce(Observation(text="enough")) if stop else await next(step)
        return step.keep(answer, count=count)


async def test_controls_change_values_in_order_up_to_the_one_that_answers() -> None:
    async with await machine(Counter("a"), Counter("b", stop_at=2), Counter("c")) as world:
        first, second = await world.step(LS), await world.step(LS)
        assert first.observation == Observation(text="hi\n")
        assert first.change.values == {f"control/{name}/count": 1 for name in "abc"}
        assert second.observation == Observation(text="enough", provenance="enforced")
        assert second.change.values == {"control/a/count": 2, "control/b/count": 2}
        state = await world.state()
        assert dict(state.values) == {**first.change.values, **second.change.values}


async def test_a_fork_may_be_given_other_controls() -> None:
    async with await machine(Fault(name="one", tool="bash", error="no")) as world:
        inherited, free = await world.fork(), await world.fork(controls=[])
        assert [await said(inherited), await said(free)] == ["no\n", "hi\n"]
        assert [control.name for control in world.controls] == ["one"]


async def test_who_watches_a_world_is_told_of_every_turn_it_commits() -> None:
    async with await machine() as world:
        told: list[Turn] = []
        world.on_turn(told.append)
        first = await world.step(LS)
        again = await world.step(LS, at=world.root)
        second = await world.step(LS)
        with pytest.raises(UsageError):
            await world.step(ToolCall("bash", {"comand": "x"}))
        await (await world.fork()).step(LS)
        assert told == [first, again, second]
        assert first == again


GEMINI = """\
Command: x
Directory: (root)
Output: no space left
Error: (none)
Exit Code: 1
Signal: (none)
Background PIDs: (none)
Process Group PGID: 5402"""

TOLD: Sequence[tuple[str, str, bool]] = (
    ("claude-code/Bash", "Exit code 1\nno space left", True),
    ("claude-code/Read", "no space left", True),
    ("deepagents/execute", "no space left\n\n[Command failed with exit code 1]", False),
    ("deepagents/read_file", "no space left", True),
    ("filesystem/read_text_file", "no space left", True),
    ("gemini-cli/run_shell_command", GEMINI, False),
    ("langchain/read_file", "no space left", False),
    ("langchain/shell", "[stderr] no space left\n\nExit code: 1", True),
    ("langchain/terminal", "no space left\n", False),
    ("qwen-code/run_shell_command", GEMINI, False),
    ("shell/run", "no space left\n", False),
    ("shell/session", "no space left\n", False),
    ("terminal/bash", "no space left\n", False),
    ("terminal/bash-c", "no space left\n", False),
    ("terminal/keystrokes", "no space left", False),
    ("memory/read_graph", "no space left", True),
)


async def unknown(*_: object) -> Any:
    raise AssertionError("a call that fails asks for nothing")


@pytest.mark.parametrize(("bound", "text", "is_error"), TOLD, ids=[one[0] for one in TOLD])
async def test_each_tool_tells_a_failure_in_its_own_form(
    bound: str, text: str, is_error: bool
) -> None:
    fault = Fault(name="one", tool="t", error="no space left")
    state = WorldState(files=FileTree.from_entries([]), clock_us=0, seed=1)
    call = ToolCall("t", {"command": "x"})
    step = StepContext(
        call=call,
        tool=ToolSpec(name="t", binds_to=bound),
        state=state,
        seed=1,
        blobs=MemoryBlobs(),
        history=unknown,
        failures=unknown,
        state_at=unknown,
    )
    done = (await fault.handle(step, unknown)).observation
    assert (done.text, done.is_error) == (text, is_error)


def test_every_tool_that_runs_commands_has_a_form_for_failures() -> None:
    running = {
        name
        for name, binding in known_tools().items()
        if not {"command", "commands", "keystrokes"}.isdisjoint(binding.input_schema["properties"])
    }
    formed = {name for name, binding in known_tools().items() if binding.failing is not None}
    # The backend reads the code of a command that fails out of the mark of an error.
    assert running - formed == {"deepagents-backend/execute"}


async def test_a_failed_command_has_its_streams_and_its_code() -> None:
    async with await machine(Fault(name="one", tool="run", error="no")) as world:
        world.add_tools([ToolSpec(name="run", binds_to="shell/run")])
        turn = await world.step(ToolCall("run", {"command": "true"}))
        assert turn.observation.structured == {
            "stdout": "",
            "stderr": "no\n",
            "exit_code": 1,
            "cwd": "",
            "ending": "finished",
        }


@pytest.mark.parametrize("field", ["latency_us", "times"])
def test_a_fault_has_no_negative_numbers(field: str) -> None:
    numbers: dict[str, Any] = {field: -1}
    with pytest.raises(UsageError, match=f"{field} of the control 'f' is -1: give [01] or more"):
        Fault(name="f", tool="run", **numbers)
