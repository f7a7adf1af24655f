"""What supervised and reinforcement training share: one trainer's checkpoints, metrics, beginning and end. [torch]"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError
from transformers import (
    PreTrainedModel,
    PreTrainedTokenizerBase,
    TrainerCallback,
    TrainerState,
)

from agentworld_sim.errors import UsageError
from agentworld_trainers.recipes.schema import Gspo, SupervisedPart
from agentworld_trainers.stages._checkpoints import (
    PARTIAL,
    flush,
    keep_last,
    last_checkpoint,
    step_of,
    whole_folder,
)
from agentworld_trainers.stages._models import save_model, without_bars
from agentworld_trainers.stages._plots import plot_curves
from agentworld_trainers.stages._progress import Progress
from agentworld_trainers.stages._run import StageFolder
from agentworld_trainers.training_errors import (
    CheckpointDamaged,
    CheckpointFailed,
    TrainingDiverged,
)

if TYPE_CHECKING:
    from transformers import Trainer as _Trainer
else:
    _Trainer = object

_SUMMARY = (
    "train_runtime",
    "train_loss",
    "total_flos",
    "train_steps_per_second",
    "train_samples_per_second",
)


class StageCallback(TrainerCallback):
    """Writes metrics into a stage's folder and tells how far it is."""

    def __init__(
        self,
        stage: StageFolder,
        told: Progress,
        more: Callable[[int], Mapping[str, float]] | None = None,
    ) -> None:
        self._stage, self._told, self._more = stage, told, more

    def on_log(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        logs: dict[str, Any] = kwargs.get("logs") or {}
        metrics = {
            name: float(value)
            for name, value in logs.items()
            if name not in (*_SUMMARY, "epoch") and isinstance(value, int | float)
        }
        # The last line of a run is about the whole of it.
        if not metrics or "train_runtime" in logs:
            return
        if self._more is not None:
            metrics |= self._more(state.global_step)
        self._stage.log(state.global_step, metrics)
        self._told.step(state.global_step, metrics)

    def on_step_end(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        self._told.step(state.global_step)


def trainer_arguments(part: SupervisedPart | Gspo, folder: Path, seed: int) -> dict[str, Any]:
    """What transformers' trainers are told of a stage of either kind, but for the sizes of batches."""
    return {
        "output_dir": str(folder),
        "max_steps": part.steps,
        "learning_rate": part.learning_rate,
        "lr_scheduler_type": part.schedule,
        "warmup_steps": part.warmup_steps,
        "weight_decay": part.weight_decay,
        "max_grad_norm": part.max_grad_norm,
        "activation_checkpointing": part.gradient_checkpointing,
        "optim": "adamw_torch",
        "seed": seed,
        "save_strategy": "steps",
        "save_steps": part.save_every,
        "save_total_limit": 2,
        "logging_strategy": "steps",
        "logging_steps": part.log_every,
        # A loss that is no number ends the run; it is not replaced by an average.
        "logging_nan_inf_filter": False,
        "report_to": "none",
        "disable_tqdm": True,
    }


def train(
    trainer: Any,
    stage: StageFolder,
    last: Path | None,
    more: Callable[[int], Mapping[str, float]] | None = None,
) -> None:
    """Trains from the last checkpoint, if there is one, to the last step."""
    with stage.progress(trainer.args.max_steps, done=step_of(last)) as told:
        trainer.add_callback(StageCallback(stage, told, more))
        if last:
            told.say(f"taken up again at {last.name}")
        with without_bars():
            trainer.train(resume_from_checkpoint=str(last) if last else None)


def save_result(trainer: Any, tokenizer: PreTrainedTokenizerBase, stage: StageFolder) -> Path:
    """Writes the finished model and the curves, in the first of several processes; returns the model's folder."""
    trainer.accelerator.wait_for_everyone()
    if trainer.args.should_save:
        with whole_folder(stage.final) as partial:
            save_model(trainer.accelerator.unwrap_model(trainer.model), tokenizer, partial)
        plot_curves(stage.folder)
    trainer.accelerator.wait_for_everyone()
    return stage.final


def restore_weights(model: PreTrainedModel, folder: Path) -> None:
    """Gives a model the weights of a checkpoint, all of them and bit by bit.

    Raises:
        UsageError: the checkpoint is of another architecture.
    """
    wrong = f"{str(folder)!r} is a checkpoint of another architecture"
    try:
        kind = json.loads((folder / "config.json").read_text(encoding="utf-8"))["model_type"]
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(f"{str(folder)!r} is no checkpoint of a model: {error}.") from None
    if kind != model.config.model_type:
        raise UsageError(f"{wrong}: a {kind!r}, and the model is a {model.config.model_type!r}.")
    try:
        # The return type does not know of the report.
        found: Any = type(model).from_pretrained(
            folder, dtype=model.dtype, output_loading_info=True
        )
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise CheckpointDamaged(
            f"the checkpoint {str(folder)!r} is damaged: {error}. Remove it: training then goes on from"
            " the one before it, or begins again."
        ) from error
    loaded, report = found
    if report["missing_keys"]:
        first = min(report["missing_keys"])
        raise UsageError(f"{wrong}: it has no {first!r}.")
    try:
        model.load_state_dict(loaded.state_dict())
    except RuntimeError as error:
        raise UsageError(f"{wrong}: {str(error).splitlines()[-1].strip()}") from None


class WholeCheckpoints(_Trainer):
    """For a transformers `Trainer`, as its first base: its checkpoints are written whole or not at all, and
    it stops before it learns from a gradient that is no number.

    What transformers saves (weights, optimiser, schedule, random states, its own state) is saved by it,
    into another folder.
    """

    def _get_grad_norm(self, model: Any, grad_norm: Any = None) -> Any:
        norm: Any = super()._get_grad_norm(model, grad_norm=grad_norm)
        # A loss that is a number can have a gradient that is none. The optimiser comes next.
        if not math.isfinite(float(norm)):
            raise self.divergence("length of the gradient", float(norm))
        return norm

    def divergence(self, what: str, value: float) -> TrainingDiverged:
        """What to raise."""
        return TrainingDiverged(
            f"the {what} of step {self.state.global_step + 1} is {value}, at a learning rate of"
            f" {self._get_learning_rate():.3g}. The weights were not changed by it. {self.resume_hint()} A"
            " smaller `learning_rate` or a longer warm-up usually helps (a changed recipe begins anew, with"
            " `--fresh`)."
        )

    def resume_hint(self) -> str:
        """Where training can be taken up."""
        last = last_checkpoint(Path(self.args.output_dir or "."))
        if last is None:
            return "There is no checkpoint before it."
        return f"The last good checkpoint is {str(last)!r}: training can be taken up from there."

    def write_more(self, folder: Path) -> None:
        """Writes what a trainer needs beside that. For subclasses; called by every process."""

    def create_model_card(self, *args: Any, **kwargs: Any) -> None:
        """Writes none: the card belongs to a finished model, and TRL's is written beside checkpoints."""

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        target: Any = self.model if model is None else model
        if (
            not isinstance(target, PreTrainedModel)
            or self.is_fsdp_enabled
            or self.is_deepspeed_enabled
        ):
            super()._load_from_checkpoint(resume_from_checkpoint, model)
            return
        # transformers 5.23 saves one tensor per expert, and its own way of taking training up again finds
        # none of them in a model that holds all experts in one: it goes on with those it began with.
        restore_weights(target, Path(resume_from_checkpoint))

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        output = self.args.output_dir
        assert output is not None
        final = Path(output) / f"checkpoint-{self.state.global_step}"
        if self.args.world_size > 1:
            self._save_shared(model, trial, final)
            return
        with whole_folder(final) as partial:
            self._save_into(partial, model, trial)
        keep_last(final.parent, self.args.save_total_limit)

    def _save_shared(self, model: Any, trial: Any, final: Path) -> None:
        # Every process writes its part into one folder; the first one makes it and names it.
        partial = final.with_name(final.name + PARTIAL)
        if self.args.should_save:
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
        self.accelerator.wait_for_everyone()
        try:
            self._save_into(partial, model, trial)
        except Exception as error:
            raise CheckpointFailed(f"{str(final)!r} could not be written: {error}.") from error
        self.accelerator.wait_for_everyone()
        if self.args.should_save:
            flush(partial)
            if final.exists():
                shutil.rmtree(final)
            partial.rename(final)
            keep_last(final.parent, self.args.save_total_limit)
        self.accelerator.wait_for_everyone()

    def _save_into(self, partial: Path, model: Any, trial: Any) -> None:
        """Has transformers write `partial/checkpoint-N`, and moves what it wrote one level up."""
        output = self.args.output_dir
        self.args.output_dir = str(partial)
        try:
            super()._save_checkpoint(model, trial)
        finally:
            self.args.output_dir = output
        inner = partial / f"checkpoint-{self.state.global_step}"
        self.write_more(inner)
        self.accelerator.wait_for_everyone()
        if self.args.should_save:
            for path in inner.iterdir():
                path.rename(partial / path.name)
            inner.rmdir()
