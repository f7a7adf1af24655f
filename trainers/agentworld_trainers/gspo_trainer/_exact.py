"""A TRL trainer that is taken up again exactly where it was, and stops before it learns from a NaN."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import torch
from transformers import PreTrainedModel
from trl.trainer.grpo_trainer import GRPOTrainer

from agentworld_sim.errors import UsageError
from agentworld_trainers.gspo_trainer._config import GspoConfig
from agentworld_trainers.stages._training import WholeCheckpoints

_STATE = "gspo_state.pt"


class ExactTrainer(WholeCheckpoints, GRPOTrainer):
    """What transformers saves (weights, optimiser, schedule, random states), and what TRL forgets: the
    rollout batch under way, and where in it training is.
    """

    @property
    def config(self) -> GspoConfig:
        """The settings."""
        return cast(GspoConfig, self.args)

    @property
    def policy(self) -> PreTrainedModel:
        """The weights that are trained."""
        return cast(PreTrainedModel, self.model)

    @property
    def used_up(self) -> bool:
        """Whether the next micro-batch is the first of a new rollout batch."""
        return self._step % (self._parts * self.num_iterations) == 0

    @property
    def _parts(self) -> int:
        """Micro-batches of a rollout batch, in this process."""
        return self.config.mini_batches * self.args.gradient_accumulation_steps

    # ------------------------------------------------------------------ taking up again

    def write_more(self, folder: Path) -> None:
        """Writes the rollout batch under way and where in it training is."""
        state = {
            "step": self._step,
            "parts": self._parts,
            "rows": None if self.used_up else self._buffered_inputs,
            "metrics": {name: list(values) for name, values in self._metrics["train"].items()},
        }
        torch.save(state, folder / self._state_name())

    def _run_epoch(self, *args: Any, **settings: Any) -> None:
        # An epoch is made of whole rollout batches. Where the last step is in the middle of one,
        # transformers would take a finished training up again and go on to the end of it.
        if self.state.global_step >= self.state.max_steps:
            self.control.should_training_stop = True
            return
        super()._run_epoch(*args, **settings)

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        super()._load_optimizer_and_scheduler(checkpoint)
        if checkpoint is None:
            return
        path = Path(checkpoint) / self._state_name()
        if not path.is_file():
            raise UsageError(
                f"{checkpoint!r} is no checkpoint of this training with"
                f" {self.accelerator.num_processes} process(es): it has no {path.name}."
            )
        state = torch.load(path, map_location=self.accelerator.device, weights_only=True)
        if state["parts"] != self._parts:
            raise UsageError(
                f"{checkpoint!r} was made with {state['parts']} micro-batches per rollout batch, and these"
                f" settings make {self._parts}: group_size, groups_per_step, mini_batches,"
                " micro_batch_size and the number of processes must stay the same."
            )
        self._step = state["step"]
        self._buffered_inputs = state["rows"]
        self._metrics["train"].clear()
        self._metrics["train"].update(state["metrics"])

    def _state_name(self) -> str:
        # Every process has rows of its own.
        rank = self.accelerator.process_index
        return _STATE if self.accelerator.num_processes == 1 else f"{rank}_{_STATE}"
