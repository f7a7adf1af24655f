"""A user's own reward function."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from numbers import Real
from typing import Any

from agentworld_sim.errors import AgentworldError, UsageError
from agentworld_trainers._functions import function_at
from agentworld_trainers.data._rows import PredictionSample
from agentworld_trainers.rewards._prediction import RewardFunction
from agentworld_trainers.rewards._reward import Reward


def own_reward(path: str) -> RewardFunction:
    """The reward function that an import path names.

    It is called as `function(sample, text)` with a `PredictionSample` and all that the policy wrote, may
    be sync or async, and returns a number, a `Reward`, or `None` where it cannot judge: such an episode
    is left out of training. A sync function holds up all rollouts while it runs.

    Args:
        path: `package.module:function`.

    Raises:
        UsageError: there is no such function, or it cannot be called so.
    """
    function = function_at(path, purpose="reward function", arguments=("sample", "text"))
    return _OwnReward(path, function)


class _OwnReward:
    """Implements `RewardFunction`."""

    def __init__(self, path: str, function: Callable[..., Any]) -> None:
        self._path = path
        self._function = function

    async def __call__(self, sample: PredictionSample, text: str) -> Reward | None:
        try:
            value: Any = self._function(sample, text)
            if inspect.isawaitable(value):
                value = await value
        except AgentworldError:
            # It knows whose fault it is: a server that is down is not the function's.
            raise
        except Exception as error:
            raise UsageError(
                f"the reward function {self._path!r} failed on the sample {sample.id!r}:"
                f" {type(error).__name__}: {error}"
            ) from error
        return self._checked(value, sample)

    def _checked(self, value: object, sample: PredictionSample) -> Reward | None:
        if value is None:
            return None
        reward = value if isinstance(value, Reward) else None
        number: object = value if reward is None else reward.value
        if not isinstance(number, Real):
            raise UsageError(
                f"the reward function {self._path!r} returned {type(number).__name__!r} for the"
                f" sample {sample.id!r}. It must return a number, a `Reward`, or None for a sample"
                " that it cannot judge."
            )
        if not math.isfinite(number):
            raise UsageError(
                f"the reward function {self._path!r} returned {float(number)} for the sample"
                f" {sample.id!r}. A reward must be finite; return None for a sample that cannot be"
                " judged."
            )
        return reward or Reward(float(number))
