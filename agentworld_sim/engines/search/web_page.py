"""`WebPage`: a page as the search engine keeps it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

PageKind = Literal["encyclopaedia", "news", "official", "forum", "table", "other"]


class Cell(NamedTuple):
    """One fact of a database."""

    table: str
    key: int | str
    column: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WebPage:
    """One page."""

    url: str
    title: str
    text: str
    """The page as Markdown."""
    kind: PageKind = "other"
    date: str = ""
    """`YYYY-MM-DD`; empty where the page has none."""
    teaser: str = ""
    """What a search result may say of it: built from what the page is about, never from `cells`."""
    cells: tuple[Cell, ...] = ()
    """The facts that stand on the page."""
