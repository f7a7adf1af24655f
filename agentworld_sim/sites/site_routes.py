"""Paths and addresses of a site: which route a path means, and where `go` leads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import quote, unquote

from agentworld_sim.scenario.site_file import PLACEHOLDER, Route
from agentworld_sim.sites.site_templates import slug

_SEGMENT = {None: r"[^/]+?", "int": r"\d{1,15}"}


class SitePath:
    """A path with `{name}` and `{name:int}` in it."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        parts: list[str] = []
        self.names: list[str] = []
        end = 0
        for found in PLACEHOLDER.finditer(pattern):
            self.names.append(found[1])
            parts += [re.escape(pattern[end : found.start()]), f"({_SEGMENT.get(found[2], '')})"]
            end = found.end()
        self._expression = re.compile("".join(parts) + re.escape(pattern[end:]))

    def match(self, path: str) -> dict[str, str] | None:
        """What the names stand for in a path that is still encoded; `None` where it does not fit."""
        found = self._expression.fullmatch(path)
        if found is None:
            return None
        return {name: unquote(one) for name, one in zip(self.names, found.groups(), strict=True)}

    def may_be(self, link: str) -> bool:
        """Whether a link of a template, with a NUL for each part that is not known, can fit."""
        own, wanted = PLACEHOLDER.sub("\0", self.pattern).split("/"), link.split("/")
        if len(own) != len(wanted):
            return False
        return all(
            mine == theirs or _fits(mine, theirs) or _fits(theirs, mine)
            for mine, theirs in zip(own, wanted, strict=True)
        )


def _fits(pattern: str, text: str) -> bool:
    parts = ".+".join(map(re.escape, pattern.split("\0")))
    return "\0" in pattern and re.fullmatch(parts, text, re.DOTALL) is not None


class SiteRoutes:
    """The routes of a site."""

    def __init__(self, routes: tuple[Route, ...]) -> None:
        self.paths = [(SitePath(route.pattern), route) for route in routes]

    def find(self, method: str, path: str) -> tuple[Route, dict[str, str]] | None:
        """The first route that answers a request, and what the names of its path stand for."""
        for site_path, route in self.paths:
            if route.method == method and (names := site_path.match(path)) is not None:
                return route, names
        return None

    def methods(self, path: str) -> list[str]:
        """The methods that something answers at a path."""
        found = {route.method for one, route in self.paths if one.match(path) is not None}
        return sorted({*found, "HEAD"} if "GET" in found else found)


def value_at(context: Mapping[str, Any], path: str) -> Any:
    """What `{name}` or `{name.field}` stands for. Raises `KeyError`."""
    value: Any = context
    for part in path.split("."):
        value = cast("Mapping[str, Any]", value)[part]
    return value


def address(pattern: str, context: Mapping[str, Any]) -> str:
    """The address that a pattern means. Raises `KeyError` for a name that stands for nothing."""

    def fill(found: re.Match[str]) -> str:
        value = value_at(context, found[1])
        return quote(slug(value) if found[2] == "slug" else str(value), safe="")

    return PLACEHOLDER.sub(fill, pattern)


def filled_json(value: Any, context: Mapping[str, Any]) -> Any:
    """A JSON value with what each `{name}` in it stands for. Raises `KeyError`."""
    if isinstance(value, Mapping):
        pairs = cast("Mapping[str, Any]", value).items()
        return {name: filled_json(one, context) for name, one in pairs}
    if isinstance(value, list):
        return [filled_json(one, context) for one in cast("list[Any]", value)]
    if isinstance(value, str):
        whole = PLACEHOLDER.fullmatch(value)
        if whole is not None:
            return value_at(context, whole[1])
        return PLACEHOLDER.sub(lambda found: str(value_at(context, found[1])), value)
    return value
