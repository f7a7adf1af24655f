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
from agentworld_sim.bench.run import Row, auroc, draw, examples_from, figures_of, read_run
from agentworld_sim.bench.transitions import Side, Transition, TransitionSet
from agentworld_sim.errors import ModelUnavailable, UsageError, nearest
from agentworld_sim.imagination import PromptSet
from agentworld_sim.imagination.examples import write_examples
from agentworld_sim.imagination.usage import WorldUsage
from agentworld_sim.llm.failures import display_url
from agentworld_sim.llm.settings import ModelSettings
from agentworld_sim.redaction.environment import mask_secrets
from agentworld_sim.serving.doctor import diagnose
from agentworld_sim.serving.server_facts import server_facts
from agentworld_sim.types.json import canonical_json

FORM = "agentworld evidence 1"

THINKING = "thinking-"
"""Rungs that differ in how much thinking they allow: all the parts of `re-ask`, and a limit."""


def rungs_of(names: Sequence[str], thinking_tokens: Sequence[int]) -> list[Rung]:
    """The rungs of these names, all by default, and one for every limit of thinking.

    Raises:
        UsageError: there is no such rung.
    """
    known = {rung.name: rung for rung in RUNGS}
    if missing := [name for name in names if name not in known]:
        raise UsageError(
            f"there is no rung {missing[0]!r}.{nearest(missing[0], known)} There are: {', '.join(known)}."
        )
    top = known["re-ask"]
    limits = [
        replace(
            top,
            name=f"{THINKING}{most}",
            adds=f"{top.name}, with at most {most:,} tokens of thinking.",
            settings={**top.settings, "thinking": most > 0, "thinking_tokens": most or None},
        )
        for most in thinking_tokens
    ]
    return [*(known[name] for name in names or known), *limits]


async def collect(
    transitions: TransitionSet,
    settings: ModelSettings,
    output: Path,
    *,
    sides: Sequence[Side],
    most: int,
    seeds: int,
    rungs: Sequence[Rung],
    official_prompts: Path | None,
    on_answers: Callable[[int, int], None],
) -> None:
    """Looks at an endpoint and has it answer; what was found and answered before is not asked again.

    Args:
        transitions: The set; what may be learnt from becomes examples.
        settings: The endpoint, and how it is asked on every rung.
        output: The file, written again after every rung. Beside it a folder `.runs` keeps answers as they come.
        sides: Which transitions are asked.
        most: At most so many of each side and seed.
        seeds: How often they are drawn and asked.
        rungs: See `rungs_of`.
        official_prompts: The released model's templates; without them their rung is left out.
        on_answers: Told how many answers there are, of how many.

    Raises:
        UsageError: the folder is of another endpoint or other settings, or nothing of the set is asked.
        ModelUnavailable: the endpoint does not answer; what was written stays.
    """
    draws = {
        seed: [one for side in sides for one in draw(transitions, side, most, seed)]
        for seed in range(seeds)
    }
    if not any(draws.values()):
        raise UsageError(f"nothing of the set is on the side {' or '.join(sides)}.")
    if official_prompts is None:
        rungs = [rung for rung in rungs if rung.prompts != "official"]
    folder = output.with_suffix(".runs")
    folder.mkdir(parents=True, exist_ok=True)
    about = await _about(folder / "about.json", settings)
    learnt = list(transitions.transitions("train"))
    # Its name is a setting of the rungs: answers with other examples are refused the folder.
    examples = folder / f"examples-{_digest(map(_question, learnt))}.jsonl"
    write_examples(examples, examples_from(learnt))
    questions = {one.id: _question(one) for asked in draws.values() for one in asked}
    total, answers = sum(map(len, draws.values())) * len(rungs), 0

    def count(row: Row) -> None:
        nonlocal answers
        answers += 1
        on_answers(answers, total)

    rows: dict[str, list[Row]] = {}
    found: dict[str, dict[str, Any]] = {}
    climbing = climb(
        draws,
        settings,
        folder,
        examples=examples,
        official_prompts=official_prompts,
        rungs=rungs,
        on_row=count,
    )
    async for rung, seed, given in climbing:
        held = rows.setdefault(rung.name, [])
        held += given
        asked_with, _ = read_run(folder / f"{rung.name}-{seed}.jsonl")
        found[rung.name] = _rung(rung, held, asked_with["settings"])
        answers = sum(map(len, rows.values()))
        on_answers(answers, total)
        finished = _now() if answers == total else ""
        evidence = {
            **{"form": FORM, **about, "finished": finished, "set": _digest(questions.values()), "sides": sides},
            **{"rungs": list(found.values()), "questions": questions},
        }
        told = mask_secrets(json.dumps(evidence, ensure_ascii=False), filter(None, [settings.api_key]))
        partial = output.with_name(output.name + ".partial")
        partial.write_text(told + "\n", encoding="utf-8")
        partial.replace(output)


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


async def _about(path: Path, settings: ModelSettings) -> dict[str, Any]:
    """What the endpoint is and tells; asked once."""
    url = display_url(settings.url)
    if path.exists():
        about = json.loads(path.read_text("utf-8"))
        if about["url"] != url or settings.model not in ("", about["model"]):
            raise UsageError(
                f"{str(path.parent)!r} holds answers of {about['model']!r} at {about['url']}. Name another"
                " --output."
            )
        return about
    diagnosis = await asyncio.to_thread(
        diagnose, settings.url, model=settings.model or None, api_key=settings.api_key or None
    )
    if diagnosis.model is None:
        raise ModelUnavailable(diagnosis.findings[-1].summary)
    server = await server_facts(settings)
    listed = server.get("models", {}).get("data", [])
    server["models"] = [one for one in listed if one.get("id") == diagnosis.model]
    prompts = PromptSet.default().version
    about = {
        **{"url": url, "model": diagnosis.model, "server": server, "doctor": diagnosis.to_json()},
        **{"version": __version__, "prompts": prompts, "began": _now()},
    }
    path.write_text(json.dumps(about), encoding="utf-8")
    return about


def _rung(rung: Rung, rows: Sequence[Row], settings: Mapping[str, Any]) -> dict[str, Any]:
    sides = {side: [row for row in rows if row.side == side] for side in dict.fromkeys(row.side for row in rows)}
    figures = {side: figures_of(some) for side, some in sides.items()}
    return {
        "name": rung.name,
        "adds": rung.adds,
        "settings": settings,
        "figures": {
            side: {name: asdict(one) for name, one in some.items()} for side, some in figures.items()
        },
        "right": 100 * sum(row.score.right for row in rows) / len(rows),
        "cost": WorldUsage.total(row.usage for row in rows).per_answer(),
        "auroc": auroc(rows),
        "reliability": reliability(rows),
        "coverage": coverage(rows),
        "rows": [{**asdict(row), "right": row.score.right, "silent": row.score.silent} for row in rows],
    }


def _question(transition: Transition) -> dict[str, Any]:
    truth = transition.truth
    return {
        "source": transition.session.source,
        "tool": truth.call.name,
        "arguments": truth.call.arguments,
        "text": truth.observation.text,
        "is_error": truth.observation.is_error,
        "changes": truth.changes,
    }


def _digest(questions: Iterable[Mapping[str, Any]]) -> str:
    return blake2b(canonical_json([*questions]).encode(), digest_size=4).hexdigest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
