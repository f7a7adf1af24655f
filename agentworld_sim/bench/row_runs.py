"""The file of a run over rows in AgentWorldBench form: predictions, and what judges said to them, a line each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentworld_sim.bench.run_file import FORM, ROW_RUN, begin_lines, read_lines
from agentworld_sim.errors import BudgetSpent, UsageError
from agentworld_sim.scoring import BenchRow, domain_of_file

Usage = Mapping[str, int]
"""Tokens that a server told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What the engine under test said to a row."""

    reply: str = ""
    """The whole of it, as it came."""
    model: str = ""
    """As the server called it."""
    usage: Usage | None = None
    """`None` where nothing was paid."""
    failed: str = ""
    """Why there is no reply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedRow:
    """A row with its prediction: enough to score and to show it."""

    key: str
    """Of the row: its content, and its place among equal ones."""
    id: str
    domain: str
    trajectory: str
    turn: int
    action: str
    truth: str
    prediction: Prediction


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeReply:
    """What a judge said to predictions."""

    keys: Sequence[str]
    """Of the rows that it was asked about with these words."""
    judge: str
    """Hash of what decides on its replies; the file has the settings."""
    question: str
    """Hash of what it was asked."""
    attempt: int
    """From 0; an unreadable reply is asked for again."""
    reply: str
    usage: Usage | None = None
    failed: str = ""


@dataclass(slots=True)
class RowRun:
    """All that a file holds."""

    about: dict[str, Any]
    """What decides on the predictions."""
    predicted: dict[str, PredictedRow] = field(default_factory=dict[str, PredictedRow])
    judges: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    replies: list[JudgeReply] = field(default_factory=list[JudgeReply])

    def payments(self, judge: str | None = None) -> list[Usage]:
        """What was paid for predictions, or to a judge."""
        some = [one.prediction for one in self.predicted.values()] if judge is None else [
            one for one in self.replies if one.judge == judge
        ]  # fmt: skip
        return [one.usage for one in some if one.usage is not None]


def read_rows(paths: Iterable[Path]) -> tuple[dict[str, BenchRow], list[str]]:
    """Rows by their keys, and what is wrong with each line that is none."""
    rows: dict[str, BenchRow] = {}
    problems: list[str] = []
    for path in paths:
        # Not splitlines: texts of rows hold U+2028 and other ends of lines.
        for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
            if not line.strip():
                continue
            place = f"{path.name}, line {number}"
            try:
                value = json.loads(line)
                if not isinstance(value, dict):
                    raise UsageError(f"{place}: the line is no JSON object.")
                row = BenchRow.from_json(value, place=place, domain=domain_of_file(path))  # pyright: ignore[reportUnknownArgumentType]
            except UsageError as error:
                problems.append(str(error))
            except (ValueError, RecursionError) as error:
                problems.append(f"{place}: the line is not JSON: {error}.")
            else:
                # One pair of id and turn stands in the published Android rows twice.
                count = 1
                while (key := f"{row.sample.id}-{count}") in rows:
                    count += 1
                rows[key] = row
    return rows, problems


def read_run(path: Path) -> RowRun:
    """A file with predictions.

    Raises:
        UsageError: it is none, or a line in it is broken.
    """
    return _row_run(*read_lines(path, ROW_RUN, _read))


def begin_run(path: Path, about: Mapping[str, Any]) -> RowRun:
    """The run that a file holds, or a new one in it.

    Raises:
        UsageError: it holds one with other settings.
    """
    return _row_run(*begin_lines(path, {"form": FORM, **about}, _read))


Line = PredictedRow | JudgeReply | dict[str, Any]


def _read(value: dict[str, Any]) -> Line:
    if "prediction" in value:
        value["prediction"] = Prediction(**value["prediction"])
        return PredictedRow(**value)
    return {value["judge"]: value["about"]} if "about" in value else JudgeReply(**value)


def _row_run(head: dict[str, Any], lines: Iterable[Line]) -> RowRun:
    del head["form"]
    run = RowRun(head)
    for line in lines:
        if isinstance(line, PredictedRow):
            run.predicted[line.key] = line
        elif isinstance(line, JudgeReply):
            run.replies.append(line)
        else:
            run.judges |= line
    return run


Prices = tuple[float, float]
"""US dollars for a million tokens of prompts and of replies."""

UNITS: tuple[str, ...] = ("requests", "tokens", "USD")


class Budget:
    """What requests may come to, and have come to, what a file has paid before included. Requests under way when it
    is spent are finished: of tokens and money, so much more may be spent."""

    def __init__(self, limit: str | None = None, prices: Prices | None = None) -> None:
        """
        Args:
            limit: `1000 requests`, `2e6 tokens` or `20 USD`.
            prices: For a budget in money.

        Raises:
            UsageError: it is none of these.
        """
        amount, _, self._unit = (limit or "inf requests").strip().partition(" ")
        try:
            self._most = float(amount)
        except ValueError:
            self._most = 0.0
        if not self._most > 0 or self._unit not in UNITS:
            raise UsageError(
                f"the budget {limit!r} is none. Say '1000 requests', '2e6 tokens' or '20 USD'."
            )
        if self._unit == "USD" and prices is None:
            raise UsageError("a budget in USD needs --price IN OUT, dollars for a million tokens.")
        self._prices = prices
        self._spent = dict.fromkeys(UNITS, 0.0)

    def __str__(self) -> str:
        money = f", {self._spent['USD']:.2f} USD" if self._prices else ""
        return f"{self._spent['tokens']:,.0f} tokens{money}"

    def begin(self, paid: Sequence[Usage]) -> None:
        """Counts what was paid before."""
        self._spent["requests"] += len(paid)
        for usage in paid:
            self.add(usage)

    def take(self) -> None:
        """Asks for one request more.

        Raises:
            BudgetSpent: nothing is left.
        """
        if self._spent[self._unit] >= self._most:
            raise BudgetSpent(
                f"the budget of {self._most:,.10g} {self._unit} is spent. What was answered is kept: go on with"
                " a larger --budget."
            )
        self._spent["requests"] += 1

    def add(self, usage: Usage | None) -> None:
        """Counts what a request came to."""
        read, written = ((usage or {}).get(f"{one}_tokens", 0) for one in ("prompt", "completion"))
        self._spent["tokens"] += read + written
        if self._prices:
            self._spent["USD"] += (read * self._prices[0] + written * self._prices[1]) / 1e6
