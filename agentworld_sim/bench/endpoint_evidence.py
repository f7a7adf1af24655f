"""The evidence of an endpoint in one file: what the doctor finds, how right its answers are on every rung of the
ladder, what they cost, and every answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

from agentworld_sim import __version__
from agentworld_sim.bench.curves import coverage, reliability
from agentworld_sim.bench.ladder import RUNGS, Rung, climb
from agentworld_sim.bench.run import Row, draw, examples_from, figures_of, read_run, summary_of
from agentworld_sim.bench.transitions import Side, TransitionSet
from agentworld_sim.errors import ModelUnavailable, UsageError, nearest
from agentworld_sim.imagination import PromptSet
from agentworld_sim.imagination.examples import write_examples
from agentworld_sim.llm.failures import display_url
from agentworld_sim.llm.settings import KEY_VARIABLE, ModelSettings
from agentworld_sim.redaction.environment import mask_secrets, process_secrets
from agentworld_sim.serving.doctor import diagnose
from agentworld_sim.serving.server_facts import server_facts
from agentworld_sim.types.json import canonical_json
from agentworld_sim.whole_file import write_file

FORM = "agentworld evidence 1"

SIDES: tuple[Side, ...] = ("known", "unseen")
"""What is asked: nothing that may be learnt from."""

THINKING = "thinking-"
"""Rungs that differ in how much thinking they allow: all the parts of `re-ask`, and a limit."""


def rungs_of(names: Sequence[str], thinking_tokens: Iterable[int]) -> list[Rung]:
    """The rungs of these names, all by default, and one for every limit of thinking.

    Raises:
        UsageError: there is no such rung.
    """
    known = {rung.name: rung for rung in RUNGS}
    top = known["re-ask"]
    for name in names:
        if name not in known:
            near = nearest(name, known)
            raise UsageError(f"there is no rung {name!r}.{near} There are: {', '.join(known)}.")
    limits = (
        replace(
            top,
            name=f"{THINKING}{most}",
            adds=f"{top.name}, with at most {most:,} tokens of thinking.",
            settings={**top.settings, "thinking": most > 0, "thinking_tokens": most or None},
        )
        for most in thinking_tokens
    )
    return [*(known[name] for name in names or known), *limits]


async def collect(
    transitions: TransitionSet,
    settings: ModelSettings,
    output: Path,
    *,
    most: int,
    seeds: int,
    rungs: Sequence[Rung],
    official_prompts: Path | None = None,
    on_answers: Callable[[int, int], None] = lambda answers, total: None,
) -> None:
    """Looks at an endpoint and has it answer; what was found and answered before is not asked again.

    Args:
        transitions: The set; what may be learnt from becomes examples.
        settings: The endpoint, and how it is asked on every rung.
        output: The file, written again after every rung; the folder `.runs` beside it has answers as they come.
        most: At most so many of each side and seed.
        seeds: How often they are drawn.
        rungs: See `rungs_of`.
        official_prompts: The released model's templates; without them their rung is left out.
        on_answers: Told how many answers there are, of how many.

    Raises:
        UsageError: the folder is of another endpoint or other settings, or nothing of the set is asked.
        ModelUnavailable: the endpoint does not answer; what was written stays.
    """
    draws = {
        seed: [one for side in SIDES for one in draw(transitions, side, most, seed)]
        for seed in range(seeds)
    }
    if not any(draws.values()):
        raise UsageError(f"nothing of the set is on the side {' or '.join(SIDES)}.")
    if official_prompts is None:
        rungs = [rung for rung in rungs if rung.prompts != "official"]
    folder = output.with_suffix(".runs")
    about = await asyncio.to_thread(_about, folder, settings)
    learnt = list(transitions.transitions("train"))
    # Its name is a setting of the rungs: the folder of a run with other examples is refused.
    examples = folder / f"examples-{_digest(one.truth.to_json() for one in learnt)}.jsonl"
    write_examples(examples, examples_from(learnt))
    questions = {one.id: one.truth.to_json() for asked in draws.values() for one in asked}
    total, answers = sum(map(len, draws.values())) * len(rungs), 0

    def count() -> None:
        nonlocal answers
        answers += 1
        on_answers(answers, total)

    rows: dict[str, list[Row]] = {}
    found: dict[str, dict[str, Any]] = {}
    ladder = climb(
        draws,
        settings,
        folder,
        examples=examples,
        official_prompts=official_prompts,
        rungs=rungs,
        on_row=count,
    )
    async for rung, seed, given in ladder:
        held = rows.setdefault(rung.name, [])
        held += given
        head, _ = read_run(folder / f"{rung.name}-{seed}.jsonl")
        found[rung.name] = {"settings": head["settings"], **_rung(rung, held)}
        answers = sum(map(len, rows.values()))
        on_answers(answers, total)
        evidence = {
            **about,
            "finished": _now() if answers == total else "",
            "set": _digest(questions.values()),
            "sides": SIDES,
            "rungs": list(found.values()),
            "questions": questions,
        }
        # A key such as EMPTY is a word, and stays.
        secrets = process_secrets({KEY_VARIABLE: settings.api_key})
        write_file(output, mask_secrets(json.dumps(evidence), secrets) + "\n")


def read_evidence(path: Path) -> dict[str, Any]:
    """A file that `collect` wrote.

    Raises:
        UsageError: it is none.
    """
    try:
        value: Any = json.loads(path.read_text("utf-8"))
        if value["form"] == FORM:
            return value
        why = f"its form is {value['form']!r}, not {FORM!r}"
    except (ValueError, KeyError, TypeError) as error:
        why = f"{type(error).__name__}: {error}"
    raise UsageError(f"{str(path)!r} is no file of `agentworld evidence` ({why}).")


def _about(folder: Path, settings: ModelSettings) -> dict[str, Any]:
    """What the endpoint is and tells; asked once."""
    path, url = folder / "about.json", display_url(settings.url)
    if path.exists():
        about = json.loads(path.read_text("utf-8"))
        model = settings.model or about["model"]
        if (about["url"], about["model"], about["version"]) == (url, model, __version__):
            return about
        raise UsageError(
            f"{str(folder)!r} holds answers of {about['model']!r} at {about['url']}, asked by version"
            f" {about['version']}. Name another --output."
        )
    diagnosis = diagnose(settings.url, model=settings.model, api_key=settings.api_key)
    for one in diagnosis.findings:
        if one.verdict == "failed" and one.check in ("server", "answers"):
            raise ModelUnavailable(one.summary)
    server = asyncio.run(server_facts(settings))
    listed = server.get("models", {}).get("data", [])
    about = {
        "form": FORM,
        "url": url,
        "model": diagnosis.model,
        "server": {**server, "models": [one for one in listed if one.get("id") == diagnosis.model]},
        "doctor": diagnosis.to_json(),
        "version": __version__,
        "prompts": PromptSet.default().version,
        "began": _now(),
    }
    write_file(path, json.dumps(about) + "\n")
    return about


def _rung(rung: Rung, rows: list[Row]) -> dict[str, Any]:
    figures = {
        f"{name}, {side} tools": one
        for side in dict.fromkeys(row.side for row in rows)
        for name, one in figures_of([row for row in rows if row.side == side]).items()
    }
    return {
        "name": rung.name,
        "adds": rung.adds,
        **summary_of(rows, figures),
        "right": 100 * sum(row.score.right for row in rows) / len(rows),
        "reliability": reliability(rows),
        "coverage": coverage(rows),
        "rows": [
            {**asdict(row), "right": row.score.right, "silent": row.score.silent} for row in rows
        ],
    }


def _digest(questions: Iterable[Mapping[str, Any]]) -> str:
    return blake2b(canonical_json([*questions]).encode(), digest_size=4).hexdigest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
