"""What a browser keeps in the world's values: the pages it has been to, and those it can find."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urldefrag, urlsplit, urlunsplit

from agentworld_sim.engines.toolkits.toolkit_engine import ServerValues

ROOT = "browser/"
SITE = "page/"
"""Beginning of the keys of pages that can be found, by URL."""

BLANK = "about:blank"


@dataclass(frozen=True, slots=True)
class BrowserPage:
    """A page, as it came."""

    url: str
    status: int
    html: str
    asked: Mapping[str, Any] | None = None
    """What a model was asked for it; nothing (`{}`) for another place on the page before."""


BLANK_PAGE = BrowserPage(BLANK, 200, "")


class BrowserHistory:
    """One tab: the last that was opened, which is the one that the tools use."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._kept = ServerValues(values, ROOT)
        self._at: int = self._kept.get("at", 0)
        self._length: int = self._kept.get("length", 0)
        self._opened: dict[int, BrowserPage] = {}

    @property
    def changes(self) -> Mapping[str, Any]:
        """Of the world's values."""
        return self._kept.changes

    @property
    def page(self) -> BrowserPage:
        """Where the browser is."""
        return self._visit(self._at) if self._length else BLANK_PAGE

    @property
    def urls(self) -> list[str]:
        """From the first page of the tab to this one."""
        return [self._visit(number).url for number in range(self._at + 1)] if self._length else []

    def go(self, page: BrowserPage, *, new_tab: bool = False) -> None:
        """Opens a page: what lay ahead is forgotten."""
        number = 0 if new_tab or not self._length else self._at + 1
        for beyond in range(number + 1, self._length):
            self._kept.put(f"visit/{beyond}", None)
        self._put(number, page)
        self._at, self._length = number, number + 1
        self._kept.put("at", self._at)
        self._kept.put("length", self._length)

    def replace(self, page: BrowserPage) -> None:
        """The page has changed without leaving it."""
        if self._length:
            self._put(self._at, page)

    def back(self) -> BrowserPage | None:
        """Goes back; `None` on the first page."""
        if self._at == 0:
            return None
        self._at -= 1
        self._kept.put("at", self._at)
        return self._visit(self._at)

    def served_page(self, url: str) -> BrowserPage | None:
        """The page at a URL, if there is one that was put there."""
        value: Any = self._kept.get(SITE + urldefrag(url).url)
        return None if value is None else BrowserPage(url, value["status"], value["html"])

    def serve(self, url: str, status: int, html: str) -> None:
        """Puts a page where it is found."""
        self._kept.put(SITE + urldefrag(normal_url(url)).url, {"status": status, "html": html})

    def _put(self, number: int, page: BrowserPage) -> None:
        self._opened[number] = page
        value: dict[str, Any] = {"url": page.url, "status": page.status, "html": page.html}
        if page.asked is not None:
            value["asked"] = page.asked
        self._kept.put(f"visit/{number}", value)

    def _visit(self, number: int) -> BrowserPage:
        if number not in self._opened:
            self._opened[number] = BrowserPage(**self._kept.get(f"visit/{number}"))
        return self._opened[number]


def visits_in(changes: Mapping[str, Any]) -> list[BrowserPage]:
    """The pages that the browser came to, among what a turn changed."""
    start = f"{ROOT}visit/"
    return [
        BrowserPage(**value)
        for key, value in changes.items()
        if key.startswith(start) and value is not None
    ]


def serves_pages(values: Mapping[str, Any]) -> bool:
    """Whether there is any page to be found."""
    return any(key.startswith(ROOT + SITE) for key in values)


def normal_url(url: str) -> str:
    """`url` as a browser's address bar shows it."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https"):
        return url
    scheme, host = parts.scheme, parts.netloc.lower()
    port = ":443" if scheme == "https" else ":80"
    return urlunsplit(
        (scheme, host.removesuffix(port), parts.path or "/", parts.query, parts.fragment)
    )
