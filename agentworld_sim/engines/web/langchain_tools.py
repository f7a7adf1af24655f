"""LangChain's tools for Playwright, on a browser's turn. They work on the tab that was opened last."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urljoin

from agentworld_sim.engines.web.browser_turn import BrowserTurn
from agentworld_sim.engines.web.document import Document, Element, parse_document
from agentworld_sim.engines.web.locators import select
from agentworld_sim.engines.web.page_loading import LoadFailed
from agentworld_sim.engines.web.requests import WebRequest, normal_url
from agentworld_sim.engines.web.tab_page import Way
from agentworld_sim.errors import UsageError
from agentworld_sim.ports import Answer

_SPACE = re.compile(r"[ \t\r\n\f]+")
_NOT_SHOWN = frozenset(
    "script style template noscript head title meta link base iframe object".split()
)
_PARAGRAPH = 2
"""Line breaks around a paragraph."""
_SPACES = re.compile(r" +")
_AROUND_BREAKS = re.compile(r" *\n *")
_BLOCKS = frozenset(
    "address article aside blockquote body dd details dialog div dl dt fieldset figcaption figure"
    " footer form h1 h2 h3 h4 h5 h6 header hgroup hr html li main nav ol pre section summary table"
    " tbody tfoot thead tr ul".split()
)
_HIDDEN_STYLE = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)\b", re.IGNORECASE
)


class LangChainCall:
    """One call of one tool."""

    def __init__(self, turn: BrowserTurn) -> None:
        self._turn = turn

    def answer(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        """What a tool answers."""
        try:
            if name == "navigate_browser":
                return self._navigate(arguments["url"])
            text = self._click(arguments["selector"]) if name == "click_element" else None
            return self._turn.answer(self._read(name, arguments) if text is None else text)
        except UsageError:
            selector = arguments["selector"]
            error = f'Unexpected token while parsing css selector "{selector}".'
            return self._turn.answer(error, is_error=True)

    def _navigate(self, given: str) -> Answer:
        turn = self._turn
        if not given.lower().startswith(("http:", "https:")):
            return turn.answer("URL scheme must be 'http' or 'https'", is_error=True)
        try:
            url = normal_url(given)
        except ValueError:
            return turn.answer("Page.goto: Cannot navigate to invalid URL", is_error=True)
        tab = turn.browser.newest or turn.front()
        try:
            page = turn.follow(tab, Way(WebRequest(url)))
        except LoadFailed as error:
            return turn.answer(f"Page.goto: {error} at {url}", is_error=True)
        status = "unknown" if page is None or page.asked == {} else page.status
        return turn.answer(f"Navigating to {given} returned status code {status}")

    def _click(self, selector: str) -> str:
        turn, tab = self._turn, self._turn.browser.newest
        page = None if tab is None else turn.page(tab)
        found = [] if page is None else select(page.document, selector)
        visible = [one for one in found if page is not None and page.tree.is_visible(one)]
        if tab is None or page is None or not visible:
            return f"Unable to click on element '{selector}'"
        turn.go_on(tab, page.click(visible[0]), selector)
        return f"Clicked element '{selector}'"

    def _read(self, name: str, arguments: Mapping[str, Any]) -> str:
        browser = self._turn.browser
        tab = browser.newest
        here = browser.page(tab)
        document = parse_document(here.html)
        match name:
            case "current_webpage":
                return here.url
            case "previous_webpage":
                page = self._turn.back(tab)
                if page is None:
                    return "Unable to navigate back; no previous page in the history"
                return (
                    f"Navigated back to the previous page with URL '{page.url}'."
                    f" Status code {page.status}"
                )
            case "extract_text":
                return " ".join(_texts(document.root))
            case "extract_hyperlinks":
                targets = [anchor.get("href") for anchor in document.root.descendants("a")]
                if arguments.get("absolute_urls", False):
                    targets = [urljoin(here.url, target) for target in targets]
                return json.dumps(list(dict.fromkeys(targets)))
            case "get_elements":
                attributes: list[str] = arguments.get("attributes", ["innerText"])
                return _elements(document, arguments["selector"], attributes)
            case _:
                pages: dict[str, dict[str, Any]] = arguments["pages"]
                for url, page in pages.items():
                    browser.give_page(url, page.get("status", 200), page["html"])
                return f"{len(pages)} pages"


def _texts(element: Element) -> Iterator[str]:
    """All texts, also those that are not shown."""
    for child in element.children:
        if isinstance(child, str):
            if text := child.strip():
                yield text
        elif child.tag not in ("script", "style", "noscript"):
            yield from _texts(child)


def _elements(document: Document, selector: str, attributes: Sequence[str]) -> str:
    found: list[dict[str, str]] = []
    for element in select(document, selector):
        given = {
            name: inner_text(element) if name == "innerText" else element.get(name)
            for name in attributes
        }
        values = {name: value for name, value in given.items() if value.strip()}
        if values:
            found.append(values)
    return json.dumps(found, ensure_ascii=False)


def inner_text(element: Element) -> str:
    """The text as it is shown, with line breaks where blocks begin and end (HTML standard,
    `innerText`; without style sheets)."""
    if any(one.tag in _NOT_SHOWN or _hides(one) for one in element.chain()):
        return element.text_content()
    shown, run, breaks = "", "", 0
    for piece in [*_pieces(element), 1]:
        if isinstance(piece, str):
            run += piece
            continue
        text = _AROUND_BREAKS.sub("\n", _SPACES.sub(" ", run)).strip(" ")
        if text:
            shown += "\n" * (breaks if shown else 0) + text
            breaks = 0
        breaks, run = max(breaks, piece), ""
    return shown


def _pieces(element: Element) -> Iterator[str | int]:
    """Texts, and numbers of line breaks between blocks."""
    cells = [child for child in element.elements if child.tag in ("td", "th")]
    for child in element.children:
        if isinstance(child, str):
            yield _SPACE.sub(" ", child)
            continue
        if child.tag in _NOT_SHOWN or _hides(child):
            continue
        edges = _PARAGRAPH if child.tag == "p" else int(child.tag in _BLOCKS)
        if child.tag == "br":
            yield "\n"
        if edges:
            yield edges
        yield from _pieces(child)
        if edges:
            yield edges
        elif child in cells[:-1]:
            yield "\t"


def _hides(element: Element) -> bool:
    return "hidden" in element.attributes or bool(_HIDDEN_STYLE.search(element.get("style")))
