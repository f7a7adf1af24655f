"""What is read off a page, with BeautifulSoup over lxml as in the real tools, and where a click on it leads."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urldefrag, urlencode, urljoin, urlsplit, urlunsplit

from agentworld_sim.engines.toolkits.toolkit_engine import ServerValues
from agentworld_sim.extras import require

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag


EXTRA = "browser"

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
_VISIBLE_ONLY = re.compile(r"\s*>>\s*visible=(?:1|true)\s*$")


class BadSelector(ValueError):
    """It is no CSS selector."""


class PageDocument:
    """A page's elements."""

    def __init__(self, html: str) -> None:
        bs4: Any = require("bs4", extra=EXTRA)
        require("lxml", extra=EXTRA)
        self.soup: BeautifulSoup = bs4.BeautifulSoup(html, "lxml", multi_valued_attributes=None)

    def text(self) -> str:
        """All text, also what is not shown."""
        return " ".join(self.soup.stripped_strings)

    def links(self, base: str | None) -> str:
        """The targets of all links, each once; absolute to `base` if there is one."""
        targets = [_text(anchor, "href") for anchor in self.soup.find_all("a")]
        if base is not None:
            targets = [urljoin(base, target) for target in targets]
        return json.dumps(list(dict.fromkeys(targets)))

    def elements(self, selector: str, attributes: Sequence[str]) -> str:
        """Attributes of the elements that a selector matches. Raises `BadSelector`."""
        found: list[dict[str, str]] = []
        for element in self.select(selector):
            values: dict[str, str] = {}
            for name in attributes:
                value = inner_text(element) if name == "innerText" else _attribute(element, name)
                if value is not None and value.strip():
                    values[name] = value
            if values:
                found.append(values)
        return json.dumps(found, ensure_ascii=False)

    def select(self, selector: str) -> list[Tag]:
        """The elements that a selector matches. Raises `BadSelector`."""
        sieve: Any = require("soupsieve", extra=EXTRA)
        css = _VISIBLE_ONLY.sub("", selector).removeprefix("css=")
        try:
            return cast("list[Tag]", list(sieve.select(css, self.soup)))
        except (sieve.SelectorSyntaxError, NotImplementedError, ValueError):
            raise BadSelector(selector) from None

    def visible(self, selector: str) -> Tag | None:
        """The first element that a person could click on. Raises `BadSelector`."""
        return next((one for one in self.select(selector) if _is_visible(one)), None)


def inner_text(element: Tag) -> str:
    """The text as it is shown, with line breaks where blocks begin and end (HTML standard,
    `innerText`; without style sheets)."""
    if not _is_visible(element):
        return element.get_text()
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


def _pieces(element: Tag) -> Iterator[str | int]:
    """Texts, and numbers of line breaks between blocks."""
    bs4: Any = require("bs4", extra=EXTRA)
    for child in element.children:
        if isinstance(child, bs4.Tag):
            inner = cast("Tag", child)
            if inner.name in _NOT_SHOWN or _hides(inner):
                continue
            edges = _PARAGRAPH if inner.name == "p" else int(inner.name in _BLOCKS)
            if inner.name == "br":
                yield "\n"
            if edges:
                yield edges
            yield from _pieces(inner)
            if edges:
                yield edges
            elif inner.name in ("td", "th") and inner.find_next_sibling(["td", "th"]):
                yield "\t"
        elif type(child) is bs4.NavigableString:
            yield _SPACE.sub(" ", str(child))


def _attribute(element: Tag, name: str) -> str | None:
    value: Any = element.get(name)
    return None if value is None else str(value)


def _text(element: Tag, name: str) -> str:
    return _attribute(element, name) or ""


def _hides(element: Tag) -> bool:
    return element.get("hidden") is not None or bool(_HIDDEN_STYLE.search(_text(element, "style")))


def _is_visible(element: Tag) -> bool:
    if element.name == "input" and _text(element, "type").lower() == "hidden":
        return False
    around = [element, *element.parents]
    return not any(one.name in _NOT_SHOWN or _hides(one) for one in around)


_BUTTONS = frozenset(["submit", "image"])
_NOT_SENT = frozenset(["submit", "image", "button", "reset", "file"])


@dataclass(frozen=True, slots=True)
class WebRequest:
    """A request that a click makes."""

    url: str
    """Absolute."""
    method: str = "GET"
    fields: tuple[tuple[str, str], ...] = ()
    """What a form sends in its body."""
    new_tab: bool = False


def request_of(element: Tag, url: str) -> WebRequest | None:
    """The way that leads on from the page at `url`; `None` when the page alone does not say so."""
    anchor = _ancestor(element, "a")
    if anchor is not None and anchor.get("href") is not None:
        target = urljoin(url, _text(anchor, "href").strip())
        if urlsplit(target).scheme not in ("http", "https"):
            return None
        return WebRequest(target, new_tab=_text(anchor, "target") == "_blank")
    button = _ancestor(element, "button") or (element if element.name == "input" else None)
    form = None if button is None else _ancestor(button, "form")
    if button is None or form is None:
        return None
    usual = "submit" if button.name == "button" else "text"
    if (_text(button, "type") or usual).lower() not in _BUTTONS:
        return None
    return _form_request(form, button, url)


def stays(target: str, url: str) -> bool:
    """Whether `target` is another place on the same page."""
    return "#" in target and urldefrag(target).url == urldefrag(url).url


def _form_request(form: Tag, button: Tag, url: str) -> WebRequest | None:
    action = urljoin(url, _text(button, "formaction") or _text(form, "action") or url)
    if urlsplit(action).scheme not in ("http", "https"):
        return None
    fields = tuple(_fields(form, button))
    method = (_text(button, "formmethod") or _text(form, "method") or "get").upper()
    new_tab = _text(form, "target") == "_blank"
    if method == "POST":
        return WebRequest(action, "POST", fields, new_tab)
    parts = urlsplit(action)
    return WebRequest(
        urlunsplit((parts.scheme, parts.netloc, parts.path, urlencode(fields), "")), new_tab=new_tab
    )


def _fields(form: Tag, button: Tag) -> list[tuple[str, str]]:
    """The fields of a form as they stand in the page, and the button itself."""
    found: list[tuple[str, str]] = []
    for one in cast("list[Tag]", form.find_all(["input", "select", "textarea", "button"])):
        name, kind = _text(one, "name"), _text(one, "type").lower()
        if not name or one.get("disabled") is not None:
            continue
        if one.name == "button" or kind in _NOT_SENT:
            if one is button:
                found.append((name, _text(one, "value")))
        elif one.name == "textarea":
            found.append((name, one.get_text()))
        elif one.name == "select":
            found += [(name, value) for value in _selected_values(one)]
        elif kind not in ("checkbox", "radio") or one.get("checked") is not None:
            usual = "on" if kind in ("checkbox", "radio") else ""
            found.append((name, _text(one, "value") or usual))
    return found


def _selected_values(select: Tag) -> list[str]:
    options = cast("list[Tag]", select.find_all("option"))
    chosen = [one for one in options if one.get("selected") is not None]
    if not chosen and select.get("multiple") is None:
        chosen = options[:1]
    return [
        _text(one, "value") if one.get("value") is not None else one.get_text().strip()
        for one in chosen
    ]


def _ancestor(element: Tag, name: str) -> Tag | None:
    if element.name == name:
        return element
    return element.find_parent(name)


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
