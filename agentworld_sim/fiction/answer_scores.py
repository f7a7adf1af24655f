"""Scores of answers that are tables, as the evaluator of WideSearch counts them (ByteDance-Seed/WideSearch,
`src/evaluation`, commit 0e664c3).

It differs in three things. The original has a model rename the columns and the keys of an answer to the gold ones
where they differ, and asks a model to judge cells (`llm_judge`): here names are only compared without case and spaces,
and a metric that needs a judge is refused. A date that leaves out its year or month is read as of January 2000, where
the original takes the day on which it runs. And `success` has one way, all shares being 1: the original has a second
for tables that are equal down to numbers that both of them lack.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal, get_args

from agentworld_sim.errors import UsageError, nearest
from agentworld_sim.extras import require

Metric = Literal["exact_match", "number_near", "date_near", "url_match", "in_match"]
Preprocess = Literal["norm_str", "extract_number", "norm_date"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellMetric:
    """How the cells of a column are compared, after `preprocess` was done to both sides."""

    metric: Metric = "exact_match"
    criterion: float = 0.0
    """For `number_near`: how far an answer may be, as a share of the gold value."""
    preprocess: tuple[Preprocess, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldTable:
    """The right answer and how others are held against it."""

    columns: tuple[str, ...]
    """Their names as a question says them; compared without case and spaces."""
    rows: tuple[tuple[Any, ...], ...]
    """Text, int, float or None."""
    unique_columns: tuple[str, ...]
    """Those whose values name a row."""
    metrics: Mapping[str, CellMetric] = field(default_factory=dict[str, CellMetric])
    """By column; needed for each that is not unique."""

    def __post_init__(self) -> None:
        """Raises `UsageError` where a column is not there or its metric is none that code can count."""
        for name in (*self.unique_columns, *self.metrics):
            if name not in self.columns:
                raise UsageError(
                    f"the gold table has no column {name!r}.{nearest(name, self.columns)} It has:"
                    f" {', '.join(self.columns)}."
                )
        if not self.unique_columns:
            raise UsageError(
                "the gold table names no unique columns; name those that tell its rows apart."
            )
        for name in self.columns:
            if name not in self.metrics and name not in self.unique_columns:
                raise UsageError(
                    f"the column {name!r} of the gold table has no metric; give it one."
                )
        for name, how in self.metrics.items():
            wanted = str(how.metric)
            if wanted not in get_args(Metric):
                judge = " It needs a model as judge; none is here." if wanted == "llm_judge" else ""
                raise UsageError(
                    f"the column {name!r} has the metric {wanted!r}.{judge} There are:"
                    f" {', '.join(get_args(Metric))}."
                )

    def markdown(self) -> str:
        """The gold table as an answer says it."""
        return markdown_table(self.columns, self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerScore:
    """Shares from 0 to 1."""

    row_precision: float = 0.0
    row_recall: float = 0.0
    row_f1: float = 0.0
    item_precision: float = 0.0
    item_recall: float = 0.0
    item_f1: float = 0.0
    success: bool = False
    """Whether all of them are 1."""
    note: str = ""
    """Why nothing could be compared."""


def score_answer(gold: GoldTable, answer: str) -> AnswerScore:
    """Holds the first Markdown table of an answer against the gold one.

    An answer without a table, with a broken one or with other columns scores 0, and `note` says why.
    """
    columns = [_column_name(name) for name in gold.columns]
    keys = [_column_name(name) for name in gold.unique_columns]
    metrics = {_column_name(name): how for name, how in gold.metrics.items()}
    found = _table_of(answer)
    if isinstance(found, str):
        return AnswerScore(note=found)
    if sorted(found) != sorted(columns):
        return AnswerScore(
            note=f"the answer has the columns {', '.join(found)}, not {', '.join(columns)}."
        )
    cells = zip(*gold.rows, strict=True) if gold.rows else [()] * len(columns)
    asked = {
        name: [_cell_text(cell) for cell in column]
        for name, column in zip(columns, cells, strict=True)
    }
    right, given = (
        _without_repeats(_cells_by_column(side), keys, metrics) for side in (asked, found)
    )
    credit = [
        [
            1.0 if name in keys else _credit(metrics[name], one[name], other[name])
            for name in columns
        ]
        for one in right
        for other in given
        if all(one[key] == other[key] for key in keys)
    ]
    of_rows, of_items = sum(map(min, credit)), sum(map(sum, credit))
    rows = _shares(of_rows, len(given), len(right))
    items = _shares(of_items, len(given) * len(columns), len(right) * len(columns))
    return AnswerScore(
        row_precision=rows[0],
        row_recall=rows[1],
        row_f1=rows[2],
        item_precision=items[0],
        item_recall=items[1],
        item_f1=items[2],
        success={*rows, *items} == {1.0},
    )


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table as answers have it; None is an empty cell."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(map(_cell_text, line)) + " |" for line in lines)


def _cell_text(cell: object) -> str:
    return "" if cell is None else str(cell)


def _column_name(name: str) -> str:
    return name.strip().lower().replace(" ", "")


def _shares(credit: float, given: int, right: int) -> tuple[float, float, float]:
    precision = credit / given if given else 0.0
    recall = credit / right if right else 0.0
    total = precision + recall
    return precision, recall, 2 * precision * recall / total if total > 1e-9 else 0.0


def _table_of(answer: str) -> dict[str, list[str]] | str:
    """The columns of an answer's first table, or why there is none: of the block marked as `markdown`, else of the
    first lines that begin with a bar. A row that is too short is filled; what stands left of the first column when
    the first row is longer than the head is dropped."""
    block = re.search(r"```markdown(.*?)```", answer, re.DOTALL)
    if block is None and answer.count("|") >= 4:
        block = re.search(r"((?:\|[^\n]*\n?)+)", answer)
    if block is None:
        return "the answer has no Markdown table."
    lines = [
        "|".join(cell.strip() for cell in line.split("|"))
        for line in block[1].strip().split("\n")
        if "|" in line and set(line.strip()) - set("|- :")
    ]
    head, *rows = [row for row in csv.reader(lines, delimiter="|") if row] or [[]]
    names = [_column_name(name) for name in head]
    before = max(0, len(rows[0]) - len(names)) if rows else 0
    if not any(names) or any(len(row) > len(names) + before for row in rows):
        return (
            "the answer's table has rows with more cells than its head."
            if names
            else "the table is empty."
        )
    whole = [[*row[before:], *[""] * (len(names) + before - max(len(row), before))] for row in rows]
    return {name: [row[place] for row in whole] for place, name in enumerate(names) if name}


_MISSING = frozenset(
    "|#N/A|#N/A N/A|#NA|-1.#IND|-1.#QNAN|-NaN|-nan|1.#IND|1.#QNAN|<NA>|N/A|NA|NULL|NaN|None|n/a|nan|null".split(
        "|"
    )
)
"""What a reader of CSV files takes for no value."""
_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(
    r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?inf(inity)?", re.IGNORECASE
)


def _cells_by_column(columns: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    """Rows whose cells are written alike: in a column of numbers `007` is `7`, and `7` is `7.0` where a
    neighbour has a fraction or is missing. The original's reader does so to both sides."""
    texts: list[list[str]] = []
    for cells in columns.values():
        known = [cell for cell in cells if cell not in _MISSING]
        kind: Callable[[str], object] = str
        if all(_NUMBER.fullmatch(cell) for cell in known):
            whole = len(known) == len(cells) and all(_INTEGER.fullmatch(cell) for cell in known)
            kind = int if whole else float
        elif all(cell in {"True", "TRUE", "true", "False", "FALSE", "false"} for cell in known):
            kind = str.capitalize
        texts.append(["nan" if cell in _MISSING else str(kind(cell)) for cell in cells])
    return [dict(zip(columns, row, strict=True)) for row in zip(*texts, strict=True)]


