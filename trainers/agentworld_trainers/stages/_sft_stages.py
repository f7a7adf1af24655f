"""Continued pre-training and supervised fine-tuning: TRL's SFT trainer on tokens of ours. [torch]

TRL keeps the loop, the optimiser, several processes, LoRA and the Mixture of Experts' balance loss. What is
overridden:

* The order of rows, which is written down beforehand (`row_order`), a function of the seed alone: TRL's own
  sampler would do, but not sorted by length and still the same after a resume.
* The loss on a CPU. TRL's projects every position through the head there and works out the entropy; only
  labelled positions are projected here. At 2 M parameters, 16 rows of 300 tokens of which 80 count, a step
  takes 0.75 s of one core instead of 1.4.
* Checkpoints, which are whole or not there, and the stop at a loss or gradient that is no number.
"""

from __future__ import annotations

import itertools
import math
import random
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

import torch
from datasets import Dataset
from peft import PeftModel
from torch import Tensor
from torch.utils.data import SequentialSampler
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers.models.mixtral.modeling_mixtral import load_balancing_loss_func
from transformers.trainer_callback import PrinterCallback
from trl.trainer.sft_config import SFTConfig
from trl.trainer.sft_trainer import SFTTrainer

from agentworld_sim.errors import UsageError
from agentworld_trainers.data._rows import Demonstration, Document, read_rows, read_trained_rows
from agentworld_trainers.recipes import Recipe
from agentworld_trainers.recipes.schema import SupervisedPart
from agentworld_trainers.stages._models import load, lora_config
from agentworld_trainers.stages._processes import processes, threads, verify_processes
from agentworld_trainers.stages._rendering import (
    RenderedRow,
    Unrenderable,
    render_demonstration,
    render_document,
    render_prediction,
)
from agentworld_trainers.stages._run import Run, StageFolder, file_digest
from agentworld_trainers.stages._training import (
    WholeCheckpoints,
    save_result,
    train,
    trainer_arguments,
)

IGNORED = -100
"""The label of a token that does not count."""

_WINDOW = 16
"""Batches among which rows are sorted by length: more waste less padding and mix less."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows in tokens, and what was left out."""

    ids: tuple[array[int], ...]
    labels: tuple[array[int], ...]
    left_out: Mapping[str, int]
    """How many rows, by reason."""

    @property
    def lengths(self) -> list[int]:
        return [len(ids) for ids in self.ids]


def tokenise(rows: Iterable[Callable[[], RenderedRow]], *, max_tokens: int, source: str) -> Rows:
    """Renders rows and leaves out those that cannot be trained on.

    Raises:
        UsageError: nothing is left.
    """
    ids: list[array[int]] = []
    labels: list[array[int]] = []
    left_out = {"too long": 0, "cannot be read back": 0, "nothing counts": 0}
    longest = 0
    for render in rows:
        try:
            row = render()
        except Unrenderable:
            left_out["cannot be read back"] += 1
            continue
        longest = max(longest, len(row.ids))
        if len(row.ids) > max_tokens:
            left_out["too long"] += 1
        elif not any(row.mask[1:]):
            left_out["nothing counts"] += 1
        else:
            ids.append(array("i", row.ids))
            labels.append(
                array(
                    "i", [i if kept else IGNORED for i, kept in zip(row.ids, row.mask, strict=True)]
                )
            )
    left_out = {reason: count for reason, count in left_out.items() if count}
    if not ids:
        reasons = ", ".join(f"{count} {reason}" for reason, count in left_out.items())
        raise UsageError(
            f"{source!r} has no row that can be trained on ({reasons or 'it is empty'}; the longest has"
            f" {longest} tokens and `max_tokens` is {max_tokens})."
        )
    return Rows(tuple(ids), tuple(labels), left_out)


