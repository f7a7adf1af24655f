"""Runs of the bench: predictions written as they come, taken up again where they stopped, and their figures."""

from __future__ import annotations

import asyncio
import math
import random
from collections import deque
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from agentworld_sim.bench.labels import DETERMINISTIC, EXISTING, LAST, RUNTIME
from agentworld_sim.bench.predict import Row, SessionPlayer, operations_of, records_of_example
from agentworld_sim.bench.rules import RULES, read_verifier
from agentworld_sim.bench.run_file import CALL_RUN, append_lines, begin_lines, read_lines
from agentworld_sim.bench.transitions import Side, Transition, TransitionSet
from agentworld_sim.domains import domain
from agentworld_sim.errors import UsageError
from agentworld_sim.imagination import WorldModel
from agentworld_sim.imagination.examples import Example
from agentworld_sim.imagination.usage import WorldUsage
from agentworld_sim.ports import Imaginer
from agentworld_sim.types.turns import Action

T = TypeVar("T")

RESAMPLES = 2000
"""Of the bootstrap; sessions are drawn, since the calls of one depend on each other."""

FIELD_COUNTS = (
    ("1 field changed", 1, 1),
    ("2 to 3 fields", 2, 3),
    ("4 fields and more", 4, math.inf),
)
"""Names of figures, with the fewest and the most fields that a call changes."""

SESSION_CALLS = (5, 10, 50, 100)
"""After so many calls it is counted how many sessions are still right."""


def draw(
    transitions: TransitionSet,
    side: Side,
    most: int | None,
    seed: int,
    *,
    whole_sessions: bool = False,
) -> list[Transition]:
    """Transitions of one side; at most so many, drawn by the seed, in their order. With `whole_sessions` all calls
    of at most so many of their sessions."""
    found = list(transitions.transitions(side))
    if whole_sessions:
        found = [*{one.session.task: one for one in found}.values()]
    if most is not None and most < len(found):
        places = random.Random(seed).sample(range(len(found)), most)
        found = [found[place] for place in sorted(places)]
    if whole_sessions:
        found = [call for one in found for call in one.session.transitions()]
    return found


async def run(
    transitions: Sequence[Transition],
    imaginer: Imaginer,
    output: Path,
    *,
    settings: Mapping[str, Any],
    with_records: bool = True,
    whole_sessions: bool = False,
    seed: int = 0,
    sessions_at_once: int = 8,
    on_row: Callable[[], None] = lambda: None,
    elsewhere: Callable[[Sequence[Transition]], Awaitable[Sequence[Row]]] | None = None,
) -> list[Row]:
    """Has transitions answered and writes what is said, a line each.

    Args:
        transitions: What is asked.
        imaginer: Answers.
        output: A file that a run of the same settings began is gone on with; nothing is asked twice.
        settings: What decides on the answers, for the file's first line; a model's are `settings_of`.
        with_records: Whether the model is shown the records that matter, and may change them.
        whole_sessions: Whether each call is asked after what was answered to those before, in the state that this
            made; for transitions that are whole sessions.
        seed: Of the worlds, and so of the model's sampling.
        sessions_at_once: How many sessions are played at a time.
        on_row: Told of every new row.
        elsewhere: Has the calls of one session answered instead, in another process.

    Raises:
        UsageError: the file is of a run with other settings, or a verifier is not understood.
        ModelUnavailable: the server is down; what was written stays.
    """
    for verifier in (one for transition in transitions for one in transition.truth.verifiers):
        read_verifier(verifier)
    about = {"settings": {**settings, "seed": seed}, "with_records": with_records}
    if whole_sessions:
        about["whole_sessions"] = True
    rows = {row.id: row for row in begin_lines(output, about, Row.from_json)[1]}
    waiting: dict[str, list[Transition]] = {}
    for transition in transitions:
        if transition.id not in rows:
            waiting.setdefault(transition.session.task, []).append(transition)
    with append_lines(output) as write:

        def note(row: Row) -> None:
            rows[row.id] = row
            write([row])
            on_row()

        async def play(asked: Sequence[Transition]) -> None:
            if elsewhere is not None:
                for row in await elsewhere(asked):
                    note(row)
                return
            async for row in play_session(
                asked,
                imaginer,
                with_records=with_records,
                whole_sessions=whole_sessions,
                seed=seed,
            ):
                note(row)

        await for_each(waiting.values(), play, sessions_at_once)
    return [rows[transition.id] for transition in transitions]


async def for_each(items: Iterable[T], work: Callable[[T], Awaitable[None]], at_once: int) -> None:
    """Does work for every item. After a failure nothing new is begun, and what is under way is finished: it is paid.

    Raises:
        Exception: a failure.
    """
    waiting = deque(items)

    async def worker() -> None:
        while waiting:
            try:
                await work(waiting.popleft())
            except BaseException:
                waiting.clear()
                raise

    workers = (worker() for _ in range(at_once))
    for failure in await asyncio.gather(*workers, return_exceptions=True):
        if failure is not None:
            raise failure


