"""The sentences of pages in other words: each says what the page said, and nothing else."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from agentworld_sim.engines.search import WebPage
from agentworld_sim.fiction.fiction import Fiction
from agentworld_sim.fiction.makes import OneOf

_PROSE = re.compile(r"(?P<mark>(?:> )?)(?P<text>(?![|#]|[*-] |\d+\. ).*[.!?])")
_LINK = re.compile(r"\]\(([^)\s]*)\)")
_TOKEN = re.compile(r"(?<!\w)[-\u2212]\d[\w.,]*|\w[\w.,'\u2019]*")
_MARKS = re.compile(r"[^\w .,;:'\u2019\"\u201c\u201d!?()\u2013\u2014-]|_")
_ENDINGS = re.compile(r"(?<=[.!?]) (?=[A-Z*\[\"0-9])")

_NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen twenty"
).split()
_MORE_NUMBERS = set(
    "thirty forty fifty sixty seventy eighty ninety hundred hundreds thousand thousands million millions billion billions"
    " dozen dozens half twice double triple first second third fourth fifth sixth seventh eighth ninth tenth".split()
)
_MONTHS = set(
    "january february april june july august september october november december monday tuesday wednesday thursday friday"
    " saturday sunday".split()
)
"""Without those that are other words as well."""

_OPENINGS = set(
    "a about according all also although an and another any are as at based because before besides both but by can could did do"
    " does during each even for from had has have he hello her here hi his how if in is it its like many most my no not of on"
    " only or our over please she since so some sorry still such thanks that the their then there these they this those though"
    " to today under until was we were what when where which while who whose why will with would yes you your".split()
)
"""Words that no name is, with which a sentence may begin."""


def with_texts(page: WebPage, texts: Mapping[str, str]) -> WebPage:
    """A page with sentences as they are written otherwise."""
    if not texts:
        return page
    lines = [
        mark + " ".join(texts.get(one, one) for one in sentences)
        for mark, sentences in prose_lines(page)
    ]
    return replace(page, text="\n".join(lines), teaser=texts.get(page.teaser, page.teaser))


def prose_lines(page: WebPage) -> Iterator[tuple[str, list[str]]]:
    """The lines of a page: those of prose with a mark and their sentences, the others whole as a mark."""
    for line in page.text.split("\n"):
        found = _PROSE.fullmatch(line)
        yield (found["mark"], _ENDINGS.split(found["text"])) if found else (line, [])


def known_values(fiction: Fiction) -> frozenset[str]:
    """All texts that a cell of the world has or could have, in one spelling."""
    texts = {
        value
        for table in fiction.schema.tables
        for column in table.columns
        if column.type == "text"
        for value in (
            *(row[column.name] for row in fiction.rows[table.name]),
            *(column.make.one_of if isinstance(column.make, OneOf) else ()),
        )
        if value is not None
    }
    return frozenset(" ".join(word for word, _, _ in _tokens(str(one))).casefold() for one in texts)


def sentence_problem(old: str, new: str, title: str, known: frozenset[str]) -> str:
    """Why a sentence cannot stand for another; empty where it can.

    It has the other's numbers, dates, names, links and texts of cells, and no others; the page's title it may have or leave
    out. What stands in it in small letters and is no text of a cell is not judged.
    """
    if sorted(_LINK.findall(old)) != sorted(_LINK.findall(new)):
        return "it has other links."
    if marks := set(_MARKS.findall(new)) - set(_MARKS.findall(old)):
        return f"it has the signs {' '.join(sorted(marks))!r}."
    before, after, named = _tokens(old), _tokens(new), _tokens(title)
    if not after:
        return "it is empty."
    free = {word.casefold() for word, _, _ in named}
    given = {word.casefold() for word, _, _ in before} | free
    for word, begins, exact in after:
        small = word.casefold()
        plain = exact.isascii() and exact.islower() and exact.isalpha()
        opens = begins and small in _OPENINGS
        number = _NUMBERS.index(small) if small in _NUMBERS else None
        if small in given or (number is not None and str(number) in given):
            continue
        if number is not None or small in _MORE_NUMBERS | _MONTHS or not (plain or opens):
            return f"{exact!r} is not in what you were given."
    more = _numbers(after) - _numbers(before) - _numbers(named)
    if more:
        return f"{min(more)!r} is in it more often than in what you were given."
    values = _values(before, known)
    if more := _values(after, known) - values - _values(named, known):
        return f"{min(more)!r} is not in what you were given."
    facts = {word.casefold() for word, begins, exact in before if not (exact.islower() or begins)}
    facts |= {word for word in given if any(sign.isdigit() for sign in word)}
    said = {word.casefold() for word, _, _ in after}
    gone = values - _values(after, known)
    # A name may be left out whole, and not in part.
    lost = (facts - free - said) | (gone - _values(named, known))
    lost |= {value for value in gone if said & set(value.split()) - _OPENINGS}
    return f"{min(lost)!r} is missing." if lost else ""


def _numbers(tokens: list[tuple[str, bool, str]]) -> Counter[str]:
    return Counter(word for word, _, _ in tokens if any(sign.isdigit() for sign in word))


def _values(tokens: list[tuple[str, bool, str]], known: frozenset[str]) -> frozenset[str]:
    """Texts of cells that stand in a sentence."""
    words = [word.casefold() for word, _, _ in tokens]
    runs = (" ".join(words[start:end]) for start in range(len(words)) for end in range(start + 1, min(start + 7, len(words) + 1)))  # fmt: skip
    return known & set(runs)


def _tokens(text: str) -> list[tuple[str, bool, str]]:
    """The words and numbers of a text: in one spelling, whether a sentence begins with it, and as it stands there."""
    text = _LINK.sub("]", unicodedata.normalize("NFKC", text))
    found: list[tuple[str, bool, str]] = []
    for match in _TOKEN.finditer(text):
        exact = re.sub(r"['\u2019]s$", "", match[0].rstrip(".,'\u2019"))
        word = exact.replace("\u2212", "-")
        if any(sign.isdigit() for sign in word):
            word = re.sub(r",(?=\d{3}(?!\d))", "", word)
            word = re.sub(r"(\.\d*?)0+$", r"\1", word).rstrip(".") if word.count(".") == 1 else word
        before = text[: match.start()].rstrip(" *[(\"\u201c'")
        found.append((word, not before or before[-1] in ".!?:", exact))
    return found
