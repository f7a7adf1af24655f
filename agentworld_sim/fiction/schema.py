"""What a fictional world is made of: tables, columns that refer to each other, and rules that hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

ColumnType = Literal["text", "integer", "number", "date", "boolean"]
"""What a cell holds: a date is `YYYY-MM-DD`, a boolean 0 or 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a table."""

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
    make: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """How its values are drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One kind of thing, or of event."""

    name: str
    noun: tuple[str, str]
    """What one of its rows is called, and several: `("maker", "makers")`."""
    columns: tuple[Column, ...]
    key: str = "id"
    """The column of whole numbers from 1 that other tables refer to."""
    title: str = ""
    """The column that names a row for people; its values are unique. Empty for rows without a page of their
    own, which stand on the pages of what they refer to."""
    share: float = 1.0
    """Its part of the world's rows, relative to the other tables."""

    def column(self, name: str) -> Column:
        return next(one for one in self.columns if one.name == name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What holds in every world of the schema."""

    says: str
    """The rule in words."""
    none: str
    """A query that gives the rows that break it: it must give none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FictionSchema:
    """A family of fictional worlds."""

    name: str
    about: str
    """One sentence: what the worlds are about."""
    tables: tuple[Table, ...]
    """Each after those that it refers to."""
    rules: tuple[Rule, ...] = ()

    def table(self, name: str) -> Table:
        return next(one for one in self.tables if one.name == name)


Row = Mapping[str, Any]
"""Column to value: text, int, float or None."""
