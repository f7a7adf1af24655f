"""Has a model write the prose of pages, sentence by sentence, and keeps what says the same."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from agentworld_sim.engines.call_question import closed_object
from agentworld_sim.engines.search import WebPage
from agentworld_sim.fiction.fiction import Fiction
from agentworld_sim.fiction.model_author import ModelAuthor
from agentworld_sim.fiction.page_texts import known_values, prose_lines, sentence_problem
from agentworld_sim.schema.validate import schema_problem

KINDS = ("encyclopaedia", "news", "forum")
"""Pages that have prose."""

TASK = """You write the prose of one web page. You are given its kind, its title and its sentences; the last one is what a search
result says of it. Write each sentence anew, in the style of such a page, so that it says the same: every number, date and name
of it stays as it is written, with all links, and none is added. Write no number as a word, and no sentence about anything else.
Begin a sentence with a name, or with a word such as The, It, In or According. Reply with JSON: {"sentences": [text, …]}, as
many as you are given, in their order."""


async def write_texts(
    fiction: Fiction, pages: Iterable[WebPage], author: ModelAuthor, done: Callable[[], None]
) -> tuple[dict[str, dict[str, str]], int]:
    """The sentences of pages in a model's words, and how many stay as they were because no words for them could be used.

    Raises:
        ModelFailure: the server does not answer, or refuses.
    """
    known = known_values(fiction)

    async def write(page: WebPage) -> tuple[str, dict[str, str], int]:
        sentences = [
            *dict.fromkeys([*(one for _, some in prose_lines(page) for one in some), page.teaser])
        ]
        good: dict[str, str] = {}

        def read(data: Any) -> tuple[Any, list[str]]:
            if problem := schema_problem(schema, data):
                return good or None, [problem]
            problems: list[str] = []
            for old, new in zip(sentences, data["sentences"], strict=True):
                if problem := sentence_problem(old, new, page.title, known):
                    problems.append(f"{new!r}: {problem}")
                else:
                    good.setdefault(old, new)
            return good, [] if len(good) == len(sentences) else problems

        given = {"kind": page.kind, "title": page.title, "sentences": sentences}
        texts = {"type": "array", "items": {"type": "string"}, "minItems": len(sentences), "maxItems": len(sentences)}  # fmt: skip
        schema = closed_object(sentences=texts)
        kept, _ = await author.write(TASK, {"url": page.url, **given}, schema, read)
        done()
        return page.url, kept or {}, len(sentences) - len(kept or {})

    tasks = [asyncio.ensure_future(write(page)) for page in pages if page.kind in KINDS]
    try:
        written = await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return {url: good for url, good, _ in written if good}, sum(left for *_, left in written)
