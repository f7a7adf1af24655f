"""The guard: no result of a search shows what the world withholds."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import date
from functools import lru_cache
from urllib.parse import unquote

_NUMBER_OR_WORD = re.compile(r"\d+(?:\.\d+)?|[^\W\d_]+")
_GROUPS = re.compile(r"(?<=\d)[,' \u00a0\u2009\u202f](?=\d{3}(?!\d))")
_UNITS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen".split()
_UNITS += "seventeen eighteen nineteen".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_JOINT = 5
"""Letters from which a name of several words is also looked for written as one, as in a host."""


class Guard:
    """Holds the texts of one call's results against the values that the world withholds.

    A value is shown where it stands in any of its written forms: a number with and without separators or as a
    word, a date in any order or its month and year, a name, its initials, and as one word. What one of the call's
    own queries says already is not withheld from it.

    A value stands in a join of results only if it stands in one of them, so that no joint of results shows what no
    single result does.
    """

    def __init__(self, values: Sequence[str | float], queries: Sequence[str]) -> None:
        """Takes the values (text, numbers, dates as `YYYY-MM-DD`), and the call's queries."""
        forms = _all_forms(tuple(values))
        lengths = frozenset(form.count(" ") + 1 for of_value in forms for form in of_value)
        typed = _runs("\n".join(queries), lengths)
        self._forms = {form for one in forms if one.isdisjoint(typed) for form in one}
        self._lengths = frozenset(form.count(" ") + 1 for form in self._forms)

    def shows(self, text: str) -> bool:
        """Whether a text has one of the values in it."""
        return not self._forms.isdisjoint(_runs(text, self._lengths))


def _words(text: str) -> list[str]:
    """The words and numbers of a text, each in one spelling."""
    text = unicodedata.normalize("NFKC", unquote(text, errors="replace")).casefold()
    return [_plain(one) for one in _NUMBER_OR_WORD.findall(_GROUPS.sub("", text))]


def _plain(word: str) -> str:
    if word[0].isdigit():
        word = word.rstrip("0").rstrip(".") if "." in word else word
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


@lru_cache(maxsize=256)
def _all_forms(values: tuple[str | float, ...]) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(_forms(one)) for one in values)


def _forms(value: str | float) -> set[str]:
    text = str(value)
    try:
        day = date.fromisoformat(text)
    except ValueError:
        pass
    else:
        months = (day.strftime("%B"), day.strftime("%b"), f"{day.month}")
        orders = ("{d} {m} {y}", "{m} {d} {y}", "{y} {m} {d}", "{m} {y}", "{y} {m}")
        written = (form.format(d=day.day, m=m, y=day.year) for form in orders for m in months)
        return {" ".join(_words(one)) for one in written}
    words = _words(text)
    forms = {" ".join(words)} - {""}
    if len(words) == 1 and words[0].isdigit() and int(words[0]) <= 100:
        forms.add(_number_word(int(words[0])))
    elif len(words) > 1 and all(word.isalpha() for word in words):
        forms.add(" ".join([*(word[0] for word in words[:-1]), words[-1]]))
        forms.update(joint for joint in ("".join(words),) if len(joint) >= _JOINT)
    return forms


def _number_word(number: int) -> str:
    if number < len(_UNITS):
        return _UNITS[number]
    if number == 100:
        return "one hundred"
    tens, units = divmod(number, 10)
    return _TENS[tens - 2] + (f" {_UNITS[units]}" if units else "")
