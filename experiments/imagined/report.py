"""What the runs come to: tables with paired intervals, confidence, the gate, and a reliability plot."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from agentworld_sim.bench.run import RESAMPLES, Row, figure, read_run
from agentworld_sim.imagination.confidence import Calibration, Signals

HERE: Final = Path(__file__).parent
FOLDS: Final = 5
COVERAGE: Final = 0.7
ORDER: Final = (
    *("look-up", "bare", "official", "own", "demonstrations", "retrieval", "state", "schema"),
    *(
        "re-ask",
        "agreement",
        "own+records",
        "retrieval+agreement",
        "fine-tuned",
        "fine-tuned-whole",
    ),
    # As they were run first: recorded calls showed their records without the names of the tables.
    *("first-state", "first-schema", "first-re-ask", "first-state+history"),
)
LADDER: Final = ORDER[1:10]

Measure = Callable[[Row], bool]
MEASURES: Final[Mapping[str, Measure]] = {
    "right": lambda row: row.score.right,
    "answer": lambda row: row.score.value,
    "form": lambda row: row.score.form,
    "state": lambda row: row.score.state,
    "state of calls that write": lambda row: row.score.state,
    "silent corruption of answers": lambda row: row.score.silent,
    "refused": lambda row: bool(row.refused),
}


def rows_for(measure: str, rows: Iterable[Row]) -> list[Row]:
    """Those that a measure is about."""
    if measure.startswith("silent"):
        return [row for row in rows if not row.refused]
    return [row for row in rows if row.score.changed or not measure.startswith("state of")]


def difference(
    below: Sequence[Row], above: Sequence[Row], measure: str
) -> tuple[float, float, float] | None:
    """Points by which the second is better on the same calls, with a 95 % interval over sessions."""
    first = {row.id: row for row in rows_for(measure, below)}
    holds = MEASURES[measure]
    by_session: dict[str, list[int]] = {}
    for row in rows_for(measure, above):
        if row.id in first:
            held = by_session.setdefault(row.session, [0, 0])
            held[0] += holds(row) - holds(first[row.id])
            held[1] += 1
    pairs = list(by_session.values())
    if not pairs:
        return None
    chance = random.Random(0)
    drawn: list[float] = []
    for _ in range(RESAMPLES):
        some = chance.choices(pairs, k=len(pairs))
        drawn.append(100 * sum(gain for gain, _ in some) / sum(count for _, count in some))
    drawn.sort()
    mean = 100 * sum(gain for gain, _ in pairs) / sum(count for _, count in pairs)
    return mean, drawn[RESAMPLES // 40], drawn[-RESAMPLES // 40 - 1]


def fold(row: Row) -> int:
    """The same for all calls of a session."""
    return blake2b(row.session.encode(), digest_size=4).digest()[0] % FOLDS


def rated(rows: Sequence[Row], measure: str = "right") -> list[tuple[float, bool, Row]]:
    """Confidence and truth of every answer, the confidence learnt from other sessions."""
    answered = [(row, Signals(**row.signals)) for row in rows if row.signals and not row.refused]
    holds = MEASURES[measure]
    found: list[tuple[float, bool, Row]] = []
    for held_out in range(FOLDS):
        known = [(signals, holds(row)) for row, signals in answered if fold(row) != held_out]
        if len({right for _, right in known}) < 2:
            return []
        calibration = Calibration.fit(known)
        found += [
            (calibration.confidence(signals), holds(row), row)
            for row, signals in answered
            if fold(row) == held_out
        ]
    return found


def area(pairs: Sequence[tuple[float, bool]]) -> float | None:
    """The share of pairs of a right and a wrong answer that confidence orders."""
    right = [sure for sure, holds in pairs if holds]
    wrong = [sure for sure, holds in pairs if not holds]
    if not right or not wrong:
        return None
    ordered = sum((one > other) + 0.5 * (one == other) for one in right for other in wrong)
    return ordered / (len(right) * len(wrong))


def area_interval(found: Sequence[tuple[float, bool, Row]]) -> tuple[float, float] | None:
    """The 95 % interval of the area, by sessions."""
    by_session: dict[str, list[tuple[float, bool]]] = {}
    for sure, holds, row in found:
        by_session.setdefault(row.session, []).append((sure, holds))
    groups, chance = list(by_session.values()), random.Random(0)
    drawn: list[float] = []
    for _ in range(RESAMPLES):
        some = [pair for group in chance.choices(groups, k=len(groups)) for pair in group]
        if (one := area(some)) is not None:
            drawn.append(one)
    drawn.sort()
    return (drawn[len(drawn) // 40], drawn[-len(drawn) // 40 - 1]) if drawn else None


def reliability(found: Sequence[tuple[float, bool, Row]]) -> list[tuple[float, float, int]]:
    """Mean confidence, share that is right and count, in five bins of equal size."""
    ranked = sorted((sure, holds) for sure, holds, _ in found)
    bins = [
        ranked[len(ranked) * place // FOLDS : len(ranked) * (place + 1) // FOLDS]
        for place in range(FOLDS)
    ]
    return [
        (
            sum(one for one, _ in some) / len(some),
            sum(holds for _, holds in some) / len(some),
            len(some),
        )
        for some in bins
        if some
    ]


def confidence_of(rows: Sequence[Row], measure: str) -> dict[str, Any]:
    """What confidence is worth on a rung."""
    found = rated(rows, measure)
    if not found:
        return {"answers": sum(not row.refused for row in rows)}
    ranked = sorted(found, key=lambda one: -one[0])
    accepted = ranked[: round(COVERAGE * len(ranked))]
    surest = ranked[: max(1, len(ranked) // 10)]
    return {
        "answers": len(found),
        "AUROC": area([(sure, holds) for sure, holds, _ in found]),
        "interval": area_interval(found),
        "right of all, %": 100 * sum(holds for _, holds, _ in found) / len(found),
        "right at 70 % coverage, %": 100 * sum(holds for _, holds, _ in accepted) / len(accepted),
        "silent corruption at 70 % coverage, %": 100
        * sum(row.score.silent for _, _, row in accepted)
        / len(accepted),
        "right of the surest tenth, %": 100 * sum(holds for _, holds, _ in surest) / len(surest),
        "reliability": reliability(found),
    }


def gated(
    without: Sequence[Row], helped: Sequence[Row], least: int, measure: str = "right"
) -> list[Row]:
    """The rows with recorded calls where those gained the tool at least so much in other sessions, or nothing is known
    of it; else those without."""
    holds = MEASURES[measure]
    plain = {row.id: row for row in without}
    chosen: list[Row] = []
    for row in helped:
        others = [one for one in helped if fold(one) != fold(row) and one.tool == row.tool]
        gain = sum(holds(one) - holds(plain[one.id]) for one in others)
        chosen.append(plain[row.id] if others and gain < least else row)
    return chosen


def cost_of(rows: Sequence[Row]) -> dict[str, float]:
    """Of one call, on average; of those that were answered (a refused one tells none)."""
    asked = [row.usage for row in rows if row.usage.get("requests")]
    names = ("requests", "prompt_tokens", "cached_tokens", "completion_tokens", "seconds")
    return {name: sum(one[name] for one in asked) / max(1, len(asked)) for name in names}


def plot(bins: Sequence[tuple[float, float, int]], title: str) -> str:
    """A reliability plot as SVG."""
    size, edge = 320, 40

    def place(sure: float, right: float) -> tuple[float, float]:
        return edge + sure * size, edge + (1 - right) * size

    points = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{3 + count**0.5:.1f}" fill="#2563eb" fill-opacity="0.7"/>'
        for sure, right, count in bins
        for x, y in [place(sure, right)]
    )
    end = size + edge
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {end + edge} {end + edge}" font-family="sans-serif"'
        ' font-size="12"><rect width="100%" height="100%" fill="white"/>'
        f'<path d="M{edge} {edge}V{end}H{end}" stroke="#444" fill="none"/>'
        f'<path d="M{edge} {end}L{end} {edge}" stroke="#aaa" stroke-dasharray="4"/>{points}'
        f'<text x="{edge}" y="24">{title}</text>'
        f'<text x="{edge}" y="{end + 28}">confidence, 0 to 1; a bigger point holds more answers</text>'
        f'<text x="14" y="{end}" transform="rotate(-90 14 {end})">share that is right, 0 to 1</text></svg>\n'
    )


def signed(found: tuple[float, float, float] | None) -> str:
    return "" if found is None else f"{found[0]:+.1f} [{found[1]:+.1f}, {found[2]:+.1f}]"


def tables(rungs: Mapping[str, Sequence[Row]]) -> str:
    """Everything as Markdown."""
    parts: list[str] = []
    for side in ("known", "unseen"):
        lines = [f"| {side} | " + " | ".join(MEASURES) + " |", "|---|" + "---:|" * len(MEASURES)]
        for name, rows in rungs.items():
            some = [row for row in rows if row.side == side]
            cells = [
                str(figure((row.session, holds(row)) for row in rows_for(measure, some)))
                for measure, holds in MEASURES.items()
            ]
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
        parts.append("\n".join(lines))
    compared = ("right", "answer", "state", "state of calls that write")
    pairs = [*pairwise(LADDER), ("bare", LADDER[-1])]
    pairs += [("bare", "retrieval"), ("bare", "state"), ("bare", "re-ask"), ("own", "own+records")]
    pairs += [("state", "re-ask"), ("retrieval", "retrieval+agreement")]
    pairs += [("first-state", "state"), ("first-re-ask", "re-ask")]
    pairs += [("first-state", "first-schema"), ("first-schema", "first-re-ask")]
    pairs += [("first-state", "first-state+history")]
    pairs += [
        ("look-up", "retrieval"),
        ("look-up", "state"),
        ("look-up", "re-ask"),
        ("look-up", "fine-tuned"),
    ]
    pairs += [
        ("bare", "fine-tuned"),
        ("retrieval", "fine-tuned"),
        ("fine-tuned", "fine-tuned-whole"),
    ]
    for side in ("known", "unseen"):
        lines = [
            f"| {side}: points more | " + " | ".join(compared) + " |",
            "|---|" + "---:|" * len(compared),
        ]
        for below, above in pairs:
            if below in rungs and above in rungs:
                first = [row for row in rungs[below] if row.side == side]
                second = [row for row in rungs[above] if row.side == side]
                cells = [signed(difference(first, second, measure)) for measure in compared]
                lines.append(f"| {below} → {above} | " + " | ".join(cells) + " |")
        parts.append("\n".join(lines))
    costs = {name: cost_of(rows) for name, rows in rungs.items() if name != "look-up"}
    lines = [
        "| of a call that was answered | " + " | ".join(next(iter(costs.values()))) + " |",
        "|---|" + "---:|" * 5,
    ]
    lines += [
        f"| {name} | " + " | ".join(f"{one:.1f}" for one in cost.values()) + " |"
        for name, cost in costs.items()
    ]
    return "\n\n".join((*parts, "\n".join(lines)))


def load(runs: Path) -> dict[str, list[Row]]:
    """The rows of every rung, seed after seed."""
    found: dict[str, list[Row]] = {}
    for name in ORDER:
        for path in sorted(runs.glob(f"{name}-[0-9].jsonl")):
            found.setdefault(name, []).extend(read_run(path)[1])
    return {name: rows for name, rows in found.items() if rows}


def write_report(runs: Path) -> None:
    """Prints the tables; writes `results.json`, `rows.jsonl.gz` and the plot beside this file."""
    rungs = load(runs)
    counts = {name: len(rows) for name, rows in rungs.items()}
    print(tables(rungs))
    sure = {
        f"{name}, {measure}": confidence_of(rungs[name], measure)
        for name in (*LADDER, "retrieval+agreement", "fine-tuned", "fine-tuned-whole")
        if name in rungs
        for measure in ("right", "answer")
    }
    plain, helped = rungs["own"], rungs["retrieval"]
    gains = {
        "retrieval": signed(difference(plain, helped, "answer")),
        "gated by gain of right calls": signed(
            difference(plain, gated(plain, helped, 1), "answer")
        ),
        "gated by gain of right answers": signed(
            difference(plain, gated(plain, helped, 1, "answer"), "answer")
        ),
        "gated by loss": signed(difference(plain, gated(plain, helped, 0), "answer")),
    }
    figures = {
        name: {
            measure: asdict(figure((row.session, holds(row)) for row in rows_for(measure, rows)))
            for measure, holds in MEASURES.items()
        }
        for name, rows in rungs.items()
    }
    found = {"calls": counts, "figures": figures, "confidence": sure, "gate": gains}
    print(json.dumps({"confidence": sure, "gate": gains, "calls": counts}, indent=1))
    (HERE / "results.json").write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    with gzip.GzipFile(HERE / "rows.jsonl.gz", "wb", mtime=0) as file:
        for name, rows in rungs.items():
            for row in rows:
                file.write((json.dumps({"rung": name, **asdict(row)}) + "\n").encode())
    best = max(
        (name for name in sure if sure[name].get("AUROC") is not None),
        key=lambda name: sure[name]["right of all, %"],
        default=None,
    )
    if best is not None:
        (HERE / "reliability.svg").write_text(plot(sure[best]["reliability"], best), "utf-8")
