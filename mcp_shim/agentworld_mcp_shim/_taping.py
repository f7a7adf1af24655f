"""Between a result of the Model Context Protocol and an observation, without loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from mcp.types import SERVER_INFO_META_KEY

from agentworld_sim.types.turns import Observation

REST = "agentworld/rest"
"""The type of a block that is none: fields of the result that an observation has no place for."""

_PLACED = frozenset({"content", "structuredContent", "isError", "resultType"})


def observation_of(result: Mapping[str, Any]) -> Observation:
    """The observation that says all of a `tools/call` result.

    Args:
        result: As it came over the wire.
    """
    blocks = _blocks(result.get("content"))
    text = "\n".join(_text(block) for block in blocks)
    rest = {key: value for key, value in result.items() if key not in _PLACED}
    meta = rest.pop("_meta", None)
    if isinstance(meta, dict):
        # Who sent it is told anew with each answer, in the eras that tell it.
        known = cast("dict[str, Any]", meta)
        kept_meta = {key: value for key, value in known.items() if key != SERVER_INFO_META_KEY}
        if kept_meta:
            rest["_meta"] = kept_meta
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


def result_of(observation: Observation) -> dict[str, Any]:
    """The `tools/call` result that an observation was made of."""
    blocks, rest = parted(observation.content, observation.text)
    result: dict[str, Any] = {**rest, "content": [dict(block) for block in blocks]}
    if observation.structured is not None:
        result["structuredContent"] = observation.structured
    result["isError"] = observation.is_error
    return result


def parted(
    content: Sequence[Mapping[str, Any]], text: str
) -> tuple[list[Mapping[str, Any]], dict[str, Any]]:
    """The content blocks of a result, and its fields that an observation has no place for.

    Args:
        content: The observation's.
        text: Its text, which is all there is when there is no content.
    """
    if not content:
        return [{"type": "text", "text": text}], {}
    blocks: list[Mapping[str, Any]] = []
    rest: dict[str, Any] = {}
    for block in content:
        if block.get("type") == REST:
            rest.update(block["fields"])
        else:
            blocks.append(block)
    return blocks, rest


def _blocks(content: object) -> list[dict[str, Any]]:
    if not isinstance(content, list):
        return []
    return [
        cast("dict[str, Any]", one)
        for one in cast("list[object]", content)
        if isinstance(one, dict)
    ]


def _text(block: Mapping[str, Any]) -> str:
    """What a reader of text alone sees of one block."""
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "resource", "resource": {"text": str(text)}}:
            return text
        case {"type": "resource", "resource": {"uri": str(uri)}} | {"uri": str(uri)}:
            return f"[{block.get('type')}: {uri}]"
        case {"type": str(kind), "mimeType": str(mime)}:
            return f"[{kind}: {mime}]"
        case _:
            return f"[{block.get('type', 'content')}]"
