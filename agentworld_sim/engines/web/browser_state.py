"""What a browser keeps in the values of a world: tabs, their history, what was typed, cookies, requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import urldefrag, urlsplit

from agentworld_sim.engines.toolkits.toolkit_engine import ServerValues
from agentworld_sim.engines.web.requests import normal_url, status_text

ROOT = "browser/"
SITE = "page/"
"""Beginning of the keys of pages that were given, by URL."""
IMAGINED = "imagined/"
"""Beginning of the keys of pages that a model imagined, by URL."""
BLANK = "about:blank"
CONTROLS = "controls"
"""What of a page's live state outlives the page: the state of its controls."""
_LONGEST_HISTORY = 50
"""Pages that a tab goes back through, as in Chromium."""
FAILED = "chrome-error://chromewebdata/"
"""The address of the page that a browser shows where no page came."""


@dataclass(frozen=True, slots=True)
class WebPage:
    """What came for an address: nothing was read of it and nothing done to it yet."""

    url: str
    status: int
    html: str
    asked: Mapping[str, Any] | None = None
    """What a model was asked for it; nothing (`{}`) for another place on the page before."""
    reason: str | None = None
    """The text after the status, where it is not the usual one."""

    @property
    def status_text(self) -> str:
        """The text after the status."""
        return status_text(self.status) if self.reason is None else self.reason


BLANK_PAGE = WebPage(BLANK, 200, "")


@dataclass(slots=True)
class TabState:
    """One tab."""

    number: int
    at: int = 0
    """Where it is in its history."""
    length: int = 0
    documents: int = 0
    """How many it has shown."""
    header: list[Any] = field(default_factory=list[Any])
    """What an agent was last told of it."""
    since: int = 0
    """The first request since an agent last navigated."""
    console: list[list[Any]] = field(default_factory=list[list[Any]])
    """Of each message since then: the document, by its number in the tab, and the text."""
    console_us: int = 0
    """When that was, on the world's clock."""
    told: int = 0
    """How many messages the agent was told of."""
    modal: dict[str, Any] | None = None
    """A dialog or a file chooser that waits."""