class SupervisedTrainer(WholeCheckpoints, SFTTrainer):
    """Trains on rows in a given order."""

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        config: SFTConfig,
        rows: Rows,
        order: Sequence[int],
        *,
        peft_config: Any = None,
    ) -> None:
        self._rows = rows
        self._measured: list[tuple[Tensor, Tensor]] = []
        super().__init__(
            model=model,
            args=config,
            train_dataset=Dataset.from_dict({"row": list(order)}),
            data_collator=self._collate,
            processing_class=tokenizer,
            peft_config=peft_config,
        )
        # Metrics go to callbacks; a library does not print.
        self.remove_callback(PrinterCallback)

    def _collate(self, examples: list[dict[str, int]]) -> dict[str, Tensor]:
        """Pads rows to the longest of a batch, on the right.

        Returns:
            `input_ids`, `attention_mask` and `labels`, each [rows, tokens].
        """
        chosen = [example["row"] for example in examples]
        width = max(len(self._rows.ids[row]) for row in chosen)
        pad_id = cast(int, self._tokenizer.pad_token_id)
        batch = {
            "input_ids": torch.full((len(chosen), width), pad_id),
            "attention_mask": torch.zeros((len(chosen), width), dtype=torch.long),
            "labels": torch.full((len(chosen), width), IGNORED),
        }
        for place, row in enumerate(chosen):
            ids = torch.tensor(self._rows.ids[row])
            batch["input_ids"][place, : len(ids)] = ids
            batch["attention_mask"][place, : len(ids)] = 1
            batch["labels"][place, : len(ids)] = torch.tensor(self._rows.labels[row])
        return batch

    def _get_train_sampler(self, train_dataset: Any = None) -> SequentialSampler:
        return SequentialSampler(cast(Dataset, train_dataset or self.train_dataset))

    # ------------------------------------------------------------------ loss

    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Tensor | int | None = None,
    ) -> Any:
        if return_outputs or model is not self.model or inputs["input_ids"].is_cuda:
            # On a GPU TRL's kernel does the same and needs less memory. A wrapped model must be called
            # itself, or its processes do not come together.
            loss = super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        else:
            loss = self._labelled_loss(model, inputs, num_items_in_batch)
        value = float((loss[0] if return_outputs else loss).detach())
        if not math.isfinite(value):
            raise self.divergence("loss", value)
        return loss

    def _labelled_loss(
        self, model: Any, inputs: dict[str, Any], items: Tensor | int | None
    ) -> Tensor:
        whole: Any = cast(Any, model).get_base_model() if isinstance(model, PeftModel) else model
        labels = inputs["labels"][:, 1:]
        counted = labels != IGNORED
        labels = labels[counted]
        # accelerate switches bfloat16 on where the whole model is called.
        with self.accelerator.autocast():
            out = whole.base_model(
                input_ids=inputs["input_ids"],
                attention_mask=inputs["attention_mask"],
                use_cache=False,
                **({"output_router_logits": True} if self.aux_loss_enabled else {}),
            )
            logits = whole.get_output_embeddings()(out.last_hidden_state[:, :-1][counted]).float()
        loss = torch.nn.functional.cross_entropy(logits, labels, reduction="sum")
        loss = loss / torch.as_tensor(labels.numel() if items is None else items).clamp(min=1)
        with torch.no_grad():
            right = (logits.argmax(-1) == labels).sum() / max(1, labels.numel())
        self._metrics["train"]["accuracy"].append(float(right))
        if self.aux_loss_enabled:
            config = whole.config.get_text_config()
            balance = cast(
                Tensor,
                load_balancing_loss_func(
                    out.router_logits,
                    config.num_experts,
                    config.num_experts_per_tok,
                    inputs["attention_mask"],
                ),
            )
            self._metrics["train"]["balance_loss"].append(float(balance.detach()))
            shares = 1 if items is None else self.current_gradient_accumulation_steps
            loss = loss + self.router_aux_loss_coef * balance / shares
        return loss


def train_cpt(recipe: Recipe, run: Run) -> Path:
    """Trains on the data stage's documents, with turn-level loss masking, and returns the folder of the result.

    Raises:
        UsageError: the recipe has no such stage, or its data or model cannot be used.
        TrainingDiverged: the loss became no number.
        CheckpointFailed: a checkpoint could not be written.
    """

    def render_rows(
        path: Path, tokenizer: PreTrainedTokenizerBase
    ) -> Iterator[Callable[[], RenderedRow]]:
        for row in read_rows(path, Document):
            yield partial(render_document, tokenizer, row, recipe.seed)

    return _train(recipe, run, "cpt", recipe.cpt, render_rows)


def train_sft(recipe: Recipe, run: Run) -> Path:
    """Trains on the data stage's samples or demonstrations and returns the folder of the result.

    Raises:
        UsageError: the recipe has no such stage, or its data or model cannot be used.
        TrainingDiverged: the loss became no number.
        CheckpointFailed: a checkpoint could not be written.
    """
    thinking = recipe.sft is None or recipe.sft.thinking

    def render_rows(
        path: Path, tokenizer: PreTrainedTokenizerBase
    ) -> Iterator[Callable[[], RenderedRow]]:
        for row in read_trained_rows(path):
            if isinstance(row, Demonstration):
                yield partial(render_demonstration, tokenizer, row)
            else:
                yield partial(render_prediction, tokenizer, row, thinking=thinking)

    return _train(recipe, run, "sft", recipe.sft, render_rows)


