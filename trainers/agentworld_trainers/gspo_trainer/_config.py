"""Settings of `GspoTrainer`: TRL's own, with the right preset, and the few that TRL lacks."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from trl.trainer.grpo_config import GRPOConfig

from agentworld_sim.errors import UsageError, nearest
from agentworld_trainers.gspo import departures
from agentworld_trainers.recipes.schema import AgentPart, Gspo
from agentworld_trainers.stages._training import trainer_arguments


@dataclass
class GspoConfig(GRPOConfig):
    """TRL's settings, and those of ours. Made by `gspo_config`."""

    form: Literal["sequence", "token"] = field(
        default="sequence", metadata={"help": "Which ratio."}
    )
    prediction_loss: float = field(
        default=0.0, metadata={"help": "Weight of the loss on environment tokens (ECHO)."}
    )
    advantage_eps: float = field(
        default=0.0, metadata={"help": "Added to the standard deviation of a group's rewards."}
    )
    mismatch_limit: float = field(
        default=Gspo.model_fields["mismatch_limit"].default,
        metadata={
            "help": "A rollout is left out when its mean log-probability per token under the trainer"
            " and under the sampler differ by more."
        },
    )

    @property
    def mini_batches(self) -> int:
        """Optimiser steps per rollout batch."""
        assert self.steps_per_generation is not None
        return self.steps_per_generation // self.gradient_accumulation_steps

    @property
    def group_size(self) -> int:
        """Rollouts of a group."""
        assert self.num_generations is not None
        return self.num_generations

    def departures(self, router_loss: float = 0.0) -> tuple[str, ...]:
        """Where these settings leave the paper, one sentence each.

        Args:
            router_loss: Weight of the load-balancing loss that the model ends up with.
        """
        return departures(
            mini_batches=self.mini_batches,
            iterations=self.num_iterations,
            epsilon_low=self.epsilon,
            epsilon_high=self.epsilon if self.epsilon_high is None else self.epsilon_high,
            scale=str(self.scale_rewards),
            advantage_eps=self.advantage_eps,
            router_loss=router_loss,
            environment_loss=self.prediction_loss,
        )


FIXED: dict[str, tuple[Any, ...]] = {
    "importance_sampling_level": ("sequence",),
    "loss_type": ("grpo",),
    "beta": (0.0,),
    "delta": (None,),
    "top_entropy_quantile": (1.0,),
    "entropy_coef": (0.0,),
    "use_adaptive_entropy": (False,),
    "off_policy_mask_threshold": (None,),
    "mask_truncated_completions": (False,),
    "scale_rewards": ("group", "none"),
    "use_vllm": (False,),
    "shuffle_dataset": (False,),
}
"""TRL's settings that our loss or rollouts do not look at, and the values with which that is no loss."""


def gspo_config(part: Gspo, folder: Path, *, seed: int = 0, **overrides: Any) -> GspoConfig:
    """The settings of a recipe's `rl` or `agent`, as GSPO wants them from TRL.

    Args:
        part: What the recipe says.
        folder: Where checkpoints go.
        seed: Of the order of tasks and of the mini-batches.
        overrides: Fields of `GspoConfig` that shall differ, for example `bf16=True`.

    Raises:
        UsageError: a field does not exist, or the sizes do not fit the number of processes.
    """
    known = GspoConfig.__dataclass_fields__
    for name, value in overrides.items():
        if name not in known:
            raise UsageError(f"there is no training setting {name!r}.{nearest(name, known)}")
        if name in FIXED and value not in FIXED[name]:
            raise UsageError(
                f"{name}={value!r} would change nothing here: `GspoTrainer` has a loss and"
                f" rollouts of its own, and can {name}={' or '.join(map(repr, FIXED[name]))}. For TRL's"
                " other methods use its `GRPOTrainer`."
            )
    # accelerate starts one process per device and says how many there are in this variable.
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    rows = part.batch_size
    micro = part.micro_batch_size or max(1, rows // processes)
    if rows % (micro * processes):
        raise UsageError(
            f"an optimiser step has {rows} rollouts (group_size {part.group_size} x"
            f" groups_per_step {part.groups_per_step} / mini_batches {part.mini_batches}), and that is"
            f" no multiple of micro_batch_size {micro} x {processes} process(es)."
        )
    if (part.groups_per_step % processes) != 0:
        raise UsageError(
            f"groups_per_step is {part.groups_per_step}, and {processes} processes cannot share that"
            " evenly: a group is compared within one process."
        )
    accumulation = rows // (micro * processes)
    settings: dict[str, Any] = {
        **trainer_arguments(part, folder, seed),
        # GSPO. TRL's default loss is the mean over all tokens of a batch, which is another method.
        "importance_sampling_level": "sequence",
        "loss_type": "grpo",
        "scale_rewards": "group",
        "beta": 0.0,
        "epsilon": part.epsilon_low,
        "epsilon_high": part.epsilon_high,
        "num_iterations": 1,
        "num_generations": part.group_size,
        "per_device_train_batch_size": micro,
        "gradient_accumulation_steps": accumulation,
        # Without the factor the ratio is 1 in every step and the clip never acts.
        "steps_per_generation": part.mini_batches * accumulation,
        "router_aux_loss_coef": 0.0,
        "temperature": part.rollouts.temperature,
        "max_completion_length": part.rollouts.max_rollout_tokens,
        # A ratio is compared with 1 ± 0.0003: noise from dropout would be all that is seen.
        "disable_dropout": True,
        "form": part.form,
        "advantage_eps": part.advantage_eps,
        "mismatch_limit": part.mismatch_limit,
        "prediction_loss": part.prediction_loss if isinstance(part, AgentPart) else 0.0,
        "bf16": False,
        # The order of tasks is ours (`task_order`), so that it can be taken up again.
        "shuffle_dataset": False,
        "dataloader_pin_memory": False,
    }
    return GspoConfig(**{**settings, **overrides})
