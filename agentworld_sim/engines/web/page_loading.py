"""How a browser comes to a page: redirects, cookies, downloads, and who answers."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from email.message import Message
from html import escape
from typing import Any
from urllib.parse import unquote, unquote_to_bytes, urldefrag, urlsplit

from agentworld_sim.engines.web.browser_state import BrowserState, WebPage, gives_pages
from agentworld_sim.engines.web.cookies import after_response, cookie_header
from agentworld_sim.engines.web.document import parse_document
from agentworld_sim.engines.web.requests import (
    Internet,
    WebRequest,
    WebResponse,
    normal_url,
    resolve_url,
)
from agentworld_sim.errors import CannotCompute
from agentworld_sim.types.files import Blobs, FileEntry, normal_path, parent_of
from agentworld_sim.types.state import StateChange, WorldState

NOT_FOUND = (
    "<html><head><title>404 Not Found</title></head><body><h1>Not Found</h1><p>The requested URL was"
    " not found on this server.</p></body></html>"
)
"""The page at a URL where there is none."""
MOST_REDIRECTS = 20
_SCHEMES = ("http://", "https://")
_SHOWN = ("text/html", "application/xhtml+xml", "")
_SHOWN_AS_TEXT = ("text/plain", "application/json", "text/css", "text/javascript", "text/xml")
_USER_AGENT = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0"
    " Safari/537.36"
)


class PageNeeded(Exception):
    """Nobody but a model knows the page that comes next."""

    def __init__(self, wanted: Mapping[str, Any]) -> None:
        super().__init__(wanted)
        self.wanted = wanted
        """What it is asked."""


class LoadFailed(Exception):
    """No page came; the text is the browser's own, `net::ERR_NAME_NOT_RESOLVED`."""


@dataclass(frozen=True, slots=True)
class Download:
    """A file that came instead of a page."""

    filename: str
    content: bytes


@dataclass(slots=True)
class WorldFiles:
    """The files of a world as one turn reads and writes them."""

    state: WorldState
    blobs: Blobs
    changes: dict[str, FileEntry | None]

    def read(self, path: str) -> bytes | None:
        """The content of a file; `None` where there is none."""
        entry = self.changes.get(path) or self.state.files.get(path)
        if entry is None or entry.kind != "file":
            return None
        return self.blobs.get(entry.content) if entry.content else b""

    def write(self, path: str, content: bytes) -> None:
        """Writes a file, with the folders around it. What is no folder there is left alone, and so is the file."""
        time_us, above = self.state.clock_us, parent_of(path)
        folders: list[str] = []
        while (held := self.changes.get(above) or self.state.files.get(above)) is None:
            folders.append(above)
            above = parent_of(above)
        here = self.changes.get(path) or self.state.files.get(path)
        if held.kind != "directory" or (here is not None and here.kind != "file"):
            return
        for folder in reversed(folders):
            self.changes[folder] = FileEntry("directory", 0o755, time_us)
        blob = self.blobs.put(content)
        self.changes[path] = FileEntry("file", 0o644, time_us, blob, len(content))


