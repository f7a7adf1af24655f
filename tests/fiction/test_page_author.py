"""Pages in a model's words: what says the same is taken, and nothing that does not."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given as given_values, settings, strategies as st

from agentworld_sim.engines.search import WebPage
from agentworld_sim.errors import ModelFailure
from agentworld_sim.fiction.fiction import Fiction
from agentworld_sim.fiction.model_author import ROUNDS
from agentworld_sim.fiction.name_grammar import draw_names
from agentworld_sim.fiction.page_author import KINDS, write_texts
from agentworld_sim.fiction.page_texts import known_values, prose_lines, sentence_problem
from agentworld_sim.fiction.pages import fiction_pages
from agentworld_sim.llm.scripted import ErrorReply, ModelRequest
from tests.fiction.authors import given, scripted_author
from tests.fiction.worlds import world
from tests.properties import examples

FICTION = world(rows=60)
KNOWN = known_values(FICTION) | {"orvane works"}
PAGES = [page for page in fiction_pages(FICTION) if page.kind in KINDS][:12]
OLD = "Orvane Works was founded on June 18, 2024 and has 12,500 people."


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTWORLD_HOME", str(tmp_path / "home"))


@pytest.mark.parametrize(
    "new",
    [
        "It was on June 18, 2024 that Orvane Works was founded, and 12500 people work there.",
        "Founded on 18 June 2024, it has 12,500 people.",
    ],
)
def test_a_sentence_may_say_the_same_in_other_words(new: str) -> None:
    assert sentence_problem(OLD, new, "Orvane Works", KNOWN) == ""


SAME = "Orvane Works was founded on June 18, 2024; it has 12,500 people."


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("June 18", "June 19"),
        ("2024", "2025"),
        ("12,500", "12,600"),
        ("12,500", "some"),
        ("12,500", "12,500 or 13k"),
        ("12,500", "-12,500"),
        ("12,500", "12,500 or twelve"),
        ("12,500", "12,500, half of them new,"),
        ("it has", "it and Tellun have"),
        ("it has", "Tellun has"),
        ("it has 12,500 people.", "it has 12,500 people. Tellun made it."),
        ("June", "july"),
        ("it has", "it, in Örvika, has"),
        ("people", "[people](https://elsewhere.alt/)"),
        ("people", "<b>people</b>"),
        ("people.", "people.\n# More"),
        ("people.", "people.\u2028More"),
        ("people", "torch people"),
        ("people", "people ٤٢"),
        ("on June 18, 2024", "some day"),
        ("12,500 people", "12,500 people since 2024"),
        ("Orvane Works", "Orvane"),
    ],
)
def test_a_sentence_with_another_number_date_name_or_link_is_refused(old: str, new: str) -> None:
    assert sentence_problem(OLD, SAME, "Orvane Works", KNOWN) == ""
    assert sentence_problem("Thanks!", "", "Orvane Works", KNOWN) == "it is empty."
    assert sentence_problem(OLD, SAME.replace(old, new), "Orvane Works", KNOWN)


SENTENCES = [(page.title, one) for page in PAGES for _, some in prose_lines(page) for one in some]


@settings(max_examples=examples(150))
@given_values(
    st.sampled_from(SENTENCES),
    st.sampled_from(
        [*draw_names("person", "invented", 50, Random(5)), "4711", "0.77", "seventy", "Élan"]
    ),
    st.integers(0, 30),
)
def test_what_the_page_does_not_say_is_found_at_every_place(
    sentence: tuple[str, str], more: str, place: int
) -> None:
    title, old = sentence
    assert sentence_problem(old, old, title, KNOWN) == ""
    words = old.split(" ")
    words.insert(min(place, len(words)), more)
    assert sentence_problem(old, " ".join(words), title, KNOWN)


def reworded(request: ModelRequest) -> str:
    """In other words, with the same facts."""
    sentences = [f"According to what is known: {one}" for one in given(request)["sentences"]]
    return json.dumps({"sentences": sentences})


def facts(page: WebPage) -> set[str]:
    return set(re.findall(r"\d[\d,.]*", page.text))


async def test_pages_are_written_once_and_say_what_they_said() -> None:
    async with scripted_author(reworded) as (author, server):
        texts, left = await write_texts(FICTION, PAGES, author, lambda: None)
        again, _ = await write_texts(FICTION, PAGES, author, lambda: None)
    assert left == 0 and again == texts and len(server.requests) == len(PAGES)
    told = Fiction(FICTION.recipe, replace(FICTION.schema, texts=texts), FICTION.rows)
    pages = {page.url: page for page in fiction_pages(told)}
    for page in PAGES:
        written = pages[page.url]
        assert "According to what is known" in written.text
        assert written.teaser == f"According to what is known: {page.teaser}"
        assert (facts(written), written.cells) == (facts(page), page.cells)
    others = {page.url: page for page in fiction_pages(FICTION)}
    assert [url for url in pages if pages[url] == others[url]] == [
        url for url in pages if url not in texts
    ]


LIES: dict[str, Callable[[str], str]] = {
    "a number": lambda text: f"{text} It has 4711 of them.",
    "a name": lambda text: f"{text} Quorvath Dralmejarr said so.",
    "a name at the beginning": lambda text: f"Zemquonia knows: {text}",
    "a date": lambda text: f"{text} That was in july.",
    "another page's fact": lambda text: f"{text} It counts as a torch.",
}


@pytest.mark.parametrize("lie", LIES)
async def test_lies_are_all_refused_and_the_page_stays_as_it_was(lie: str) -> None:
    def lies(request: ModelRequest) -> str:
        return json.dumps({"sentences": [LIES[lie](one) for one in given(request)["sentences"]]})

    kept = "torch" if lie == "another page's fact" else ""
    pages = [page for page in PAGES if not kept or kept not in page.text]
    async with scripted_author(lies) as (author, server):
        texts, left = await write_texts(FICTION, pages, author, lambda: None)
    assert texts == {} and left > len(pages)
    assert len(server.requests) == ROUNDS * len(pages)
    assert "is not in what you were given." in server.requests[-1].last_user


async def test_a_refused_sentence_is_asked_again_with_the_reason() -> None:
    def mends(request: ModelRequest) -> str:
        if len(request.messages) == 2:
            return "Gladly! Here are your sentences."
        return reworded(request)

    async with scripted_author(mends) as (author, server):
        _, left = await write_texts(FICTION, PAGES[:1], author, lambda: None)
    assert left == 0
    assert "it is not the JSON that was asked for" in server.requests[1].last_user


async def test_a_server_that_fails_half_way_raises_and_what_was_written_is_not_asked_again() -> (
    None
):
    failing = [True]

    def fails(request: ModelRequest) -> Any:
        return (
            ErrorReply(500, "out of memory")
            if failing and request.index == 5
            else reworded(request)
        )

    async with scripted_author(fails, concurrency=1) as (author, server):
        with pytest.raises(ModelFailure, match="out of memory"):
            await write_texts(FICTION, PAGES, author, lambda: None)
        asked = len(server.requests)
        failing.clear()
        _, left = await write_texts(FICTION, PAGES, author, lambda: None)
    assert left == 0
    assert len(server.requests) - asked <= len(PAGES) - 4