async def play_session(
    asked: Sequence[Transition],
    imaginer: Imaginer,
    *,
    with_records: bool,
    whole_sessions: bool,
    seed: int,
) -> AsyncGenerator[Row]:
    """Has calls of one session answered; see `run`."""
    async with SessionPlayer.open(
        asked[0].session, imaginer, with_records=with_records, seed=seed
    ) as player:
        answers = player.predict_all() if whole_sessions else player.predict_each(asked)
        async for row in answers:
            yield row


def settings_of(model: WorldModel) -> dict[str, Any]:
    """What of a model's settings decides on its answers; never a key."""
    settings = model.settings
    names = (
        *("model", "temperature", "top_p", "top_k", "thinking", "max_tokens", "thinking_tokens"),
        *("reasks", "structured", "logprobs", "examples", "example_choice", "history", "samples"),
        *("calibration", "threshold", "second_url", "second_model"),
    )
    values = {name: getattr(settings, name) for name in names}
    return {
        name: str(value) if isinstance(value, Path) else value for name, value in values.items()
    } | {"prompts": model.prompts.version}


def read_run(path: Path) -> tuple[dict[str, Any], list[Row]]:
    """The settings of a run and its rows. A last line that a kill has cut off is left out.

    Raises:
        UsageError: it is no run.
    """
    about, rows = read_lines(path, CALL_RUN, Row.from_json)
    # A session that was cut off is asked anew from its first call.
    return about, list({row.id: row for row in rows}.values())


@dataclass(frozen=True, slots=True)
class Figure:
    """A share with its 95 % interval, in percent."""

    share: float
    low: float
    high: float
    count: int

    def __str__(self) -> str:
        return f"{self.share:.1f} [{self.low:.1f}, {self.high:.1f}] of {self.count}"


def figure(rows: Iterable[tuple[str, bool]]) -> Figure:
    """The share of rows that hold.

    Args:
        rows: Session and whether it holds.
    """
    pairs = by_cluster(rows)
    total = sum(count for _, count in pairs)
    if not total:
        return Figure(0.0, 0.0, 0.0, 0)
    drawn = (100 * held / count for held, count in resample(pairs))
    right = sum(held for held, _ in pairs)
    low, high = interval(drawn)
    # Sessions that all agree never differ when drawn again: then the exact interval for so many sessions.
    far = 100 * (1 - 0.025 ** (1 / len(pairs)))
    if right == 0:
        high = far
    elif right == total:
        low = 100 - far
    return Figure(100 * right / total, low, high, total)


def by_cluster(values: Iterable[tuple[str, float]]) -> list[tuple[float, int]]:
    """Sum and number of the values of each cluster: a session, a trajectory."""
    found: dict[str, tuple[float, int]] = {}
    for name, value in values:
        total, count = found.get(name, (0, 0))
        found[name] = (total + value, count + 1)
    return list(found.values())


def resample(clusters: Sequence[tuple[float, int]]) -> list[tuple[float, int]]:
    """Sums and numbers of values where clusters are drawn again, `RESAMPLES` times."""
    chance = random.Random(0)
    drawn = (chance.choices(clusters, k=len(clusters)) for _ in range(RESAMPLES))
    return [(sum(total for total, _ in some), sum(count for _, count in some)) for some in drawn]