def _train(
    recipe: Recipe,
    run: Run,
    name: Literal["cpt", "sft"],
    part: SupervisedPart | None,
    render_rows: Callable[[Path, PreTrainedTokenizerBase], Iterable[Callable[[], RenderedRow]]],
) -> Path:
    """Trains a stage on its rows; `render_rows` gives what renders each of them."""
    if part is None:
        raise UsageError(
            f"the recipe {recipe.name!r} has no table [{name}], so there is nothing to do."
        )
    verify_processes(name, gpus=torch.cuda.device_count())
    with run.stage(name) as stage:
        if stage.is_finished():
            return stage.final
        path = run.data(f"{name}.jsonl")
        stage.hold("data", file_digest(path))
        model, tokenizer = load(run, name)
        rows = tokenise(render_rows(path, tokenizer), max_tokens=part.max_tokens, source=str(path))
        return _train_rows(stage, part, model, tokenizer, rows)


def _train_rows(
    stage: StageFolder,
    part: SupervisedPart,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    rows: Rows,
) -> Path:
    """Trains on rows, from the last checkpoint if there is one, and returns the folder of the result."""
    recipe = stage.recipe
    last = stage.resume()
    order = row_order(rows.lengths, steps=part.steps, batch_size=part.batch_size, seed=recipe.seed)
    for reason, count in rows.left_out.items():
        total = len(rows.ids) + sum(rows.left_out.values())
        stage.say(f"{count} of {total} rows left out: {reason}")
    config = sft_config(part, recipe, stage.folder)
    with threads(part.threads):
        adapters = lora_config(recipe)
        trainer = SupervisedTrainer(model, tokenizer, config, rows, order, peft_config=adapters)
        train(trainer, stage, last, _tokens(rows, order, part.batch_size))
    return save_result(trainer, tokenizer, stage)


def sft_config(part: SupervisedPart, recipe: Recipe, folder: Path) -> SFTConfig:
    """The settings of a recipe, as TRL takes them."""
    started = processes()
    micro = part.micro_batch_size or max(1, part.batch_size // started)
    if part.batch_size % (micro * started):
        raise UsageError(
            f"`batch_size` ({part.batch_size}) is no multiple of `micro_batch_size` ({micro}) x"
            f" {started} process(es)."
        )
    return SFTConfig(
        **trainer_arguments(part, folder, recipe.seed),
        per_device_train_batch_size=micro,
        gradient_accumulation_steps=part.batch_size // (micro * started),
        adam_beta2=part.adam_beta2,
        bf16=recipe.model.dtype == "bfloat16",
        # Without saying so, transformers takes bfloat16 on GPUs only.
        use_cpu=not torch.cuda.is_available(),
        data_seed=recipe.seed,
        dataset_kwargs={"skip_prepare_dataset": True},
        max_length=None,
        remove_unused_columns=False,
        dataloader_pin_memory=torch.cuda.is_available(),
    )


def _tokens(rows: Rows, order: Sequence[int], batch_size: int) -> Callable[[int], dict[str, float]]:
    """How many tokens the first steps have read, and on how many of them the loss was."""
    read = [len(ids) for ids in rows.ids]
    counted = [sum(label != IGNORED for label in labels) for labels in rows.labels]
    all_read = list(itertools.accumulate((read[row] for row in order), initial=0))
    all_counted = list(itertools.accumulate((counted[row] for row in order), initial=0))

    def of(step: int) -> dict[str, float]:
        at = step * batch_size
        return {"tokens": all_read[at], "loss_tokens": all_counted[at]}

    return of


def row_order(lengths: Sequence[int], *, steps: int, batch_size: int, seed: int) -> list[int]:
    """The rows of all optimiser steps, one batch after the other.

    Every row is seen once before any is seen twice. Rows of one batch are about equally long, so that
    little is padded; which batch comes when has nothing to do with its length.

    Returns:
        `steps * batch_size` numbers of rows.
    """
    shuffling = random.Random(f"rows/{seed}")
    stream = _epochs(len(lengths), shuffling)
    order: list[int] = []
    while len(order) < steps * batch_size:
        window = [next(stream) for _ in range(_WINDOW * batch_size)]
        window.sort(key=lambda row: lengths[row])
        batches = [window[at : at + batch_size] for at in range(0, len(window), batch_size)]
        shuffling.shuffle(batches)
        for batch in batches:
            order += batch
    return order[: steps * batch_size]


def _epochs(rows: int, shuffling: random.Random) -> Iterator[int]:
    while True:
        epoch = list(range(rows))
        shuffling.shuffle(epoch)
        yield from epoch
