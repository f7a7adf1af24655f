"""What the raw numbers of the experiment say: table, intervals, plot."""

from __future__ import annotations

import json
import math
import random
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from experiments.prediction_before_action.transfer import summary

T_95: Final = {
    1: 12.706,
    2: 4.303,
    3: 3.182,
    4: 2.776,
    5: 2.571,
    6: 2.447,
    7: 2.365,
    8: 2.306,
    9: 2.262,
}
"""Two-sided 95 % quantiles of Student's t by degrees of freedom."""

RESAMPLES: Final = 10_000
MEASURES: Final = {"success": "all", "instances": "new tasks", "templates": "new templates"}
_BEGIN, _END = "<!-- results -->", "<!-- end of results -->"

Runs = Mapping[tuple[int, str], Sequence[Mapping[str, Any]]]


def at(points: Sequence[Mapping[str, Any]], tokens: float, measure: str) -> float:
    """The measure after so many tokens, on the straight line between the measurements around it."""
    before = points[0]
    for point in points[1:]:
        if point["tokens"] >= tokens:
            width = point["tokens"] - before["tokens"]
            share = (tokens - before["tokens"]) / width if width else 1.0
            share = min(1.0, max(0.0, share))
            return before[measure] + share * (point[measure] - before[measure])
        before = point
    return float(before[measure])


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Mean and 95 % interval by Student's t."""
    mean = statistics.fmean(values)
    if len(values) < 2:
        return mean, math.nan, math.nan
    half = T_95[len(values) - 1] * statistics.stdev(values) / math.sqrt(len(values))
    return mean, mean - half, mean + half


def bootstrap(values: Sequence[float]) -> tuple[float, float]:
    """95 % interval of the mean by resampling."""
    chance = random.Random(0)
    means = sorted(
        statistics.fmean(chance.choices(values, k=len(values))) for _ in range(RESAMPLES)
    )
    return means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES)]


def write_report(folder: Path, titles: Mapping[str, str]) -> None:
    """Writes the tables into `README.md` between its marks, and the plot.

    Args:
        folder: With `results.json`, and `transfer.json` if that was measured.
        titles: Of the arms, in their order; the first is what others are compared with.
    """
    rows = json.loads((folder / "results.json").read_text("utf-8"))
    runs: Runs = {(row["seed"], row["arm"]): row["points"] for row in rows}
    parts = [_table(runs, titles), _differences(runs, titles), _predictions(rows)]
    sampled = folder / "sampled.json"
    if sampled.exists():
        parts.append(_sampled(json.loads(sampled.read_text("utf-8")), titles))
    transfer = folder / "transfer.json"
    if transfer.exists():
        parts.append(_transfer(json.loads(transfer.read_text("utf-8"))))
    text = "\n".join(part for part in parts if part)
    readme = folder / "README.md"
    page = readme.read_text("utf-8")
    begin, end = page.index(_BEGIN) + len(_BEGIN), page.index(_END)
    readme.write_text(f"{page[:begin]}\n\n{text}\n{page[end:]}", encoding="utf-8")
    _plot(folder / "success.png", runs, titles)


def budget(runs: Runs, seed: int) -> float:
    """Tokens that every arm of a seed has used at least."""
    return min(points[-1]["tokens"] for (one, _), points in runs.items() if one == seed)


def _estimate(values: Sequence[float], form: str = ".1%") -> str:
    """The mean, and its interval if there are several values."""
    mean, low, high = (f"{value:{form}}" for value in interval(values))
    return mean if len(values) < 2 else f"{mean} [{low}, {high}]"


def seeds_of(runs: Runs, arms: Sequence[str]) -> list[int]:
    """Seeds for which all these arms were run."""
    seeds = sorted({seed for seed, _ in runs})
    return [seed for seed in seeds if all((seed, arm) in runs for arm in arms)]


