"""HTML whose escaping cannot be forgotten, and whole pages with the one style sheet that all share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Final

# Characters that no HTML document may hold, ends of lines that nobody sees, and those that turn text around.
_UNSEEN: Final = {
    code: f"\\u{code:04x}"
    for code in (
        *(number for number in range(0x20) if number not in (0x09, 0x0A, 0x0D)),
        *range(0x7F, 0xA0),
        *range(0x2028, 0x202F),
        *range(0x2066, 0x206A),
        *range(0xD800, 0xE000),
    )
}


class Markup(str):
    """Finished HTML. A plain `str` is text, and is escaped where it is put into HTML."""

    __slots__ = ()


Content = str | Iterable["Content"]
"""Text, finished HTML, or several of them."""


def html_of(content: Content) -> Markup:
    """Content as HTML: text escaped, what cannot be seen written out."""
    if isinstance(content, Markup):
        return content
    if isinstance(content, str):
        return Markup(escape(content.translate(_UNSEEN)))
    return Markup("".join(html_of(one) for one in content))


def tag(name: str, *content: Content, **attributes: str | bool) -> Markup:
    """One element.

    Args:
        attributes: Its attributes; an underscore at the end of a name is dropped (`class_`), others
            become hyphens. `True` stands for an attribute without a value, `False` leaves it out.
    """
    written = ""
    for key, value in attributes.items():
        label = key.removesuffix("_").replace("_", "-")
        if value is True:
            written += f" {label}"
        elif value is not False:
            written += f' {label}="{html_of(value)}"'
    if name in ("br", "hr", "meta", "input"):
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{html_of(content)}</{name}>")


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
    """A table of texts, which scrolls where it is wider than the page."""
    lines = [tag("tr", [tag("td", cell) for cell in row]) for row in rows]
    return tag("section", tag("table", tag("tr", [tag("th", cell) for cell in heads]), lines))


def chip(text: str, good: bool) -> Markup:
    """A short text on a green or a red ground."""
    return tag("span", text, class_=f"chip {'met' if good else 'missed'}")


def case(
    kinds: Mapping[str, bool], chips: Content, name: str, about: str, *body: Content
) -> Markup:
    """One of many things on a page: a line that opens.

    Args:
        kinds: What `filters` shows it under, and whether.
        chips: Before its name.
        about: Small, behind it.
    """
    return tag(
        "details",
        tag(
            "summary",
            chips,
            tag("span", name, class_="name mono"),
            tag("span", about, class_="soft"),
        ),
        tag("div", *body),
        class_=" ".join(["case", *(kind for kind, holds in kinds.items() if holds)]),
    )


POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""Content Security Policy: should anything slip through, a browser still runs and fetches nothing."""


def page(title: str, *body: Content) -> str:
    """A complete HTML document.

    Args:
        title: For the tab and the heading.
        body: What stands below the heading.
    """
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        tag("style", Markup(_style())),
    )
    main = tag("body", tag("main", tag("h1", title), html_of(body)))
    return f"<!doctype html>\n{tag('html', head, main, lang='en')}\n"


def filters(choices: Mapping[str, str]) -> Markup:
    """Switches, of which one is on: every `case` that has not the chosen class is hidden.

    Args:
        choices: Class to label; `all` is for all, and is on at first.
    """
    hidden = (
        f"main:has(#show-{kind}:checked) details.case:not(.{kind}) {{ display: none; }}"
        for kind in choices
        if kind != "all"
    )
    return tag(
        "fieldset",
        [
            tag(
                "label",
                tag("input", type="radio", name_="show", id=f"show-{kind}", checked=kind == "all"),
                label,
            )
            for kind, label in choices.items()
        ],
        tag("style", Markup("\n".join(hidden))),
    )


@cache
def _style() -> str:
    return files("agentworld_sim.report").joinpath("style.css").read_text(encoding="utf-8")
