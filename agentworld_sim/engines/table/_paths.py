"""Dotted paths inside JSON values."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, cast

MISSING: Any = object()
"""What `get` gives where there is nothing."""


def get(value: Any, path: str, default: Any = None) -> Any:
    """What stands at `path`; the whole value for an empty one. A field whose own name is the path
    goes first."""
    if not path:
        return value
    if not isinstance(value, Mapping):
        return default
    fields = cast("Mapping[str, Any]", value)
    if path in fields:
        return fields[path]
    first, dot, rest = path.partition(".")
    if not dot or first not in fields:
        return default
    return get(fields[first], rest, default)


def put(value: dict[str, Any], path: str, given: Any) -> None:
    """Writes `given` at `path`, making what is needed on the way. Nothing is shared with `given`."""
    if path in value or "." not in path:
        value[path] = copy.deepcopy(given)
        return
    first, _, rest = path.partition(".")
    inner = value.get(first)
    inner = dict(cast("dict[str, Any]", inner)) if isinstance(inner, dict) else {}
    value[first] = inner
    put(inner, rest, given)