class PageLoader:
    """Loads pages during one turn of a browser."""

    def __init__(
        self,
        browser: BrowserState,
        state: WorldState,
        internet: Internet | None,
        imagined: Callable[[Mapping[str, Any]], WebPage | str] | None,
    ) -> None:
        """
        Args:
            browser: Where cookies and requests are kept.
            internet: The sites; without, there are only pages that were given.
            imagined: Gives the page that a model imagined, or its error; raises `PageNeeded`. Without,
                there is no model.
        """
        self._browser = browser
        self._state = state
        self._internet = internet
        self.has_sites = internet is not None
        self.imagined = imagined
        self.change = StateChange(clock_us=state.clock_us)
        """What sites did to the state."""
        self.tab = 0
        """The number of the tab that asks."""

    def load(
        self, request: WebRequest, *, referer: str = "", raw: bool = False
    ) -> WebPage | Download | None:
        """What a request leads to; `None` where the browser stays where it is. `raw` asks for the bytes
        of what would be a page.

        Raises:
            LoadFailed: no page came.
            PageNeeded: a model has to be asked.
            CannotCompute: this browser has no pages at all.
        """
        if not request.url.startswith(_SCHEMES):
            raise LoadFailed("net::ERR_INVALID_URL")
        fragment = urlsplit(request.url).fragment
        for _ in range(MOST_REDIRECTS + 1):
            plain = replace(request, url=urldefrag(request.url).url)
            given = self._browser.given_page(plain.url)
            if given is not None:
                self._keep(plain, WebResponse(given.status, given.html.encode()), "document")
                return replace(given, url=_with(given.url, fragment))
            # What is saved and not shown is no request of the page.
            response = self._ask(plain, "" if raw else "document", referer)
            if response is None:
                return self._from_elsewhere(request)
            location = response.header("location")
            if response.status not in (301, 302, 303, 307, 308) or location is None:
                if raw and response.status < 400:
                    return Download("", response.body)
                return _page(_with(plain.url, fragment), response)
            target = resolve_url(plain.url, location)
            if not target.startswith(_SCHEMES):
                raise LoadFailed(
                    "net::ERR_UNSAFE_REDIRECT" if target else "net::ERR_INVALID_REDIRECT"
                )
            fragment = urlsplit(target).fragment or fragment
            if response.status in (307, 308):
                request = replace(plain, url=target)
            else:
                method = "HEAD" if plain.method == "HEAD" else "GET"
                request = WebRequest(target, method)
        raise LoadFailed("net::ERR_TOO_MANY_REDIRECTS")

    def answer(self, request: WebRequest) -> tuple[WebResponse, StateChange] | None:
        """What comes of one request that no tab makes: from a site, else the page that is imagined; `None` where none is.

        Raises:
            PageNeeded: a model has to be asked.
        """
        found = None if self._internet is None else self._internet.answer(request, self._state)
        if found is not None or self.imagined is None:
            return found
        try:
            page = self._from_elsewhere(request)
        except LoadFailed:
            return None
        change = StateChange(clock_us=self._state.clock_us, values=self._browser.changes)
        return page.response, change

    def sheet(self, url: str) -> str | None:
        """The text of a style sheet, asked for once more: it is no event of the page."""
        if self._internet is None:
            return None
        found = self._internet.answer(WebRequest(url), self._state)
        return found[0].text if found is not None and found[0].status < 400 else None

    def console(self, page: WebPage) -> list[str]:
        """What the console says once a page and what belongs to it is there: each thing that is missing."""
        failed = [(page.url, page.status, page.status_text)] if page.status >= 400 else []
        if self._internet is not None:
            document = parse_document(page.html)
            for element in document.root.descendants("img", "input", "link"):
                is_image = element.tag == "img" or element.get("type").lower() == "image"
                source = document.sheet_links.get(element) or (is_image and element.get("src"))
                url = resolve_url(page.url, source) if source else ""
                asked = WebRequest(urldefrag(url).url)
                response = self._ask(asked, "resource") if url.startswith("http") else None
                if response is not None and response.status >= 400:
                    failed.append((url, response.status, response.status_text))
        return [
            f"Failed to load resource: the server responded with a status of {status} ({reason}) @ {url}:0"
            for url, status, reason in failed
        ]

    def _ask(self, request: WebRequest, kind: str, referer: str = "") -> WebResponse | None:
        if self._internet is None:
            return None
        state = self._state.after(self.change)
        cookies = cookie_header(self._browser.cookies, request.url, state.clock_us)
        own = {
            "host": urlsplit(request.url).netloc,
            "user-agent": _USER_AGENT,
            "accept": "text/html,application/xhtml+xml,*/*;q=0.8",
            "referer": referer,
            "cookie": cookies,
        }
        headers = tuple((name, value) for name, value in own.items() if value)
        request = replace(request, headers=(*headers, *request.headers))
        found = self._internet.answer(request, state)
        if found is None:
            return None
        response, change = found
        self.change = self.change.then(change)
        self._browser.cookies = after_response(
            self._browser.cookies, request, response, state.clock_us
        )
        if kind:
            self._keep(request, response, kind)
        return response

    def _keep(self, request: WebRequest, response: WebResponse, kind: str) -> None:
        about: dict[str, Any] = {
            "tab": self.tab,
            "method": request.method,
            "url": request.url,
            "kind": kind,
            "status": response.status,
            "reason": response.status_text,
            "headers": [list(one) for one in request.headers],
            "answered": [list(one) for one in response.headers],
        }
        if request.body:
            about["body"] = request.body.decode("utf-8", "replace")
        self._browser.log(about)

    def fail(self, url: str, error: str) -> None:
        """Keeps a request for which no page came."""
        about = {"tab": self.tab, "method": "GET", "url": url, "kind": "document", "error": error}
        self._browser.log(about)

    def _from_elsewhere(self, request: WebRequest) -> WebPage:
        if self.imagined is not None:
            kept = self._browser.imagined_page(request.url) if request.method == "GET" else None
            page = kept or self.imagined(request_fields(request))
            if isinstance(page, str):
                raise LoadFailed(page)
            if request.method == "GET":
                self._browser.keep_imagined(request.url, page)
            else:
                self._browser.forget_imagined(request.url)
            return page
        if gives_pages(self._state.values):
            return WebPage(request.url, 404, NOT_FOUND)
        if self._internet is not None:
            raise LoadFailed("net::ERR_NAME_NOT_RESOLVED")
        raise CannotCompute(
            "the browser has no pages to show. Give it some (`pages=…`), or name a language"
            " world model that imagines them: AGENTWORLD_MODEL_URL."
        )


