"""Conditions: what controls set in the state, and engines obey."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentworld_sim import (
    Answer,
    Control,
    FunctionEngine,
    Observation,
    Scenario,
    StepContext,
    ToolCall,
    World,
)
from agentworld_sim.controls import Next, SlowAnswer
from agentworld_sim.types import Conditions
from agentworld_sim.types.conditions import PREFIX
from agentworld_sim.types.turns import Provenance
from tests.controls.notes import READ, adding, append, notes, read, said


class Offline(Control):
    """There is no network for one call of `read`, or from the first `append` on."""

    name = "offline"

    async def handle(self, step: StepContext, next: Next) -> Answer:
        if step.call.name == "read" and not step.values.get("used"):
            return step.keep(await next(step.under(Conditions(offline=True))), used=True)
        answer = await next(step)
        if step.call.name == "append":
            return answer.with_values(Conditions(offline=True).to_values())
        return answer


async def test_a_condition_holds_for_one_call_or_from_then_on_and_the_engine_obeys() -> None:
    async with await notes(Offline()) as world:
        turn = await world.step(READ)
        assert turn.observation == Observation(text="the network is down", is_error=True)
        assert turn.change.values == {"control/offline/used": True}
        assert await said(world, READ) == ""
        await world.step(adding("a"))
        assert [await said(world, READ), await said(world, READ)] == ["the network is down"] * 2


async def test_a_condition_for_one_call_and_a_delay_leave_the_live_session() -> None:
    opened: list[str] = []

    class Counting(FunctionEngine):
        async def open(self, state: Any, blobs: Any) -> Any:
            opened.append("opened")
            return await super().open(state, blobs)

    engine = Counting({"append": append, "read": read})
    async with await notes(Offline(), engine=engine) as world:
        assert [await said(world, READ), await said(world, READ)] == ["the network is down", ""]
        assert opened == ["opened"]
    async with await notes(SlowAnswer(name="slow"), engine=engine) as world:
        assert [await said(world, READ), await said(world, READ)] == ["", ""]
        assert opened == ["opened"] * 2, "a later clock is nothing that a session must know of"


class Sealed(Control):
    """Nothing can be written below a folder."""

    name = "sealed"

    def __init__(self, conditions: Conditions) -> None:
        self.conditions = conditions

    async def handle(self, step: StepContext, next: Next) -> Answer:
        return await next(step.under(self.conditions))


@pytest.mark.parametrize(
    ("conditions", "text", "provenance"),
    [
        (
            Conditions(read_only=("/srv",)),
            "done\nbash: line 1: /srv/a: Read-only file system\n",
            "computed",
        ),
        (Conditions(denied=("/",)), "/srv/a: Permission denied\n", "enforced"),
    ],
)
async def test_nothing_is_written_where_nothing_can_be_whatever_the_engine_does(
    conditions: Conditions, text: str, provenance: Provenance
) -> None:
    scenario = Scenario.model_validate({"name": "m", "domains": ["terminal"]})
    async with await World.create(scenario, controls=[Sealed(conditions)]) as world:
        command = ToolCall("bash", {"command": "echo x > /srv/a; echo done"})
        turn = await world.step(command)
        assert turn.observation == Observation(text=text, provenance=provenance)
        assert turn.change.files == {}
        assert await said(world, ToolCall("bash", {"command": "ls /srv; pwd"})) == "/root\n"


@given(
    st.builds(
        Conditions,
        free_bytes=st.none() | st.integers(0, 9),
        read_only=st.lists(st.sampled_from(["/", "/srv"])).map(tuple),
        denied=st.lists(st.sampled_from(["/", "/root"])).map(tuple),
        offline=st.booleans(),
        web=st.lists(st.fixed_dictionaries({"kind": st.sampled_from(["spam", "paywall"])})).map(
            tuple
        ),
    )
)
def test_conditions_are_read_as_they_were_set(conditions: Conditions) -> None:
    values = conditions.to_values()
    assert all(key.startswith(PREFIX) for key in values)
    assert Conditions.of(values) == conditions
