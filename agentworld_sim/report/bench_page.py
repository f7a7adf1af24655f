"""Runs over rows in AgentWorldBench form, side by side on one page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from statistics import fmean
from typing import Any

from agentworld_sim.bench.row_scores import JudgedRun, RowScore, lines_of, normal, summary
from agentworld_sim.report.chart import chart
from agentworld_sim.report.html_page import Content, Markup, case, chip, filters, page, table, tag
from agentworld_sim.scoring.official_form import prediction_of

KEPT_LINES = 3
"""Lines that are shown around a difference; other equal ones are counted."""

APART = 1.0
"""Columns differ in a row from so much of a rating on."""

NOTE = (
    "Percent with 95 % intervals, for which trajectories were drawn again; failed rows are in no mean. The mean of"
    " domains is the report's overall figure, the mean of rows the official script's."
)


def bench_page(columns: Mapping[str, JudgedRun]) -> str:
    """One HTML document, which fetches nothing and runs nothing.

    Args:
        columns: Runs by the names they go by.
    """
    summaries = [summary(one) for one in columns.values()]
    domains = sorted({name for one in summaries for name in one["domains"]})
    choices = {"all": "all rows", "failed": "without ratings"}
    choices |= {"apart": "columns differ"} if len(columns) > 1 else {}
    return page(
        "AgentWorldBench",
        tag("p", NOTE, class_="soft"),
        table(["", *columns], lines_of(summaries)),
        tag(
            "div",
            chart("By turn", "turn", "mean of rows, %", _by_turn(columns, summaries)),
            class_="charts",
        ),
        tag("h2", "What decided on them"),
        table(["", *columns], _settings(columns)),
        tag("h2", "Every row"),
        filters(choices | {name: name for name in domains}),
        list(_rows(columns)),
    )


def bench_markdown(columns: Mapping[str, JudgedRun]) -> str:
    """The tables, for an appendix."""
    figures = lines_of([summary(one) for one in columns.values()])
    parts = (NOTE, _markdown(columns, figures), _markdown(columns, _settings(columns)))
    return "\n\n".join(parts) + "\n"


def _markdown(columns: Mapping[str, JudgedRun], lines: Sequence[Sequence[str]]) -> str:
    rows = [["", *columns], ["---"] * (len(columns) + 1), *lines]
    return "\n".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows
    )


def _settings(columns: Mapping[str, JudgedRun]) -> list[list[str]]:
    names = dict.fromkeys(name for one in columns.values() for name in one.about)
    return [[name, *(str(one.about.get(name, "")) for one in columns.values())] for name in names]


def _by_turn(
    columns: Mapping[str, JudgedRun], summaries: Sequence[Mapping[str, Any]]
) -> dict[str, list[tuple[float, float]]]:
    found: dict[str, list[tuple[float, float]]] = {}
    for (name, one), told in zip(columns.items(), summaries, strict=True):
        turns: dict[int, list[float]] = {}
        for row in one.rows:
            if row.ratings and row.ratings.total:
                turns.setdefault(row.row.turn, []).append(normal(row.ratings.total))
        legend = f"{name}, {told['micro']['rated']} of {told['micro']['rows']} rated"
        found[legend] = [(turn, fmean(turns[turn])) for turn in sorted(turns)]
    return found


def _rows(columns: Mapping[str, JudgedRun]) -> Iterator[Markup]:
    given: dict[str, dict[str, RowScore]] = {}
    for name, one in columns.items():
        for row in one.rows:
            given.setdefault(row.row.key, {})[name] = row
    for some in given.values():
        yield _row(some)


def _row(given: Mapping[str, RowScore]) -> Markup:
    first = next(iter(given.values())).row
    totals = [one.ratings.total if one.ratings else None for one in given.values()]
    rated = [total for total in totals if total is not None]
    kinds = {
        first.domain: True,
        "failed": None in totals,
        "apart": len(rated) > 1 and max(rated) - min(rated) >= APART,
    }
    return case(
        kinds,
        [
            chip(f"{normal(one.ratings.total):.0f}" if one.ratings else one.failed, not one.failed)
            for one in given.values()
        ],
        first.action,
        f"{first.domain} {first.id}, turn {first.turn}",
        [_answer(name, one) for name, one in given.items()],
    )


def _answer(name: str, one: RowScore) -> Markup:
    told = (
        ", ".join(f"{part} {rating}" for part, rating in one.ratings.scores.items())
        if one.ratings
        else ""
    )
    about = tag("p", f"{name}: {told}", class_="soft")
    if one.failed:
        about = tag("p", f"{name}: {one.failed}. {one.row.prediction.failed}", class_="problem")
    said = prediction_of(one.row.prediction.reply) if one.row.prediction.reply else ""
    truth, predicted = _apart(one.row.truth, said)
    sides = tag("div", tag("pre", truth), tag("pre", predicted), class_="sides")
    return tag(
        "section", about, tag("p", "The environment, and the prediction", class_="soft"), sides
    )


def _apart(truth: str, said: str) -> tuple[Content, Content]:
    """Both texts, with what differs marked and long equal stretches left out."""
    left, right = truth.split("\n"), said.split("\n")
    sides: tuple[list[Content], list[Content]] = ([], [])
    for kind, a, b, c, d in SequenceMatcher(None, left, right).get_opcodes():
        for side, lines in zip(sides, (left[a:b], right[c:d]), strict=True):
            if kind != "equal":
                side.append(tag("mark", "\n".join(lines)) if lines else "")
            elif len(lines) > 2 * KEPT_LINES + 1:
                hidden = f"… {len(lines) - 2 * KEPT_LINES} equal lines …"
                side.append("\n".join([*lines[:KEPT_LINES], hidden, *lines[-KEPT_LINES:]]))
            else:
                side.append("\n".join(lines))
            side.append("\n")
    return sides
