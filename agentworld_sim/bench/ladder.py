"""The ladder: what makes answers better, one part on top of the other, each asked the same calls."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from agentworld_sim.bench.run import Row, run, settings_of
from agentworld_sim.bench.transitions import Transition
from agentworld_sim.imagination import PromptSet, WorldModel
from agentworld_sim.imagination.examples import ExampleLibrary, LookupImaginer
from agentworld_sim.llm.settings import ModelSettings
from agentworld_sim.ports import Imaginer

BARE_PROMPT = """You are a server with the tools below. Say what each call returns.

{tool_definitions}"""
"""What anybody would write first."""


@dataclass(frozen=True, slots=True)
class Rung:
    """One way to have calls answered: everything of the rungs below, and one part more."""

    name: str
    adds: str
    """What is new, in a sentence."""
    prompts: Literal["none", "bare", "official", "own"] = "own"
    """`none` asks no model, `bare` is one sentence, `official` a folder of templates, `own` the shipped ones."""
    with_records: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Fields of `ModelSettings`, those of the rungs below included."""


def _cumulate(*rungs: Rung) -> Iterator[Rung]:
    settings: dict[str, Any] = {}
    for rung in rungs:
        settings |= rung.settings
        yield replace(rung, settings=dict(settings))


_LOOKUP = "What the system said to the likest recorded call, and what that changed; no model."
_BARE = "The tools and one sentence; an answer that cannot be used is refused."
_FIXED = "Three recorded calls, the same for every call of a tool."
_LIKEST = "The three recorded calls that are most like it instead."
_STATE = "The records that matter in place of earlier calls; the model says what changes in them."
_SCHEMA = "The server holds answers to their schema."
_REASK = "What cannot be used is asked for again, twice."
_AGREEMENT = "Four answers, and what most of them say."

RUNGS = (
    Rung("look-up", _LOOKUP, "none", True),
    *_cumulate(
        Rung("bare", _BARE, "bare", settings={"reasks": 0, "structured": "off", "logprobs": True}),
        Rung("official", "The released model's own templates.", "official"),
        Rung("own", "The shipped prompts."),
        Rung("demonstrations", _FIXED, settings={"example_choice": "fixed"}),
        Rung("retrieval", _LIKEST, settings={"example_choice": "likest"}),
        Rung("state", _STATE, with_records=True, settings={"history": False}),
        Rung("schema", _SCHEMA, with_records=True, settings={"structured": "auto"}),
        Rung("re-ask", _REASK, with_records=True, settings={"reasks": 2}),
        Rung("agreement", _AGREEMENT, with_records=True, settings={"samples": 4}),
    ),
)
"""The lowest first."""


async def climb(
    draws: Mapping[int, Sequence[Transition]],
    settings: ModelSettings,
    folder: Path,
    *,
    examples: Path,
    official_prompts: Path | None = None,
    rungs: Sequence[Rung] = RUNGS,
    on_row: Callable[[], None] = lambda: None,
) -> AsyncGenerator[tuple[Rung, int, list[Row]]]:
    """Has the same calls answered on every rung, and gives the rows of a rung and seed as they are there.

    Args:
        draws: What is asked, by seed.
        settings: The model; rungs change how it is asked.
        folder: For one file a rung and seed, `RUNG-SEED.jsonl`. What is there is gone on with.
        examples: What may be learnt from (`agentworld bench examples`).
        official_prompts: The released model's templates; without them their rung is left out.
        rungs: Those to run.
        on_row: Told of every new row.

    Raises:
        UsageError: a file there is of a run with other settings, or the examples cannot be read.
        ModelUnavailable: the server is down; what was written stays.
    """
    for rung in rungs:
        if rung.prompts == "official" and official_prompts is None:
            continue
        async with AsyncExitStack() as closing:
            imaginer, about = _imaginer(rung, settings, examples, official_prompts, closing)
            for seed, transitions in draws.items():
                output = folder / f"{rung.name}-{seed}.jsonl"
                rows = await run(
                    transitions,
                    imaginer,
                    output,
                    settings=about,
                    with_records=rung.with_records,
                    seed=seed,
                    on_row=on_row,
                )
                yield rung, seed, rows


def _imaginer(
    rung: Rung,
    settings: ModelSettings,
    examples: Path,
    official_prompts: Path | None,
    closing: AsyncExitStack,
) -> tuple[Imaginer, Mapping[str, Any]]:
    if rung.prompts == "none":
        return LookupImaginer(ExampleLibrary.load(examples)), {"examples": str(examples)}
    if rung.prompts == "official" and official_prompts is not None:
        prompts = PromptSet.load(official_prompts)
    else:
        bare = PromptSet("bare", {"mcp": BARE_PROMPT})
        prompts = bare if rung.prompts == "bare" else PromptSet.default()
    told = examples if "example_choice" in rung.settings else None
    model = WorldModel(replace(settings, examples=told, **rung.settings), prompts)
    closing.push_async_callback(model.close)
    return model.imaginer(), settings_of(model)
