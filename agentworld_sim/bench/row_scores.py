"""Scores of a run over rows, from what judges said: nothing is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, mean
from typing import Any

from agentworld_sim.bench.row_runs import PredictedRow, RowRun
from agentworld_sim.bench.run import RESAMPLES, by_cluster, interval, resample
from agentworld_sim.bench.run_file import difference
from agentworld_sim.errors import UsageError
from agentworld_sim.scoring import DIMENSIONS
from agentworld_sim.scoring.official_form import Ratings, read_ratings

TOTAL = "total"


@dataclass(frozen=True, slots=True)
class RowScore:
    """A predicted row, and what a judge gave it."""

    row: PredictedRow
    ratings: Ratings | None = None
    failed: str = ""
    """Why there are no ratings: one of a few reasons."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRun:
    """A run as one judge rated it."""

    about: Mapping[str, Any]
    """What decided on predictions and ratings."""
    rows: Sequence[RowScore] = field(default_factory=list[RowScore])


def judged_runs(run: RowRun) -> list[JudgedRun]:
    """A run, as each of its judges rated it.

    Raises:
        UsageError: no judge has.
    """
    if not run.judges:
        raise UsageError("nobody has judged this run yet: `agentworld bench judge` does.")
    found: list[JudgedRun] = []
    for judge, settings in run.judges.items():
        replies: dict[str, list[Ratings | str]] = {}
        for one in sorted(run.replies, key=lambda one: one.attempt):
            if one.judge == judge:
                read = "the judge gave no reply" if one.failed else read_ratings(one.reply)
                for key in one.keys:
                    replies.setdefault(key, []).append(read)
        about = {**run.about, **{f"judge {name}": value for name, value in settings.items()}}
        rows = [_score(row, replies.get(key, [])) for key, row in run.predicted.items()]
        found.append(JudgedRun(about=about, rows=rows))
    return found


def _score(row: PredictedRow, replies: Sequence[Ratings | str]) -> RowScore:
    if not row.prediction.reply:
        return RowScore(row, None, "no prediction")
    if not replies:
        return RowScore(row, None, "not judged yet")
    ratings = next((one for one in replies if isinstance(one, Ratings)), None)
    if ratings and not ratings.total:
        return RowScore(row, None, "the judge rated below 1")
    return RowScore(row, ratings, "" if ratings else "the judge is not readable")


def merge(parts: Mapping[str, JudgedRun]) -> JudgedRun:
    """Parts of one run as one.

    Raises:
        UsageError: they are not of one run.
    """
    # What was asked and left out differs between the files of one bench.
    own = {"left out": None, "asked": None}
    if told := difference({name: {**one.about, **own} for name, one in parts.items()}):
        raise UsageError(f"these are results of different runs, {told} They cannot be merged.")
    rows = {one.row.key: one for part in parts.values() for one in part.rows}
    if len(rows) < sum(len(part.rows) for part in parts.values()):
        raise UsageError("the files have rows in common: give every row once.")
    left_out = [one for part in parts.values() for one in part.about.get("left out", [])]
    asked = Counter[str]()
    for part in parts.values():
        asked.update(part.about.get("asked", {}))
    about = {**next(iter(parts.values())).about, "left out": left_out, "asked": dict(asked)}
    return JudgedRun(about=about, rows=list(rows.values()))


def normal(rating: float) -> float:
    """A rating from 1 to 5 in percent."""
    return (rating - 1) / 4 * 100


