"""Continued pre-training on whole trajectories, with turn-level loss masking."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from transformers import PreTrainedTokenizerBase

from agentworld_trainers.data._rows import Document, read_rows
from agentworld_trainers.recipes import Recipe
from agentworld_trainers.stages._rendering import RenderedRow, render_document
from agentworld_trainers.stages._run import Run
from agentworld_trainers.stages._supervised import train_supervised


def train_cpt(recipe: Recipe, run: Run) -> Path:
    """Trains on the data stage's documents and returns the folder of the result.

    Raises:
        UsageError: the recipe has no such stage, or its data or model cannot be used.
        TrainingDiverged: the loss became no number.
        CheckpointFailed: a checkpoint could not be written.
    """

    def rendered(
        path: Path, tokenizer: PreTrainedTokenizerBase
    ) -> Iterator[Callable[[], RenderedRow]]:
        for row in read_rows(path, Document):
            yield partial(render_document, tokenizer, row, recipe.seed)

    return train_supervised(recipe, run, "cpt", rendered)
