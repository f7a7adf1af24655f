"""What an upstream offers: its tools, resources, templates and prompts, as they came over the wire."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

Page = Mapping[str, Any]
"""One result of a list request, as it came over the wire."""

Pages = Mapping[str | None, Page]
"""The pages of one list, by the cursor that fetches each; `None` fetches the first."""


class ListKind(NamedTuple):
    """What one list request is about."""

    capability: str
    """The capability of servers that answer it."""
    items: str
    """The key of a page that holds what is listed."""


LISTS: Mapping[str, ListKind] = {
    "tools/list": ListKind("tools", "tools"),
    "resources/list": ListKind("resources", "resources"),
    "resources/templates/list": ListKind("resources", "resourceTemplates"),
    "prompts/list": ListKind("prompts", "prompts"),
}
"""Every list request of the protocol, in the order in which an upstream is asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What an upstream says of itself."""

    identity: Mapping[str, Any]
    """`serverInfo`: name, version, and more."""
    instructions: str | None = None
    protocol_version: str = ""
    """The protocol version that was spoken with it."""
    capabilities: Mapping[str, Any] = field(default_factory=lambda: dict[str, Any](tools={}))
    """As it showed them. What it has no capability for, it was not asked."""
    lists: Mapping[str, Pages] = field(default_factory=dict[str, Pages])
    """Pages by list request (`tools/list`, …)."""
    failures: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """The JSON-RPC error of each list request that it answered with one."""
    contents: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """Results of `resources/read` by URI, when they were asked for."""
    prompts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """Results of `prompts/get` by name, of prompts that need no arguments."""

    def pages(self, method: str) -> Pages:
        """The pages of one list request; none when it was not asked or gave an error."""
        return self.lists.get(method, {})

    def objects(self, method: str) -> Iterator[Mapping[str, Any]]:
        """What of `items` are objects."""
        for item in self.items(method):
            if isinstance(item, dict):
                yield cast("Mapping[str, Any]", item)

    def items(self, method: str) -> Iterator[Any]:
        """Everything that one list request lists, page after page. Nothing of it has been checked."""
        for page in self.pages(method).values():
            yield from page[LISTS[method].items]


def prompt_arguments(prompt: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """A prompt's arguments and whether they are required."""
    listed: object = prompt.get("arguments")
    for one in cast("Iterable[object]", listed) if isinstance(listed, list) else ():
        if isinstance(one, dict):
            argument = cast("dict[str, Any]", one)
            yield str(argument.get("name")), argument.get("required") is True
