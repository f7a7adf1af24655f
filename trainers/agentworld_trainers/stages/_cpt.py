"""Continued pre-training on whole trajectories, with turn-level loss masking."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from agentworld_sim.errors import UsageError
from agentworld_trainers.data._rows import Document, read_rows
from agentworld_trainers.recipes import Recipe
from agentworld_trainers.stages._models import load
from agentworld_trainers.stages._rendering import render_document
from agentworld_trainers.stages._run import Run, file_digest
from agentworld_trainers.stages._supervised import tokenised, train_rows


def train_cpt(recipe: Recipe, run: Run) -> Path:
    """Trains on the data stage's documents and returns the folder of the result.

    Raises:
        UsageError: the recipe has no such stage, or its data or model cannot be used.
        TrainingDiverged: the loss became no number.
        CheckpointFailed: a checkpoint could not be written.
    """
    if recipe.cpt is None:
        raise UsageError(
            f"the recipe {recipe.name!r} has no table [cpt], so there is nothing to do."
        )
    with run.stage("cpt") as stage:
        if stage.finished:
            stage.say(f"{str(stage.final)!r} is finished already; `--fresh` begins anew")
            return stage.final
        path = run.data("cpt.jsonl")
        stage.hold("data", file_digest(path))
        model, tokenizer = load(run, "cpt")
        rows = tokenised(
            (
                partial(render_document, tokenizer, row, recipe.seed)
                for row in read_rows(path, Document)
            ),
            max_tokens=recipe.cpt.max_tokens,
            source=str(path),
        )
        return train_rows(stage, recipe.cpt, model, tokenizer, rows)