def summary(found: JudgedRun) -> dict[str, Any]:
    """What it comes to, as JSON values: each domain's figures, both means over all, failures by their reason.

    A domain's figures are the means of the dimensions and of `total` over the rows that have ratings, as the official
    script prints them, with a 95 % interval of `total` for which trajectories are drawn again. Beside every mean stands
    of how many rows it is: those in it are `rated`, by dimension in `counts`.
    """
    whole: Mapping[str, int] = found.about.get("asked", {})
    asked = Counter[str](one.row.domain for one in found.rows) | Counter(whole)
    failures = Counter(one.failed for one in found.rows if one.failed)
    failures["not predicted yet"] = asked.total() - len(found.rows)
    domains: dict[str, Any] = {}
    draws: dict[str, list[tuple[float, int]]] = {}
    every: list[float] = []
    for name in sorted(asked):
        rows = [one for one in found.rows if one.row.domain == name]
        rated = [(one.row.trajectory, one.ratings) for one in rows if one.ratings]
        values = [(trajectory, one.total) for trajectory, one in rated]
        every += [value for _, value in values]
        parts: dict[str, Sequence[float]] = {
            part: [one.scores[part] for _, one in rated if one.scores[part] > 0]
            for part in DIMENSIONS
        }
        parts[TOTAL] = [value for _, value in values]
        figures = {part: normal(mean(given)) if given else None for part, given in parts.items()}
        draws |= {name: resample(by_cluster(values))} if values else {}
        domains[name] = {
            **figures,
            "interval": _interval([total / count for total, count in draws.get(name, [])]),
            "rows": asked[name],
            "rated": len(rated),
            "counts": {part: len(given) for part, given in parts.items()},
            "trajectories": len({one.row.trajectory for one in rows}),
        }
    totals = [one[TOTAL] for one in domains.values() if one[TOTAL] is not None]
    # Domains are fixed: trajectories are drawn in each of them.
    places = range(RESAMPLES) if draws else ()
    drawn = [[some[place] for some in draws.values()] for place in places]
    macro = [fmean(total / count for total, count in some) for some in drawn]
    micro = [sum(total for total, _ in some) / sum(count for _, count in some) for some in drawn]
    of = {"rated": len(every), "rows": asked.total()}
    domains_of = {"domains rated": len(totals), "domains": len(domains)}
    return {
        "about": dict(found.about),
        "domains": domains,
        "macro": {TOTAL: mean(totals) if totals else None, "interval": _interval(macro)}
        | of
        | domains_of,
        "micro": {TOTAL: normal(mean(every)) if every else None, "interval": _interval(micro)} | of,
        "rows": asked.total(),
        "failures": dict(+failures),
        "clamped": sum(one.ratings.clamped for one in found.rows if one.ratings),
        "left out": found.about.get("left out", []),
    }


def _interval(means: Sequence[float]) -> list[float] | None:
    return [normal(bound) for bound in interval(means)] if means else None


def lines_of(summaries: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """A table: in each line a name, and what every summary has of it."""
    names = sorted({name for one in summaries for name in one["domains"]})
    lines = [[name, *(_figure(one["domains"].get(name)) for one in summaries)] for name in names]
    for name, label in (("macro", "mean of domains"), ("micro", "mean of rows")):
        lines.append([label, *(_figure(one[name]) for one in summaries)])
    for part in DIMENSIONS:
        for name in names:
            told = [_part(one["domains"].get(name), part) for one in summaries]
            if any(told):
                lines.append([f"{name}: {part}", *told])
    lines.append(["rows", *(str(one["rows"]) for one in summaries)])
    for reason in dict.fromkeys(reason for one in summaries for reason in one["failures"]):
        lines.append(
            [f"failed: {reason}", *(str(one["failures"].get(reason, 0)) for one in summaries)]
        )
    lines.append(["ratings above 5", *(str(one["clamped"]) for one in summaries)])
    lines.append(["lines left out", *(str(len(one["left out"])) for one in summaries)])
    return lines


def _figure(one: Mapping[str, Any] | None) -> str:
    if one is None:
        return ""
    of = f"{one['rated']} of {one['rows']} rated"
    if one.get("domains rated") != one.get("domains"):
        of += f", {one['domains rated']} of {one['domains']} domains"
    if one[TOTAL] is None:
        return of
    low, high = one["interval"]
    return f"{one[TOTAL]:.2f} [{low:.2f}, {high:.2f}], {of}"


def _part(one: Mapping[str, Any] | None, part: str) -> str:
    if one is None or one[part] is None:
        return ""
    of = f", {one['counts'][part]} of {one['rows']} rated"
    return f"{one[part]:.2f}{of if one['counts'][part] < one['rows'] else ''}"
