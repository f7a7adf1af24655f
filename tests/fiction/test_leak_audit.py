"""The auditor finds every fact of an answer that the results of a search show, however it is written."""

from __future__ import annotations

import random
from functools import cache
from itertools import islice

import pytest
from hypothesis import given, settings, strategies as st

from agentworld_sim.fiction.fiction_questions import FictionQuestion, draw_questions
from agentworld_sim.fiction.leak_audit import SearchCall, find_leaks
from tests.fiction.worlds import pages_of_rows, world
from tests.properties import examples


def block(number: int, text: str) -> str:
    return f"[{number}] https://pages.test/{number}\nTitle: Page\nSnippet: {text}\nDate: N/A"


def calls(texts: list[str], queries: tuple[str, ...] = ("makers",)) -> list[SearchCall]:
    """Ten results to a call."""
    blocks = [block(1 + place % 10, text) for place, text in enumerate(texts)]
    return [
        SearchCall(queries, "\n\n".join(blocks[start : start + 10]))
        for start in range(0, len(blocks), 10)
    ]


@cache
def question(column: str) -> FictionQuestion:
    """One with a column of this name."""
    drawn = draw_questions(world(), pages=pages_of_rows(world()))
    return next(one for one in islice(drawn, 400) if column in one.gold.columns[1:])


def fact(asked: FictionQuestion, column: str) -> tuple[str, object]:
    row = asked.gold.rows[0]
    return row[0], row[asked.gold.columns.index(column)]


def written(column: str, value: object) -> list[str]:
    """Forms of a value, made here by hand."""
    if column == "Employees":
        assert isinstance(value, int)
        return [
            f"{value}",
            f"{value:,}",
            f"{value:,}".replace(",", "\u202f"),
            f"{value}.",
            f"({value})",
        ]
    year, month, day = str(value).split("-")
    name = "January February March April May June July August September October November December".split()[
        int(month) - 1
    ]
    return [str(value), f"{int(day)} {name} {year}", f"{name} {int(day)}, {year}", f"{name[:3]} {int(day)}, {year}",
            f"{day}.{month}.{year}", f"{name.upper()} {int(day)}, {year}"]  # fmt: skip


@pytest.mark.parametrize("column", ["Employees", "Launch date"])
@settings(max_examples=examples(40), deadline=None)
@given(form=st.integers(0, 5), seed=st.integers(0, 999))
def test_leaks_in_one_page_of_a_hundred_are_all_found(column: str, form: int, seed: int) -> None:
    asked = question(column)
    name, value = fact(asked, column)
    forms = written(column, value)
    texts = ["Nothing to see here, among 3 other things."] * 400
    places = set(random.Random(seed).sample(range(400), 4))
    for place in places:
        texts[place] = f"**{name.upper()}** is known for {forms[form % len(forms)]} and more."
    found = find_leaks(world(), asked, calls(texts))
    assert {(one.call, one.value) for one in found} == {(place // 10, value) for place in places}


def test_pages_that_say_nothing_of_the_answer_leak_nothing() -> None:
    assert find_leaks(world(), question("Employees"), calls(["Nothing to see here."] * 400)) == []


def test_a_value_that_is_rare_leaks_without_its_name_and_so_no_join_can_give_it() -> None:
    asked = question("Employees")
    name, value = fact(asked, "Employees")
    texts = [f"All about {name}.", f"A firm with {value:,} people.", *["Nothing."] * 398]
    assert {one.value for one in find_leaks(world(), asked, calls(texts))} == {value}


def test_a_value_that_many_results_have_leaks_beside_its_name_alone() -> None:
    asked = question("Return period")
    name, value = fact(asked, "Return period")
    texts = [f"All about {name}.", *[f"Open for {value} hours."] * 399]
    assert find_leaks(world(), asked, calls(texts)) == []
    texts[7] = f"{name}: goods go back for {value} days."
    assert [one.call for one in find_leaks(world(), asked, calls(texts))] == [0]


def test_what_the_query_says_is_no_leak() -> None:
    asked = question("Employees")
    name, value = fact(asked, "Employees")
    texts = [f"{name} employs {value} people.", *["Nothing."] * 399]
    assert find_leaks(world(), asked, calls(texts, (f"maker with {value:,} employees",))) == []


def test_a_number_within_another_one_is_no_leak() -> None:
    asked = question("Employees")
    name, value = fact(asked, "Employees")
    texts = [f"{name} 9{value}, {value}.5, {value}th, A{value}, 1-{value}-2", *["Nothing."] * 399]
    assert find_leaks(world(), asked, calls(texts)) == []


def test_small_numbers_are_found_as_words_and_names_by_their_initials() -> None:
    asked = question("Return period")
    name, value = fact(asked, "Return period")
    assert value in (14, 30, 45, 60, 90)
    word = {14: "fourteen", 30: "thirty", 45: "forty-five", 60: "sixty", 90: "ninety"}[value]
    first, last = name.split()[0], " ".join(name.split()[1:])
    texts = [f"{first[0]}. {last}: {word} days to bring it back.", *["Nothing."] * 399]
    assert find_leaks(world(), asked, calls(texts))
