"""No search shows what the world withholds."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings, strategies as st

from agentworld_sim.engines.search import SearchTurn, WebPage
from agentworld_sim.engines.search.guard import Guard
from agentworld_sim.engines.toolkits import ServerValues
from tests.engines.search.test_page_index import index_with
from tests.properties import examples


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("Axabril Works", "by AXABRIL works."),
        ("Axabril Works", "https://www.axabrilworks.alt/"),
        ("Axabril Works", "https://en.x.alt/wiki/Axabril_Works"),
        ("Axabril Works", "https://en.x.alt/wiki/Axabril%20Works"),
        ("Ada Kolv", "A. Kolv said"),
        (12500, "12,500 people"),
        (12500, "12 500 people"),
        ("12500", "12500"),
        (12.5, "12.50 kg"),
        (57.0, "57 points"),
        (7, "[7] seven"),
        (7, "seven of them"),
        (42, "forty-two"),
        ("2024-06-18", "Jun 18, 2024"),
        ("2024-06-18", "18 June 2024"),
        ("2024-06-18", "2024-06-18"),
        ("2024-06-18", "in June 2024"),
        ("2024-13-99", "no day: 2024-13-99"),
        (20240618, "20,240,618 people"),
        ("9" * 5000, "9" * 5000),
        ("Żółw", "ŻÓŁW"),
    ],
)
def test_a_value_is_seen_in_any_of_its_written_forms(value: str | float, text: str) -> None:
    assert Guard([value], []).shows(text)
    assert not Guard([value], [f"is it {value}?"]).shows(text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("Axabril Works", "Axabril is at work"),
        (125, "12,500 people, 1250, 12.5"),
        (0.5, "release 0.5.0"),
        ("2024-06-18", "June 18, 2025, and 2024"),
        ("on", "one"),
    ],
)
def test_what_only_looks_like_it_is_not_the_value(value: str | float, text: str) -> None:
    assert not Guard([value], []).shows(text)


VALUES = ["Axabril Works", "Ada Kolv", "red", 12500, 7, "2024-06-18"]
FORMS = ["Axabril Works", "Ada Kolv", "red", "12,500", "12500", "7", "June 18, 2024", "2024-06-18"]
words = st.sampled_from([*FORMS, "kettle", "blue", "maker", "is", "of", "Jun", "2024", "Works"])
texts = st.lists(words, min_size=1, max_size=8).map(" ".join)


def page(title: str, sentences: list[str], teaser: str, day: str) -> WebPage:
    text = "\n".join(f"{one}." for one in sentences)
    url = f"https://a.alt/{title.replace(' ', '_')}"
    return WebPage(url=url, title=title, text=text, teaser=teaser, date=day)


days = st.sampled_from(["", "2024-06-18", "2023-01-07", "2022-03-04"])
pages = st.builds(page, texts, st.lists(texts, max_size=4), texts, days)


@settings(max_examples=examples(150), deadline=None)
@given(
    st.lists(pages, min_size=1, max_size=12, unique_by=lambda one: one.url),
    st.lists(texts, min_size=1, max_size=2),
)
def test_no_join_of_a_calls_results_shows_what_its_queries_do_not_say(
    held: list[WebPage], queries: list[str]
) -> None:
    turn = SearchTurn(
        kept=ServerValues({"search/withheld": VALUES}, "search/"),
        clock_us=0,
        seed=0,
        name="web_search",
        offline=False,
        indexes=(index_with(held),),
    )
    shown = [
        f"{one.url} | {one.title} | {one.snippet} | {one.date} | {one.day}"
        for results in turn.results(queries)
        for one in results
    ]
    typed = " | ".join(queries)
    for form in FORMS:
        exact = re.compile(rf"(?<![\w.,]){re.escape(form)}(?![\w.])".replace("\\ ", "[ _]"))
        known = [
            one
            for one in FORMS
            if _same(one, form) and re.search(rf"(?<!\w){re.escape(one)}(?!\w)", typed)
        ]
        assert known or not exact.search(" || ".join(shown)), form


def _same(one: str, other: str) -> bool:
    same = ({"12,500", "12500"}, {"June 18, 2024", "2024-06-18"})
    return one == other or {one, other} in same


def test_who_types_a_part_of_a_value_is_not_told_the_rest() -> None:
    assert Guard(["2024-06-18"], ["in June 2024"]).shows("Jun 18, 2024")
    assert Guard(["Ada Kolv"], ["A. Kolv"]).shows("Ada Kolv")
    for typed in ("on 2002-05-05", "ADV-3561-C05", "5kg", "release 0.5.0"):
        assert Guard([5], [typed]).shows("in 5 days")
    assert Guard([0.5], ["release 0.5.0"]).shows("0.5 MB")
    assert not Guard([5], ["what has (5) of them?"]).shows("in 5 days")
