"""Training on rows: what is computed, what is kept, and how it goes on after things went wrong."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, Qwen3MoeForCausalLM
from transformers.trainer_utils import SaveStrategy
from trl.trainer.sft_trainer import SFTTrainer

from agentworld_sim.errors import UsageError
from agentworld_trainers.data._rows import write_rows
from agentworld_trainers.recipes import Recipe
from agentworld_trainers.stages._models import load_model, new_model
from agentworld_trainers.stages._rendering import RenderedRow
from agentworld_trainers.stages._run import Run, read_metrics
from agentworld_trainers.stages._sft_stages import (
    Rows,
    SupervisedTrainer,
    row_order,
    sft_config,
    tokenise,
    train_cpt,
    train_sft,
)
from agentworld_trainers.training_errors import TrainingDiverged
from tests.trainers.stages import killed, tiny

PART: dict[str, Any] = {
    "steps": 6,
    "batch_size": 4,
    "micro_batch_size": 2,
    "learning_rate": 3e-3,
    "save_every": 2,
    "log_every": 1,
    "threads": 1,
}


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


def equal(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def drawn_rows(count: int, seed: int = 0) -> Rows:
    draw = random.Random(seed)

    def row() -> RenderedRow:
        ids = tuple(draw.randrange(3, 250) for _ in range(draw.randint(5, 30)))
        return RenderedRow(ids, (0, 0, 0, *(draw.randint(0, 1) for _ in ids[4:]), 1))

    return tokenise([row for _ in range(count)], max_tokens=99, source="drawn")


def trainer(folder: Path, rows: Rows, dtype: str = "float32", **part: Any) -> Any:
    recipe = Recipe.model_validate(
        {"name": "t", "model": {"dtype": dtype}, "sft": {**PART, **part}}
    )
    assert recipe.sft
    model = new_model(tiny.CONFIG, tiny.tokenizer(), seed=0)
    order = list(range(len(rows.ids)))
    config = sft_config(recipe.sft, recipe, folder)
    config.save_strategy = SaveStrategy.NO
    return SupervisedTrainer(model, tiny.tokenizer(), config, rows, order)


# ---------------------------------------------------------------------- the loss


def test_the_loss_and_its_gradient_are_those_of_trl(tmp_path: Path) -> None:
    ours = trainer(tmp_path, drawn_rows(8))
    batch = ours.data_collator([{"row": row} for row in range(8)])
    ours.model.train()
    found: list[tuple[torch.Tensor, list[torch.Tensor]]] = []
    for kind in (SupervisedTrainer, SFTTrainer):
        for items in (None, torch.tensor(40)):
            ours.current_gradient_accumulation_steps = 2
            loss = kind.compute_loss(ours, ours.model, dict(batch), num_items_in_batch=items)
            ours.model.zero_grad()
            loss.backward()
            gradient = [p.grad.clone() for p in ours.model.parameters() if p.grad is not None]
            found.append((loss.detach(), gradient))
    for (loss, gradient), (theirs, their_gradient) in zip(found[:2], found[2:], strict=True):
        torch.testing.assert_close(loss, theirs, rtol=1e-6, atol=1e-6)
        torch.testing.assert_close(gradient, their_gradient, rtol=1e-5, atol=1e-6)
    assert ours.aux_loss_enabled and ours.router_aux_loss_coef == 0.001


def test_the_loss_is_the_mean_over_labelled_tokens_of_the_whole_step(tmp_path: Path) -> None:
    # Worked out from plain logits, row by row, without padding; no balance loss.
    rows = drawn_rows(4)
    ours = trainer(tmp_path, rows, steps=1)
    ours.aux_loss_enabled = False
    model = new_model(tiny.CONFIG, tiny.tokenizer(), seed=0)
    total, count = 0.0, 0
    with torch.no_grad():
        for ids, labels in zip(rows.ids, rows.labels, strict=True):
            logits = cast(Qwen3MoeForCausalLM, model)(input_ids=torch.tensor([list(ids)])).logits[0]
            logp = logits.log_softmax(-1)
            for at, label in enumerate(labels[1:]):
                if label >= 0:
                    total -= float(logp[at, label])
                    count += 1
    ours.train()
    logged = [line["loss"] for line in ours.state.log_history if "loss" in line]
    assert logged == [pytest.approx(total / count, rel=1e-5)]


def test_bfloat16_is_what_a_cpu_computes_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # transformers sets it, and does not take it back.
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "no")
    ours = trainer(tmp_path, drawn_rows(4), dtype="bfloat16", steps=1)
    found: list[torch.dtype] = []
    head = ours.model.get_output_embeddings()
    head.register_forward_hook(lambda module, given, output: found.append(output.dtype))
    ours.train()
    assert set(found) == {torch.bfloat16}
    assert {p.dtype for p in ours.model.parameters()} == {torch.float32}


def test_small_backward_passes_give_the_same_weights_as_one_large_one(tmp_path: Path) -> None:
    rows = drawn_rows(8)
    found: list[dict[str, torch.Tensor]] = []
    for micro in (4, 2, 1):
        ours = trainer(tmp_path, rows, steps=2, micro_batch_size=micro)
        # The balance loss is a mean over a backward pass, and so not quite the same.
        ours.aux_loss_enabled = False
        ours.train()
        found.append({name: value.clone() for name, value in ours.model.state_dict().items()})
    for other in found[1:]:
        torch.testing.assert_close(found[0], other, rtol=0, atol=2e-5)


def test_a_gradient_that_is_no_number_stops_before_it_changes_a_weight(tmp_path: Path) -> None:
    ours = trainer(tmp_path, drawn_rows(8))
    before = {name: value.clone() for name, value in ours.model.state_dict().items()}
    ours.model.model.norm.weight.register_hook(lambda gradient: gradient * float("nan"))
    with pytest.raises(TrainingDiverged, match="length of the gradient of step 1 is nan"):
        ours.train()
    assert equal(before, ours.model.state_dict())


def test_what_is_overridden_of_trl_and_transformers_is_still_there() -> None:
    for name in (
        "_get_train_sampler",
        "compute_loss",
        "_clip_grad_norm",
        "_save_checkpoint",
        "_get_learning_rate",
        "create_model_card",
    ):
        assert callable(getattr(SFTTrainer, name)), name


# ---------------------------------------------------------------------- rows and their order


def test_rows_that_cannot_be_trained_on_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = tiny.recipe(tmp_path, sft={**PART, "steps": 1, "max_tokens": 500})
    long = tiny.sample(1, observation="x" * 3000)
    fence = tiny.sample(2, observation="```\nx\n```")
    rows = [long, fence, tiny.sample(3), tiny.demonstration(4)]
    write_rows(tmp_path / "data" / "sft.jsonl", rows)
    train_sft(recipe, Run(recipe))
    told = capsys.readouterr().err
    assert "1 of 4 rows left out: too long" in told
    assert "1 of 4 rows left out: cannot be read back" in told


def test_no_row_at_all_says_why(tmp_path: Path) -> None:
    recipe = tiny.recipe(tmp_path, sft={**PART, "max_tokens": 3})
    with pytest.raises(UsageError, match=r"20 too long; the longest has \d+ .* `max_tokens` is 3"):
        train_sft(recipe, Run(recipe))
    (tmp_path / "data" / "sft.jsonl").write_text("")
    again = tiny.recipe(tmp_path, sft=PART)
    with pytest.raises(UsageError, match="it is empty"):
        train_sft(again, Run(again, fresh=True))


def test_a_line_that_is_no_row_is_named(tmp_path: Path) -> None:
    recipe = tiny.recipe(tmp_path, sft=PART)
    with (tmp_path / "data" / "sft.jsonl").open("a") as file:
        file.write('{"id": "x"}\n')
    with pytest.raises(UsageError, match="line 21: the Demonstration has no 'task'"):
        train_sft(recipe, Run(recipe))


@pytest.mark.parametrize("seed", range(3))
def test_every_row_is_seen_once_before_any_is_seen_twice(seed: int) -> None:
    lengths = [random.Random(seed).randint(1, 99) for _ in range(64)]
    order = row_order(lengths, steps=32, batch_size=4, seed=seed)
    assert sorted(order[:64]) == list(range(64)) == sorted(order[64:])
    assert order == row_order(lengths, steps=32, batch_size=4, seed=seed)
    assert order != row_order(lengths, steps=32, batch_size=4, seed=seed + 1)
    # A longer run begins as a shorter one.
    assert order[:40] == row_order(lengths, steps=10, batch_size=4, seed=seed)
    padded = sum(4 * max(lengths[row] for row in order[at : at + 4]) for at in range(0, 64, 4))
    assert padded < 1.15 * sum(lengths)


def test_more_rows_in_a_batch_than_there_are_rows_is_no_problem() -> None:
    order = row_order([5, 6, 7], steps=3, batch_size=8, seed=0)
    assert len(order) == 24
    assert {order.count(row) for row in range(3)} <= {6, 7, 8, 9, 10}


# ---------------------------------------------------------------------- stages


def test_stages_stand_on_each_other_and_leave_what_servers_load(tmp_path: Path) -> None:
    recipe = tiny.recipe(tmp_path, cpt=PART, sft=PART)
    run = Run(recipe)
    first = train_cpt(recipe, run)
    final = train_sft(recipe, run)
    assert (first, final) == (tmp_path / "cpt" / "final", tmp_path / "sft" / "final")
    assert not equal(weights(first), weights(final))
    config = json.loads((final / "config.json").read_text())
    assert config["architectures"] == ["Qwen3MoeForCausalLM"]
    assert not config.get("output_router_logits")
    told = json.loads((final / "generation_config.json").read_text())
    assert told["eos_token_id"] == tiny.tokenizer().eos_token_id
    assert (final / "chat_template.jinja").is_file()
    lines = read_metrics(tmp_path / "sft" / "metrics.jsonl")
    assert [line["step"] for line in lines] == [1, 2, 3, 4, 5, 6]
    assert lines[-1]["tokens"] > lines[0]["tokens"] > lines[0]["loss_tokens"] > 0
    assert {"loss", "accuracy", "balance_loss", "grad_norm", "learning_rate"} <= lines[0].keys()
    assert lines[-1]["loss"] < lines[0]["loss"]
    assert (tmp_path / "sft" / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in run.stage("sft").checkpoints] == ["checkpoint-4", "checkpoint-6"]
    run.stage("sft").close()
    # Once more is not trained again.
    before = (final / "model.safetensors").stat().st_mtime_ns
    assert train_sft(recipe, Run(recipe)) == final
    assert (final / "model.safetensors").stat().st_mtime_ns == before


def test_a_recipe_without_the_stage_says_so(tmp_path: Path) -> None:
    recipe = tiny.recipe(tmp_path)
    for train in (train_cpt, train_sft):
        with pytest.raises(UsageError, match=r"has no table \[(cpt|sft)\]"):
            train(recipe, Run(recipe))


def test_adapters_are_trained_alone_and_merged_at_the_end(tmp_path: Path) -> None:
    base = tmp_path / "base"
    model = new_model(tiny.CONFIG, tiny.tokenizer(), seed=5)
    model.save_pretrained(base)
    tiny.tokenizer().save_pretrained(base)
    settings = {"path": str(base), "lora": {"rank": 2, "alpha": 4, "dropout": 0.1}}
    recipe = tiny.recipe(tmp_path / "run", model=settings, sft=PART)
    final = train_sft(recipe, Run(recipe))
    before, after = weights(base), weights(final)
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed and all("_proj" in name for name in changed)
    assert before.keys() == after.keys()
    assert (final / "adapter" / "adapter_model.safetensors").is_file()
    assert type(AutoModelForCausalLM.from_pretrained(final)).__name__ == "Qwen3MoeForCausalLM"
    # A checkpoint of adapters alone is loaded with the model it stands on.
    half = load_model(tmp_path / "run" / "sft" / "checkpoint-6")
    ids = {"input_ids": torch.tensor([[5, 6, 7, 8]])}
    merged = load_model(final)
    with torch.no_grad():
        torch.testing.assert_close(half(**ids).logits, merged(**ids).logits, rtol=1e-4, atol=1e-4)
    # Taken up again in the middle, it comes to the same, dropout included.
    shutil.rmtree(final)
    shutil.rmtree(tmp_path / "run" / "sft" / "checkpoint-6")
    assert equal(weights(train_sft(recipe, Run(recipe))), after)


def test_a_loss_that_is_no_number_stops_and_names_step_rate_and_checkpoint(tmp_path: Path) -> None:
    part = {**PART, "learning_rate": 1e30, "schedule": "constant", "save_every": 1}
    recipe = tiny.recipe(tmp_path, sft=part)
    with pytest.raises(TrainingDiverged, match=r"step \d is (nan|inf), at .* 1e\+30") as caught:
        train_sft(recipe, Run(recipe))
    assert "checkpoint-1" in str(caught.value)
    assert not (tmp_path / "sft" / "final").exists()


# ---------------------------------------------------------------------- kills and full disks


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, torch.Tensor]:
    folder = tmp_path_factory.mktemp("uninterrupted")
    recipe = tiny.recipe(folder, sft={**PART, "steps": 12})
    assert killed.run(recipe) == [*range(1, 13), "finished"]
    return weights(folder / "sft" / "final")


@pytest.mark.slow
def test_killed_at_any_moment_it_goes_on_to_the_same_weights(
    tmp_path: Path, uninterrupted: dict[str, torch.Tensor]
) -> None:
    recipe = tiny.recipe(tmp_path, sft={**PART, "steps": 12})
    reached = 0
    for kill_after in (1.5, 3.2, 2.05, 1.9):
        said = killed.run(recipe, kill_after=kill_after)
        # No step is left out, and none of those that a checkpoint has is done again.
        assert said == list(range(said[0], said[-1] + 1))
        assert reached - 3 < said[0] <= reached + 1
        reached = said[-1]
    assert killed.run(recipe)[-1] == "finished"
    assert equal(weights(tmp_path / "sft" / "final"), uninterrupted)
    lines = read_metrics(tmp_path / "sft" / "metrics.jsonl")
    assert [line["step"] for line in lines] == list(range(1, 13))
    assert not list(tmp_path.rglob("*.partial"))


@pytest.mark.slow
def test_a_full_disk_keeps_the_last_checkpoint_and_goes_on_from_it(
    tmp_path: Path, uninterrupted: dict[str, torch.Tensor]
) -> None:
    recipe = tiny.recipe(tmp_path, sft={**PART, "steps": 12})
    said = killed.run(recipe, full_after=3)
    assert said[-1].startswith("CheckpointFailed: ")
    assert "checkpoint-4' could not be written" in said[-1]
    assert "checkpoint-2': make room and resume" in said[-1]
    assert [path.name for path in (tmp_path / "sft").glob("checkpoint-*")] == ["checkpoint-2"]
    assert killed.run(recipe) == [*range(3, 13), "finished"]
    assert equal(weights(tmp_path / "sft" / "final"), uninterrupted)


def test_other_data_are_not_taken_for_the_same(tmp_path: Path) -> None:
    recipe = tiny.recipe(tmp_path, sft=PART)
    train_sft(recipe, Run(recipe))
    shutil.rmtree(tmp_path / "sft" / "final")
    write_rows(tmp_path / "data" / "sft.jsonl", [tiny.sample(n) for n in range(5)])
    with pytest.raises(UsageError, match="begun with another data"):
        train_sft(recipe, Run(recipe))
