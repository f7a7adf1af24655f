"""Runs the ladder and writes what it comes to; see README.md.

    python -m experiments.imagined run --transitions bfcl.jsonl --examples examples.jsonl --url URL --output runs
    python -m experiments.imagined report --runs runs

A run that was killed is taken up where it was.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from agentworld_sim.bench.ladder import RUNGS, Rung, climb
from agentworld_sim.bench.transitions import Changes, Transition, TransitionSet
from agentworld_sim.imagination.prompt_set import tool_definitions
from agentworld_sim.llm.settings import ModelSettings
from experiments.imagined.report import write_report

SEEDS: Final = (0, 1, 2, 3, 4)
PER_SEED: Final = {"known": 10, "unseen": 6}
DRAW: Final = 2026
"""Another one than that of the trials."""
LONGEST_PROMPT: Final = 16_000
LONGEST_ANSWER: Final = 600
"""Characters, of tools and state and of answer and changes: what the model can take."""


def arms() -> list[Rung]:
    """The ladder, and beside it records without recorded calls, records with the history, and agreement without
    records."""
    named = {rung.name: rung for rung in RUNGS}
    return [
        *RUNGS,
        replace(named["own"], name="own+records", with_records=True),
        replace(
            named["state"],
            name="state+history",
            settings={**named["state"].settings, "history": True},
        ),
        replace(
            named["retrieval"],
            name="retrieval+agreement",
            settings={**named["retrieval"].settings, "samples": 4},
        ),
    ]


def fits(transition: Transition) -> bool:
    """Whether a model with a context of 8,192 tokens can take the call and answer it in 200."""
    answer = len(transition.truth.observation.text) + _size(transition.truth.changes)
    prompt = len(tool_definitions(transition.session.tools)) + _size(transition.before)
    return answer <= LONGEST_ANSWER and prompt <= LONGEST_PROMPT


def _size(tables: Changes) -> int:
    return sum(
        len(json.dumps(record)) for records in tables.values() for record in records.values()
    )


def draws(transitions: Iterable[Transition]) -> dict[int, list[Transition]]:
    """The calls of every seed, none twice, those of one session and of the same tools next to each other."""
    fitting = [one for one in transitions if one.side != "train" and fits(one)]
    found: dict[int, list[Transition]] = {seed: [] for seed in SEEDS}
    for side, count in PER_SEED.items():
        some = [one for one in fitting if one.side == side]
        random.Random(DRAW).shuffle(some)
        for seed in SEEDS:
            found[seed] += some[seed * count : (seed + 1) * count]
    for some in found.values():
        some.sort(key=lambda one: (len(one.session.tools), one.id))
    return found


async def run(options: argparse.Namespace) -> None:
    drawn = draws(TransitionSet.load([options.transitions]).transitions())
    asked = {seed: drawn[seed] for seed in options.seeds}
    settings = ModelSettings(
        url=options.url, model=options.model, thinking=False, max_tokens=200, concurrency=8
    )
    wanted: Sequence[str] = options.rungs or [rung.name for rung in arms()]
    began = time.monotonic()
    async for rung, seed, rows in climb(
        asked,
        settings,
        options.output,
        examples=options.examples,
        official_prompts=options.official_prompts,
        rungs=[rung for rung in arms() if rung.name in wanted],
    ):
        right = sum(row.score.right for row in rows)
        state = sum(row.score.state for row in rows)
        seconds = time.monotonic() - began
        print(
            f"{seconds:6.0f} s  {rung.name} {seed}: {right} right, {state} state of {len(rows)}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="experiments.imagined")
    commands = parser.add_subparsers(dest="command", required=True)
    ask = commands.add_parser("run")
    ask.add_argument("--transitions", type=Path, required=True)
    ask.add_argument("--examples", type=Path, required=True)
    ask.add_argument("--official-prompts", type=Path)
    ask.add_argument("--url", default="")
    ask.add_argument("--model", default="")
    ask.add_argument("--output", type=Path, required=True)
    ask.add_argument("--rungs", nargs="*")
    ask.add_argument("--seeds", nargs="*", type=int, default=SEEDS)
    report = commands.add_parser("report")
    report.add_argument("--runs", type=Path, required=True)
    options = parser.parse_args()
    if options.command == "run":
        asyncio.run(run(options))
    else:
        write_report(options.runs)


if __name__ == "__main__":
    main()
