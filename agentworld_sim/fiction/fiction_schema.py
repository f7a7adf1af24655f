"""What a fictional world is made of: tables, columns that refer to each other, and rules that hold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from agentworld_sim.fiction.makes import Make

ColumnType = Literal["text", "integer", "number", "date", "boolean"]
"""What a cell holds: a date is `YYYY-MM-DD`, a boolean 0 or 1."""

FictionKind = Literal["time_shifted", "long_tail", "private", "grounded"]
"""Why nobody can know the facts by heart: they lie in the future; they are details that nobody repeats; they are
records of one house; or they only look like those of the real world, with its units and proportions."""

Row = Mapping[str, Any]
"""Column to value: text, int, float or None."""

_STRICT: Any = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a table."""

    __pydantic_config__: ClassVar[Any] = _STRICT

    name: str
    type: ColumnType
    label: str
    """What people call it: `Founded`, `Head office`."""
    references: str = ""
    """The table whose key its values are; empty for a fact of its own."""
    unique: bool = False
    nullable: bool = False
    unit: str = ""
    """What a number counts: `kg`, `million euros`."""
    says: tuple[str, ...] = ()
    """Sentences with the fact, as Jinja texts of `title` and `value`: `{{ title }} was founded in {{ value }}.`"""
    asks: Mapping[str, str] = field(default_factory=dict[str, str])
    """How a question says a filter on it, as a Jinja text of `value`, by the comparison: `equal`, `at_least`,
    `at_most`: `was founded in {{ value }} or later`. A column without is never filtered by."""
    make: Make | None = None
    """How its values are drawn; none where rows come from elsewhere, or from the table's `given`."""


_AN = re.compile(r"[aio]|e(?!u)|u(?!ni|s[aeiu])|hour|heir|honou?r")
"""What words begin with that are spoken with a vowel first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One kind of thing, or of event."""

    __pydantic_config__: ClassVar[Any] = _STRICT

    name: str
    noun: tuple[str, str]
    """What one of its rows is called, and several: `("maker", "makers")`."""
    columns: tuple[Column, ...]
    key: str = "id"
    """The column of whole numbers from 1 that other tables refer to. It is not among `columns`."""
    title: str = ""
    """The column that names a row for people; its values are unique. Empty for rows without a page of their
    own, which stand on the pages of what they refer to."""
    share: float = 1.0
    """Its part of the world's rows, relative to the other tables."""
    least: int = 2
    """The fewest rows that it has in a small world."""
    given: str = ""
    """A query of the tables before that gives its rows, and a value for each of the columns that it names; at most
    as many rows as its share are taken. Empty where rows are drawn."""
    rows: tuple[Row, ...] = ()
    """Rows that somebody wrote: the table's first. What one leaves out is drawn; a reference is the title of a row that
    is written before it."""
    unique: tuple[tuple[str, ...], ...] = ()
    """Columns whose values together occur once."""
    checks: Mapping[str, str] = field(default_factory=dict[str, str])
    """What holds in every row: in words, and as an SQL expression."""

    @property
    def a_noun(self) -> str:
        """`a maker`, `an instrument`, `a unit`."""
        return f"{'an' if _AN.match(self.noun[0]) else 'a'} {self.noun[0]}"

    def column(self, name: str) -> Column:
        return next(one for one in self.columns if one.name == name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What holds in every world of the schema."""

    __pydantic_config__: ClassVar[Any] = _STRICT

    says: str
    """The rule in words."""
    none: str
    """A query that gives the rows that break it: it must give none."""
    table: str = ""
    """The table of whose rows the query gives the keys: they are drawn again. Empty where drawing does not help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FictionSchema:
    """A family of fictional worlds."""

    __pydantic_config__: ClassVar[Any] = _STRICT

    name: str
    about: str
    """One sentence: what the worlds are about."""
    kind: FictionKind = "grounded"
    today: str = "2026-03-02"
    """The day on which the world's pages are read; nothing is later but what is planned."""
    tables: tuple[Table, ...]
    """Each after those that it refers to."""
    rules: tuple[Rule, ...] = ()
    texts: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, dict[str, str]])
    """By address, sentences of pages and how somebody wrote them otherwise; see `page_texts`."""

    def table(self, name: str) -> Table:
        return next(one for one in self.tables if one.name == name)
