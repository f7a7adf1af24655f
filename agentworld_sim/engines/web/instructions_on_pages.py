"""Instructions to an agent on a page that the people of its world wrote: they are marked in the state, not to the agent.

What a site's own templates say is not marked. What stands in a record is, with the place of the record; so is what
stands on a page that was given or imagined. Which texts are instructions is guessed from their words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from agentworld_sim.engines.web.browser_state import ROOT, SITE, BrowserState, WebPage
from agentworld_sim.engines.web.document import Element, parse_document
from agentworld_sim.ports import Answer
from agentworld_sim.relational.layout import records_of_table, tables_in
from agentworld_sim.types.state import WorldState

INSTRUCTIONS = f"{ROOT}instructions"
"""The key of the world's values that has them, while their page is in front: `text`, and `source`, which is a record
(`posts/12: body`) or `page`."""
_READER = r"(?:\bAI\b|\b(?:assistants?|agents?|language models?|LLMs?|bots?|operator)\b)"
_TELLS = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b[^.!?]{0,50}\b(?:instructions?|rules|prompts?|guidelines|task)\b"
    rf"|\b(?:note|message|instructions?|attention|notice)\s*(?:to|for|from)?:?\s+(?:\w+\s+){{0,2}}{_READER}"
    rf"|{_READER}[^.!?]{{0,60}}\b(?:must|should|has to|have to|needs? to|are to|please)\b"
    r"|[\[<(](?:system|assistant|developer)[\])>]|\bsystem prompt\b|\bsafety checks?\b"
    r"|\b(?:contents? of|print|send) (?:all |your |the )*environment variables\b|~/\.ssh/|\|\s*(?:ba)?sh\b",
    re.IGNORECASE,
)


def with_instructions(answer: Answer, state: WorldState) -> Answer:
    """The answer, with what the page that is then in front tells its reader to do."""
    values = state.after(answer.change).values
    browser = BrowserState(values)
    page = browser.page(browser.tab)
    told = texts_like_instructions(page.html)
    found = (told and _marks_of(told, page, values)) or None
    return (
        answer if found == values.get(INSTRUCTIONS) else answer.with_values({INSTRUCTIONS: found})
    )


def _marks_of(
    texts: Sequence[str], page: WebPage, values: Mapping[str, Any]
) -> list[dict[str, str]]:
    sources = {
        text: f"{table}/{record.key}: {name}"
        for table in tables_in(values)
        for record in records_of_table(values, table)
        for name, held in record.record.items()
        if isinstance(held, str)
        for text in texts
        if text in " ".join(held.split())
    }
    if page.asked or ROOT + SITE + page.url in values:
        sources = dict.fromkeys(texts, "page") | sources
    return [{"text": text, "source": source} for text, source in sorted(sources.items())]


@lru_cache(maxsize=64)
def texts_like_instructions(html: str) -> tuple[str, ...]:
    """The texts of a page that read like instructions."""
    if not _TELLS.search(html):
        return ()
    return tuple(dict.fromkeys(filter(_TELLS.search, _all_texts(parse_document(html).body))))


def _all_texts(element: Element) -> Iterator[str]:
    for child in element.children:
        if isinstance(child, str):
            yield " ".join(child.split())
        elif child.tag not in ("script", "style"):
            yield from _all_texts(child)
