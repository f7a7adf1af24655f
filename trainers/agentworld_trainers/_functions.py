"""A user's own functions, named by import path: `package.module:function`."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from traceback import extract_tb
from types import ModuleType
from typing import Any

from agentworld_sim.errors import AgentworldError, UsageError, nearest


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
