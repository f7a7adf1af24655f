"""Simulated answers to everything that is no tool: resources, prompts, completions."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from mcp.types import INTERNAL_ERROR, INVALID_PARAMS
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from agentworld_mcp_shim._listing import prompt_arguments
from agentworld_mcp_shim._mirror import LIST_DEFAULTS, Mirror, template_values
from agentworld_sim.errors import UsageError, nearest
from mcp import MCPError

if TYPE_CHECKING:
    from agentworld_sim.world import World

RESOURCE_NOT_FOUND = -32002
"""Until protocol version 2025-11-25; later versions say `INVALID_PARAMS`."""

MAX_COMPLETIONS = 100
"""The most values that one answer may have. (Model Context Protocol, specification, Completion.)"""


class ResourcesAndPrompts:
    """Answers from the snapshot's contents, the world's files and what the mirror lists."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror

    async def read(
        self, uri: str, version: str, world: Callable[[], Awaitable[World]]
    ) -> Mapping[str, Any]:
        """The result of `resources/read`. Raises `MCPError` when nothing has it."""
        kept = self._mirror.listing.contents.get(uri)
        if kept is not None:
            return {**LIST_DEFAULTS, **kept}
        listed = self._resource(uri)
        path, data = _path(uri), None
        if path is not None:
            with suppress(UsageError):
                data = await (await world()).read_file(path)
        if data is None:
            raise _not_found(uri, version, listed is not None)
        content: dict[str, Any] = {"uri": uri}
        if listed is not None and isinstance(listed.get("mimeType"), str):
            content["mimeType"] = listed["mimeType"]
        try:
            if b"\0" in data:
                raise ValueError("it is no text")
            content["text"] = data.decode()
        except ValueError:
            content["blob"] = base64.b64encode(data).decode("ascii")
        return {**LIST_DEFAULTS, "contents": [content]}

    def prompt(self, name: str, arguments: Mapping[str, str]) -> Mapping[str, Any]:
        """The result of `prompts/get`.

        Raises:
            MCPError: there is no such prompt, an argument is missing, or nobody knows what it says.
        """
        listed = self._prompts().get(name)
        if listed is None:
            near = nearest(name, self._prompts())
            raise MCPError(INVALID_PARAMS, f"Unknown prompt: {name}{near and '.' + near}")
        taken = list(prompt_arguments(listed))
        missing = [one for one, required in taken if required and one not in arguments]
        if missing:
            raise MCPError(INVALID_PARAMS, f"Missing required arguments: {', '.join(missing)}")
        kept = self._mirror.listing.prompts.get(name)
        if kept is not None and not arguments:
            return {"resultType": "complete", **kept}
        raise MCPError(
            INTERNAL_ERROR,
            f"what the prompt {name!r} says{' with these arguments' * bool(arguments)} is not known."
            " A snapshot with contents (`agentworld mcp snapshot`) keeps prompts that need no arguments,"
            " and `--access prompts/get=real` asks the server itself.",
        )

    def complete(self, ref: Mapping[str, Any], argument: str, begun: str) -> Mapping[str, Any]:
        """The result of `completion/complete`: what is known of an argument's values, or nothing."""
        found = dict.fromkeys(
            value for value in self._values(ref, argument) if value.startswith(begun)
        )
        values = list(found)[:MAX_COMPLETIONS]
        completion = {"values": values, "total": len(found), "hasMore": len(values) < len(found)}
        return {"resultType": "complete", "completion": completion}

    def _values(self, ref: Mapping[str, Any], argument: str) -> Iterator[str]:
        """Every known value of an argument: of enums and of listed resources."""
        if ref.get("type") == "ref/resource":
            template = str(ref.get("uri"))
            for resource in self._mirror.listing.objects("resources/list"):
                value = (template_values(template, str(resource.get("uri"))) or {}).get(argument)
                if isinstance(value, str):
                    yield value
        for tool in self._mirror.tools.values():
            schema: object = tool.input_schema.get("properties", {}).get(argument)
            if isinstance(schema, dict):
                for value in cast("dict[str, Any]", schema).get("enum") or ():
                    if isinstance(value, str):
                        yield value

    def _resource(self, uri: str) -> Mapping[str, Any] | None:
        """How a resource is listed, by itself or through its template."""
        for resource in self._mirror.listing.objects("resources/list"):
            if resource.get("uri") == uri:
                return resource
        for template in self._mirror.listing.objects("resources/templates/list"):
            if template_values(str(template.get("uriTemplate")), uri) is not None:
                return template
        return None

    def _prompts(self) -> dict[str, Mapping[str, Any]]:
        return {
            str(prompt.get("name")): prompt
            for prompt in self._mirror.listing.objects("prompts/list")
        }


def _path(uri: str) -> str | None:
    """The path of a file in the world; `None` when it cannot be one."""
    if uri.startswith("/"):
        return uri
    if not uri.lower().startswith("file:"):
        return None
    from urllib.parse import unquote, urlsplit

    return unquote(urlsplit(uri).path)


def _not_found(uri: str, version: str, listed: bool) -> MCPError:
    modern = version in MODERN_PROTOCOL_VERSIONS
    message = "Resource not found"
    if listed:
        message += (
            f": {uri} is listed, but its content is not known. A snapshot with contents (`agentworld"
            " mcp snapshot`) keeps it, and `--access resources/read=real` asks the server itself."
        )
    else:
        message += f": {uri}"
    return MCPError(INVALID_PARAMS if modern else RESOURCE_NOT_FOUND, message, {"uri": uri})
