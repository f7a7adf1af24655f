"""`SearchResult`: what a search shows of a page, made from its fields."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date

from agentworld_sim.engines.search.guard import Guard
from agentworld_sim.engines.search.web_page import WebPage

SNIPPET = 160
"""Characters of a snippet, about."""

_LINK = re.compile(r"!?\[([^\]]*)\]\([^)\s]*\)")
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?=\S)[^.!?\n]*)*[.!?](?=\s|$)")
_STRUCTURE = ("|", "#", "* ", "- ", "[")
"""What lines begin with that are no prose."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One result. It shows nothing that the world withholds."""

    url: str
    title: str
    snippet: str
    date: str
    """`YYYY-MM-DD`; empty where the page has none, or it may not be told."""

    @property
    def day(self) -> str:
        """The date as search engines print it: `Jun 18, 2024`."""
        if not self.date:
            return "N/A"
        day = date.fromisoformat(self.date)
        return f"{day:%b} {day.day}, {day.year}"


def result_of(page: WebPage, words: AbstractSet[str], guard: Guard) -> SearchResult | None:
    """What a search for `words` shows of a page: what the page says of itself, and the sentence of it that has most
    of the words, as far as they may be told.

    Returns:
        `None` where its address or its title may not be told.
    """
    if guard.shows(f"{page.url}\n{page.title}"):
        return None
    parts = [page.teaser] if page.teaser and not guard.shows(page.teaser) else []
    sentence = _likest(page.text, words, guard)
    if sentence and (not parts or words & _words(sentence)):
        parts.append(sentence)
    result = SearchResult(page.url, page.title, _cut(" ".join(parts)), page.date)
    if guard.shows(f"{result.date} {result.day}"):
        result = SearchResult(page.url, page.title, result.snippet, "")
    # Parts next to each other could show what neither does.
    together = f"{result.title}\n{result.snippet}\n{result.date} {result.day}"
    return None if guard.shows(together) else result


def _likest(text: str, words: AbstractSet[str], guard: Guard) -> str:
    prose = (line for line in text.splitlines() if line and not line.startswith(_STRUCTURE))
    sentences = (
        sentence.strip()
        for line in prose
        for sentence in _SENTENCE.findall(_LINK.sub(r"\1", line).replace("*", ""))
    )
    ranked = sorted(sentences, key=lambda one: -len(words & _words(one)))
    return next((one for one in ranked if not guard.shows(one)), "")


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


def _cut(text: str) -> str:
    if len(text) <= SNIPPET:
        return text
    return (
        text[: text.rfind(" ", 0, SNIPPET) if " " in text[:SNIPPET] else SNIPPET].rstrip(",;:")
        + " ..."
    )
