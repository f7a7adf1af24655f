"""A user's own reward function."""

from __future__ import annotations

import inspect
import math
from collections.abc import Awaitable, Callable
from numbers import Real
from typing import Any

from agentworld_sim.errors import AgentworldError, UsageError
from agentworld_sim.scoring import PredictionSample, Reward, RewardFunction
from agentworld_sim.world import World
from agentworld_trainers._functions import function_at


def own_reward(path: str) -> RewardFunction:
    """The reward function that an import path names.

    It is called as `function(sample, text)` with a `PredictionSample` and all that the policy wrote, may
    be sync or async, and returns a number, a `Reward`, or `None` where it cannot judge: such a rollout
    is left out of training. A sync function holds up all rollouts while it runs.

    Args:
        path: `package.module:function`.

    Raises:
        UsageError: there is no such function, or it cannot be called so.
    """
    function = function_at(path, purpose="reward function", arguments=("sample", "text"))
    return _OwnReward(path, function)


def own_world_reward(path: str) -> Callable[[World], Awaitable[Reward | None]]:
    """The reward function of an agent's rollouts that an import path names.

    It is called as `function(world)` with the world as the rollout left it, and is otherwise like
    `own_reward`.

    Args:
        path: `package.module:function`.

    Raises:
        UsageError: there is no such function, or it cannot be called so.
    """
    function = function_at(path, purpose="reward function", arguments=("world",))
    return _OwnWorldReward(path, function)


class _Own:
    """A user's function, and what is said when it fails."""

    def __init__(self, path: str, function: Callable[..., Any]) -> None:
        self._path = path
        self._function = function

    async def _judged(self, about: str, *given: object) -> Reward | None:
        try:
            value: Any = self._function(*given)
            if inspect.isawaitable(value):
                value = await value
        except AgentworldError:
            # It knows whose fault it is: a server that is down is not the function's.
            raise
        except Exception as error:
            raise UsageError(
                f"the reward function {self._path!r} failed on {about}:"
                f" {type(error).__name__}: {error}"
            ) from error
        return self._checked(value, about)

    def _checked(self, value: object, about: str) -> Reward | None:
        if value is None:
            return None
        reward = value if isinstance(value, Reward) else None
        number: object = value if reward is None else reward.value
        if not isinstance(number, Real):
            raise UsageError(
                f"the reward function {self._path!r} returned {type(number).__name__!r} for {about}. It"
                " must return a number, a `Reward`, or None where it cannot judge."
            )
        if not math.isfinite(number):
            raise UsageError(
                f"the reward function {self._path!r} returned {float(number)} for {about}. A"
                " reward must be finite; return None where it cannot judge."
            )
        return reward or Reward(float(number))


class _OwnReward(_Own):
    """Implements `RewardFunction`."""

    async def __call__(self, sample: PredictionSample, text: str) -> Reward | None:
        return await self._judged(f"the sample {sample.id!r}", sample, text)


class _OwnWorldReward(_Own):
    """A reward of `WorldTask`."""

    async def __call__(self, world: World) -> Reward | None:
        return await self._judged(f"a world of the scenario {world.scenario.name!r}", world)
