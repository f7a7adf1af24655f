"""The JSON form of values, and the one text of it, for refs, keys and comparisons."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from functools import cache
from typing import Any, cast

# `json.dumps` would make an encoder for every value.
_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


def json_form(value: Any, *always: str) -> Any:
    """The JSON form of values: of a dataclass the fields that are not as they are by default, and those named.

    What has a `to_json` of its own is asked for it.
    """
    if isinstance(value, tuple):
        return [_of(one) for one in cast("tuple[Any, ...]", value)]
    return {
        name: _of(held)
        for name, default in _fields_of(cast("Any", type(value)))
        if (held := getattr(value, name)) != default or name in always
    }


def _of(value: Any) -> Any:
    if isinstance(value, tuple):
        return json_form(value)
    return value.to_json() if hasattr(value, "to_json") else value


@cache
def _fields_of(kind: Any) -> tuple[tuple[str, Any], ...]:
    return tuple(
        (one.name, one.default if one.default_factory is MISSING else one.default_factory())
        for one in fields(kind)
    )


def canonical_json(value: object) -> str:
    """The one JSON text of a value: sorted keys, no spaces, UTF-8 as is.

    Lone surrogates (bytes that are not UTF-8) are escaped, so that the text can be json_form.
    """
    text = _canonical(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, sort_keys=True, separators=(",", ":"))
    return text