def interval(drawn: Iterable[float]) -> tuple[float, float]:
    """The middle 95 % of what `RESAMPLES` draws came to."""
    ordered = sorted(drawn)
    return ordered[RESAMPLES // 40], ordered[-RESAMPLES // 40 - 1]


def figures_of(rows: Sequence[Row]) -> dict[str, Figure]:
    """What a run comes to, by name."""
    found = {"right": figure((row.session, row.score.right) for row in rows)}
    known = [row for row in rows if row.score.state_known]
    for name in ("text", "value", "form", "state"):
        some = known if name == "state" else rows
        found[name] = figure((row.session, getattr(row.score, name)) for row in some)
    writes = [row for row in known if row.score.changed]
    found["state, calls that write"] = figure((row.session, row.score.state) for row in writes)
    for name, low, high in FIELD_COUNTS:
        some = [row for row in writes if low <= row.score.changed <= high]
        for part in ("value", "state"):
            found[f"{part}, {name}"] = figure(
                (row.session, getattr(row.score, part)) for row in some
            )
    for rule in RULES:
        asked = [(row.session, row.score.rules[rule]) for row in rows if rule in row.score.rules]
        found[f"rule: {rule}"] = figure(asked)
    # What the authors of such tasks ask for: a state that is as their own backend leaves it.
    ends = [(row.session, row.score.state) for row in known if LAST in row.labels]
    found["state, after a task's last call"] = figure(ends)
    sorts = (DETERMINISTIC, EXISTING, RUNTIME)
    sorted_rows = [row for row in rows if any(one in row.labels for one in sorts)]
    found["as its content allows"] = figure(
        (row.session, row.score.value if DETERMINISTIC in row.labels else row.score.form)
        for row in sorted_rows
    )
    # Where nobody knows the state, nothing can be seen to differ from it.
    answered = [row for row in known if not row.refused]
    for name, what in (("silent corruption", "silent"), ("contradictions", "contradicts")):
        found[f"{name} of answers"] = figure(
            (row.session, getattr(row.score, what)) for row in answered
        )
    found["refused"] = figure((row.session, bool(row.refused)) for row in rows)
    # A call that several seeds have drawn is one call of its session.
    places: dict[str, dict[int, bool]] = {}
    for row in rows:
        held, place = places.setdefault(row.session, {}), int(row.id.rpartition("/")[2])
        held[place] = row.score.right and held.get(place, True)
    for count in SESSION_CALLS:
        firsts = {
            name: [held.get(place) for place in range(count)] for name, held in places.items()
        }
        whole = [(name, all(first)) for name, first in firsts.items() if None not in first]
        if whole:
            found[f"sessions whose first {count} calls are right"] = figure(whole)
    for label in sorted({label for row in rows for label in row.labels}):
        found[f"right, {label}"] = figure(
            (row.session, row.score.right) for row in rows if label in row.labels
        )
    return found


def auroc(rows: Iterable[Row]) -> float | None:
    """How well confidence tells right from wrong: the share of pairs that it orders; `None` without both."""
    right = [row.confidence for row in rows if row.confidence is not None and row.score.right]
    wrong = [row.confidence for row in rows if row.confidence is not None and not row.score.right]
    if not right or not wrong:
        return None
    ordered = sum((one > other) + 0.5 * (one == other) for one in right for other in wrong)
    return ordered / (len(right) * len(wrong))


def summary_of(rows: Sequence[Row], figures: Mapping[str, Figure]) -> dict[str, Any]:
    """What rows come to, as JSON values: these figures, the AUROC of confidence, and the cost of a call."""
    return {
        "figures": {name: asdict(one) for name, one in figures.items()},
        "auroc": auroc(rows),
        "cost": WorldUsage.total(row.usage for row in rows).per_answer(),
    }


def lines_of(summaries: Iterable[Mapping[str, Any]]) -> Iterator[list[str]]:
    """A table of what `summary_of` gave: in each line a name, and what every summary has of it."""
    some = list(summaries)
    for name in dict.fromkeys(name for one in some for name in one["figures"]):
        yield [name, *(figure_text(one, name) for one in some)]
    areas = ("" if one["auroc"] is None else f"{one['auroc']:.3f}" for one in some)
    yield ["AUROC of confidence", *areas]
    for name in dict.fromkeys(name for one in some for name in one["cost"]):
        label = name if name.endswith("%") else f"{name}, a call"
        costs = (one["cost"].get(name) for one in some)
        yield [label, *("" if cost is None else _short(cost) for cost in costs)]


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def figure_text(summary: Mapping[str, Any], name: str) -> str:
    """A figure of a summary; empty where it has none."""
    found = summary["figures"].get(name)
    return str(Figure(**found)) if found and found["count"] else ""


def tools_that_lose(without: Iterable[Row], helped: Iterable[Row]) -> list[str]:
    """Tools of whose calls fewer are right in the second run. As many is no reason to leave help out: a run has few
    calls of each tool.

    Raises:
        UsageError: the runs have no call in common.
    """
    before = {row.id: row.score.right for row in without}
    gains: dict[str, int] = {}
    for row in helped:
        if row.id in before:
            gains[row.tool] = gains.get(row.tool, 0) + row.score.right - before[row.id]
    if not gains:
        raise UsageError(
            "the two runs have no call in common: give both the same recording, side and seed."
        )
    return sorted(tool for tool, gain in gains.items() if gain < 0)


def examples_from(transitions: Iterable[Transition]) -> Iterator[Example]:
    """Examples for a model's prompts, of transitions that may be learnt from."""
    own = domain("mcp")
    for transition in transitions:
        truth, tool = transition.truth, transition.tool
        action: Action = own.action(truth.call, replace(tool, domain="mcp"))
        yield Example(
            name=truth.call.name,
            call=action.text,
            answer=own.write(truth.observation),
            operations=operations_of(transition),
            records=records_of_example(transition, tool),
        )
