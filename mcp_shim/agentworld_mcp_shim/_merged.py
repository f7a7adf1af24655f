"""Several upstreams shown as one: `UPSTREAM__tool`, `UPSTREAM__prompt`, and resources as they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from agentworld_mcp_shim._listing import LISTS, Listing, Page, Pages
from agentworld_mcp_shim._mirror import SEPARATOR, Mirror, Origin
from agentworld_sim import __version__

_KEYS = {"resources/list": "uri", "resources/templates/list": "uriTemplate"}
"""What must be unique in a list whose entries keep their own names."""


class MergedMirror(Mirror):
    """What a client is shown of several upstreams at once."""

    def __init__(self, mirrors: Mapping[str, Mirror]) -> None:
        """
        Args:
            mirrors: One per upstream, by its name.
        """
        self._mirrors = dict(mirrors)
        self._clashes: list[str] = []
        self._owners: dict[tuple[str, str], str] = {}
        super().__init__(self._merged())
        for name, mirror in self._mirrors.items():
            self.warnings += [f"{name}: {warning}" for warning in mirror.warnings]
        self.warnings += self._clashes

    def origin(self, method: str, params: Mapping[str, Any]) -> Origin:
        """Which upstream a request that is no tool call belongs to; nobody's has an empty name."""
        if method == "prompts/get":
            return self._named(params, "name")
        if method == "completion/complete":
            ref = cast("Mapping[str, Any]", params["ref"])
            if ref.get("type") == "ref/prompt":
                inner = self._named(ref, "name")
                return Origin(inner.upstream, {**params, "ref": inner.params})
            return Origin(self._owner(str(ref.get("uri"))), params)
        if "uri" in params:
            return Origin(self._owner(str(params["uri"])), params)
        return Origin("", params)

    def _take_tools(self) -> None:
        for mirror in self._mirrors.values():
            for tool in mirror.tools.values():
                self.tools[tool.world_name] = tool.shown_as(tool.world_name)

    def _named(self, params: Mapping[str, Any], key: str) -> Origin:
        shown = str(params[key])
        for name in self._mirrors:
            if shown.startswith(name + SEPARATOR):
                return Origin(name, {**params, key: shown[len(name + SEPARATOR) :]})
        return Origin("", params)

    def _owner(self, uri: str) -> str:
        for method in _KEYS:
            if (owner := self._owners.get((method, uri))) is not None:
                return owner
        from agentworld_mcp_shim._templates import matches

        for (method, template), owner in self._owners.items():
            if method == "resources/templates/list" and matches(template, uri) is not None:
                return owner
        return ""

    def _merged(self) -> Listing:
        listings = {name: mirror.listing for name, mirror in self._mirrors.items()}
        instructions = [
            f"{name}: {listing.instructions}"
            for name, listing in listings.items()
            if listing.instructions
        ]
        return Listing(
            identity={"name": "agentworld", "version": __version__},
            instructions="\n\n".join(instructions) or None,
            capabilities=_capabilities(listings),
            lists={method: pages for method in LISTS if (pages := self._pages(method, listings))},
            contents={
                uri: content
                for name, listing in listings.items()
                for uri, content in listing.contents.items()
                if self._owners.get(("resources/list", uri), name) == name
            },
            prompts={
                f"{name}{SEPARATOR}{prompt}": result
                for name, listing in listings.items()
                for prompt, result in listing.prompts.items()
            },
        )

    def _pages(self, method: str, listings: Mapping[str, Listing]) -> Pages:
        """What all list, one after another: a new page begins only where an upstream begins one.

        Many clients read the first page alone, and would see the first upstream's tools alone. The
        cursors are the upstreams' own, behind their names.
        """
        items = LISTS[method].items
        merged: dict[str | None, Page] = {}
        current: Page = {}
        for name, listing in listings.items():
            for cursor, page in listing.pages(method).items():
                own = {key: value for key, value in page.items() if key != "nextCursor"}
                shown = self._shown(method, name, page[items])
                if not merged:
                    current = merged[None] = {**own, items: shown}
                elif cursor is None:
                    current[items] = [*current[items], *shown]
                else:
                    key = f"{name}:{cursor}"
                    current["nextCursor"] = key
                    current = merged[key] = {**own, items: shown}
        return merged

    def _shown(self, method: str, name: str, items: list[Any]) -> list[Any]:
        """What one page of one upstream lists, as it is shown beside the others'."""
        shown: list[Any] = []
        key = _KEYS.get(method)
        for item in items:
            if not isinstance(item, dict):
                shown.append(item)
                continue
            listed = cast("dict[str, Any]", item)
            if key is None:
                own = listed.get("name")
                renamed = f"{name}{SEPARATOR}{own}" if isinstance(own, str) else own
                shown.append({**listed, "name": renamed})
                continue
            identity = str(listed.get(key))
            owner = self._owners.setdefault((method, identity), name)
            if owner == name:
                shown.append(listed)
            else:
                self._clashes.append(
                    f"{owner!r} and {name!r} both offer {identity!r}: it is read from {owner!r}."
                )
        return shown


def _capabilities(listings: Mapping[str, Listing]) -> dict[str, Any]:
    """What any of them can; a flag is set when any of them sets it."""
    merged: dict[str, Any] = {}
    for listing in listings.values():
        for name, shown in listing.capabilities.items():
            earlier = merged.get(name)
            if isinstance(earlier, dict) and isinstance(shown, dict):
                flags = cast("dict[str, Any]", shown)
                known = cast("dict[str, Any]", earlier)
                merged[name] = {
                    **known,
                    **{flag: value for flag, value in flags.items() if value or flag not in known},
                }
            elif shown is not None:
                merged[name] = shown
    return merged
