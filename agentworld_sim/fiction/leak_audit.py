"""Looks for answers in the printed results of searches. It knows nothing of how results are kept from showing them:
it reads the text as a person does, in the forms in which a fact can be written."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Any

from agentworld_sim.fiction.fiction import Fiction
from agentworld_sim.fiction.fiction_questions import FictionQuestion

RARE = 1 / 200
"""A value that fewer blocks of results have says what it is the answer to by itself."""


@dataclass(frozen=True, slots=True)
class SearchCall:
    """One call of a search tool."""

    queries: tuple[str, ...]
    text: str
    """What it printed: all results of all queries."""


@dataclass(frozen=True, slots=True)
class Leak:
    """A fact of an answer that the results of one call show."""

    call: int
    """Which of the calls, from 0."""
    name: str
    """What the fact is about; it stands in the same result, or the value is rare."""
    value: Any
    block: str
    """The result with the value."""


def find_leaks(
    fiction: Fiction, question: FictionQuestion, calls: Sequence[SearchCall]
) -> list[Leak]:
    """What the results of searches show of a question's answer.

    A fact leaks where its value stands in one result with what it is about; and where it stands anywhere in the
    results of a call, with whatever else, if less than one result in 200 of these calls has it. So no join of a
    call's results gives it either. What a query has itself says nothing new.
    """
    facts = _facts_of(fiction, question)
    blocks = [[_plain(block) for block in _blocks(call.text)] for call in calls]
    count = sum(map(len, blocks))
    rare = {
        value: sum(_has(block, value) for some in blocks for block in some) < RARE * count
        for _, value in facts
    }
    return [
        Leak(number, name, value, block)
        for number, call in enumerate(calls)
        for name, value in facts
        if not _has(_plain("\n".join(call.queries)), value)
        for block in blocks[number]
        if _has(block, value) and (rare[value] or _has(block, name))
    ]


def _facts_of(fiction: Fiction, question: FictionQuestion) -> list[tuple[str, Any]]:
    """Pairs of a name and a value: those of the gold table, and the same values with what they belong to."""
    found = {(row[0], value): None for row in question.gold.rows for value in row[1:]}
    for table, key, column in question.withheld:
        value = fiction.rows[table][int(key) - 1][column]
        references = fiction.schema.table(table).column(column).references
        said = fiction.title_of(references, value) if references else value
        found[fiction.title_of(table, int(key)), said] = None
    return list(found)


def _blocks(text: str) -> list[str]:
    """The results that a tool printed, without their numbers: `[1] https://…`, or `Title: …`."""
    numbered = re.split(r"(?m)^\[\d+\] ", text)
    return numbered if numbered[1:] else re.split(r"(?m)^(?=Title: )", text)


def _plain(text: str) -> str:
    """Lower case, single spaces, and numbers without separators of thousands."""
    text = unicodedata.normalize("NFKC", text).casefold()
    text = " ".join(re.sub(r"[*`]", "", text).replace("_", " ").split())
    return re.sub(r"(?<=\d)[,' ](?=\d{3}(?!\d))", "", text)


def _has(plain: str, value: Any) -> bool:
    quick, pattern = _forms(value)
    return any(one in plain for one in quick) and bool(pattern.search(plain))


@cache
def _forms(value: Any) -> tuple[tuple[str, ...], re.Pattern[str]]:
    forms = tuple(dict.fromkeys(map(_plain, _spellings(value))))
    # `12` is neither in `1.12`, `12.5` nor `0-12-3`; it is in `12.` and `$12`.
    anyway = "|".join(map(re.escape, forms))
    return forms, re.compile(rf"(?<!\w)(?<!\d[.,-])(?:{anyway})(?!\w|[.,-]\d)")


_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_WORDS = [*_ONES, *(f"{ten}-{one}" for ten in _TENS for one in _ONES[:10]), "one hundred"]


def _spellings(value: Any) -> Iterator[str]:
    """The ways in which people write a value."""
    if isinstance(value, int | float):
        yield str(value)
        for digits in (0, 1, 2):
            if float(text := f"{value:.{digits}f}") == value:
                yield from (text, text.replace(".", ","))
        if value in range(101):
            word = _WORDS[int(value)].removesuffix("-zero")
            yield from (word, word.replace("-", " "))
    elif re.fullmatch(r"\d{4}-\d{2}-\d{2}", value):
        day = date.fromisoformat(value)
        yield from (value, f"{day:%d.%m.%Y}")
        yield from (f"{day.day}/{day.month}/{day.year}", f"{day.month}/{day.day}/{day.year}")
        for month in (f"{day:%B}", f"{day:%b}", f"{day:%b}."):
            yield from (f"{day.day} {month} {day.year}", f"{month} {day.day}, {day.year}")
    else:
        yield from (value, value.replace(" ", ""))
        first, _, last = value.partition(" ")
        if last:
            yield f"{first[0]}. {last}"
