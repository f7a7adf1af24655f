"""How the values of a column come about, as data: a column's `make` is one of these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

Bound = int | float | str
"""A number, a date `YYYY-MM-DD`, or a path: a column of the same row that stands before (`started`), or one of a row
that it refers to (`maker.founded`). `today` is the day of the schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Make:
    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    null: float = 0.0
    """The chance that the cell is empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Between(_Make):
    """A number or date of a range, both ends included."""

    between: tuple[Bound, Bound]
    shape: Literal["even", "bell", "log"] = "even"
    """`bell`: most in the middle; `log`: each order of magnitude as often."""
    step: float = 1.0
    """What a number is a multiple of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class After(_Make):
    """The value at a path and something more: days for a date."""

    after: str
    by: tuple[float, float]
    step: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Times(_Make):
    """The number at a path, times a factor of a range."""

    times: str
    by: tuple[float, float]
    step: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOf(_Make):
    """One of a list, or of texts by their weights."""

    one_of: tuple[int | float | str, ...] | Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern(_Make):
    """A text in which `@` becomes a letter and `#` a digit."""

    pattern: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Name(_Make):
    """A name that no other row of the table has, of a kind in `names.yaml`."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pick(_Make):
    """A row of the table that the column refers to. In the row's own table it is one that comes before, so that
    there is no circle, and the first row has none."""

    pick: Literal["even", "in_turn", "zipf"]
    """`zipf`: few are picked often, most of them seldom."""
    other_than: str = ""
    """The path of a value that it does not take."""
    like: Mapping[str, str] = field(default_factory=dict[str, str])
    """Columns of the row that is picked, each with the path of the value that it must have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sql(_Make):
    """An SQL expression, computed when all rows are drawn: columns of the row as `table.column`."""

    sql: str


Make = Between | After | Times | OneOf | Pattern | Name | Pick | Sql
