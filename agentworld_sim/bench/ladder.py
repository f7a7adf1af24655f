"""The ladder: what makes answers better, one part on top of the other, each asked the same calls."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from agentworld_sim.bench.run import Row, run, settings_of
from agentworld_sim.bench.transitions import Transition
from agentworld_sim.imagination import PromptSet, WorldModel
from agentworld_sim.imagination.examples import ExampleLibrary, LookupImaginer
from agentworld_sim.llm.settings import ModelSettings
from agentworld_sim.ports import Imaginer

Prompts = Literal["bare", "official", "own"]

BARE_PROMPT = """You are a server with the tools below. Say what each call returns.

{tool_definitions}"""
"""What anybody would write first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """One way to have calls answered: everything of the rungs below, and one part more."""

    name: str
    adds: str
    """What is new, in a sentence."""
    prompts: Prompts = "own"
    """`bare` is one sentence, `official` a folder of templates, `own` the shipped ones."""
    with_examples: bool = False
    with_records: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Fields of `ModelSettings`."""
    asks_model: bool = True


_PLAIN = Rung(
    name="bare",
    adds="The tools and one sentence; an answer that cannot be used is refused.",
    prompts="bare",
    settings={"reasks": 0, "structured": "off", "logprobs": True},
)


def _rungs() -> tuple[Rung, ...]:
    lookup = Rung(
        name="look-up",
        adds="No model: what the system said to the likest recorded call, and what that changed.",
        with_examples=True,
        with_records=True,
        asks_model=False,
    )
    official = replace(
        _PLAIN,
        name="official",
        adds="The released model's own templates.",
        prompts="official",
    )
    own = replace(_PLAIN, name="own", adds="The shipped prompts.", prompts="own")
    fixed = _above(
        own,
        "demonstrations",
        "Three recorded calls, the same for every call of a tool.",
        example_choice="fixed",
    )
    fixed = replace(fixed, with_examples=True)
    likest = _above(
        fixed,
        "retrieval",
        "The three recorded calls that are most like it.",
        example_choice="likest",
    )
    state = _above(
        likest,
        "state",
        "The records that matter in place of earlier calls; the model says what changes in them.",
        history=False,
    )
    state = replace(state, with_records=True)
    schema = _above(state, "schema", "The server holds answers to their schema.", structured="auto")
    reask = _above(schema, "re-ask", "What checks refuse is asked for again, twice.", reasks=2)
    agreement = _above(reask, "agreement", "Four answers, and what most of them say.", samples=4)
    return (lookup, _PLAIN, official, own, fixed, likest, state, schema, reask, agreement)


def _above(rung: Rung, name: str, adds: str, **settings: Any) -> Rung:
    return replace(rung, name=name, adds=adds, settings={**rung.settings, **settings})


RUNGS: tuple[Rung, ...] = _rungs()
"""The lowest first."""


async def climb(
    draws: Mapping[int, Sequence[Transition]],
    settings: ModelSettings,
    folder: Path,
    *,
    examples: Path,
    official_prompts: Path | None = None,
    rungs: Sequence[Rung] = RUNGS,
) -> AsyncGenerator[tuple[Rung, int, list[Row]]]:
    """Has the same calls answered on every rung, and gives the rows of a rung and seed as they are there.

    Args:
        draws: What is asked, by seed.
        settings: The model; rungs change how it is asked.
        folder: For one file a rung and seed, `RUNG-SEED.jsonl`. What is there is gone on with.
        examples: What may be learnt from (`agentworld bench examples`).
        official_prompts: The released model's templates; without them their rung is left out.
        rungs: Those to run.

    Raises:
        UsageError: a file there is of a run with other settings, or the examples cannot be read.
        ModelUnavailable: the server is down; what was written stays.
    """
    for rung in rungs:
        if rung.prompts == "official" and official_prompts is None:
            continue
        imaginer, about = _imaginer(rung, settings, examples, official_prompts)
        for seed, transitions in draws.items():
            output = folder / f"{rung.name}-{seed}.jsonl"
            rows = await run(
                transitions,
                imaginer,
                output,
                settings=about,
                with_records=rung.with_records,
                seed=seed,
            )
            yield rung, seed, rows


def _imaginer(
    rung: Rung, settings: ModelSettings, examples: Path, official_prompts: Path | None
) -> tuple[Imaginer, Mapping[str, Any]]:
    if not rung.asks_model:
        return LookupImaginer(ExampleLibrary.load(examples)), {"examples": str(examples)}
    told = examples if rung.with_examples else None
    prompts = {"bare": PromptSet("bare", {"mcp": BARE_PROMPT}), "own": PromptSet.default()}
    if rung.prompts == "official" and official_prompts is not None:
        prompts["official"] = PromptSet.load(official_prompts)
    model = WorldModel(replace(settings, examples=told, **rung.settings), prompts[rung.prompts])
    return model.imaginer(), settings_of(model)
