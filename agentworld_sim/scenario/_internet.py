"""The pages that the search tools of a scenario find: those of a fictional world, and its own."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from agentworld_sim.fiction.recipe import FictionRecipe, Names
from agentworld_sim.scenario._types import Matching, Natural, Strict, mismatch


class FictionSpec(Strict):
    """A fictional world, made from this alone."""

    family: Annotated[str, Field(min_length=1)]
    """What it is about: the name of a family, such as `products`."""
    seed: Natural = 0
    """Which of the family's worlds."""
    rows: Annotated[int, Field(ge=50, le=50_000)] = 400
    """How many facts, about."""
    names: Names = "invented"
    """Whether things have invented names, or such as an agent may know."""
    inconsistency: Annotated[float, Field(ge=0, le=1)] = 0.0
    """The chance of a fact that one page says otherwise than the others."""

    def recipe(self) -> FictionRecipe:
        """What the world follows from."""
        return FictionRecipe(**dict(self))


def _address(url: str) -> str:
    try:
        parts = urlsplit(url)
        plain = parts.scheme in ("http", "https") and bool(parts.hostname) and not parts.fragment
    except ValueError:
        plain = False
    if not plain:
        raise mismatch("the address of a page, http:// or https:// without a fragment")
    return url


Address = Annotated[str, AfterValidator(_address)]


class PageSpec(Strict):
    """A page that the search tools find, beside those of a fictional world."""

    title: Annotated[str, Field(min_length=1)]
    """Its title."""
    text: str
    """What stands on it, as Markdown."""
    date: Annotated[str, Matching(r"(\d{4}-\d{2}-\d{2})?", "a day such as '2026-03-02'")] = ""
    """The day it is from, `YYYY-MM-DD`."""
    teaser: str = ""
    """What a search result says of it; its beginning by default."""
