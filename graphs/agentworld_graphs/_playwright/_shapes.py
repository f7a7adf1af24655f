"""The tools of LangChain's toolkit for Playwright as an agent is given them.

Source: langchain-community 0.4, `tools/playwright`: names, descriptions and arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlparse

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, Field, model_validator


class ClickToolInput(BaseModel):
    """Input for ClickTool."""

    selector: str = Field(..., description="CSS selector for the element to click")


class NavigateToolInput(BaseModel):
    """Input for NavigateToolInput."""

    url: str = Field(..., description="url to navigate to")

    @model_validator(mode="before")
    @classmethod
    def validate_url_scheme(cls, values: Any) -> Any:
        """Only web pages are opened."""
        if isinstance(values, Mapping):
            given = cast("Mapping[str, Any]", values)
            if urlparse(str(given.get("url"))).scheme not in ("http", "https"):
                raise ValueError("URL scheme must be 'http' or 'https'")
            return given
        return values


class NavigateBackToolInput(BaseModel):
    """Explicit no-args input for NavigateBackTool."""


class ExtractTextToolInput(BaseModel):
    """Explicit no-args input for ExtractTextTool."""


class ExtractHyperlinksToolInput(BaseModel):
    """Input for ExtractHyperlinksTool."""

    absolute_urls: bool = Field(
        default=False, description="Return absolute URLs instead of relative URLs"
    )


class GetElementsToolInput(BaseModel):
    """Input for GetElementsTool."""

    selector: str = Field(
        ..., description="CSS selector, such as '*', 'div', 'p', 'a', #id, .classname"
    )
    attributes: list[str] = Field(
        default_factory=lambda: ["innerText"],
        description="Set of attributes to retrieve for each element",
    )


class CurrentWebPageToolInput(BaseModel):
    """Explicit no-args input for CurrentWebPageTool."""


_SHAPES: tuple[tuple[str, str, type[BaseModel]], ...] = (
    ("click_element", "Click on an element with the given CSS selector", ClickToolInput),
    ("navigate_browser", "Navigate a browser to the specified URL", NavigateToolInput),
    (
        "previous_webpage",
        "Navigate back to the previous page in the browser history",
        NavigateBackToolInput,
    ),
    ("extract_text", "Extract all the text on the current webpage", ExtractTextToolInput),
    (
        "extract_hyperlinks",
        "Extract all hyperlinks on the current webpage",
        ExtractHyperlinksToolInput,
    ),
    (
        "get_elements",
        "Retrieve elements in the current web page matching the given CSS selector",
        GetElementsToolInput,
    ),
    ("current_webpage", "Returns the URL of the current page", CurrentWebPageToolInput),
)


def browser_shapes() -> list[BaseTool]:
    """Tools that cannot be called; in the toolkit's order."""
    return [
        StructuredTool(name=name, description=description, args_schema=schema, func=_nothing)
        for name, description, schema in _SHAPES
    ]


def _nothing(**_: Any) -> str:
    raise AssertionError("a shape was called")
