"""One turn of a browser: what is open, what is loaded, what is written."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field, replace
from html import escape
from urllib.parse import urlsplit

from agentworld_sim.engines.web.browser_state import (
    BLANK,
    FAILED,
    BrowserState,
    TabState,
    WebPage,
)
from agentworld_sim.engines.web.document import Element, parse_document
from agentworld_sim.engines.web.page_loading import (
    Download,
    LoadFailed,
    PageLoader,
    WorldFiles,
    data_page,
)
from agentworld_sim.engines.web.tab_page import Effect, PagesRead, TabPage, Unknown, Way
from agentworld_sim.ports import Answer
from agentworld_sim.types.state import StateChange
from agentworld_sim.types.turns import Observation

_NOT_IN_NAMES = re.compile(r"[\x00-\x1f\x7f/\\]")
_LONGEST_NAME = 255
TURN_US = 100_000
"""What every turn takes on the world's clock."""
DOWNLOADS = ".playwright-mcp"
"""The folder of what a browser writes by itself, in the working directory."""


@dataclass(slots=True)
class BrowserTurn:
    """A browser during one call."""

    browser: BrowserState
    loader: PageLoader
    files: WorldFiles
    workspace: str
    """The working directory of the machine."""
    clock_us: int
    """The world's time at the end of the turn."""
    read: PagesRead
    """The pages of the turn before."""
    distilled: bool = True
    """Whether pages are read as the newer generation reads them."""
    downloaded: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Name and path of each file that came."""
    _open: dict[int, TabPage] = field(default_factory=dict[int, TabPage])

    def page(self, tab: TabState) -> TabPage:
        """What a tab shows."""
        found = self._open.get(tab.number)
        if found is None:
            found = TabPage(
                self.browser,
                tab,
                self.files,
                self.loader.sheet,
                distilled=self.distilled,
                read=self.read,
            )
            self._open[tab.number] = found
        return found

    def front(self) -> TabState:
        """The tab in front; there is always one."""
        return self.browser.tab or self.browser.open_tab()

    def save(self) -> None:
        """Keeps what was done to the open pages."""
        for page in self._open.values():
            page.save()

    def forget_pages(self) -> None:
        """The pages that are open are to be read again from what is kept."""
        self._open.clear()

    def back(self, tab: TabState | None) -> WebPage | None:
        """Goes back in a tab; gives the page that is there, or `None` on the first."""
        self.save()
        documents = tab.documents if tab is not None else 0
        page = self.browser.back(tab)
        self.forget_pages()
        if page is not None and tab is not None and tab.documents > documents:
            self._watch(tab, page)
        return page

    def go_on(self, tab: TabState, effect: Effect, said: str) -> None:
        """Does what comes of a click. `said` is what the agent called the element."""
        if isinstance(effect, Way):
            with suppress(LoadFailed):  # the click is done, whatever comes of it
                self.follow(tab, effect)
        elif isinstance(effect, Unknown):
            self._imagine(tab, effect.element, said)

    def _imagine(self, tab: TabState, element: Element, said: str) -> None:
        """Asks a model for what comes of a click that only a page's programs understand."""
        here, imagined = self.browser.page(tab), self.loader.imagined
        is_given = here.asked is not None or self.browser.given_page(here.url) is not None
        if imagined is None or not (is_given or not self.loader.has_sites):
            return
        html = parse_document(here.html).html_of(element)
        page = imagined({"click": said or element.tag, "element": html})
        if isinstance(page, str):
            return
        self.save()
        self._open.clear()
        self.browser.forget_imagined(here.url)
        if page.url == here.url:
            self.browser.replace(tab, page)
        else:
            self.browser.go(tab, page)

    def follow(self, tab: TabState, way: Way) -> WebPage | None:
        """Goes where a way leads; gives the page that came, or `None` where it was a file or nothing.

        Raises:
            LoadFailed: nothing came; the tab shows that.
            PageNeeded, CannotCompute: as `PageLoader.load`.
        """
        self.save()
        here = self.browser.page(tab)
        if not way.new_tab and way.download is None and self.page(tab).same_page(way):
            there = replace(here, url=way.request.url, asked={})
            self.page(tab).focus(None)
            self.save()
            self.browser.go(tab, there, same_document=True)
            self._open.pop(tab.number)
            return there
        self.loader.tab = self.browser.opened if way.new_tab else tab.number
        try:
            came = self._load(way, referer_of(here.url, way.request.url))
        except LoadFailed as error:
            self.loader.fail(way.request.url, str(error))
            self._arrive(tab, way, _failed_page(way.request.url, str(error)))
            raise
        if way.download is not None and came is not None:
            raw = came.content if isinstance(came, Download) else came.html.encode()
            came = Download(way.download, raw)
        if isinstance(came, Download):
            name = _NOT_IN_NAMES.sub("-", came.filename.lstrip("."))[:_LONGEST_NAME] or "download"
            path = f"{self.workspace.rstrip('/')}/{DOWNLOADS}/{name}"
            self.files.write(path, came.content)
            self.downloaded.append((name, path))
        elif came is not None:
            self._arrive(tab, way, came)
            return came
        return None

    def _load(self, way: Way, referer: str) -> WebPage | Download | None:
        if way.request.url == BLANK:
            return WebPage(BLANK, 200, "")
        if way.request.url.startswith("data:"):
            return data_page(way.request.url)
        return self.loader.load(way.request, referer=referer, raw=way.download is not None)

    def _arrive(self, tab: TabState, way: Way, page: WebPage) -> None:
        if way.new_tab:
            tab = self.browser.open_tab()
        self.browser.go(tab, page)
        self._open.pop(tab.number, None)
        self._watch(tab, page)

    def _watch(self, tab: TabState, page: WebPage) -> None:
        for text in self.loader.console(page):
            tab.console.append([tab.documents, f"[ERROR] {text}"])

    def answer(self, text: str, *, is_error: bool = False) -> Answer:
        """An answer that leaves the world as this turn has made it."""
        self.save()
        change = self.loader.change.then(
            StateChange(
                clock_us=self.clock_us,
                files=self.files.changes,
                values=dict(self.browser.changes),
            )
        )
        return Answer(Observation(text=text, is_error=is_error), change)


def referer_of(here: str, target: str) -> str:
    """What a request says of the page that it comes from: to other sites, where that lies; nothing to what
    is less safe."""
    mine, theirs = urlsplit(here), urlsplit(target)
    if mine.scheme not in ("http", "https") or (mine.scheme, theirs.scheme) == ("https", "http"):
        return ""
    is_same = (mine.scheme, mine.netloc) == (theirs.scheme, theirs.netloc)
    return here.partition("#")[0] if is_same else f"{mine.scheme}://{mine.netloc}/"


def _failed_page(url: str, error: str) -> WebPage:
    host = escape(urlsplit(url).hostname or url)
    said = escape(error.removeprefix("net::"))
    html = (
        f"<title>{host}</title><h1>This site can&rsquo;t be reached</h1><p>{host} did not answer.</p>"
        f"<p>{said}</p><button type=button>Reload</button>"
    )
    return WebPage(FAILED, 200, html)
