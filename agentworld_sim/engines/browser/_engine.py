"""`BrowserEngine`: a browser's tools, computed; pages that nobody gave are imagined."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from agentworld_sim.engines.browser._clicks import Way, stays, way_of
from agentworld_sim.engines.browser._document import BadSelector, Document
from agentworld_sim.engines.browser._imagining import PageImaginer, Question
from agentworld_sim.engines.browser.history import (
    BLANK,
    BrowserHistory,
    Page,
    normal_url,
    serves_pages,
)
from agentworld_sim.errors import CannotCompute, EngineFailure, nearest
from agentworld_sim.ports import Answer, Engine, EngineSession, TurnContext
from agentworld_sim.toolkits import arguments_of, binding_for, known_tool, known_tools
from agentworld_sim.types.exchanges import Exchange
from agentworld_sim.types.files import Blobs
from agentworld_sim.types.state import StateChange, WorldState
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Observation, Provenance

TURN_US = 100_000
"""What every turn takes on the world's clock."""

NOT_FOUND = (
    "<html><head><title>404 Not Found</title></head><body><h1>Not Found</h1><p>The requested URL was"
    " not found on this server.</p></body></html>"
)
"""The page at a URL where there is none."""


class BrowserEngine:
    """Implements `Engine` for the tools of LangChain's toolkit for Playwright."""

    name = "browser"
    route: Literal["compute"] = "compute"

    def __init__(self, behind: Engine | None = None) -> None:
        """
        Args:
            behind: The engine that imagines pages; without one there are only those that were given.
        """
        self._behind = behind

    @property
    def reasks(self) -> int:
        return 0 if self._behind is None else self._behind.reasks

    def bind(self, tool: ToolSpec) -> ToolSpec | None:
        found = binding_for(tool)
        if found is None or found.engine != self.name:
            return None
        if tool.binds_to is None and self._behind is None:
            return None
        return replace(tool, domain="web", binds_to=tool.binds_to or found.id)

    def refusal(self, tool: ToolSpec) -> str:
        found = binding_for(tool)
        if found is not None and found.engine == self.name:
            return (
                f"The browser has no pages to show: {tool.name!r} needs a language world model"
                " (AGENTWORLD_MODEL_URL, or model=…), or pages that are given to it."
            )
        names = [
            name
            for known in known_tools().values()
            if known.engine == self.name
            for name in known.names
        ]
        near = nearest(tool.name, names)
        return near and f"The browser has no such tool.{near}"

    async def open(self, state: WorldState, blobs: Blobs) -> BrowserSession:
        return BrowserSession(self._behind)


@dataclass(frozen=True, slots=True)
class _Arrival:
    """A page that the browser came to, or what it says instead."""

    page: Page | None
    error: str = ""
    provenance: Provenance = "computed"
    exchanges: tuple[Exchange, ...] = ()


