"""From recorded transitions to training rows: what a world sends a model, and what it should have answered.

    python -m experiments.fine_tuning.rows bfcl.jsonl --into runs/fine-tuned-smollm2

The world asks a scripted server that knows the answers, so a row is what a served model is sent, to the letter.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import click

from agentworld_sim.bench.run import examples_from, run, settings_of
from agentworld_sim.bench.transitions import Transition, TransitionSet
from agentworld_sim.errors import WorldFailure
from agentworld_sim.imagination import WorldModel
from agentworld_sim.llm import ModelSettings
from agentworld_sim.llm.scripted import ModelRequest, ScriptedModelServer
from agentworld_sim.scoring import Message, PredictionSample
from agentworld_trainers.data import write_rows

PROMPTS: Final = Path(__file__).with_name("prompts")
"""Two sentences: what a small model is to do, it learns from the rows."""

CONTEXT: Final = 1_536
"""Tokens, by the estimate of the run time: most rows have fewer than 1,000, and a CPU can train on them in minutes."""

ANYWHERE: Final = "http://127.0.0.1:8000/v1"


def settings_for(url: str, *, model: str = "", context: int = CONTEXT) -> ModelSettings:
    """How the models of this experiment are asked, in training and in measuring."""
    return ModelSettings(
        url=url,
        model=model,
        prompts=PROMPTS,
        thinking=False,
        history=False,
        context_tokens=context,
        max_tokens=256,
        temperature=0.0,
        top_p=1.0,
        top_k=-1,
        reasks=0,
        structured="off",
        logprobs=True,
        cache_entries=0,
    )


@click.command()
@click.argument("recordings", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--into", required=True, type=click.Path(path_type=Path), help="A recipe's `output`.")
@click.option("--context", default=CONTEXT, show_default=True, help="Tokens of prompt and answer.")
def main(recordings: Sequence[Path], into: Path, context: int) -> None:
    """Writes rows of what may be learnt from, as the training stage `sft` reads them."""
    transitions = list(TransitionSet.load(recordings).transitions("train"))
    settings = settings_for(ANYWHERE, context=context)
    written = write_rows(into / "data" / "sft.jsonl", rows_of(transitions, settings))
    click.echo(f"{into}: {written:,} rows")


def rows_of(
    transitions: Sequence[Transition], settings: ModelSettings
) -> Iterator[PredictionSample]:
    """One row for every transition whose answer is not too long.

    Raises:
        WorldFailure: the true answer to one does not count as right.
    """
    answers = [
        example.to_prompt(with_operations=True).reply for example in examples_from(transitions)
    ]

    def reply(request: ModelRequest) -> str:
        return f"<predicted_observation>\n{answers[request.index]}\n</predicted_observation>"

    with ScriptedModelServer(reply) as served, tempfile.TemporaryDirectory() as folder:
        model = WorldModel(replace(settings, url=served.url))
        asked = run(
            transitions,
            model.imaginer(),
            Path(folder) / "run.jsonl",
            settings=settings_of(model),
            # One after the other, so that requests come in the order of transitions.
            sessions_at_once=1,
        )
        scores = asyncio.run(asked)
        requests = served.requests
    for transition, answer, row, request in zip(
        transitions, answers, scores, requests, strict=True
    ):
        if row.refused:
            # Longer than the model may answer.
            continue
        if not row.score.right:
            raise WorldFailure(f"{transition.id}: the true answer did not count as right")
        yield PredictionSample(
            id=transition.id,
            task=transition.session.task,
            trajectory=transition.session.task,
            turn=transition.place + 1,
            domain="mcp",
            messages=tuple(
                Message(role=one["role"], content=one["content"]) for one in request.messages
            ),
            observation=answer,
        )


if __name__ == "__main__":
    main()
