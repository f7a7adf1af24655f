"""What an upstream's resources and prompts say, read while a snapshot is made."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from agentworld_mcp_shim._listing import Listing, Page

if TYPE_CHECKING:
    from mcp import Client

logger = logging.getLogger(__name__)

CONTENT_BYTES = 2**20
"""Of one resource; larger ones are left out."""


async def with_contents(listing: Listing, client: Client, taken: Callable[[], Page]) -> Listing:
    """The listing with the contents of its resources and of prompts that need no arguments.

    Args:
        listing: What the upstream lists.
        client: Connected to it.
        taken: Gives the last result as it came over the wire.
    """
    contents: dict[str, Mapping[str, Any]] = {}
    prompts: dict[str, Mapping[str, Any]] = {}
    for resource in _dicts(listing, "resources/list"):
        uri = resource.get("uri")
        if not isinstance(uri, str) or uri in contents:
            continue
        result = await _asked(uri, client.session.read_resource(uri), taken)
        if result is not None:
            size = _size(result)
            if size > CONTENT_BYTES:
                logger.warning("%s has %d bytes; it is left out", uri, size)
            else:
                contents[uri] = result
    for prompt in _dicts(listing, "prompts/list"):
        name = prompt.get("name")
        if isinstance(name, str) and name not in prompts and not _requires(prompt):
            result = await _asked(name, client.session.get_prompt(name), taken)
            if result is not None:
                prompts[name] = result
    return replace(listing, contents=contents, prompts=prompts)


async def _asked(what: str, request: Any, taken: Callable[[], Page]) -> Page | None:
    from pydantic import ValidationError

    from mcp import MCPError

    try:
        await request
    except (MCPError, ValidationError, RuntimeError) as error:
        # One that the server itself cannot give is no reason to be without the others.
        text = str(error).partition("\n")[0]
        logger.warning("%s cannot be had, and is left out: %s", what, text)
        return None
    return taken()


def _dicts(listing: Listing, method: str) -> list[Mapping[str, Any]]:
    return [
        cast("Mapping[str, Any]", item) for item in listing.items(method) if isinstance(item, dict)
    ]


def _requires(prompt: Mapping[str, Any]) -> bool:
    arguments: object = prompt.get("arguments")
    return isinstance(arguments, list) and any(
        isinstance(one, dict) and cast("dict[str, Any]", one).get("required") is True
        for one in cast("list[object]", arguments)
    )


def _size(result: Mapping[str, Any]) -> int:
    """The bytes of what a resource holds, as it is written."""
    size = 0
    for content in result.get("contents") or ():
        fields = cast("dict[str, Any]", content) if isinstance(content, dict) else {}
        for key in ("text", "blob"):
            value: object = fields.get(key)
            size += len(value) if isinstance(value, str) else 0
    return size
