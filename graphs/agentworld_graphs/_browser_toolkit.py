"""`SimulatedBrowserToolkit`: in place of LangChain's toolkit for Playwright."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Unpack
from urllib.parse import urlparse

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import AfterValidator, Field, create_model

from agentworld_graphs._simulate import simulate_in
from agentworld_graphs._world_handle import WorldOptions, handle_of, world_of
from agentworld_sim import ToolCall, UsageError, World
from agentworld_sim.engines.web.browser_state import gives_pages
from agentworld_sim.extras import require
from agentworld_sim.runtime.sync import run_sync
from agentworld_sim.supports_world import HoldsWorld
from agentworld_sim.toolkits import known_tools


class SimulatedBrowserToolkit:
    """The seven tools of `PlayWrightBrowserToolkit`: no browser is started and no page is fetched.

    A page is given (`pages`) or imagined by the world's language world model, once per navigation or
    click. Everything else is computed from it: its text, links and elements, the history, the address.
    """

    def __init__(
        self,
        world: World | HoldsWorld | str | None = None,
        *,
        pages: Mapping[str, str | tuple[int, str]] | None = None,
        **options: Unpack[WorldOptions],
    ) -> None:
        """
        Args:
            world: The world that answers; the id of one in `store`; or nothing, for a fresh one.
            pages: The HTML at a URL, or its status code and HTML. A URL that is not among them is
                imagined if there is a model, and otherwise not found (404). Put into the world as a
                turn of its own.
            options: `scenario`, `store`, `model`, `controls` and `answers`, as `WorldOptions` says.

        Raises:
            UsageError: the world has neither a model nor pages; turbohtml is not installed; or the
                world has another tool of one of these names.
        """
        require("turbohtml", extra="browser")
        self._world = world_of(world, **options)
        if pages:
            self._serve(pages)
        elif self._world.model is None and not gives_pages(run_sync(self._world.state()).values):
            raise UsageError(
                "this browser would have nothing to show: the world has neither pages nor a model."
                " Give pages={'https://…': '<html>…'}, or name a language world model that imagines"
                " them: AGENTWORLD_MODEL_URL, or model=…"
            )
        self._tools = [
            simulate_in(shape, self._world, binds_to=f"playwright-toolkit/{shape.name}")
            for shape in browser_shapes()
        ]

    @property
    def world(self) -> World:
        """The world that answers."""
        return self._world

    def get_tools(self) -> list[BaseTool]:
        """The tools, in the order of the real toolkit."""
        return list[BaseTool](self._tools)

    def _serve(self, pages: Mapping[str, str | tuple[int, str]]) -> None:
        served = {
            url: {"status": 200, "html": page}
            if isinstance(page, str)
            else {"status": page[0], "html": page[1]}
            for url, page in pages.items()
        }
        serve = known_tools()["playwright-toolkit/serve_pages"].spec
        handle_of(self._world).bind(serve)
        run_sync(self._world.step(ToolCall(serve.name, {"pages": served})))


def _web_address(url: str) -> str:
    if urlparse(url).scheme not in ("http", "https"):
        raise ValueError("URL scheme must be 'http' or 'https'")
    return url


def _argument(kind: Any, description: str, **default: Any) -> Any:
    return (kind, Field(description=description, **default))


_ALL = "CSS selector, such as '*', 'div', 'p', 'a', #id, .classname"
_WEB_ADDRESS = Annotated[str, AfterValidator(_web_address)]

_SHAPES: Mapping[str, tuple[str, dict[str, Any]]] = {
    "click_element": (
        "Click on an element with the given CSS selector",
        {"selector": _argument(str, "CSS selector for the element to click")},
    ),
    "navigate_browser": (
        "Navigate a browser to the specified URL",
        {"url": _argument(_WEB_ADDRESS, "url to navigate to")},
    ),
    "previous_webpage": ("Navigate back to the previous page in the browser history", {}),
    "extract_text": ("Extract all the text on the current webpage", {}),
    "extract_hyperlinks": (
        "Extract all hyperlinks on the current webpage",
        {
            "absolute_urls": _argument(
                bool, "Return absolute URLs instead of relative URLs", default=False
            )
        },
    ),
    "get_elements": (
        "Retrieve elements in the current web page matching the given CSS selector",
        {
            "selector": _argument(str, _ALL),
            "attributes": _argument(
                list[str],
                "Set of attributes to retrieve for each element",
                default_factory=lambda: ["innerText"],
            ),
        },
    ),
    "current_webpage": ("Returns the URL of the current page", {}),
}
"""What the real toolkit's tools look like: by name, description and arguments."""


def browser_shapes() -> list[BaseTool]:
    """Tools that cannot be called; in the toolkit's order."""
    return [
        StructuredTool(
            name=name,
            description=description,
            args_schema=create_model(name, **arguments),
            func=_nothing,
        )
        for name, (description, arguments) in _SHAPES.items()
    ]


def _nothing(**_: Any) -> str:
    raise AssertionError("a shape was called")
