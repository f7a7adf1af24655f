"""What a transformers trainer tells a stage while it trains."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from agentworld_trainers.stages._progress import Progress
from agentworld_trainers.stages._run import StageFolder

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
        """
        Args:
            stage: Gets the metrics.
            told: Gets the progress.
            more: Metrics of an optimiser step that the trainer does not know.
        """
        self._stage, self._told, self._more = stage, told, more

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        metrics = {
            name: float(value)
            for name, value in (logs or {}).items()
            if name not in (*_SUMMARY, "epoch") and isinstance(value, int | float)
        }
        # The last line of a run is about the whole of it.
        if not metrics or "train_runtime" in (logs or {}):
            return
        if self._more is not None:
            metrics |= self._more(state.global_step)
        self._stage.log(state.global_step, metrics)
        self._told.step(state.global_step, metrics)

    def on_step_end(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        **kwargs: Any,
    ) -> None:
        self._told.step(state.global_step)
