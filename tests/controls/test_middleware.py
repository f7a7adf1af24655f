"""What a control may do: with the call, the answer, the change, the state and the listing."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentworld_sim import (
    Answer,
    Control,
    FunctionEngine,
    MemoryStore,
    Observation,
    Scenario,
    StateChange,
    StepContext,
    ToolCall,
    ToolSpec,
    UnknownToolError,
    World,
    WorldState,
)
from agentworld_sim.controls import Next
from agentworld_sim.errors import ControlFailure, EngineFailure
from agentworld_sim.types import FileTree, MemoryBlobs
from tests.controls.notes import ENGINE, READ, Values, adding, append, notes, read, said


class LostWrite(Control):
    """The first write is confirmed and not done."""

    name = "lost-write"

    async def handle(self, step: StepContext, next: Next) -> Answer:
        answer = await next(step)
        if step.call.name != "append" or step.values.get("lost"):
            return answer
        return step.keep(step.without_effect(answer), lost=True)


async def test_a_lost_write_is_confirmed_and_is_not_there() -> None:
    async with await notes(LostWrite()) as world:
        turn = await world.step(adding("a"))
        assert turn.observation == Observation(text="line 1")
        assert turn.change.values == {"control/lost-write/lost": True}
        assert await said(world, READ) == ""
        assert await said(world, adding("b")) == "line 1"
        assert await said(world, READ) == "b"


class LostFiles(Control):
    """Files that a shell writes are not there afterwards."""

    name = "lost-files"

    async def handle(self, step: StepContext, next: Next) -> Answer:
        return step.without_effect(await next(step))


async def test_a_live_machine_that_did_what_was_not_stored_is_not_used_again() -> None:
    scenario = Scenario.model_validate({"name": "m", "domains": ["terminal"]})
    async with await World.create(scenario, controls=[LostFiles()]) as world:
        assert await said(world, ToolCall("bash", {"command": "echo x | tee /root/a"})) == "x\n"
        assert "No such file" in await said(world, ToolCall("bash", {"command": "cat /root/a"}))
        assert not await world.diff()


class Twice(Control):
    """Every write is done twice."""

    name = "twice"

    async def handle(self, step: StepContext, next: Next) -> Answer:
        first = await next(step)
        if step.call.name not in ("append", "bash"):
            return first
        return first.then(await next(step.after(first)))


async def test_a_duplicated_write_is_there_twice_with_the_second_answer() -> None:
    async with await notes(Twice()) as world:
        turn = await world.step(adding("a"))
        assert turn.observation == Observation(text="line 2")
        assert turn.change.values == {"lines": ["a", "a"]}
        assert await said(world, READ) == "a,a"


async def test_a_duplicated_command_runs_on_the_files_that_the_first_left() -> None:
    scenario = Scenario.model_validate({"name": "m", "domains": ["terminal"]})
    async with await World.create(scenario, controls=[Twice()]) as world:
        command = ToolCall("bash", {"command": "echo x >> /root/a; cd /srv; wc -l < /root/a"})
        assert await said(world, command) == "2\n"
        assert await world.read_file("/root/a") == b"x\nx\n"
        where = await world.step(ToolCall("bash", {"command": "pwd"}))
        assert where.observation.text == "/srv\n"


class Stale(Control):
    """What is read is what was there before the last turn."""

    name = "stale"

    async def handle(self, step: StepContext, next: Next) -> Answer:
        turns = await step.history()
        if step.call.name != "read" or not turns:
            return await next(step)
        old = await next(replace(step, state=await step.state_at(turns[-1].parent)))
        return step.enforce(old.observation)


async def test_a_stale_read_sees_the_state_before_the_last_write() -> None:
    async with await notes(Stale()) as world:
        await world.step(adding("a"))
        second = await world.step(adding("b"))
        turn = await world.step(READ)
        assert turn.observation.text == "a"
        assert turn.change == StateChange(clock_us=second.change.clock_us)
        assert await said(world, READ) == "a,b"


class Renamed(Control):
    """The call is changed before it is answered."""

    name = "renamed"

    def __init__(self, call: ToolCall) -> None:
        self.call = call

    async def handle(self, step: StepContext, next: Next) -> Answer:
        return await next(replace(step, call=self.call))


async def test_a_changed_call_is_answered_instead_and_the_turn_has_what_the_agent_asked() -> None:
    async with await notes(Renamed(adding("z"))) as world:
        turn = await world.step(READ)
        assert (turn.call, turn.observation.text) == (READ, "line 1")
        assert (await world.state()).values == {"lines": ["z"]}


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (ToolCall("append", {"lin": "x"}), "the control 'renamed' failed (ArgumentsError: "),
        (ToolCall("raed"), "UnknownToolError: this world has no tool 'raed'. Did you mean 'read'?"),
    ],
)
async def test_a_call_changed_to_one_that_cannot_be_is_the_controls_fault(
    call: ToolCall, why: str
) -> None:
    async with await notes(Renamed(call)) as world:
        with pytest.raises(ControlFailure) as raised:
            await world.step(READ)
        assert why in str(raised.value)
        assert world.ref == world.root


class Pages(Control):
    """A long answer is given in pages; another call asks for the next."""

    name = "pages"

    def tools(self, specs: Sequence[ToolSpec], state: WorldState) -> Sequence[ToolSpec]:
        schema = {"type": "object", "properties": {"page": {"type": "integer", "minimum": 1}}}
        return [replace(one, input_schema=schema) if one.name == "read" else one for one in specs]

    async def handle(self, step: StepContext, next: Next) -> Answer:
        if step.call.name != "read":
            return await next(step)
        page = step.call.arguments.get("page", 1)
        answer = await next(replace(step, call=ToolCall("read")))
        text = answer.observation.text
        part = text[(page - 1) * 4 : page * 4] + (" (more)" if len(text) > page * 4 else "")
        return replace(answer, observation=replace(answer.observation, text=part))


async def test_an_answer_in_pages_is_asked_for_by_a_parameter_that_the_listing_shows() -> None:
    async with await notes(Pages()) as world:
        for line in ("one", "two"):
            await world.step(adding(line))
        assert "page" in (await world.listing())["read"].input_schema["properties"]
        turn = await world.step(READ)
        assert (turn.observation.text, turn.observation.provenance) == ("one, (more)", "enforced")
        assert await said(world, ToolCall("read", {"page": 2})) == "two"


class Away(Control):
    """A tool is gone once something was written, and another is there."""

    name = "away"

    def __init__(self, *, answers: bool) -> None:
        self.answers = answers

    def tools(self, specs: Sequence[ToolSpec], state: WorldState) -> Sequence[ToolSpec]:
        if "lines" not in state.values:
            return specs
        return [*(one for one in specs if one.name != "append"), ToolSpec(name="write")]

    async def handle(self, step: StepContext, next: Next) -> Answer:
        if step.call.name == "write":
            return await next(replace(step, call=adding("by write")))
        if self.answers and "lines" in step.state.values and step.call.name == "append":
            return step.enforce(Observation(text="Unknown tool: append", is_error=True))
        return await next(step)


async def test_the_listing_changes_with_the_state_and_what_is_gone_is_not_answered() -> None:
    async with await notes(Away(answers=False)) as world:
        assert list(await world.listing()) == ["append", "read"]
        assert await said(world, adding("a")) == "line 1"
        assert list(await world.listing()) == ["read", "write"]
        assert list(await world.listing(world.root)) == ["append", "read"]
        with pytest.raises(UnknownToolError, match="'append' now: a control took it away"):
            await world.step(adding("b"))
        assert await said(world, ToolCall("write")) == "line 2"


async def test_a_control_says_what_a_call_of_a_tool_that_is_gone_gives() -> None:
    async with await notes(Away(answers=True)) as world:
        await world.step(adding("a"))
        assert await said(world, adding("b")) == "Unknown tool: append"


class Raises(Control):
    """Fails before or after the others answered, or gives no answer."""

    name = "raises"

    def __init__(self, when: str) -> None:
        self.when = when

    async def handle(self, step: StepContext, next: Next) -> Any:
        if self.when == "before":
            raise KeyError("x")
        answer = await next(step)
        if self.when == "after":
            raise ControlFailure("its own words")
        return answer.observation


@pytest.mark.parametrize(
    ("when", "text"),
    [
        ("before", "the control 'raises' failed (KeyError: 'x'). Nothing was stored."),
        ("after", "its own words"),
        ("never", "the control 'raises' failed (TypeError: it gave Observation("),
    ],
)
async def test_a_control_that_raises_fails_the_step_and_nothing_is_stored(
    when: str, text: str
) -> None:
    async with await notes(Twice(), Raises(when)) as world:
        with pytest.raises(ControlFailure) as raised:
            await world.step(adding("a"))
        assert str(raised.value).startswith(text)
        assert (world.ref, dict((await world.state()).values)) == (world.root, {})


class BadListing(Control):
    name = "bad-listing"

    def tools(self, specs: Sequence[ToolSpec], state: WorldState) -> Sequence[ToolSpec]:
        raise ValueError("no list")

    async def handle(self, step: StepContext, next: Next) -> Answer:
        return await next(step)


async def test_a_control_that_cannot_list_or_describe_is_named_too() -> None:
    async with await notes(BadListing()) as world:
        for asked in (world.listing(), world.step(READ)):
            with pytest.raises(ControlFailure, match=r"control 'bad-listing' failed .*no list"):
                await asked


class Patient(Control):
    """Asks again where an engine failed."""

    name = "patient"

    async def handle(self, step: StepContext, next: Next) -> Answer:
        try:
            return await next(step)
        except RuntimeError:
            return await next(step)


async def test_a_control_may_ask_again_after_a_failure() -> None:
    tries: list[str] = []

    def flaky(arguments: Mapping[str, Any], values: Values) -> Observation:
        tries.append("try")
        if len(tries) == 1:
            raise RuntimeError("broken")
        return Observation(text="fine")

    scenario = Scenario.model_validate({"name": "m", "domains": ["mcp"], "tools": [{"name": "f"}]})
    async with await World.create(
        scenario, engines=[FunctionEngine({"f": flaky})], controls=[Patient()]
    ) as world:
        assert await said(world, ToolCall("f")) == "fine"
        assert tries == ["try", "try"]


class Every(Control):
    """Strikes every second write; decides by what it keeps."""

    name = "every"

    def __init__(self) -> None:
        self.seen: list[tuple[int, int]] = []

    async def handle(self, step: StepContext, next: Next) -> Answer:
        calls = step.values.get("calls", 0)
        self.seen.append((calls, len(step.state.values.get("lines", []))))
        answer = await next(step)
        if calls % 2:
            answer = step.without_effect(answer)
        return step.keep(answer, calls=calls + 1)


async def test_when_another_process_was_first_a_control_decides_again_on_the_state_there() -> None:
    store = MemoryStore()
    async with await notes(Every(), store=store) as one:
        control = Every()
        async with await World.open(
            "notes", store=store, engines=[ENGINE], controls=[control]
        ) as two:
            await one.step(adding("a"))
            turn = await two.step(adding("b"))
            assert control.seen == [(0, 0), (1, 1)]
            assert turn.change.values == {"control/every/calls": 2}
            assert turn.parent == one.ref
            alone = await notes(Every())
            async with alone:
                assert [await alone.step(adding(line)) for line in "ab"][-1].ref == turn.ref


@dataclass(frozen=True, slots=True, kw_only=True)
class Told(Control):
    """Says something to a model, and nothing else."""

    name: str
    text: str

    async def handle(self, step: StepContext, next: Next) -> Answer:
        return await next(step)

    def describe(self) -> str:
        return self.text


async def test_what_controls_describe_reaches_the_engine_with_every_call() -> None:
    heard: list[str] = []

    class Listening(FunctionEngine):
        async def open(self, state: Any, blobs: Any) -> Any:
            session = await super().open(state, blobs)
            answer = session.answer

            async def listen(context: Any) -> Answer:
                heard.append(context.instruction)
                return await answer(context)

            session.answer = listen
            return session

    for controls in (
        [],
        [Told(name="a", text="Slow."), Told(name="b", text=""), Told(name="c", text="Hot.")],
    ):
        scenario = Scenario.model_validate(
            {"name": "m", "domains": ["mcp"], "tools": [{"name": "read"}]}
        )
        async with await World.create(
            scenario, engines=[Listening({"read": read})], controls=controls
        ) as world:
            await world.step(READ)
    assert heard == ["", "Slow.\nHot."]


def step_on(values: Values) -> StepContext:
    async def unknown(*_: object) -> Any:
        raise AssertionError

    state = WorldState(files=FileTree.from_entries([]), clock_us=5, seed=1, values=values)
    return StepContext(
        call=READ,
        tool=ToolSpec(name="read"),
        state=state,
        seed=1,
        blobs=MemoryBlobs(),
        history=unknown,
        failures=unknown,
        state_at=unknown,
        control="mine",
    )


def test_a_control_sees_and_keeps_values_of_its_own() -> None:
    step = step_on({"control/mine/a": 1, "control/mine": 2, "control/minesweeper/b": 3, "x": 4})
    assert dict(step.values) == {"a": 1}
    assert len(step.values) == 1
    kept = step.keep(step.enforce(Observation(text="")), a=None, b=2)
    assert dict(step.after(kept).values) == {"b": 2}


SMALL = st.dictionaries(st.sampled_from("abc"), st.none() | st.integers(0, 3))


@given(SMALL, SMALL, SMALL)
def test_two_changes_as_one_do_what_the_two_do(begin: Values, one: Values, two: Values) -> None:
    begin = {key: value for key, value in begin.items() if value is not None}
    state = WorldState(files=FileTree.from_entries([]), clock_us=0, seed=1, values=begin)
    first, second = StateChange(clock_us=1, values=one), StateChange(clock_us=2, values=two, seed=7)
    assert state.after(first).after(second) == state.after(first.then(second))


class Swallowing(Control):
    """Makes an observation of whatever goes wrong."""

    name = "swallowing"

    async def handle(self, step: StepContext, next: Next) -> Answer:
        try:
            return await next(step)
        except BaseException as error:  # noqa: BLE001  it is what is tested
            return step.enforce(Observation(text=repr(error), is_error=True))


@pytest.mark.parametrize("error", [EngineFailure("the model is down"), asyncio.CancelledError()])
async def test_a_control_cannot_make_an_observation_of_a_step_that_failed(
    error: BaseException,
) -> None:
    def broken(arguments: Mapping[str, Any], values: Values) -> Observation:
        raise error

    engine = FunctionEngine({"append": append, "read": broken})
    async with await notes(Swallowing(), engine=engine) as world:
        with pytest.raises(type(error)):
            await world.step(READ)
        assert world.ref == world.root


class AnyArguments(Control):
    """Offers tools that take anything, and passes calls on as they are."""

    name = "any-arguments"

    def tools(self, specs: Sequence[ToolSpec], state: WorldState) -> Sequence[ToolSpec]:
        return [replace(one, input_schema={"type": "object"}) for one in specs]

    async def handle(self, step: StepContext, next: Next) -> Answer:
        return await next(step)


async def test_a_control_that_passes_on_what_does_not_fit_the_bound_tool_is_named() -> None:
    async with await notes(AnyArguments()) as world:
        with pytest.raises(ControlFailure, match=r"control 'any-arguments' failed .*line"):
            await world.step(ToolCall("append"))
        assert await said(world, adding("a")) == "line 1"
