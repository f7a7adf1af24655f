"""Texts that a kept shell may run or expand in a later call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, cast

from agentworld_sim.engines.shell.session import ShellSession

LONGEST_VALUE = 500
"""Characters of a variable that may name a command."""

_OF_THE_SHELL = frozenset(
    "BASHOPTS EPOCHREALTIME EPOCHSECONDS EUID HOME HOSTNAME HOSTTYPE LANG LOGNAME MACHTYPE OLDPWD"
    " OPTIND OSTYPE PATH PPID PS4 PWD SHELL SHELLOPTS SHLVL TERM UID USER _".split()
)


@dataclass(frozen=True, slots=True)
class Kept:
    """What a script may use of the calls before it."""

    functions: Mapping[str, str] = field(default_factory=dict[str, str])
    """Their sources by name."""
    always: tuple[str, ...] = ()
    """Aliases and traps, which show in no script."""
    values: tuple[str, ...] = ()
    """Of variables."""
    path: str = ""
    """The search path; empty for a fresh shell's."""


def kept_by(session: ShellSession) -> Kept:
    """What `session` brings into the next script."""
    traps = tuple(command for _, command in session.traps)
    if session.memory is None:
        return Kept(always=traps)
    kept = _read(session.memory)
    return Kept(kept.functions, (*kept.always, *traps), kept.values, kept.path)


@lru_cache(maxsize=32)
def _read(memory: bytes) -> Kept:
    held = cast("dict[str, dict[str, Any]]", json.loads(memory))
    values = {**held.get("env", {}), **held.get("variables", {})}
    return Kept(
        functions={name: str(one.get("source", "")) for name, one in held["functions"].items()},
        always=tuple(map(str, held.get("aliases", {}).values())),
        values=tuple(
            value
            for name, value in values.items()
            if name not in _OF_THE_SHELL and isinstance(value, str) and len(value) <= LONGEST_VALUE
        ),
        path=str(held.get("env", {}).get("PATH", "")),
    )
