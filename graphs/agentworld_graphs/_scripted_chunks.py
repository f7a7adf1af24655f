"""A reply as a model streams it."""

from __future__ import annotations

import json
from collections.abc import Iterator

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.tool import ToolCallChunk


def chunks_of(reply: AIMessage) -> Iterator[AIMessageChunk]:
    """Words, then each call's name, then its arguments in pieces, then what ends a reply: usage and
    metadata. Added up they are the reply."""
    content = reply.content
    pieces = content.splitlines(keepends=True) if isinstance(content, str) else [content]
    for piece in pieces:
        yield AIMessageChunk(content=piece, id=reply.id)
    for chunk in _calls(reply):
        yield AIMessageChunk(content="", tool_call_chunks=[chunk], id=reply.id)
    yield AIMessageChunk(
        content="",
        id=reply.id,
        name=reply.name,
        chunk_position="last",
        additional_kwargs=reply.additional_kwargs,
        response_metadata=reply.response_metadata,
        usage_metadata=reply.usage_metadata,
    )


def _calls(reply: AIMessage) -> Iterator[ToolCallChunk]:
    written = [(call["name"], json.dumps(call["args"]), call["id"]) for call in reply.tool_calls]
    written += [
        (call["name"] or "", call["args"] or "", call["id"]) for call in reply.invalid_tool_calls
    ]
    for index, (name, text, id) in enumerate(written):
        half = len(text) // 2
        yield ToolCallChunk(name=name, args="", id=id, index=index)
        yield ToolCallChunk(name=None, args=text[:half], id=None, index=index)
        yield ToolCallChunk(name=None, args=text[half:], id=None, index=index)