class BrowserState:
    """A browser: read from a world's values, changed, and given back as `changes`."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._kept = ServerValues(values, ROOT)
        about: dict[str, Any] = self._kept.get("tabs", {})
        self.tabs = [TabState(**one) for one in about.get("tabs", [])]
        """In their order."""
        self.current: int = about.get("current", 0)
        """The tab in front, by its place."""
        self.opened: int = about.get("opened", 0)
        """How many tabs were ever opened."""
        self.width: int = about.get("width", 1280)
        """Of the window, in pixels."""
        self.requests: int = about.get("requests", 0)
        """How many requests were ever made."""
        self._pages: dict[tuple[int, int], WebPage] = {}

    @property
    def changes(self) -> Mapping[str, Any]:
        """Of the world's values."""
        if self.opened:
            about = {
                "tabs": [asdict(tab) for tab in self.tabs],
                "current": self.current,
                "opened": self.opened,
                "width": self.width,
                "requests": self.requests,
            }
            self._kept.put("tabs", about)
        return self._kept.changes

    @property
    def tab(self) -> TabState | None:
        """The tab in front."""
        return self.tabs[self.current] if self.tabs else None

    @property
    def newest(self) -> TabState | None:
        """The tab that was opened last."""
        return self.tabs[-1] if self.tabs else None

    def open_tab(self) -> TabState:
        """A new tab, behind the others."""
        tab = TabState(self.opened)
        self.opened += 1
        self.tabs.append(tab)
        return tab

    def close_tab(self, tab: TabState) -> None:
        place = self.tabs.index(tab)
        self._forget(tab, 0)
        self.tabs.remove(tab)
        self.current = max(0, min(self.current - (place < self.current), len(self.tabs) - 1))

    def page(self, tab: TabState | None) -> WebPage:
        """What a tab shows."""
        return BLANK_PAGE if tab is None or not tab.length else self._visit(tab, tab.at)

    def urls(self, tab: TabState | None) -> list[str]:
        """From the first page of the tab to this one."""
        if tab is None or not tab.length:
            return []
        first = max(0, tab.length - _LONGEST_HISTORY)
        return [self._visit(tab, number).url for number in range(first, tab.at + 1)]

    def go(self, tab: TabState, page: WebPage, *, same_document: bool = False) -> None:
        """Opens a page in a tab: what lay ahead is forgotten."""
        number = tab.at + 1 if tab.length else 0
        self._forget(tab, number)
        if same_document:
            self._kept.put(self._key(tab, "live", number), self.live(tab))
        else:
            tab.documents += 1
        self._put(tab, number, page)
        tab.at, tab.length = number, number + 1
        self._drop(tab, number - _LONGEST_HISTORY)

    def replace(self, tab: TabState, page: WebPage) -> None:
        """The page has changed without leaving it."""
        tab.documents += 1
        self._put(tab, tab.at, page)
        self._kept.put(self._key(tab, "live", tab.at), None)

    def back(self, tab: TabState | None) -> WebPage | None:
        """Goes back; `None` on the first page."""
        if tab is None or tab.at <= max(0, tab.length - _LONGEST_HISTORY):
            return None
        left, kept = self.page(tab), self.live(tab)
        tab.at -= 1
        if left.asked == {}:
            self.keep_live(tab, kept)
        else:
            # It is loaded anew, and its controls are filled in again.
            tab.documents += 1
            controls = self.live(tab).get(CONTROLS, {})
            filled = {name: controls[name] for name in controls if name not in ("focus", "open")}
            self.keep_live(tab, {CONTROLS: filled})
        return self._visit(tab, tab.at)

    def live(self, tab: TabState) -> dict[str, Any]:
        """What is kept beside the tab's page: what was typed, and so on."""
        return dict(self._value(self._key(tab, "live", tab.at)) or {})

    def keep_live(self, tab: TabState, live: Mapping[str, Any]) -> None:
        """Keeps what belongs to the tab's page."""
        if tab.length:
            self._kept.put(self._key(tab, "live", tab.at), dict(live) or None)

    @property
    def cookies(self) -> list[Mapping[str, Any]]:
        return list(self._value("cookies") or ())

    @cookies.setter
    def cookies(self, kept: list[Mapping[str, Any]]) -> None:
        self._kept.put("cookies", kept or None)

    def log(self, request: Mapping[str, Any]) -> int:
        """Keeps a request with what came of it, and gives its number."""
        self._kept.put(f"request/{self.requests}", request)
        self.requests += 1
        return self.requests - 1

    def request(self, number: int) -> Mapping[str, Any]:
        """A request that was kept."""
        return self._value(f"request/{number}")

    def given_page(self, url: str) -> WebPage | None:
        """The page at a URL, if there is one that was put there."""
        value = self._value(SITE + urldefrag(url).url)
        return None if value is None else WebPage(url, value["status"], value["html"])

    def give_page(self, url: str, status: int, html: str) -> None:
        """Puts a page where it is found."""
        value = {"status": status, "html": html}
        self._kept.put(SITE + urldefrag(normal_url(url)).url, value)

    def imagined_page(self, url: str) -> WebPage | None:
        """What a model imagined at a URL: it is the same when the browser comes again."""
        value = self._value(IMAGINED + urldefrag(url).url)
        return None if value is None else WebPage(**value)

    def keep_imagined(self, url: str, page: WebPage) -> None:
        """Keeps a page that was imagined at a URL."""
        value = {name: one for name, one in asdict(page).items() if one is not None}
        self._kept.put(IMAGINED + urldefrag(url).url, value)

    def forget_imagined(self, url: str) -> None:
        """Forgets the pages of the host of `url`, which something was done to."""
        host = urlsplit(url).netloc
        for one in self._kept.items(IMAGINED):
            if urlsplit(one).netloc == host:
                self._kept.put(IMAGINED + one, None)

    def _key(self, tab: TabState, what: str, number: int) -> str:
        return f"tab/{tab.number}/{what}/{number}"

    def _value(self, key: str) -> Any:
        """A value as it is now, which this turn may have changed."""
        changed = self._kept.changes
        return changed[ROOT + key] if ROOT + key in changed else self._kept.get(key)

    def _forget(self, tab: TabState, beyond: int) -> None:
        for number in range(beyond, tab.length):
            self._drop(tab, number)

    def _drop(self, tab: TabState, number: int) -> None:
        self._pages.pop((tab.number, number), None)
        for what in ("visit", "live"):
            key = self._key(tab, what, number)
            if self._value(key) is not None:
                self._kept.put(key, None)

    def _put(self, tab: TabState, number: int, page: WebPage) -> None:
        self._pages[tab.number, number] = page
        value = {name: held for name, held in asdict(page).items() if held is not None}
        self._kept.put(self._key(tab, "visit", number), value)

    def _visit(self, tab: TabState, number: int) -> WebPage:
        key = (tab.number, number)
        if key not in self._pages:
            self._pages[key] = WebPage(**self._value(self._key(tab, "visit", number)))
        return self._pages[key]


def pages_in(changes: Mapping[str, Any]) -> list[WebPage]:
    """The pages that the browser came to, among what a turn changed."""
    return [
        WebPage(**value)
        for key, value in changes.items()
        if key.startswith(f"{ROOT}tab/") and "/visit/" in key and value is not None
    ]


def gives_pages(values: Mapping[str, Any]) -> bool:
    """Whether any page was put where a browser finds it."""
    return any(key.startswith(ROOT + SITE) for key in values)
