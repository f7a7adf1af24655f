"""Tool calls in the form of Hermes models, and every text about them that a policy reads.

A call is written `<tool_call>`, a JSON object with `name` and `arguments`, `</tool_call>`; Qwen3's chat
template teaches the same. What a policy gets wrong is answered with a text, as a harness does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from agentworld_sim.toolkits.tool_specs import chat_tool
from agentworld_sim.types.tools import ToolCall, ToolSpec

OPEN, CLOSE = "<tool_call>", "</tool_call>"

_CALL = re.compile(
    re.escape(OPEN) + r"(.*?)(?:" + re.escape(CLOSE) + r"|(?=<tool_call>)|\Z)", re.DOTALL
)

_THINKING = re.compile(r"<think>", re.IGNORECASE)
_THINKING_END = re.compile(r".*</think>", re.IGNORECASE | re.DOTALL)

FORM = '{"name": "tool name", "arguments": {"argument": "value"}}'
"""What stands between the tags, as a policy is told."""


@dataclass(frozen=True, slots=True)
class MalformedCall:
    """A call that cannot be read."""

    problem: str
    """What the policy is told of it."""


def without_thinking(text: str) -> str:
    """What of a turn is said to others."""
    thought = _THINKING_END.match(text)
    return text[thought.end() :] if thought else _THINKING.split(text, maxsplit=1)[0]


def parse_calls(text: str) -> list[ToolCall | MalformedCall]:
    """The calls of a turn, in order. What is said in thinking is no call."""
    said = without_thinking(text)
    if CLOSE in said and OPEN not in said:
        return [MalformedCall(f"Error: {CLOSE} without {OPEN} before it. {_step()}")]
    return [_call(found[1], closed=found[0].endswith(CLOSE)) for found in _CALL.finditer(said)]


def write_call(call: ToolCall) -> str:
    """A call as a policy writes it."""
    value = {"name": call.name, "arguments": dict(call.arguments)}
    return f"{OPEN}\n{json.dumps(value, ensure_ascii=False)}\n{CLOSE}"


def tool_objects(tools: Iterable[ToolSpec]) -> tuple[dict[str, Any], ...]:
    """Tools as chat templates take them."""
    return tuple(map(chat_tool, tools))


def tools_text(tools: Sequence[Mapping[str, Any]]) -> str:
    """What a system message says of tools, for chat templates that say nothing of them."""
    lines = "\n".join(json.dumps(tool, ensure_ascii=False) for tool in tools)
    return (
        f"You can call these tools:\n<tools>\n{lines}\n</tools>\n\n"
        f"Write each call as a JSON object inside tags:\n{OPEN}\n{FORM}\n{CLOSE}"
    )


def response_text(content: str) -> str:
    """A tool's answer inside a user message, for chat templates without the role `tool`."""
    return f"<tool_response>\n{content}\n</tool_response>"


def _call(text: str, *, closed: bool) -> ToolCall | MalformedCall:
    if not closed:
        return MalformedCall(f"Error: the tool call is not closed with {CLOSE}. {_step()}")
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        return MalformedCall(f"Error: the tool call is not valid JSON ({error}). {_step()}")
    if not isinstance(value, dict):
        return MalformedCall(f"Error: the tool call is not a JSON object. {_step()}")
    given = cast("dict[str, Any]", value)
    name, arguments = given.get("name"), given.get("arguments", {})
    if not isinstance(name, str) or not name:
        return MalformedCall(f"Error: the tool call has no name. {_step()}")
    if not isinstance(arguments, dict):
        return MalformedCall(f"Error: the arguments are not a JSON object. {_step()}")
    return ToolCall(name, cast("dict[str, Any]", arguments))


def _step() -> str:
    return f"Write {OPEN}, then {FORM}, then {CLOSE}."
