"""URIs of resource templates."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp import UriTemplate


def matches(template: str, uri: str) -> dict[str, str | list[str]] | None:
    """The values with which `template` becomes `uri`; `None` when it cannot."""
    parsed = _parsed(template)
    return None if parsed is None else parsed.match(uri)


@lru_cache(maxsize=1024)
def _parsed(template: str) -> UriTemplate | None:
    from mcp import InvalidUriTemplate, UriTemplate

    try:
        return UriTemplate.parse(template)
    except InvalidUriTemplate:
        return None