def _without_repeats(
    rows: Sequence[dict[str, str]], keys: Sequence[str], metrics: Mapping[str, CellMetric]
) -> list[dict[str, str]]:
    first: dict[tuple[str, ...], dict[str, str]] = {}
    for row in rows:
        first.setdefault(tuple(row[key] for key in keys), row)
    for row in first.values():
        for name, how in metrics.items():
            for step in how.preprocess:
                row[name] = _PREPROCESS[step](row[name])
    return list(first.values())


def _first_number(text: str) -> str:
    found = re.search(r"[-+]?\d*\.\d+%?|[-+]?\d+\.?\d*%?", text.replace(",", ""))
    return found[0] if found else "NULL"


@lru_cache(maxsize=100_000)
def _date(text: str) -> datetime | None:
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            return None
    dateparser = require("dateparser", extra="fiction")
    found: Any = dateparser.parse(
        text, settings={"PREFER_DAY_OF_MONTH": "first", "RELATIVE_BASE": datetime(2000, 1, 1)}
    )
    return found.replace(tzinfo=None) if found else None


def _norm_date(text: str) -> str:
    found = _date(text)
    return found.strftime("%Y-%m-%d") if found else text


_PREPROCESS: Mapping[Preprocess, Callable[[str], str]] = {
    "norm_str": lambda text: text.lower().strip().replace(" ", "").replace("*", ""),
    "extract_number": _first_number,
    "norm_date": _norm_date,
}


def _credit(how: CellMetric, right: str, given: str) -> float:
    match how.metric:
        case "exact_match":
            return float(given.lower() == right.lower())
        case "number_near":
            one, other = _number(right), _number(given)
            if one is None or other is None:
                return float(one is other and right == given)
            return float(abs(other - one) <= abs(one) * how.criterion)
        case "date_near":
            day, other_day = _date(right), _date(given)
            if day is None or other_day is None:
                return float(day is other_day)
            return float(abs((other_day - day).days) <= 31)
        case "url_match":
            return float(_hosts(right) == _hosts(given))
        case "in_match":
            return float(given in right)


def _number(text: str) -> float | None:
    try:
        return float(text.replace("%", "")) / 100 if "%" in text else float(text)
    except ValueError:
        return None


def _hosts(text: str) -> set[str]:
    return set(re.findall(r"https?://(?=[!$-_a-z])([!$-.0->@-_a-z]*)[!$-_a-z]*", text))
