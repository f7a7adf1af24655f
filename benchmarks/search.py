"""Searches in a world's pages, beside tantivy where it is installed."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from importlib import import_module
from itertools import cycle
from random import Random
from typing import Any

from agentworld_sim.engines.search import PageIndex, WebPage
from agentworld_sim.fiction.fiction import Fiction
from agentworld_sim.fiction.pages import fiction_pages
from agentworld_sim.fiction.recipe import FictionRecipe
from benchmarks._rows import Row, p50_ms

WORLDS = {1: 2, 10: 20}
"""Worlds of about 10,000 pages that are searched as one, and the milliseconds that a search may take."""
QUERIES = 300


def rows() -> list[Row]:
    found: list[Row] = []
    pages: list[WebPage] = []
    for worlds, target in WORLDS.items():
        fictions = [
            Fiction.generate(FictionRecipe(family="products", seed=seed, rows=10_000))
            for seed in range(worlds)
        ]
        start = time.perf_counter()
        pages = [
            replace(page, url=f"{page.url}?world={fiction.recipe.seed}")
            for fiction in fictions
            for page in fiction_pages(fiction)
        ]
        written = (time.perf_counter() - start) / len(pages) * 1000
        index = PageIndex(sqlite3.connect(":memory:"))
        index.write(pages)
        queries = cycle(_queries(pages))
        ours = p50_ms(partial(_search, index, queries), QUERIES)
        other, theirs = _tantivy(pages)
        found.append(
            Row(
                f"a search in {len(pages):,} pages",
                ours,
                alternative=other,
                theirs=theirs,
                target=f"< {target} ms",
                met=ours < target,
            )
        )
        found.append(Row(f"a page written, of {len(pages):,}", written, target="about 0.1 ms"))
    return found


def _search(index: PageIndex, queries: Iterator[str]) -> list[WebPage]:
    return index.search(next(queries))


def _queries(pages: list[WebPage]) -> list[str]:
    """What people type: a name and a few words of the page about it, or the words alone."""
    chance = Random(1)
    found: list[str] = []
    for page in chance.sample(pages, QUERIES):
        words = chance.sample(page.text.split(), 4)
        found.append(" ".join(["what is the", *words, *page.title.split()[: chance.randrange(3)]]))
    return found


def _tantivy(pages: list[WebPage]) -> tuple[str, float | None]:
    try:
        tantivy: Any = import_module("tantivy")
    except ModuleNotFoundError:
        return "", None
    builder = tantivy.SchemaBuilder()
    for name in ("title", "teaser", "text"):
        builder.add_text_field(name, stored=name != "text", tokenizer_name="en_stem")
    with tempfile.TemporaryDirectory() as folder:
        index = tantivy.Index(builder.build(), path=folder)
        writer = index.writer()
        for page in pages:
            writer.add_document(
                tantivy.Document(title=page.title, teaser=page.teaser, text=page.text)
            )
        writer.commit()
        index.reload()
        searcher = index.searcher()
        queries = cycle(_queries(pages))

        def search() -> list[Any]:
            query, _ = index.parse_query_lenient(next(queries), ["title", "teaser", "text"])
            return [searcher.doc(address) for _, address in searcher.search(query, 10).hits]

        return "tantivy", p50_ms(search, QUERIES)
