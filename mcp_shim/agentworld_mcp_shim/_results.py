"""Results of `tools/call`: made of observations, taken back into them, and what they say of themselves."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, cast

from mcp.types import SERVER_INFO_META_KEY, CallToolResult

from agentworld_sim.types.turns import Observation

SIMULATED = "agentworld/simulated"
"""Key in `_meta` of every result: for people and programs, not part of what a model is shown."""

REST = "agentworld/rest"
"""The type of a block that is none: the result's `_meta`, which an observation has no place for."""

Outcome = Literal["ok", "error", "refused", "failed", "cancelled"]


class CallOutcome(NamedTuple):
    """What is told about a call to spans and metrics. Never what was asked or said."""

    provenance: str
    outcome: Outcome
    world: str = ""


def call_outcome(result: Any) -> CallOutcome:
    """Reads the marks of a `tools/call` result, ours or an upstream's."""
    if isinstance(result, Mapping):
        # An upstream's, as it came: it does not say of itself what it is.
        failed = cast("Mapping[str, Any]", result).get("isError") is True
        return CallOutcome("real", "error" if failed else "ok")
    meta, is_error = getattr(result, "meta", None), getattr(result, "is_error", False)
    marks: Any = cast("Mapping[str, Any]", meta or {}).get(SIMULATED)
    if not isinstance(marks, Mapping):
        return CallOutcome("real", "error" if is_error else "ok")
    ours = cast("Mapping[str, Any]", marks)
    refused = ours.get("access") == "refuse"
    outcome: Outcome = "refused" if refused else "error" if is_error else "ok"
    return CallOutcome(str(ours.get("provenance", "none")), outcome, str(ours.get("world", "")))


def without_marks(result: Any) -> Any:
    """An upstream's result without what only our own results say: that they are simulated."""
    meta: object = result.get("_meta")
    if not isinstance(meta, dict) or SIMULATED not in meta:
        return result
    kept = {key: one for key, one in cast("dict[str, Any]", meta).items() if key != SIMULATED}
    return {**result, "_meta": kept}


def tool_result(
    text: str,
    marks: Mapping[str, Any],
    *,
    structured: Any = None,
    content: Sequence[Mapping[str, Any]] = (),
    is_error: bool = False,
) -> CallToolResult:
    """The result that says this, marked as simulated."""
    blocks, rest = _split(content, text)
    return CallToolResult.model_validate(
        {
            **rest,
            "content": _encodable(blocks),
            "structuredContent": _encodable(structured),
            "isError": is_error,
            "_meta": {**rest.get("_meta", {}), SIMULATED: dict(marks)},
        }
    )


def observation_of(result: Mapping[str, Any]) -> Observation:
    """The observation that says all of a `tools/call` result, as it came over the wire."""
    listed: Any = result.get("content")
    blocks = [
        cast("dict[str, Any]", one)
        for one in cast("list[Any]", listed or ())
        if isinstance(one, dict)
    ]
    text = "\n".join(_text(block) for block in blocks)
    rest: dict[str, Any] = {}
    meta: object = result.get("_meta")
    if isinstance(meta, dict):
        # Who sent it is told anew with each answer, in the eras that tell it.
        known = cast("dict[str, Any]", meta)
        kept_meta = {key: value for key, value in known.items() if key != SERVER_INFO_META_KEY}
        rest = {"_meta": kept_meta} if kept_meta else {}
    plain = blocks == [{"type": "text", "text": text}]
    kept: tuple[Mapping[str, Any], ...] = () if plain and not rest else tuple(blocks)
    if rest or (not plain and not blocks):
        kept = (*kept, {"type": REST, "fields": rest})
    return Observation(
        text=text,
        structured=result.get("structuredContent"),
        content=kept,
        is_error=result.get("isError") is True,
        provenance="real",
    )


def encodable(text: str) -> str:
    """`text` with what cannot be sent as UTF-8 replaced, as servers that read files do."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


_SURROGATES = re.compile("[\ud800-\udfff]")


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, dict):
        content = cast("dict[str, object]", value)
        return {encodable(key): _encodable(one) for key, one in content.items()}
    if isinstance(value, list):
        return [_encodable(one) for one in cast("list[object]", value)]
    return value


def _split(
    content: Sequence[Mapping[str, Any]], text: str
) -> tuple[list[Mapping[str, Any]], dict[str, Any]]:
    """Content blocks, or the text alone; and the fields that an observation has no place for."""
    if not content:
        return [{"type": "text", "text": text}], {}
    rest: dict[str, Any] = {}
    for block in content:
        if block.get("type") == REST:
            rest.update(block["fields"])
    return [block for block in content if block.get("type") != REST], rest


def _text(block: Mapping[str, Any]) -> str:
    """What a reader of text alone sees of one block."""
    match block:
        case {"type": "text", "text": str(text)} | {
            "type": "resource",
            "resource": {"text": str(text)},
        }:
            return text
        case {"type": "resource", "resource": {"uri": str(uri)}} | {"uri": str(uri)}:
            return f"[{block.get('type')}: {uri}]"
        case {"type": str(kind), "mimeType": str(mime)}:
            return f"[{kind}: {mime}]"
        case _:
            return f"[{block.get('type', 'content')}]"
