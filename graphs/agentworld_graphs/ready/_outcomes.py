"""How a run went: measured in its world, and told in a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typing_extensions import TypedDict

from agentworld_sim import World, WorldRef
from agentworld_sim.goals import check_goals


class Outcome(TypedDict):
    """How one run went."""

    control: str
    goals_met: int
    goals: int
    calls: int
    enforced: int
    """Calls whose answer the control made or changed."""
    steps: int
    """Messages of the agent."""
    seconds: float
    """On the world's clock."""
    differs: list[str]
    """Files, records and values that are otherwise in the end than without a control."""
    struck: bool
    """Whether the control did anything at all, as far as the number of its calls and the clock tell: an agent
    that takes other steps of its own accord takes other time, and then this is true, too."""
    stopped: bool
    """Whether the agent had to be stopped."""
    said: str
    """Its last words."""


async def measured(fork: World, at: WorldRef) -> dict[str, Any]:
    """What a run left behind in its fork, which began at `at`."""
    goals, diff = await check_goals(fork), await fork.diff(at)
    turns = [turn for turn in await fork.trajectory()][len(await fork.trajectory(at)) :]
    passed_us = (await fork.state()).clock_us - (await fork.state(at)).clock_us
    return {
        "goals_met": sum(goal.met for goal in goals),
        "goals": len(goals),
        "calls": len(turns),
        "enforced": sum(turn.observation.provenance == "enforced" for turn in turns),
        "seconds": passed_us / 1_000_000,
        "changed": {
            **{
                one.path: one.after and f"{one.after.mode:o} {one.after.content}"
                for one in diff.files
            },
            **{f"{one.table}/{one.key}": one.after for one in diff.records},
            **{one.key: one.after for one in diff.values},
        },
    }


def table(outcomes: Sequence[Outcome]) -> str:
    """The outcomes for people."""
    lines = [
        "| control | goals met | calls | enforced | steps | seconds | what differs |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in outcomes:
        differs = ", ".join(one["differs"]) or "nothing"
        if not one["struck"]:
            differs += ": the control never struck"
        if one["stopped"]:
            differs += "; stopped after too many steps"
        lines.append(
            f"| {one['control']} | {one['goals_met']} of {one['goals']} | {one['calls']} |"
            f" {one['enforced']} | {one['steps']} | {one['seconds']:.1f} | {differs} |"
        )
    return "\n".join(lines)
