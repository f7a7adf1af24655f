"""Goal checks of scenarios."""

from __future__ import annotations

from typing import Any

import pytest

from agentworld_sim import (
    Answer,
    Control,
    Observation,
    Scenario,
    StepContext,
    ToolCall,
    ToolSpec,
    World,
)
from agentworld_sim.controls import Next
from agentworld_sim.goals import check_goals
from agentworld_sim.types import Conditions


async def world_with(*goals: dict[str, Any], command: str = "true") -> World:
    scenario = Scenario.model_validate(
        {
            "name": "goals",
            "domains": ("terminal",),
            "files": {"/srv/note": "one\ntwo\n", "/srv/link": {"link": "note"}},
            "goals": goals,
        }
    )
    world = await World.create(scenario)
    world.add_tools([ToolSpec(name="run", binds_to="shell/run")])
    await world.step(ToolCall("run", {"command": command}))
    return world


@pytest.mark.parametrize(
    ("goal", "command", "reason"),
    [
        ({"file": "/srv/note", "exists": True}, "true", ""),
        ({"file": "/srv/note", "exists": True}, "rm /srv/note", "it is not there"),
        ({"file": "/srv/none", "exists": False}, "true", ""),
        ({"file": "/srv/none", "exists": False}, "echo > /srv/none", "it is there"),
        ({"file": "/srv/note", "equals": "one\ntwo\n"}, "true", ""),
        ({"file": "/srv/link", "contains": "two"}, "true", ""),
        ({"file": "/srv/note", "contains": "three"}, "true", r"it says 'one\ntwo\n'"),
        ({"file": "/srv/note", "matches": "^two$"}, "true", ""),
        ({"file": "/srv/note", "matches": "^tw$"}, "true", r"it says 'one\ntwo\n'"),
        ({"file": "/srv/note", "unchanged": True}, "cat /srv/note", ""),
        ({"file": "/srv/note", "unchanged": True}, "echo x >> /srv/note", "it was changed"),
        ({"file": "/srv/none", "contains": "x"}, "true", "it is not there"),
        ({"command": "grep -q two /srv/note"}, "true", ""),
        ({"command": "grep -q six /srv/note"}, "true", "it exited with 1, not 0: ''"),
        ({"command": "exit 3", "exit_code": 3}, "true", ""),
        ({"command": "cat /srv/note", "stdout_contains": "one"}, "true", ""),
        ({"command": "echo hi", "stdout_equals": "hi\n"}, "true", ""),
        ({"command": "echo ho", "stdout_equals": "hi\n"}, "true", r"it printed 'ho\n'"),
    ],
)
async def test_a_goal_is_met_or_says_why_not(
    goal: dict[str, Any], command: str, reason: str
) -> None:
    async with await world_with(goal, command=command) as world:
        (result,) = await check_goals(world)
        assert (result.met, result.reason) == (not reason, reason)


async def test_checking_changes_nothing_and_leaves_no_world_behind() -> None:
    async with await world_with({"command": "rm -rf /srv; exit 0"}) as world:
        before = world.ref
        assert [result.met for result in await check_goals(world)] == [True]
        assert world.ref == before
        assert [record.id for record in world.store.worlds()] == [world.id]
        assert await world.read_file("/srv/note") == b"one\ntwo\n"


async def test_goals_can_be_checked_at_an_earlier_point() -> None:
    async with await world_with(
        {"file": "/srv/note", "exists": True}, command="rm /srv/note"
    ) as world:
        assert [result.met for result in await check_goals(world)] == [False]
        assert [result.met for result in await check_goals(world, at=world.root)] == [True]


class Hindering(Control):
    """Nothing can be written any more after the first call, and no call is answered after that."""

    name = "hindering"

    async def handle(self, step: StepContext, next: Next) -> Answer:
        if Conditions.of(step.state.values).read_only:
            return step.enforce(Observation(text="503", is_error=True))
        return (await next(step)).with_values(Conditions(read_only=("/",)).to_values())


async def test_controls_and_conditions_do_not_hinder_goals() -> None:
    declared = {"kind": "fault", "name": "down", "tool": "goal-command", "error": "down"}
    goal = {"command": "echo x > /tmp/x && cat /tmp/x", "stdout_equals": "x\n"}
    lab = Scenario.model_validate(
        {"name": "goals", "domains": ["terminal"], "goals": [goal], "controls": [declared]}
    )
    async with await World.create(lab, model=False, controls=[Hindering()]) as world:
        world.add_tools([ToolSpec(name="run", binds_to="shell/run")])
        await world.step(ToolCall("run", {"command": "true"}))
        assert [(one.met, one.reason) for one in await check_goals(world)] == [(True, "")]