class BrowserSession:
    """Implements `EngineSession`. An answer follows from the state, and from what is imagined."""

    def __init__(self, behind: Engine | None) -> None:
        self._behind = behind
        self._imagining: EngineSession | None = None

    async def answer(self, call: ToolCall, tool: ToolSpec, context: TurnContext) -> Answer:
        found = known_tool(tool.binds_to)
        if found is None:
            raise EngineFailure(f"the browser was given {tool.name!r}, which it cannot answer")
        history = BrowserHistory(context.state.values)
        arguments = dict(arguments_of(tool.binds_to, call.arguments))
        try:
            match found.name:
                case "navigate_browser":
                    text, arrival = await self._navigate(history, arguments["url"], context)
                case "click_element":
                    text, arrival = await self._click(history, arguments["selector"], context)
                case name:
                    text, arrival = _computed(history, name, arguments), None
        except BadSelector as selector:
            text = f'Unexpected token while parsing css selector "{selector}".'
            arrival = _Arrival(None, error=text)
        return _answer(text, arrival, history, context)

    def close(self) -> None:
        if self._imagining is not None:
            self._imagining.close()

    async def _navigate(
        self, history: BrowserHistory, given: str, context: TurnContext
    ) -> tuple[str, _Arrival | None]:
        parts = urlsplit(given)
        if parts.scheme not in ("http", "https"):
            return "", _Arrival(None, error="URL scheme must be 'http' or 'https'")
        if not parts.netloc:
            return "", _Arrival(None, error="Page.goto: Cannot navigate to invalid URL")
        url, here = normal_url(given), history.page
        if stays(url, here.url):
            history.go(replace(here, url=url, asked={}))
            return f"Navigating to {given} returned status code unknown", None
        arrival = await self._arrive(history, Way(url), context)
        if arrival.page is None:
            return "", arrival
        history.go(arrival.page)
        return f"Navigating to {given} returned status code {arrival.page.status}", arrival

    async def _click(
        self, history: BrowserHistory, selector: str, context: TurnContext
    ) -> tuple[str, _Arrival | None]:
        here = history.page
        element = Document(here.html).visible(selector) if here.url != BLANK else None
        if element is None:
            return f"Unable to click on element '{selector}'", None
        clicked = f"Clicked element '{selector}'"
        way = way_of(element, here.url)
        if way is not None and stays(way.url, here.url) and not way.new_tab:
            history.go(replace(here, url=normal_url(way.url), asked={}))
            return clicked, None
        if way is not None:
            way = replace(way, url=normal_url(way.url))
            arrival = await self._arrive(history, way, context)
            if arrival.page is not None:
                history.go(arrival.page, new_tab=way.new_tab)
            # The click is done, whatever comes of it.
            return clicked, replace(arrival, error="")
        imaginer = await self._imaginer(context)
        if imaginer is None:
            # Without programs a page stays as it is.
            return clicked, None
        question = Question(history.urls, selector=selector, element=str(element))
        page, exchanges = await imaginer.page(question, context)
        if isinstance(page, Page):
            (history.replace if page.url == here.url else history.go)(page)
        return clicked, _Arrival(None, "", imaginer.provenance, exchanges)

    async def _arrive(self, history: BrowserHistory, way: Way, context: TurnContext) -> _Arrival:
        """The page that a request leads to."""
        found = history.found(way.url)
        if found is not None:
            return _Arrival(found)
        imaginer = await self._imaginer(context)
        if imaginer is None:
            if not serves_pages(context.state.values):
                raise CannotCompute(
                    "the browser has no pages to show. Give it some (`pages=…`), or name a language"
                    " world model that imagines them: AGENTWORLD_MODEL_URL."
                )
            return _Arrival(Page(way.url, 404, NOT_FOUND))
        page, exchanges = await imaginer.page(Question(history.urls, way), context)
        if isinstance(page, str):
            error = f"Page.goto: {page} at {way.url}"
            return _Arrival(None, error, imaginer.provenance, exchanges)
        return _Arrival(page, "", imaginer.provenance, exchanges)

    async def _imaginer(self, context: TurnContext) -> PageImaginer | None:
        if self._behind is None:
            return None
        if self._imagining is None:
            self._imagining = await self._behind.open(context.state, context.blobs)
        return PageImaginer(self._imagining, tries=self._behind.reasks + 1)


def _computed(history: BrowserHistory, name: str, arguments: dict[str, Any]) -> str:
    """What is read off the history and the page.

    Raises:
        BadSelector: an argument is no CSS selector.
    """
    here = history.page
    match name:
        case "current_webpage":
            return here.url
        case "previous_webpage":
            page = history.back()
            if page is None:
                return "Unable to navigate back; no previous page in the history"
            return (
                f"Navigated back to the previous page with URL '{page.url}'."
                f" Status code {page.status}"
            )
        case "extract_text":
            return Document(here.html).text()
        case "extract_hyperlinks":
            absolute: bool = arguments.get("absolute_urls", False)
            return Document(here.html).links(here.url if absolute else None)
        case "get_elements":
            attributes: list[str] = arguments.get("attributes", ["innerText"])
            return Document(here.html).elements(arguments["selector"], attributes)
        case _:
            pages = cast("dict[str, dict[str, Any]]", arguments["pages"])
            for url, page in pages.items():
                history.serve(url, page.get("status", 200), page["html"])
            return f"{len(pages)} pages"


def _answer(
    text: str, arrival: _Arrival | None, history: BrowserHistory, context: TurnContext
) -> Answer:
    error = arrival.error if arrival else ""
    provenance = arrival.provenance if arrival else "computed"
    observation = Observation(
        text=error or text,
        is_error=bool(error),
        provenance=provenance,
    )
    change = StateChange(clock_us=context.state.clock_us + TURN_US, values=dict(history.changes))
    exchanges = arrival.exchanges if arrival else ()
    return Answer(observation, change, exchanges=exchanges, handed_on=provenance != "computed")
