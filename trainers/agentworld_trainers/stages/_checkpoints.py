"""Checkpoints that are there whole or not at all, so that a kill at any moment leaves a good one.

A checkpoint is written into `checkpoint-N.partial`, flushed to the disk and renamed to `checkpoint-N`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentworld_sim.errors import UsageError
from agentworld_trainers.errors import CheckpointFailed

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_NAME = re.compile(r"checkpoint-(\d+)")
_PARTIAL = ".partial"


def checkpoints(folder: Path) -> list[Path]:
    """The complete checkpoints in a folder, oldest first."""
    found: list[tuple[int, Path]] = []
    if folder.is_dir():
        for path in folder.iterdir():
            match = _NAME.fullmatch(path.name)
            if match and path.is_dir():
                found.append((int(match[1]), path))
    return [path for _, path in sorted(found)]


def last_checkpoint(folder: Path) -> Path | None:
    """The newest complete checkpoint in a folder."""
    return (checkpoints(folder) or [None])[-1]


def keep_last(folder: Path, count: int | None) -> None:
    """Removes all but the newest `count` checkpoints, and what is left of broken ones."""
    for path in folder.glob(f"checkpoint-*{_PARTIAL}"):
        shutil.rmtree(path, ignore_errors=True)
    if count:
        for path in checkpoints(folder)[:-count]:
            # Out of sight in one moment: a folder that is half removed must not pass for a checkpoint.
            gone = path.with_name(path.name + _PARTIAL)
            path.rename(gone)
            shutil.rmtree(gone, ignore_errors=True)


@contextmanager
def whole_folder(final: Path) -> Generator[Path]:
    """Gives a folder to write into, which gets its name only when everything is on the disk.

    Args:
        final: What it shall be called. An older folder of that name is replaced.

    Raises:
        CheckpointFailed: it could not be written, for example because the disk is full.
    """
    partial = final.with_name(final.name + _PARTIAL)
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        yield partial
        _flush(partial)
        if final.exists():
            shutil.rmtree(final)
        partial.rename(final)
    # torch and safetensors tell of a full disk in exceptions of their own, which have no common base.
    except Exception as error:
        shutil.rmtree(partial, ignore_errors=True)
        last = last_checkpoint(final.parent)
        kept = (
            f"The last good one is {str(last)!r}: make room and resume from it."
            if last
            else "There is none before it: make room and begin again."
        )
        raise CheckpointFailed(f"{str(final)!r} could not be written: {error}. {kept}") from error
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def _flush(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())


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
    from safetensors import SafetensorError

    try:
        # The return type does not know of the report.
        found: Any = type(model).from_pretrained(
            folder, dtype=model.dtype, output_loading_info=True
        )
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise UsageError(
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


if TYPE_CHECKING:
    from transformers import Trainer as _Trainer
else:
    _Trainer = object


class WholeCheckpoints(_Trainer):
    """For a transformers `Trainer`, as its first base: its checkpoints are written whole or not at all.

    What transformers saves (weights, optimiser, schedule, random states, its own state) is saved by it,
    into another folder.
    """

    def write_more(self, folder: Path) -> None:
        """Writes what a trainer needs beside that. For subclasses; called by every process."""

    def create_model_card(self, *args: Any, **kwargs: Any) -> None:
        """Writes none: the card belongs to a finished model, and TRL's is written beside checkpoints."""

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        from transformers import PreTrainedModel

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
        partial = final.with_name(final.name + _PARTIAL)
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
            _flush(partial)
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
