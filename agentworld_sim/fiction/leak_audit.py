"""Looks for answers in the printed results of searches. It knows nothing of how results are kept from showing them:
it reads the text as a person does, in the forms in which a fact can be written."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Any

from agentworld_sim.fiction.fiction import Fiction
from agentworld_sim.fiction.questions import FictionQuestion

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
    names: tuple[str, ...]
    """What the fact is about; the value stands beside them, or is rare."""
    value: Any
    block: str
    """The result with the value."""


def find_leaks(fiction: Fiction, question: FictionQuestion, calls: Sequence[SearchCall]) -> list[Leak]:
    """What the results of searches show of a question's answer.

    A fact leaks where its value stands in one result with what it is about; and where it stands anywhere in the
    results of a call, with whatever else, if less than one result in 200 of these calls has it. So no join of a
    call's results gives it either. What a query has itself says nothing new.
    """
    facts = sorted(_facts_of(fiction, question), key=str)
    blocks = [[_plain(block) for block in _blocks(call.text)] for call in calls]
    everything = [block for some in blocks for block in some]
    seldom = {
        value: sum(_has(block, value) for block in everything) < RARE * len(everything)
        for value in dict.fromkeys(value for _, value in facts)
    }
    return [
        Leak(number, names, value, block)
        for number, call in enumerate(calls)
        for names, value in facts
        if not any(_has(_plain(query), value) for query in call.queries)
        for block in blocks[number]
        if _has(block, value) and (seldom[value] or all(_has(block, name) for name in names))
    ]


def _facts_of(fiction: Fiction, question: FictionQuestion) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Pairs of names and value: the rows of the gold table, and the facts of other things that they are."""
    found: set[tuple[tuple[str, ...], Any]] = set()
    for title, *values in question.gold.rows:
        found.update(((title,), value) for value in values)
    for cell in question.withheld:
        table = fiction.schema.table(cell.table)
        row = fiction.rows[cell.table][int(cell.key) - 1]
        references = table.column(cell.column).references
        value = fiction.title_of(references, row[cell.column]) if references else row[cell.column]
        names = [row[table.title]] if table.title else []
        names += [
            fiction.title_of(column.references, row[column.name])
            for column in table.columns
            if not table.title and column.references and column.name != cell.column and row[column.name]
        ]
        found.add((tuple(names), value))
    yield from found


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
    forms = dict.fromkeys(filter(None, map(_plain, _written(value))))
    # `12` is neither in `1.12` nor in `12.5`; it is in `12.` and `$12`.
    ends = r"(?<![\w])(?<!\d[.,])(?:{})(?!\w|[.,]\d)".format("|".join(map(re.escape, forms)))
    return tuple(forms), re.compile(ends)


def _written(value: Any) -> Iterable[str]:
    """The ways in which people write a value."""
    if isinstance(value, int | float):
        yield f"{value:g}" if abs(value) < 1e6 else str(value)
        yield str(value)
        for digits in (0, 1, 2):
            text = f"{value:.{digits}f}"
            if float(text) == value:
                yield text
                yield text.replace(".", ",")
        if value == int(value) and 0 <= value <= 100:
            yield _number_words(int(value))
            yield _number_words(int(value)).replace("-", " ")
    elif re.fullmatch(r"\d{4}-\d{2}-\d{2}", value):
        day = date.fromisoformat(value)
        yield value
        for month in (f"{day:%B}", f"{day:%b}", f"{day:%b}."):
            yield f"{day.day} {month} {day.year}"
            yield f"{month} {day.day}, {day.year}"
        yield f"{day:%d.%m.%Y}"
        yield f"{day.day}/{day.month}/{day.year}"
        yield f"{day.month}/{day.day}/{day.year}"
    else:
        yield value
        yield value.replace(" ", "")
        words = value.split()
        if len(words) == 2 and all(word[:1].isupper() for word in words):
            yield f"{words[0][0]}. {words[1]}"


_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()


def _number_words(number: int) -> str:
    if number < 20:
        return _ONES[number]
    if number == 100:
        return "one hundred"
    tens, ones = divmod(number, 10)
    return _TENS[tens - 2] + (f"-{_ONES[ones]}" if ones else "")
