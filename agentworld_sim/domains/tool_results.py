"""What a tool returns, as the Model Context Protocol carries it: plain, as JSON, or in an envelope.

An envelope is `{"content": [{"type": "text", "text": …}], "isError": …, "structuredContent": …}`, or
one of its content blocks alone. (Model Context Protocol, specification 2025-06-18, server/tools.)
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from agentworld_sim.domains.text import json_value, sendable
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Observation

ERROR_FORM = '{"content": [{"type": "text", "text": "the message"}], "isError": true}'
"""How an error is told where an answer must be JSON."""

WRAPS_RESULT = "x-fastmcp-wrap-result"
"""In an output schema: `structuredContent` is `{"result": value}`, and the text is the value's."""

_ENVELOPE = frozenset(("content", "isError", "structuredContent", "_meta"))
_BLOCKS = frozenset(("text", "image", "audio", "resource", "resource_link"))
_ERROR = re.compile(
    r"Error (?:executing|calling) tool |(?:Input|Output) validation error: |Unknown tool: "
    r"|MCP error -\d+"
)
"""How the protocol's SDKs begin the text of a result that they mark as an error."""


def read_result(text: str, call: ToolCall, tool: ToolSpec) -> Observation:
    """Implements `ReadObservation`: a plain text, JSON for a tool with an output schema, or an envelope."""
    text = sendable(text)
    try:
        envelope = _envelope(json_value(text), tool.output_schema)
    except ValueError:
        envelope = None
    if envelope is not None:
        return _from_envelope(envelope, tool)
    if _ERROR.match(text):
        return _imagined_result(text, is_error=True)
    if tool.output_schema is None:
        return _imagined_result(text)
    structured, text = _structured_content(text, tool)
    return _imagined_result(text, structured=structured)


def write_result(observation: Observation) -> str:
    """The result as the tool sent it: its text where that says all, otherwise in the envelope."""
    text = sendable(observation.text)
    structured = observation.structured
    if not observation.is_error:
        if structured is None and not _is_ambiguous(text):
            return text
        if structured is not None and _says(text, structured):
            return text
    content = [{"type": "text", "text": text}] if text or structured is None else []
    envelope: dict[str, Any] = {"content": content}
    if structured is not None:
        envelope["structuredContent"] = structured
    if observation.is_error or _ERROR.match(text):
        envelope["isError"] = observation.is_error
    return sendable(json.dumps(envelope, ensure_ascii=False))


_PLAIN = ToolSpec(name="")
_ENVELOPE_SIGNS = ('"type"', '"content"', '"isError"', '"structuredContent"', "\\u00")


def _is_ambiguous(text: str) -> bool:
    """Whether the text alone would be read as something else."""
    if text.lstrip()[:1] in ("{", "[") and any(sign in text for sign in _ENVELOPE_SIGNS):
        return read_result(text, ToolCall(""), _PLAIN) != _imagined_result(text)
    return _ERROR.match(text) is not None


def _imagined_result(text: str, *, structured: Any = None, is_error: bool = False) -> Observation:
    return Observation(text=text, structured=structured, is_error=is_error, provenance="imagined")


def _says(text: str, structured: Any) -> bool:
    """Whether `text` is the JSON text of `structured`, or of the result that it wraps."""
    wanted = [structured]
    if _is_wrapped(structured):
        wanted.append(structured["result"])
        if text == structured["result"]:
            return True
    try:
        return json.loads(text) in wanted
    except (ValueError, RecursionError):
        return False


def _is_wrapped(value: Any) -> bool:
    return isinstance(value, dict) and list(cast("dict[str, Any]", value)) == ["result"]


def _envelope(value: Any, schema: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """`value` as an envelope, if it is one."""
    if schema is None and _is_block(value):
        return {"content": [value]}
    if schema is None and isinstance(value, list) and _are_blocks(cast("list[Any]", value)):
        return {"content": value}
    if not isinstance(value, dict):
        return None
    fields = cast("dict[str, Any]", value)
    if not fields.keys() <= _ENVELOPE:
        return None
    if "content" in (schema or {}).get("properties", {}) and fields.keys() <= {"content"}:
        return None
    failed = fields.get("isError") is True
    content = fields.get("content", [])
    if isinstance(content, list) and (_are_blocks(cast("list[Any]", content)) or not content):
        return fields if content or failed or "structuredContent" in fields else None
    return fields if failed and isinstance(content, str) else None


def _is_block(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    block = cast("dict[str, Any]", value)
    kind = block.get("type")
    if not isinstance(kind, str):
        return False
    return kind in _BLOCKS and (kind != "text" or isinstance(block.get("text"), str))


def _are_blocks(values: Sequence[Any]) -> bool:
    return bool(values) and all(_is_block(value) for value in values)


def _from_envelope(envelope: Mapping[str, Any], tool: ToolSpec) -> Observation:
    content: str | Sequence[Mapping[str, Any]] = envelope.get("content", [])
    parts = [content] if isinstance(content, str) else [_block_text(block) for block in content]
    text = "\n".join(parts)
    # A lone block has no flag: then its text tells, as in a plain answer.
    if envelope.get("isError", bool(_ERROR.match(text))) is True:
        return _imagined_result(text, is_error=True)
    structured = envelope.get("structuredContent")
    if tool.output_schema is not None and structured is None:
        structured, text = _structured_content(text, tool)
    elif structured is not None and not parts:
        text = _server_text(structured)
    return _imagined_result(text, structured=structured)


def _block_text(block: Mapping[str, Any]) -> str:
    if block["type"] == "text":
        return str(block["text"])
    resource = block.get("resource")
    if isinstance(resource, dict):
        text = cast("dict[str, Any]", resource).get("text")
        if isinstance(text, str):
            return text
    return json.dumps({key: one for key, one in block.items() if key != "data"}, ensure_ascii=False)


def _structured_content(text: str, tool: ToolSpec) -> tuple[Any, str]:
    """The structured content that `text` is, and the text that goes with it."""
    wraps = bool((tool.output_schema or {}).get(WRAPS_RESULT))
    try:
        value = json_value(text)
    except ValueError as error:
        if wraps and not re.match(r"\s*[\[{]", text):
            return {"result": text}, text
        raise ValueError(
            f"{tool.name!r} has an output schema, and the answer is {error}. Answer with one JSON"
            f" value that fits the schema, without anything around it; or, if the tool reports an"
            f" error, with {ERROR_FORM}"
        ) from None
    if not wraps:
        return value, _server_text(value)
    result: Any = value["result"] if _is_wrapped(value) else value
    return {"result": result}, result if isinstance(result, str) else _server_text(result)


def _server_text(value: Any) -> str:
    """JSON as the protocol's Python SDK puts it into the text beside structured content."""
    return json.dumps(value, ensure_ascii=False, indent=2)
