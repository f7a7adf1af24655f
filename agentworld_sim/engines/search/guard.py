"""The guard: no result of a search shows what the world withholds."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import date
from functools import lru_cache
from urllib.parse import unquote

_NUMBER_OR_WORD = re.compile(r"\d+(?:\.\d+)*|[^\W\d_]+")
_GROUPS = re.compile(r"(?<=\d)[,' \u00a0\u2009\u202f](?=\d{3}(?!\d))")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    " seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_JOINT = 5
"""Letters from which a name of several words is also looked for written as one, as in a host."""


class Guard:
    """Holds the texts of one call's results against the values that the world withholds.

    A value is shown where it stands in any of its written forms: a number with and without separators or as a
    word, a date in any order or its month and year, a name, its initials, and as one word. What one of the call's
    own queries says whole is not withheld from it.

    A value stands in a join of results only if it stands in one of them, so that no joint of results shows what no
    single result does.
    """

    def __init__(self, values: Sequence[str | float], queries: Sequence[str]) -> None:
        """Takes the values (text, numbers, dates as `YYYY-MM-DD`), and the call's queries."""
        forms = _all_forms(tuple(values))
        typed = _query_runs(
            "\n".join(queries), _lengths(form for whole, _ in forms for form in whole)
        )
        unsaid = (whole | parts for whole, parts in forms if whole.isdisjoint(typed))
        self._forms = frozenset[str]().union(*unsaid)
        self._lengths = _lengths(self._forms)

    def shows(self, text: str) -> bool:
        """Whether a text has one of the values in it."""
        return not self._forms.isdisjoint(_runs(text, self._lengths))


def _words(text: str) -> list[str]:
    """The words and numbers of a text, each in one spelling."""
    text = unicodedata.normalize("NFKC", unquote(text, errors="replace")).casefold()
    return [_plain(one) for one in _NUMBER_OR_WORD.findall(_GROUPS.sub("", text))]


def _plain(word: str) -> str:
    if word[0].isdigit():
        # More than one point makes a version.
        word = word.rstrip("0").rstrip(".") if word.count(".") == 1 else word
        return word.lstrip("0") or "0"
    return word


def _runs(text: str, lengths: Iterable[int]) -> set[str]:
    """What stands next to each other in a text, as many words at once as `lengths` say."""
    words = _words(text)
    return {
        " ".join(words[start : start + length])
        for length in lengths
        for start in range(len(words) - length + 1)
    }


def _query_runs(text: str, lengths: Iterable[int]) -> set[str]:
    """What queries say. A number stands alone: the day of a date, or a digit of a code, does not say it."""
    alone = {" ".join(_words(piece)) for piece in _GROUPS.sub("", text).split()}
    return {
        run for run in _runs(text, lengths) if run in alone or not run[0].isdigit() or " " in run
    }


def _lengths(forms: Iterable[str]) -> frozenset[int]:
    return frozenset(form.count(" ") + 1 for form in forms)


_Forms = tuple[frozenset[str], frozenset[str]]
"""How a value is written, and what says a good part of it: the month of a date, initials and a last name."""


@lru_cache(maxsize=256)
def _all_forms(values: tuple[str | float, ...]) -> tuple[_Forms, ...]:
    return tuple(_forms(one) for one in values)


def _forms(value: str | float) -> _Forms:
    text = str(value)
    if _DATE.fullmatch(text):
        with suppress(ValueError):  # A code may look like a date.
            return _date_forms(date.fromisoformat(text))
    words = _words(text)
    whole, parts = {" ".join(words)} - {""}, set[str]()
    if len(words) == 1 and words[0] in _NUMBER_WORDS:
        whole.add(_NUMBER_WORDS[words[0]])
    elif len(words) > 1 and all(word.isalpha() for word in words):
        parts.add(" ".join([*(word[0] for word in words[:-1]), words[-1]]))
        whole.update(joint for joint in ("".join(words),) if len(joint) >= _JOINT)
    return frozenset(whole), frozenset(parts)


def _date_forms(day: date) -> _Forms:
    months = (f"{day:%B}", f"{day:%b}", f"{day.month}")
    d, y = day.day, day.year
    whole = (one for m in months for one in (f"{d} {m} {y}", f"{m} {d} {y}", f"{y} {m} {d}"))
    parts = (one for m in months for one in (f"{m} {y}", f"{y} {m}"))
    return frozenset(map(str.casefold, whole)), frozenset(map(str.casefold, parts))


def _number_word(number: int) -> str:
    if number < len(_UNITS):
        return _UNITS[number]
    tens, units = divmod(number, 10)
    return _TENS[tens - 2] + (f" {_UNITS[units]}" if units else "")


_NUMBER_WORDS = {f"{number}": _number_word(number) for number in range(100)} | {
    "100": "one hundred"
}
