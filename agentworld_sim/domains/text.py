"""Text on its way to and from the model."""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import Any, cast

from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Action, Observation

_SURROGATES = re.compile("[\ud800-\udfff]")
_DEEPEST = 100
"""Levels of a JSON value that a model may write; tools give a few."""


def sendable(text: str) -> str:
    """`text` with what cannot be sent as UTF-8 replaced, as terminals and servers do."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return _SURROGATES.sub("\ufffd", text)
    return text


# `json.dumps` would make an encoder for every value.
_encode = json.JSONEncoder(ensure_ascii=False).encode


def action_json(value: object) -> str:
    """An action's JSON, indented as in the examples of the released model's prompts."""
    return sendable(_indent(value, "\n"))


def _indent(value: object, line: str) -> str:
    """As `json.dumps(…, ensure_ascii=False, indent=2)`, which is far slower than without `indent`."""
    if isinstance(value, dict) and value:
        entries = cast("dict[Any, object]", value)
        if all(isinstance(key, str) for key in entries):
            inner = line + "  "
            parts = [
                f"{inner}{_encode(key)}: {_indent(one, inner)}" for key, one in entries.items()
            ]
            return f"{{{','.join(parts)}{line}}}"
        return json.dumps(entries, ensure_ascii=False, indent=2).replace("\n", line)
    if isinstance(value, (list, tuple)) and value:
        inner = line + "  "
        items = [f"{inner}{_indent(one, inner)}" for one in cast("list[object]", value)]
        return f"[{','.join(items)}{line}]"
    return _encode(value)


def json_action(call: ToolCall, tool: ToolSpec) -> Action:
    """Implements `WriteAction`: `{"name": …, "arguments": …}`."""
    return Action(action_json({"name": call.name, "arguments": dict(call.arguments)}))


def plain_text(observation: Observation) -> str:
    """Implements `WriteObservation`: the text as it is."""
    return sendable(observation.text)


def read_screen(text: str, call: ToolCall, tool: ToolSpec) -> Observation:
    """Implements `ReadObservation`: the text as it is."""
    return Observation(text=sendable(text).strip("\n"), provenance="imagined")


def json_value(text: str) -> Any:
    """The JSON value that `text` is.

    Raises:
        ValueError: it is none; the message says where it breaks.
    """
    try:
        value = json.loads(text, parse_constant=_no_number, parse_float=_number)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"not valid JSON: {error.msg} at line {error.lineno} column {error.colno}"
        ) from None
    except RecursionError:
        raise ValueError("not usable JSON: it is nested too deeply") from None
    return _clean(value, 0)


def _number(digits: str) -> float:
    value = float(digits)
    return value if isfinite(value) else _no_number(digits)


def _no_number(name: str) -> float:
    raise ValueError(f"not valid JSON: {name} is no JSON value")


def _clean(value: Any, depth: int) -> Any:
    """The value without lone surrogates, which JSON can escape and nobody can send."""
    if depth > _DEEPEST:
        raise ValueError(f"not usable JSON: it is nested deeper than {_DEEPEST} levels")
    if isinstance(value, str):
        return sendable(value)
    if isinstance(value, dict):
        pairs = cast("dict[str, Any]", value).items()
        return {sendable(key): _clean(one, depth + 1) for key, one in pairs}
    if isinstance(value, list):
        return [_clean(one, depth + 1) for one in cast("list[Any]", value)]
    return value


def fence(text: str, language: str = "") -> str:
    """`text` in a fence that it cannot close."""
    fence = "```"
    while re.search(rf"^[^\S\n]*{fence}", text, re.MULTILINE):
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"
