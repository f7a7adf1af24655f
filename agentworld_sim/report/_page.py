"""A whole page, with the one style sheet that all pages share."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from agentworld_sim.report._markup import Content, Markup, html_of, tag

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


@cache
def _style() -> str:
    return files("agentworld_sim.report").joinpath("style.css").read_text(encoding="utf-8")
