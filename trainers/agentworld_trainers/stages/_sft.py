"""Supervised fine-tuning, on single predictions or on demonstrations of an agent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from transformers import PreTrainedTokenizerBase

from agentworld_sim.scoring import PredictionSample
from agentworld_trainers.data._rows import Demonstration, read_trained_rows
from agentworld_trainers.recipes import Recipe
from agentworld_trainers.stages._rendering import (
    RenderedRow,
    render_demonstration,
    render_prediction,
)
from agentworld_trainers.stages._run import Run
from agentworld_trainers.stages._supervised import train_supervised


def train_sft(recipe: Recipe, run: Run) -> Path:
    """Trains on the data stage's samples or demonstrations and returns the folder of the result.

    Raises:
        UsageError: the recipe has no such stage, or its data or model cannot be used.
        TrainingDiverged: the loss became no number.
        CheckpointFailed: a checkpoint could not be written.
    """
    thinking = recipe.sft is None or recipe.sft.thinking

    def rendered(
        path: Path, tokenizer: PreTrainedTokenizerBase
    ) -> Iterator[Callable[[], RenderedRow]]:
        for row in read_trained_rows(path):
            if isinstance(row, Demonstration):
                yield partial(render_demonstration, tokenizer, row)
            else:
                yield partial(_prediction, tokenizer, row, thinking)

    return train_supervised(recipe, run, "sft", rendered)


def _prediction(
    tokenizer: PreTrainedTokenizerBase, sample: PredictionSample, thinking: bool
) -> RenderedRow:
    rendered = render_prediction(tokenizer, sample, thinking=thinking)
    prompt, target = rendered.prompt_ids, rendered.target_ids
    return RenderedRow(prompt + target, (0,) * len(prompt) + (1,) * len(target))
