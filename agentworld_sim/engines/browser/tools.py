"""The tools of LangChain's toolkit for Playwright, as they are published.

Source: langchain-community 0.4, `tools/playwright` (names, arguments and texts of answers).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from agentworld_sim.errors import UsageError, nearest
from agentworld_sim.schema.match import plain_name, schema_fits
from agentworld_sim.types.tools import ToolSpec

PREFIX = "playwright-toolkit/"

SERVE = "serve_pages"
"""No tool of an agent: puts pages where the browser finds them."""

_TEXT: Mapping[str, Any] = {"type": "string"}
_NOTHING: Mapping[str, Any] = {"type": "object", "properties": {}, "required": []}


def _takes(required: str, **properties: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"type": "object", "properties": properties, "required": required.split()}


_SCHEMAS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "click_element": ("Clicks on an element.", _takes("selector", selector=_TEXT)),
    "navigate_browser": ("Opens a URL.", _takes("url", url=_TEXT)),
    "previous_webpage": ("Goes back in the history.", _NOTHING),
    "extract_text": ("Gives all text of the page.", _NOTHING),
    "extract_hyperlinks": (
        "Gives all links of the page.",
        _takes("", absolute_urls={"type": "boolean"}),
    ),
    "get_elements": (
        "Gives attributes of elements.",
        _takes("selector", selector=_TEXT, attributes={"type": "array", "items": _TEXT}),
    ),
    "current_webpage": ("Gives the URL of the page.", _NOTHING),
    SERVE: (
        "Puts pages where the browser finds them.",
        _takes("pages", pages={"type": "object", "additionalProperties": {"type": "object"}}),
    ),
}


@lru_cache(maxsize=1)
def browser_tools() -> Mapping[str, ToolSpec]:
    """The tools by name, bound."""
    return {
        name: ToolSpec(
            name=name,
            description=description,
            input_schema=schema,
            domain="web",
            binds_to=PREFIX + name,
        )
        for name, (description, schema) in _SCHEMAS.items()
    }


def browser_tool_for(tool: ToolSpec) -> ToolSpec | None:
    """The one that `tool` is; by `binds_to` if given, else by name and schema.

    Raises:
        UsageError: `binds_to` names this toolkit, but no tool of it.
    """
    known = browser_tools()
    if tool.binds_to is not None:
        if not tool.binds_to.startswith(PREFIX):
            return None
        name = tool.binds_to.removeprefix(PREFIX)
        if name not in known:
            raise UsageError(
                f"tool {tool.name!r} binds to {tool.binds_to!r}, which does not exist."
                f"{nearest(name, known)} There are: {', '.join(PREFIX + one for one in known)}."
            )
        return known[name]
    # Some of the names are ordinary words: a server's tool may be something else.
    found = None if tool.domain == "mcp" else known.get(plain_name(tool))
    if found is None or found.name == SERVE:
        return None
    return found if schema_fits(tool.input_schema, found.input_schema) else None
