"""`BrowserEngine`: a browser's tools, computed; pages that nobody gave are imagined."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from agentworld_sim.engines.browser.page import (
    BLANK,
    BadSelector,
    BrowserHistory,
    BrowserPage,
    PageDocument,
    WebRequest,
    normal_url,
    request_of,
    serves_pages,
    stays,
)
from agentworld_sim.engines.browser.page_question import Arrive, PageQuestion, request_fields
from agentworld_sim.errors import CannotCompute, EngineFailure
from agentworld_sim.ports import Answer, Imaginer, StepContext
from agentworld_sim.toolkits import arguments_of, bind_to, binding_for, known_tool, unknown_to
from agentworld_sim.types.files import Blobs
from agentworld_sim.types.state import StateChange, WorldState
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Observation

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

    def __init__(self, imaginer: Imaginer | None = None) -> None:
        """Without `imaginer` there are only the pages that were given."""
        self._imaginer = imaginer

    def bind(self, tool: ToolSpec) -> ToolSpec | None:
        if tool.binds_to is None and self._imaginer is None:
            return None
        return bind_to(tool, self.name)

    def refusal(self, tool: ToolSpec) -> str:
        found = binding_for(tool)
        if found is not None and found.engine == self.name:
            return (
                f"The browser has no pages to show: {tool.name!r} needs a language world model"
                " (AGENTWORLD_MODEL_URL, or model=…), or pages that are given to it."
            )
        return unknown_to(tool, self.name)

    async def open(self, state: WorldState, blobs: Blobs) -> BrowserSession:
        return BrowserSession(self._imaginer)


@dataclass(frozen=True, slots=True)
class _Turn:
    """A call, and where it finds the browser."""

    call: ToolCall
    tool: ToolSpec
    context: StepContext

    def history(self) -> BrowserHistory:
        """The browser before the call."""
        return BrowserHistory(self.context.state.values)

    def answer(self, history: BrowserHistory, text: str, *, error: str = "") -> Answer:
        """An answer that leaves the browser as `history` is."""
        clock_us = self.context.state.clock_us + TURN_US
        return Answer(
            Observation(text=error or text, is_error=bool(error)),
            StateChange(clock_us=clock_us, values=dict(history.changes)),
        )


class BrowserSession:
    """Implements `EngineSession`. An answer follows from the state, and from what is imagined."""

    def __init__(self, imaginer: Imaginer | None) -> None:
        self._imaginer = imaginer
        self._memory: dict[str, Any] = {}

    async def answer(self, context: StepContext) -> Answer:
        call, tool = context.call, context.tool
        found = known_tool(tool.binds_to)
        if found is None:
            raise EngineFailure(f"the browser was given {tool.name!r}, which it cannot answer")
        turn = _Turn(call, tool, context)
        arguments = dict(arguments_of(tool.binds_to, call.arguments))
        try:
            match found.name:
                case "navigate_browser":
                    return await self._navigate(turn, arguments["url"])
                case "click_element":
                    return await self._click(turn, arguments["selector"])
                case name:
                    history = turn.history()
                    text = _read_off(history, name, arguments)
                    return turn.answer(history, text)
        except BadSelector as selector:
            error = f'Unexpected token while parsing css selector "{selector}".'
            return turn.answer(turn.history(), "", error=error)

    def close(self) -> None:
        pass

    async def _navigate(self, turn: _Turn, given: str) -> Answer:
        history, parts = turn.history(), urlsplit(given)
        if parts.scheme not in ("http", "https"):
            return turn.answer(history, "", error="URL scheme must be 'http' or 'https'")
        if not parts.netloc:
            return turn.answer(history, "", error="Page.goto: Cannot navigate to invalid URL")
        url, here = normal_url(given), history.page
        if stays(url, here.url):
            history.go(replace(here, url=url, asked={}))
            return turn.answer(history, f"Navigating to {given} returned status code unknown")

        def arrive(page: BrowserPage | str) -> Answer:
            there = turn.history()
            if isinstance(page, str):
                return turn.answer(there, "", error=f"Page.goto: {page} at {url}")
            there.go(page)
            return turn.answer(there, f"Navigating to {given} returned status code {page.status}")

        return await self._follow(turn, WebRequest(url), arrive)

    async def _click(self, turn: _Turn, selector: str) -> Answer:
        history = turn.history()
        here = history.page
        element = PageDocument(here.html).visible(selector) if here.url != BLANK else None
        if element is None:
            return turn.answer(history, f"Unable to click on element '{selector}'")
        clicked = f"Clicked element '{selector}'"
        way = request_of(element, here.url)
        if way is not None and stays(way.url, here.url) and not way.new_tab:
            history.go(replace(here, url=normal_url(way.url), asked={}))
            return turn.answer(history, clicked)

        def arrive(page: BrowserPage | str) -> Answer:
            there = turn.history()
            if isinstance(page, BrowserPage):
                if way is None and page.url == here.url:
                    there.replace(page)
                else:
                    there.go(page, new_tab=way is not None and way.new_tab)
            # The click is done, whatever comes of it.
            return turn.answer(there, clicked)

        if way is not None:
            return await self._follow(turn, replace(way, url=normal_url(way.url)), arrive)
        if self._imaginer is None:
            # Without programs a page stays as it is.
            return turn.answer(history, clicked)
        wanted = {"click": selector, "element": str(element)}
        return await self._imagine(self._imaginer, turn, wanted, arrive)

    async def _follow(self, turn: _Turn, way: WebRequest, arrive: Arrive) -> Answer:
        """What comes of a request."""
        found = turn.history().served_page(way.url)
        if found is not None:
            return arrive(found)
        if self._imaginer is not None:
            return await self._imagine(self._imaginer, turn, request_fields(way), arrive)
        if not serves_pages(turn.context.state.values):
            raise CannotCompute(
                "the browser has no pages to show. Give it some (`pages=…`), or name a language"
                " world model that imagines them: AGENTWORLD_MODEL_URL."
            )
        return arrive(BrowserPage(way.url, 404, NOT_FOUND))

    async def _imagine(
        self, imaginer: Imaginer, turn: _Turn, wanted: Mapping[str, Any], arrive: Arrive
    ) -> Answer:
        question = await PageQuestion.of(
            turn.history(),
            wanted,
            turn.context,
            (turn.call, turn.tool, arrive),
            self._memory,
        )
        return question.to_answer(await imaginer.ask(question, question.context))


def _read_off(history: BrowserHistory, name: str, arguments: dict[str, Any]) -> str:
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
            return PageDocument(here.html).text()
        case "extract_hyperlinks":
            absolute: bool = arguments.get("absolute_urls", False)
            return PageDocument(here.html).links(here.url if absolute else None)
        case "get_elements":
            attributes: list[str] = arguments.get("attributes", ["innerText"])
            return PageDocument(here.html).elements(arguments["selector"], attributes)
        case _:
            pages = cast("dict[str, dict[str, Any]]", arguments["pages"])
            for url, page in pages.items():
                history.serve(url, page.get("status", 200), page["html"])
            return f"{len(pages)} pages"
