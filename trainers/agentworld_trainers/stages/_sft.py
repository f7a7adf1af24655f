"""Supervised fine-tuning, on single predictions or on demonstrations of an agent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from transformers import PreTrainedTokenizerBase

from agentworld_sim.errors import UsageError
from agentworld_trainers.data._rows import Demonstration, PredictionSample, read_trained_rows
from agentworld_trainers.recipes import Recipe
from agentworld_trainers.stages._models import load
from agentworld_trainers.stages._rendering import (
    RenderedRow,
    render_demonstration,
    render_prediction,
)
from agentworld_trainers.stages._run import Run, file_digest
from agentworld_trainers.stages._supervised import tokenised, train_rows


def train_sft(recipe: Recipe, run: Run) -> Path:
    """Trains on the data stage's samples or demonstrations and returns the folder of the result.

    Raises:
        UsageError: the recipe has no such stage, or its data or model cannot be used.
        TrainingDiverged: the loss became no number.
        CheckpointFailed: a checkpoint could not be written.
    """
    if recipe.sft is None:
        raise UsageError(
            f"the recipe {recipe.name!r} has no table [sft], so there is nothing to do."
        )
    with run.stage("sft") as stage:
        if stage.finished:
            stage.say(f"{str(stage.final)!r} is finished already; `--fresh` begins anew")
            return stage.final
        path = run.data("sft.jsonl")
        stage.hold("data", file_digest(path))
        model, tokenizer = load(run, "sft")
        rows = tokenised(
            _rendering(path, tokenizer, recipe.sft.thinking),
            max_tokens=recipe.sft.max_tokens,
            source=str(path),
        )
        return train_rows(stage, recipe.sft, model, tokenizer, rows)


def _rendering(
    path: Path, tokenizer: PreTrainedTokenizerBase, thinking: bool
) -> Iterator[Callable[[], RenderedRow]]:
    for row in read_trained_rows(path):
        if isinstance(row, Demonstration):
            yield partial(render_demonstration, tokenizer, row)
        else:
            yield partial(_prediction, tokenizer, row, thinking)


def _prediction(
    tokenizer: PreTrainedTokenizerBase, sample: PredictionSample, thinking: bool
) -> RenderedRow:
    rendered = render_prediction(tokenizer, sample, thinking=thinking)
    prompt, target = rendered.prompt_ids, rendered.target_ids
    return RenderedRow(prompt + target, (0,) * len(prompt) + (1,) * len(target))
