"""A user's own functions, named by import path: `package.module:function`; and rewards made of them."""

from __future__ import annotations

import inspect
import math
import os
import sys
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from numbers import Real
from pkgutil import iter_modules
from traceback import extract_tb
from types import ModuleType
from typing import Any

from agentworld_sim.errors import AgentworldError, UsageError, nearest
from agentworld_sim.scoring import PredictionSample, Reward, RewardFunction
from agentworld_sim.world import World


def function_at(path: str, *, purpose: str, arguments: tuple[str, ...] = ()) -> Callable[..., Any]:
    """The function that an import path names.

    The current folder is looked at as well, after all others.

    Args:
        path: `package.module:function`; behind the colon may stand `Class.method`.
        purpose: What it is for, in words: `reward function`.
        arguments: What it is called with, by position; a function that cannot be called so is refused.

    Raises:
        UsageError: there is no such module or function, or it cannot be called with `arguments`.
    """
    module_name, colon, name = path.partition(":")
    if not colon or not module_name or not name:
        raise UsageError(
            f"the {purpose} {path!r} is no import path. Write it as 'package.module:function', for"
            " example 'my_rewards:exact'."
        )
    found: Any = _module(module_name, path, purpose)
    for part in name.split("."):
        if not hasattr(found, part):
            known = [one for one in dir(found) if callable(getattr(found, one)) and one[0] != "_"]
            raise UsageError(
                f"the {purpose} {path!r} does not exist: {module_name!r} has no {part!r}."
                f"{nearest(part, known)} There are: {', '.join(known[:20]) or 'no functions'}."
            )
        found = getattr(found, part)
    if not callable(found):
        raise UsageError(
            f"the {purpose} {path!r} is no function but of type {type(found).__name__!r}."
        )
    _require_arguments(found, path, purpose, arguments)
    return found


@contextmanager
def running(path: str, purpose: str) -> Generator[None]:
    """Has what a user's own function raises leave as a message of one line.

    Args:
        path: The function's import path.
        purpose: What it is for, in words: `data source`.

    Raises:
        UsageError: the block raised something that does not say by itself whose fault it is.
    """
    try:
        yield
    except (AgentworldError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        raise UsageError(
            f"the {purpose} {path!r} failed: {_where(error)}{type(error).__name__}: {error}"
        ) from error


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

    async def reward(sample: PredictionSample, text: str) -> Reward | None:
        return await _reward(path, f"the sample {sample.id!r}", function, sample, text)

    return reward


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

    async def reward(world: World) -> Reward | None:
        about = f"a world of the scenario {world.scenario.name!r}"
        return await _reward(path, about, function, world)

    return reward


async def _reward(
    path: str, about: str, function: Callable[..., Any], *given: object
) -> Reward | None:
    try:
        value: Any = function(*given)
        if inspect.isawaitable(value):
            value = await value
    except AgentworldError:
        # It knows whose fault it is: a server that is down is not the function's.
        raise
    except Exception as error:
        raise UsageError(
            f"the reward function {path!r} failed on {about}: {type(error).__name__}: {error}"
        ) from error
    if value is None:
        return None
    number: object = value.value if isinstance(value, Reward) else value
    if not isinstance(number, Real):
        raise UsageError(
            f"the reward function {path!r} returned {type(number).__name__!r} for {about}. It"
            " must return a number, a `Reward`, or None where it cannot judge."
        )
    if not math.isfinite(number):
        raise UsageError(
            f"the reward function {path!r} returned {float(number)} for {about}. A"
            " reward must be finite; return None where it cannot judge."
        )
    return value if isinstance(value, Reward) else Reward(float(number))


def _where(error: BaseException) -> str:
    """The line that raised it."""
    frames = extract_tb(error.__traceback__)
    return f"{os.path.basename(frames[-1].filename)}, line {frames[-1].lineno}: " if frames else ""


def _module(name: str, path: str, purpose: str) -> ModuleType:
    here = os.getcwd()
    if here not in sys.path:
        sys.path.append(here)
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        # A module that is missing further in is that module's own problem, and is told as it is.
        if missing != name and not name.startswith(f"{missing}."):
            raise UsageError(
                f"the {purpose} {path!r} cannot be imported: {name!r} needs the module"
                f" {missing!r}, which is not installed."
            ) from error
        raise UsageError(
            f"the {purpose} {path!r} cannot be imported: there is no module {missing!r}."
            f"{nearest(missing, _siblings(missing))} Modules are looked for in {here!r} and where"
            " Python finds its own."
        ) from None
    except (Exception, SystemExit) as error:
        # A script that runs when it is imported may end the process, too.
        raise UsageError(
            f"the {purpose} {path!r} cannot be imported: {_where(error)}{type(error).__name__}: {error}."
        ) from error


def _siblings(name: str) -> list[str]:
    """Modules that stand where the missing one was looked for."""
    parent, dot, _ = name.rpartition(".")
    if not dot:
        return [one.name for one in iter_modules()]
    spec = find_spec(parent)
    places = (spec and spec.submodule_search_locations) or ()
    return [f"{parent}.{one.name}" for one in iter_modules(list(places))]


def _require_arguments(
    function: Callable[..., Any], path: str, purpose: str, arguments: tuple[str, ...]
) -> None:
    if not arguments:
        return
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # Some functions written in C do not say.
    try:
        signature.bind(*arguments)
    except TypeError as error:
        raise UsageError(
            f"the {purpose} {path!r} is called as {path.rpartition(':')[2]}"
            f"({', '.join(arguments)}), which its signature {signature} does not allow: {error}."
        ) from None
