"""The pocket world model that is committed: its bytes, its size, and that it is as good as its card says."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from agentworld_sim.imagination import PromptSet
from agentworld_trainers.data import samples_of
from agentworld_trainers.stages import evaluate
from experiments.pocket.rebuild import BEGIN, END, said_by_recipe
from experiments.pocket.scores import table
from experiments.pocket.world import FRESH_FROM, PocketSessions
from experiments.pocket.world_tasks import TEST, TRAIN

POCKET = Path(__file__).resolve().parents[3] / "fixtures" / "pocket-world"
SCORES: dict[str, Any] = json.loads((POCKET / "scores.json").read_text("utf-8"))


def test_it_is_the_model_that_was_scored_and_the_recipe_that_is_shipped() -> None:
    weights = (POCKET / "model.safetensors").read_bytes()
    assert hashlib.sha256(weights).hexdigest() == SCORES["kept"]["sha256"]
    assert said_by_recipe() == SCORES["recipe"]


def test_it_has_at_most_twelve_megabytes() -> None:
    size = sum(path.stat().st_size for path in POCKET.rglob("*") if path.is_file())
    assert (POCKET / "model.safetensors").stat().st_size < size < 12_000_000


def test_the_card_has_the_table_of_five_seeds() -> None:
    card = (POCKET / "README.md").read_text("utf-8")
    assert len(SCORES["seeds"]) == 5
    assert f"{BEGIN}\n{table(SCORES)}\n{END}" in card


@pytest.mark.slow
def test_it_is_as_often_right_as_the_card_says() -> None:
    kept = SCORES["seeds"][str(SCORES["kept"]["seed"])]["measures"]["rl"]
    prompts = PromptSet.load(POCKET / "prompts")
    for names, told in ((TEST, kept["held_out"]), (TRAIN, kept["unseen"])):
        sessions = PocketSessions(
            tuple((name, FRESH_FROM + n) for name in names for n in (0, 1)), 0
        )
        samples = [sample for one in sessions for sample in samples_of(one, prompts=prompts)]
        found = evaluate(POCKET, samples, max_tokens=128).overall
        # A part of the sessions that were scored: it need not be right as often as all of them.
        assert abs(found.exact.share - told["exact"] / told["of"]) < 0.12
        assert abs(found.form.share - told["form"] / told["of"]) < 0.12
