"""What a search engine finds, whatever a user types."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import pytest
from hypothesis import given, settings, strategies as st

from agentworld_sim.engines.search import Cell, PageIndex, WebPage
from tests.properties import examples


def page(number: int, title: str, text: str = "", host: str = "a.alt") -> WebPage:
    return WebPage(
        url=f"https://{host}/{number}",
        title=title,
        text=text,
        date="2024-06-18",
        teaser=f"About {title}.",
        cells=(Cell("things", number, "name"), Cell("things", number, "size")),
    )


def index_with(pages: Sequence[WebPage]) -> PageIndex:
    index = PageIndex(sqlite3.connect(":memory:", check_same_thread=False))
    index.write(pages)
    return index


KETTLES = [
    page(1, "Vorokova kettle", "It boils water. The kettle is blue."),
    page(2, "Axabril kettle", "Green and well-known in the town of Scarmoor."),
    page(3, "Axabril toaster", "A toaster, of the same maker as the kettles.", host="shop.b.alt"),
    page(4, "Кухня Морозова", "Чайник стоит на столе.", host="b.alt"),
    page(5, "مطبخ", "غلاية الماء", host="b.alt"),
    page(6, "Weather in Scarmoor", "Rain and no end."),
]


@pytest.fixture(scope="module")
def kettles() -> PageIndex:
    return index_with(KETTLES)


def titles(found: Sequence[WebPage]) -> list[str]:
    return [one.title for one in found]


@pytest.mark.parametrize(
    ("query", "hits"),
    [
        ("Which kettle is blue?", ["Vorokova kettle", "Axabril kettle", "Axabril toaster"]),
        ("kettles AXABRIL", ["Axabril kettle", "Axabril toaster", "Vorokova kettle"]),
        ('"boils water"', ["Vorokova kettle"]),
        ('"water boils"', []),
        ("kettle -toaster -axabril", ["Vorokova kettle"]),
        ("kettle site:b.alt", ["Axabril toaster"]),
        ("site:www.b.alt", ["Axabril toaster", "Кухня Морозова", "مطبخ"]),
        ("чайник", ["Кухня Морозова"]),
        ("غلاية", ["مطبخ"]),
        ("kettle\u2028blue\u202e", ["Vorokova kettle", "Axabril kettle", "Axabril toaster"]),
        ("kettle AND (blue OR NOT) NEAR/3 title:*", ["Vorokova kettle", "Axabril kettle", "Axabril toaster"]),
        ("blue " * 2500, ["Vorokova kettle"]),
        ("zzz qqq", []),
        ("where is the", []),
        ("", []),
    ],
)  # fmt: skip
def test_hits_are_ranked_by_what_was_asked_for(
    kettles: PageIndex, query: str, hits: list[str]
) -> None:
    assert titles(kettles.hits(query)) == hits


def test_a_search_fills_up_with_other_pages_and_finds_nothing_for_unknown_words(
    kettles: PageIndex,
) -> None:
    found = titles(kettles.search("blue kettle"))
    assert found[:3] == ["Vorokova kettle", "Axabril kettle", "Axabril toaster"]
    assert len(found) > 3
    assert titles(kettles.search("zzz")) == []


def test_what_may_not_be_shown_is_replaced_by_the_next(kettles: PageIndex) -> None:
    found = kettles.search("axabril kettle", 2, lambda one: "toaster" not in one.title)
    assert titles(found) == ["Axabril kettle", "Vorokova kettle"]


def test_pages_come_back_with_their_cells(kettles: PageIndex) -> None:
    assert [kettles.page(one.url) for one in KETTLES] == KETTLES
    assert kettles.page("https://a.alt/7") is None
    assert kettles.has_host("b.alt") and not kettles.has_host("c.alt")


def test_ten_results_are_of_mixed_relevance_and_the_same_in_every_process() -> None:
    pages = [page(n, f"Kettle {n}", "kettle " * (n % 7) + "tea") for n in range(300)]
    pages += [page(n, f"Lamp {n}", "light") for n in range(300, 900)]
    index, again = index_with(pages), index_with(pages)
    found = index.search("kettle tea")
    hits = index.hits("kettle tea")
    assert len(found) == len({one.url for one in found}) == 10
    assert found[:3] == hits[:3]
    assert sum(one not in hits for one in found) == 2
    assert found == again.search("kettle tea")
    # A word on a third of the pages tells nothing beside one that is rare.
    assert titles(index.hits("tea 17"))[0] == "Kettle 17"


@settings(max_examples=examples(300))
@given(st.text(max_size=60) | st.lists(st.sampled_from(['"', "-", "kettle", "site:", "a.alt", " ", "*", "(", "NOT", "__", "\0", "\ud800"])).map("".join))  # fmt: skip
def test_anything_that_a_user_types_can_be_searched_for(query: str) -> None:
    found = INDEX.search(query)
    assert len(found) <= 6 and found == INDEX.search(query)


INDEX = index_with(KETTLES)
