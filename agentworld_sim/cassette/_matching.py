"""Which recorded call is meant: by tool and arguments, without what differs each time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import cast

from agentworld_sim.redaction.records import MARK
from agentworld_sim.types.json import canonical_json
from agentworld_sim.types.tools import ToolCall


def without_volatile(tool: str, value: object, volatile: Sequence[str]) -> object:
    """A JSON value without the fields whose values differ each time.

    Args:
        tool: The tool that takes or gives it.
        value: The value.
        volatile: Patterns of `tool.path`; the places in lists are no part of a path.
    """
    if not volatile:
        return value
    return _without(tool, value, volatile)


def same(recorded: object, given: object) -> bool:
    """Whether two JSON values are equal, where what was redacted in one equals any text."""
    if isinstance(recorded, str) and isinstance(given, str):
        if recorded == given or MARK.search(recorded) is None:
            return recorded == given
        parts = [re.escape(part) for part in MARK.split(recorded)]
        return re.fullmatch(".+".join(parts), given, re.DOTALL) is not None
    if isinstance(recorded, Mapping) and isinstance(given, Mapping):
        one = cast("Mapping[str, object]", recorded)
        other = cast("Mapping[str, object]", given)
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(recorded, list) and isinstance(given, list):
        ones, others = cast("list[object]", recorded), cast("list[object]", given)
        return len(ones) == len(others) and all(map(same, ones, others))
    # 1, 1.0 and true are three values.
    return canonical_json(cast("object", recorded)) == canonical_json(given)


def differences(recorded: object, given: object, path: str = "") -> Iterator[str]:
    """What differs between two JSON values, as `path: recorded X, called with Y`."""
    if same(recorded, given):
        return
    if isinstance(recorded, Mapping) and isinstance(given, Mapping):
        one = cast("Mapping[str, object]", recorded)
        other = cast("Mapping[str, object]", given)
        for key in dict.fromkeys([*one, *other]):
            where = f"{path}.{key}" if path else key
            if key not in other:
                yield f"{where}: recorded {_shown(one[key])}, not given now"
            elif key not in one:
                yield f"{where}: not recorded, now {_shown(other[key])}"
            else:
                yield from differences(one[key], other[key], where)
        return
    before, now = _shown(cast("object", recorded)), _shown(given)
    yield f"{path or 'arguments'}: recorded {before}, now {now}"


def nearest_call(call: ToolCall, recorded: Sequence[ToolCall]) -> ToolCall | None:
    """The recorded call of the same tool whose arguments differ least."""
    return min(
        (one for one in recorded if one.name == call.name),
        key=lambda one: len(list(differences(one.arguments, call.arguments))),
        default=None,
    )


def leaves(tool: str, value: object) -> Iterator[tuple[str, object]]:
    """The values in a JSON value that hold no others, with their paths."""
    if isinstance(value, Mapping):
        for key, one in cast("Mapping[str, object]", value).items():
            yield from leaves(f"{tool}.{key}", one)
    elif isinstance(value, list):
        for one in cast("list[object]", value):
            yield from leaves(tool, one)
    else:
        yield tool, value


def _without(path: str, value: object, volatile: Sequence[str]) -> object:
    if isinstance(value, Mapping):
        return {
            key: _without(f"{path}.{key}", one, volatile)
            for key, one in cast("Mapping[str, object]", value).items()
            if not any(fnmatchcase(f"{path}.{key}", pattern) for pattern in volatile)
        }
    if isinstance(value, list):
        return [_without(path, one, volatile) for one in cast("list[object]", value)]
    return value


def _shown(value: object) -> str:
    text = canonical_json(value)
    return text if len(text) <= 60 else f"{text[:40]} … {text[-12:]}"
