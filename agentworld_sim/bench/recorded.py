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
from agentworld_sim.types.turns import Turn


def read_cassettes(paths: Iterable[Path]) -> TransitionSet:
    """The real calls of cassettes, a session for each.

    Raises:
        UsageError: a file is no cassette, has no real calls, or calls a tool that it does not list.
    """
    return TransitionSet([_session(path, Cassette.load(path)) for path in paths])


def _session(path: Path, cassette: Cassette) -> RecordedSession:
    turns = cassette.trajectory.turns
    if not turns:
        raise UsageError(
            f"{str(path)!r} has no calls of real tools. `agentworld mcp --access TOOL=real --record {path}`"
            " records some."
        )
    names = {tool.name for tool in cassette.tools}
    strange = next((turn.call.name for turn in turns if turn.call.name not in names), None)
    if strange is not None:
        raise UsageError(
            f"{str(path)!r} has a call of {strange!r}, and does not say what tool that is: it lists"
            f" {', '.join(sorted(names)) or 'none'}. Only a recording of the MCP server lists tools."
        )
    return RecordedSession(
        source=f"recorded {path.stem}",
        task=path.stem,
        tools=cassette.tools,
        keys={},
        initial={},
        calls=tuple(_call(turn, cassette.volatile) for turn in turns),
        has_state=False,
    )


def _call(turn: Turn, volatile: Sequence[str]) -> RecordedCall:
    said = turn.observation
    by_chance = frozenset(_volatile_scalars(turn.call.name, parse_json(said.text), volatile))
    return RecordedCall(call=turn.call, observation=said, changes={}, by_chance=by_chance)


def _volatile_scalars(path: str, value: Any, volatile: Sequence[str]) -> Iterator[str]:
    """The scalars below fields that the recording names as such whose values differ each time."""
    if any(fnmatchcase(path, pattern) for pattern in volatile):
        yield from map(str, scalars_of(value))
    elif isinstance(value, dict):
        for name, one in cast("dict[str, Any]", value).items():
            yield from _volatile_scalars(f"{path}.{name}", one, volatile)
    elif isinstance(value, list):
        for one in cast("list[Any]", value):
            yield from _volatile_scalars(path, one, volatile)
