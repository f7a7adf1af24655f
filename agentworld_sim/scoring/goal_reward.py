"""The reward of an agent: what its world is worth at the end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal

from agentworld_sim.errors import UsageError
from agentworld_sim.goals import check_goals
from agentworld_sim.scenario import Scenario
from agentworld_sim.scoring.samples import Reward
from agentworld_sim.world import World

WorldReward = Literal["all", "share"] | Callable[[World], Awaitable[Reward | None]]
"""1 where all goals of the scenario are met and 0 otherwise; the share of them that is met; or a
function of the world at the end."""


async def world_reward(world: World, reward: WorldReward) -> Reward | None:
    """What a world earns as it stands; `None` where it cannot be judged."""
    if not isinstance(reward, str):
        return await reward(world)
    results = await check_goals(world)
    parts = {
        f"goal/{n}. {result.goal}"[:80]: float(result.met) for n, result in enumerate(results, 1)
    }
    share = sum(parts.values()) / len(results)
    reason = "; ".join(f"{one.goal}: {one.reason}" for one in results if not one.met)
    return Reward(share if reward == "share" else float(share == 1), parts, reason)


def require_goals(scenario: Scenario, reward: WorldReward) -> None:
    """Raises `UsageError` when the reward is made of goals and the scenario has none."""
    if isinstance(reward, str) and not scenario.goals:
        raise UsageError(
            f"the scenario {scenario.name!r} has no goals, so nothing says what an episode is"
            " worth. Add `goals:` to it, or give a function as the reward."
        )
