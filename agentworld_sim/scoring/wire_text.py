"""Actions and observations read back from texts in the wire form, for rows that hold nothing else."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any, cast

from agentworld_sim.imagination.conversation import MARKER
from agentworld_sim.types.tools import ToolCall

_ACTION = re.compile(r"\*\*Action:\*\*\n(?P<text>.*)\Z", re.DOTALL)
_FENCE = re.compile(r"(?P<fence>`{3,})\w*\n(?P<text>.*?)\n(?P=fence)", re.DOTALL)
_FUNCTION = re.compile(r"\s*([A-Za-z_][\w.]*)\(")


def parse_call(text: str) -> ToolCall:
    """The call that a written action amounts to, as far as it tells; for rows that hold only text."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        function = _FUNCTION.match(text)
        return ToolCall(function[1] if function else "action", {} if function else {"code": text})
    if isinstance(value, list):
        return ToolCall("keystrokes", {"keystrokes": value})
    if not isinstance(value, dict):
        return ToolCall("action", {"code": text})
    fields = cast("dict[str, Any]", value)
    name, arguments = fields.get("name"), fields.get("arguments")
    if isinstance(arguments, str):
        # Some rows write them as a text that is JSON.
        with suppress(ValueError, RecursionError):
            arguments = json.loads(arguments)
    if isinstance(name, str) and isinstance(arguments, dict):
        return ToolCall(name, cast("dict[str, Any]", arguments))
    return ToolCall("action", fields)


def parse_action(message: str) -> str:
    """The action in a user message of the wire form, without its fence; all of the message where none is
    marked."""
    found = _ACTION.search(message)
    text = found["text"] if found else message
    fenced = _FENCE.match(text)
    return fenced["text"] if fenced else text


def strip_marker(text: str) -> str:
    """An observation without the marker in front of it."""
    bare = text.lstrip()
    if not bare.startswith(MARKER):
        return text
    return bare.removeprefix(MARKER).lstrip(" \t").removeprefix("\n")