def request_fields(request: WebRequest) -> Mapping[str, Any]:
    """What a model is told of a request."""
    if request.method == "GET":
        return {"url": request.url}
    fields = {
        name: value if isinstance(value, str) else value.filename for name, value in request.form()
    }
    return {"url": request.url, "method": request.method, "fields": fields}


def _with(url: str, fragment: str) -> str:
    plain = urldefrag(normal_url(url)).url
    return f"{plain}#{fragment}" if fragment else plain


def _page(url: str, response: WebResponse) -> WebPage | Download | None:
    if response.status in (204, 205):
        return None
    said = Message()
    said["content-disposition"] = response.header("content-disposition") or "inline"
    media_type = response.media_type
    is_shown = media_type in (*_SHOWN, *_SHOWN_AS_TEXT) or media_type.startswith("image/")
    if said.get_content_disposition() == "attachment" or not is_shown:
        return Download(said.get_filename() or download_name(url), response.body)
    html = response.text
    if media_type in _SHOWN_AS_TEXT:
        html = f"<html><head></head><body><pre>{escape(html, quote=False)}</pre></body></html>"
    elif media_type.startswith("image/"):
        html = f"<html><head></head><body><img src='{escape(url)}'></body></html>"
    return WebPage(url, response.status, html, reason=response.reason)


def data_page(url: str) -> WebPage | Download | None:
    """The page that a `data:` URL holds. Raises `LoadFailed` where it holds none."""
    about, comma, text = url.removeprefix("data:").partition(",")
    kind, _, encoding = about.rpartition(";") if about.endswith(";base64") else (about, "", "")
    try:
        body = b64decode(unquote(text), validate=True) if encoding else unquote_to_bytes(text)
    except ValueError:
        comma, body = "", b""
    if not comma:
        raise LoadFailed("net::ERR_INVALID_URL")
    return _page(url, WebResponse(200, body, (("content-type", kind or "text/plain"),)))


def download_name(url: str) -> str:
    """What a download is called that has no name of its own."""
    return normal_path(unquote(urlsplit(url).path)).rpartition("/")[2] or "download"