def _table(runs: Runs, titles: Mapping[str, str]) -> str:
    lines = [
        "| arm | seeds | tokens | "
        + " | ".join(f"{title}, start → end" for title in MEASURES.values())
        + " |",
        "|---|---:|---:|" + "---:|" * len(MEASURES),
    ]
    for arm, title in titles.items():
        seeds = seeds_of(runs, [arm])
        if not seeds:
            continue
        cells: list[str] = []
        for measure in MEASURES:
            start = runs[seeds[0], arm][0][measure] if arm != "warm-up" else None
            first = next(points[0] for (_, one), points in runs.items() if one != "warm-up")
            ends = [at(runs[seed, arm], budget(runs, seed), measure) for seed in seeds]
            begin = first[measure] if start is None else start
            cells.append(f"{begin:.1%} → {_estimate(ends)}")
        tokens = statistics.fmean(budget(runs, seed) for seed in seeds)
        lines.append(f"| {title} | {len(seeds)} | {tokens:,.0f} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _differences(runs: Runs, titles: Mapping[str, str]) -> str:
    reference, *others = titles
    lines = [
        "| against the first arm | measure | difference | by t | by bootstrap | by seed |",
        "|---|---|---:|---|---|---|",
    ]
    for arm in others:
        seeds = seeds_of(runs, [reference, arm])
        if len(seeds) < 2:
            continue
        for measure, said in MEASURES.items():
            values = [
                at(runs[seed, arm], budget(runs, seed), measure)
                - at(runs[seed, reference], budget(runs, seed), measure)
                for seed in seeds
            ]
            lines.append(_difference(titles[arm], said, values))
        if any(runs[seed, arm][0]["tokens"] for seed in seeds):
            values = [_for_free(runs[seed, reference], runs[seed, arm]) for seed in seeds]
            lines.append(_difference(f"{titles[arm]}, the first not counted", "all", values))
    return "\n".join(lines) + "\n"


def _for_free(reference: Sequence[Mapping[str, Any]], other: Sequence[Mapping[str, Any]]) -> float:
    """The difference in success as if what came before the agent's training had cost nothing."""
    spent = other[0]["tokens"]
    tokens = min(reference[-1]["tokens"], other[-1]["tokens"] - spent)
    return at(other, spent + tokens, "success") - at(reference, tokens, "success")


def _difference(title: str, measure: str, values: Sequence[float]) -> str:
    mean, low, high = interval(values)
    lower, upper = bootstrap(values)
    each = ", ".join(f"{value:+.1%}" for value in values)
    return (
        f"| {title} | {measure} | {mean:+.1%} | {low:+.1%} … {high:+.1%} |"
        f" {lower:+.1%} … {upper:+.1%} | {each} |"
    )


def _predictions(rows: Sequence[Mapping[str, Any]]) -> str:
    found = [row["prediction_exact"] for row in rows if row.get("prediction_exact")]
    if not found:
        return ""
    before, after = (interval([one[when] for one in found]) for when in ("before", "after"))
    return (
        f"Exact predictions of held-out templates, over the warm-up: {before[0]:.1%} →"
        f" {after[0]:.1%} [{after[1]:.1%}, {after[2]:.1%}].\n"
    )


def _sampled(rows: Sequence[dict[str, Any]], titles: Mapping[str, str]) -> str:
    """Success of sampled rollouts, of the start and at the end, and differences within seeds."""
    found = {row["agent"]: row for row in rows}
    lines = [
        f"| sampled as in training | seeds | {' | '.join(MEASURES.values())} | against the first arm |",
        "|---|---:|" + "---:|" * (len(MEASURES) + 1),
    ]
    start = " | ".join(f"{found['sft'][measure]:.1%}" for measure in MEASURES)
    lines.append(f"| start | 1 | {start} | |")
    for arm, title in titles.items():
        seeds = [name.rpartition("/")[0] for name in found if name.endswith(f"/{arm}")]
        if not seeds:
            continue
        cells: list[str] = []
        for measure in MEASURES:
            cells.append(_estimate([found[f"{seed}/{arm}"][measure] for seed in seeds]))
        reference = next(iter(titles))
        pairs = [(f"{seed}/{arm}", f"{seed}/{reference}") for seed in seeds]
        differences = [
            found[one]["success"] - found[other]["success"]
            for one, other in pairs
            if arm != reference and other in found
        ]
        against = _estimate(differences, "+.1%") if differences else ""
        lines.append(f"| {title} | {len(seeds)} | {' | '.join(cells)} | {against} |")
    return "\n".join(lines) + "\n"


def _transfer(rows: Sequence[dict[str, Any]]) -> str:
    by_arm: dict[str, list[dict[str, float]]] = {}
    for row in rows:
        by_arm.setdefault(row["agent"].rpartition("/")[2], []).append(summary(row))
    lines = [
        "| agent | agents | simulated | real shell | transfer ratio | same outcome by task |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for arm, found in by_arm.items():
        mean = {name: statistics.fmean(one[name] for one in found) for name in found[0]}
        lines.append(
            f"| {arm} | {len(found)} | {mean['simulated']:.1%} | {mean['real']:.1%} |"
            f" {mean['ratio']:.3f} | {mean['agreement']:.1%} |"
        )
    return "\n".join(lines) + "\n"


def _plot(path: Path, runs: Runs, titles: Mapping[str, str]) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4.2), layout="constrained", dpi=110)
    FigureCanvasAgg(figure)
    axes: Any = figure.subplots(1, len(MEASURES), sharey=True)
    colours = dict(zip(titles, ("tab:grey", "tab:blue", "tab:orange"), strict=False))
    for axis, (measure, said) in zip(axes, MEASURES.items(), strict=True):
        for arm, title in titles.items():
            seeds = seeds_of(runs, [arm])
            for seed in seeds:
                points = runs[seed, arm]
                axis.plot(
                    [point["tokens"] / 1000 for point in points],
                    [point[measure] for point in points],
                    color=colours[arm],
                    alpha=0.25,
                    linewidth=1,
                )
            if seeds:
                _mean_line(axis, [runs[seed, arm] for seed in seeds], measure, colours[arm], title)
        axis.set_title(f"held out: {said}")
        axis.set_xlabel("tokens of reinforcement learning, thousands")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("tasks solved")
    axes[0].legend(fontsize=8)
    figure.savefig(path, metadata={"Software": None})


def _mean_line(
    axis: Any, curves: Sequence[Sequence[Mapping[str, Any]]], measure: str, colour: str, title: str
) -> None:
    begin = max(points[0]["tokens"] for points in curves)
    end = min(points[-1]["tokens"] for points in curves)
    grid = [begin + (end - begin) * step / 40 for step in range(41)]
    means = [statistics.fmean(at(points, place, measure) for points in curves) for place in grid]
    axis.plot([place / 1000 for place in grid], means, color=colour, linewidth=2.2, label=title)
