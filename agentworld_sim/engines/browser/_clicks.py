"""Where a click leads, as far as the page itself says it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urldefrag, urlencode, urljoin, urlsplit, urlunsplit

if TYPE_CHECKING:
    from bs4 import Tag

_BUTTONS = frozenset(["submit", "image"])
_NOT_SENT = frozenset(["submit", "image", "button", "reset", "file"])


@dataclass(frozen=True, slots=True)
class Way:
    """A request that a click makes."""

    url: str
    """Absolute."""
    method: str = "GET"
    fields: tuple[tuple[str, str], ...] = ()
    """What a form sends in its body."""
    new_tab: bool = False


def way_of(element: Tag, url: str) -> Way | None:
    """The way that leads on from the page at `url`; `None` when the page alone does not say so."""
    anchor = _around(element, "a")
    if anchor is not None and anchor.get("href") is not None:
        target = urljoin(url, _text(anchor, "href").strip())
        if urlsplit(target).scheme not in ("http", "https"):
            return None
        return Way(target, new_tab=_text(anchor, "target") == "_blank")
    button = _around(element, "button") or (element if element.name == "input" else None)
    form = None if button is None else _around(button, "form")
    if button is None or form is None:
        return None
    usual = "submit" if button.name == "button" else "text"
    if (_text(button, "type") or usual).lower() not in _BUTTONS:
        return None
    return _sent(form, button, url)


def stays(target: str, url: str) -> bool:
    """Whether `target` is another place on the same page."""
    return "#" in target and urldefrag(target).url == urldefrag(url).url


def _sent(form: Tag, button: Tag, url: str) -> Way | None:
    action = urljoin(url, _text(button, "formaction") or _text(form, "action") or url)
    if urlsplit(action).scheme not in ("http", "https"):
        return None
    fields = tuple(_fields(form, button))
    method = (_text(button, "formmethod") or _text(form, "method") or "get").upper()
    new_tab = _text(form, "target") == "_blank"
    if method == "POST":
        return Way(action, "POST", fields, new_tab)
    parts = urlsplit(action)
    return Way(
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
            found += [(name, value) for value in _chosen(one)]
        elif kind not in ("checkbox", "radio") or one.get("checked") is not None:
            usual = "on" if kind in ("checkbox", "radio") else ""
            found.append((name, _text(one, "value") or usual))
    return found


def _chosen(select: Tag) -> list[str]:
    options = cast("list[Tag]", select.find_all("option"))
    chosen = [one for one in options if one.get("selected") is not None]
    if not chosen and select.get("multiple") is None:
        chosen = options[:1]
    return [
        _text(one, "value") if one.get("value") is not None else one.get_text().strip()
        for one in chosen
    ]


def _around(element: Tag, name: str) -> Tag | None:
    if element.name == name:
        return element
    return element.find_parent(name)


def _text(element: Tag, name: str) -> str:
    value: Any = element.get(name)
    return "" if value is None else str(value)
