"""The messages about invalid scenario files: where, what was found, what is allowed, what next."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from agentworld_sim.errors import ScenarioError

MAX_SHOWN = 10


class Place(NamedTuple):
    """A position in a text, both counted from one."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a file."""

    place: Place
    key: tuple[str | int, ...]
    message: str

    def written(self, source: str) -> str:
        where = f"{source}:{self.place.line}:{self.place.column}: "
        return where + (f"{key_path(self.key)}: " if self.key else "") + self.message


def key_path(key: Iterable[str | int]) -> str:
    """`("files", "/etc/x", "mode")` → `files./etc/x.mode`; a list's item is `goals[0]`."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in key]
    return "".join(parts).removeprefix(".")


def located(source: str, place: Place, message: str) -> ScenarioError:
    """The error for a file with a single problem that stops the reading."""
    return ScenarioError(Problem(place, (), message).written(source))


def problems_error(source: str, problems: Iterable[Problem]) -> ScenarioError:
    """One error for all of them, in the order of the file; at most `MAX_SHOWN` are shown."""
    ordered = sorted(set(problems), key=lambda problem: (problem.place, key_path(problem.key)))
    lines = [problem.written(source) for problem in ordered[:MAX_SHOWN]]
    if len(ordered) == 1:
        return ScenarioError(lines[0])
    if len(ordered) > MAX_SHOWN:
        lines.append(f"… and {len(ordered) - MAX_SHOWN} more.")
    head = f"{source}: {len(ordered)} problems:\n  "
    return ScenarioError(head + "\n  ".join(lines))
