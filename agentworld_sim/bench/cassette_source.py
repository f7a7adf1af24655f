"""Transitions of real tools, from the cassettes that their calls were recorded in. What the calls changed is not known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, cast

from agentworld_sim.bench.transitions import (
    RecordedCall,
    RecordedSession,
    TransitionSet,
    parse_json,
    scalars_of,
)
from agentworld_sim.cassette import Cassette
from agentworld_sim.errors import UsageError
from agentworld_sim.types.tools import ToolSpec


def read_cassettes(paths: Iterable[Path]) -> TransitionSet:
    """The real calls of cassettes, a session for each. A tool that a cassette does not list is known by its name.

    Raises:
        UsageError: a file is no cassette, or has no real calls.
    """
    return TransitionSet([_session(path, Cassette.load(path)) for path in dict.fromkeys(paths)])


def _session(path: Path, cassette: Cassette) -> RecordedSession:
    turns = cassette.trajectory.turns
    if not turns:
        raise UsageError(
            f"{str(path)!r} has no calls of real tools. `agentworld mcp --access TOOL=real --record {path}`"
            " records some."
        )
    named = {turn.call.name: ToolSpec(name=turn.call.name) for turn in turns}
    calls = [
        RecordedCall(
            call=turn.call,
            observation=turn.observation,
            changes={},
            by_chance=frozenset(
                _volatile(turn.call.name, parse_json(turn.observation.text), cassette.volatile)
            ),
        )
        for turn in turns
    ]
    return RecordedSession(
        source=f"recorded {path.stem}",
        task=path.with_suffix("").as_posix(),
        tools=tuple((named | {tool.name: tool for tool in cassette.tools}).values()),
        keys={},
        initial={},
        calls=tuple(calls),
        has_state=False,
    )


def _volatile(path: str, value: Any, patterns: Sequence[str]) -> Iterator[str]:
    """The scalars below fields that the recording names as such whose values differ each time."""
    if any(fnmatchcase(path, pattern) for pattern in patterns):
        yield from map(str, scalars_of(value))
    elif isinstance(value, dict):
        for name, one in cast("dict[str, Any]", value).items():
            yield from _volatile(f"{path}.{name}", one, patterns)
    elif isinstance(value, list):
        for one in cast("list[Any]", value):
            yield from _volatile(path, one, patterns)
