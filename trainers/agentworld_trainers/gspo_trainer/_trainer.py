"""`GspoTrainer`: TRL's GRPO trainer, with rollouts of ours and the loss of `agentworld_trainers.gspo`.

TRL keeps: the training loop, generation batches and their buffer, log-probabilities (chunked, without
logits), Mixture-of-Experts, LoRA, several processes, optimiser, schedule, logging, checkpoints. What is
overridden is listed in `OVERRIDES` of `tests/trainers/gspo`, which fails when TRL changes it.

The old log-probabilities are the trainer's own, computed once per rollout batch before its first
optimiser step. Those of the sampler would put the difference between two implementations of the model
into a ratio whose clip range is 3e-4. The difference is measured instead: a rollout whose mean per token
is above `mismatch_limit` is left out. The sum over a rollout would be the unbiased correction, and it
would mask long rollouts: 1e-4 per token is 1 after 10,000 tokens.
"""

from __future__ import annotations

import inspect
import logging
import math
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import torch
from datasets import Dataset
from peft import PeftModel
from torch import Tensor
from transformers import (
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PrinterCallback,
    TrainerCallback,
)
from trl.trainer.grpo_trainer import GRPOTrainer

from agentworld_sim.errors import UsageError
from agentworld_sim.rollouts import RolloutFailed, RolloutRecord
from agentworld_trainers.gspo import (
    PaperDeparture,
    group_advantages,
    gspo_loss,
    prediction_loss,
    turn_advantages,
)
from agentworld_trainers.gspo_trainer._config import GspoConfig
from agentworld_trainers.gspo_trainer.batches import (
    Rows,
    check_records,
    deal,
    for_trl,
    mean_difference,
    rollout_metrics,
    task_order,
)
from agentworld_trainers.stages._training import WholeCheckpoints

Collect = Callable[[list[str], int], list[RolloutRecord]]
"""Plays rollouts: task names, every name group_size times in a row, and the optimiser step whose weights
play; one record per name, in the order of the names. The same names, step and weights must give the same
records, or taking training up again is not exact."""

TurnCredit = Callable[[RolloutRecord, float], Sequence[float]]
"""One advantage per turn of the policy, from the rollout and its advantage."""

_STATE = "gspo_state.pt"
_log = logging.getLogger(__name__)


class GspoTrainer(WholeCheckpoints, GRPOTrainer):
    """Trains a policy on rollouts. Beside what transformers saves, checkpoints hold what TRL forgets: the
    rollout batch under way, and where in it training is.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        config: GspoConfig,
        tasks: Sequence[str],
        collect: Collect,
        *,
        turn_credit: TurnCredit | None = None,
        callbacks: Sequence[TrainerCallback] = (),
        peft_config: Any = None,
    ) -> None:
        """
        Args:
            model: The policy.
            tokenizer: Its tokenizer; only its padding is used.
            config: Made by `gspo_config`.
            tasks: Names of the tasks to be played.
            collect: Plays them.
            turn_credit: Spreads a rollout's advantage over its turns; needs the token form.
            callbacks: Of transformers.
            peft_config: For LoRA.

        Raises:
            UsageError: settings do not fit each other.
        """
        if not tasks:
            raise UsageError("there are no tasks to train on.")
        if turn_credit is not None and config.form != "token":
            raise UsageError(
                'advantages per turn need the token form: set `form = "token"`. The sequence form has'
                " one ratio and one advantage per rollout."
            )
        rows = config.per_device_train_batch_size * config.mini_batches
        rows *= config.gradient_accumulation_steps
        if rows % config.group_size:
            raise UsageError(
                f"a process plays {rows} rollouts at a time, and groups of {config.group_size} do"
                " not fit into that: a group is compared within one process."
            )
        self._collect = collect
        self._turn_credit = turn_credit
        self._records: list[RolloutRecord] = []
        assert config.generation_batch_size is not None
        groups = config.generation_batch_size // config.group_size
        batches = math.ceil(config.max_steps / config.mini_batches)
        with warnings.catch_warnings():
            # It may change: a contract test holds it, and TRL's version is bounded.
            warnings.filterwarnings("ignore", message="You are using 'rollout_func'")
            super().__init__(
                model=model,
                args=config,
                reward_funcs=cast(Any, rollout),
                train_dataset=Dataset.from_dict(
                    {"prompt": task_order(tasks, batches * groups, config.seed)}
                ),
                processing_class=tokenizer,
                callbacks=list(callbacks),
                peft_config=peft_config,
                rollout_func=cast(Any, _rollout),
            )
        # Rows are padded otherwise when they are played, when the old log-probabilities are worked out, and in
        # each micro-batch. Positions that moved with the padding would round otherwise in bfloat16: 5e-3 on
        # the mean of a row's log-ratio, and the clip range is 3e-4.
        if "position_ids" in inspect.signature(_whole(self.policy).forward).parameters:
            self.policy.register_forward_pre_hook(_with_positions, with_kwargs=True)
        # Metrics go to callbacks and to files; a library does not print.
        self.remove_callback(PrinterCallback)
        for sentence in config.departures(self.router_aux_loss_coef):
            warnings.warn(sentence, PaperDeparture, stacklevel=2)

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

    # ------------------------------------------------------------------ rollouts

    def play(self, names: list[str]) -> dict[str, list[list[Any]]]:
        """Has rollouts played; called by TRL."""
        training = self.policy.training
        try:
            records = self._collect(names, self.state.global_step)
        finally:
            self.policy.train(training)
        self._records = check_records(records, names)
        failed = [record for record in self._records if record.reward is None]
        if len(failed) == len(names):
            raise RolloutFailed(
                f"none of the {len(names)} rollouts for step {self.state.global_step + 1} could be played;"
                f" the first: {failed[0].error or failed[0].stop_reason}. {self.resume_hint()}"
            )
        pad_id = self._tokenizer.pad_token_id
        assert isinstance(pad_id, int)
        return for_trl(self._records, pad_id)

    def _calculate_rewards(
        self, inputs: Any, prompts: Any, completions: Any, completion_ids_list: Any
    ) -> Tensor:
        for record in self._records:
            for name, value in rollout_metrics(record).items():
                self._log_metric(name, value)
        rewards = torch.tensor(
            [[math.nan if r.reward is None else r.reward] for r in self._records],
            device=self.accelerator.device,
        )
        return cast(Tensor, self.accelerator.gather(rewards))

    def _generate_and_score_completions(self, inputs: Any) -> Rows:
        out = super()._generate_and_score_completions(inputs)
        # TRL reads from the last token whether a rollout was cut off; rollouts say why they stopped.
        for name in ("clipped_ratio", "mean_terminated_length", "min_terminated_length"):
            self._metrics["train"].pop(f"completions/{name}", None)
        self._metrics["train"].pop("completions/max_terminated_length", None)
        mask = out["completion_mask"] * out["tool_mask"]
        old = self._old_logp(out)
        advantages, live = self._advantages(mask.device)
        gap = mean_difference(old, out["sampling_per_token_logps"], mask)
        out_of_step = live & ~(gap.abs() <= self.config.mismatch_limit)
        self._note_mismatch(gap, live, out_of_step, mask)
        live &= ~out_of_step
        if self._turn_credit is not None:
            values = [
                self._turn_credit(record, advantage)
                for record, advantage in zip(self._records, advantages.tolist(), strict=True)
            ]
            spans = [record.turn_spans for record in self._records]
            advantages = turn_advantages(values, spans, mask.size(1)).to(mask.device)
        batch: Rows = {
            name: out[name]
            for name in ("prompt_ids", "prompt_mask", "completion_ids", "completion_mask")
        }
        batch["old_logp"] = old
        batch["advantages"] = advantages
        batch["policy_mask"] = mask * live[:, None]
        if self.config.prediction_loss:
            played = torch.tensor([r.reward is not None for r in self._records], device=mask.device)
            # Dead groups teach what the environment does as well as others.
            batch["environment_mask"] = (
                out["completion_mask"] * (1 - out["tool_mask"]) * played[:, None]
            )
        return batch

    def _old_logp(self, out: Rows) -> Tensor:
        if "old_per_token_logps" in out:
            return out["old_per_token_logps"].float()
        # With one mini-batch TRL does without; the difference to the sampler is still to be measured.
        with torch.no_grad():
            logp, _, _ = self._get_per_token_logps_and_entropies(
                self.model,
                torch.cat([out["prompt_ids"], out["completion_ids"]], 1),
                torch.cat([out["prompt_mask"], out["completion_mask"]], 1),
                out["completion_ids"].size(1),
                batch_size=self.args.per_device_train_batch_size,
            )
        return logp.float()

    def _advantages(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """[B] advantages and which rows are live."""
        size = self.config.group_size
        rewards = torch.tensor([[r.reward or 0.0] for r in self._records]).view(-1, size)
        valid = torch.tensor([[r.reward is not None] for r in self._records]).view(-1, size)
        scale = "group" if self.scale_rewards == "group" else "none"
        advantages, live = group_advantages(
            rewards, valid, scale=scale, eps=self.config.advantage_eps
        )
        self._metrics["train"]["groups/live"].append(live.any(-1).float().mean().item())
        return advantages.flatten().to(device), live.flatten().to(device)

    def _note_mismatch(self, gap: Tensor, live: Tensor, left_out: Tensor, mask: Tensor) -> None:
        rows = mask.bool().any(-1)
        sums = torch.stack([gap.abs().sum(), rows.sum(), left_out.sum(), live.sum()]).float()
        total, count, out, alive = self._sum(sums).tolist()
        metrics = self._metrics["train"]
        metrics["mismatch/mean"].append(total / max(count, 1))
        metrics["mismatch/left_out"].append(out / max(alive, 1))
        if out:
            _log.warning(
                "step %d: %d of %d rollouts are left out: sampler and trainer differ by more than %g"
                " per token. Are the sampler's weights those of the trainer, and its temperature?",
                self.state.global_step + 1,
                int(out),
                int(alive),
                self.config.mismatch_limit,
            )

    def _prepare_inputs(self, inputs: Any) -> dict[str, Any]:
        if self.used_up or not self._buffered_inputs:
            batch = self._generate_and_score_completions(inputs)
            accumulation = self.args.gradient_accumulation_steps
            dealt = deal(
                batch,
                mini_batches=self.config.mini_batches,
                accumulation=accumulation,
                seed=self.config.seed + self.state.global_step,
            )
            self._count_rows(dealt, accumulation)
            self._buffered_inputs = dealt
        return self._buffered_inputs[self._step % len(self._buffered_inputs)]

    def _sum(self, values: Tensor) -> Tensor:
        """Over all processes."""
        return cast(Tensor, self.accelerator.reduce(values, reduction="sum"))

    def _count_rows(self, dealt: list[Rows], accumulation: int) -> None:
        """Gives every micro-batch the number of rows its optimiser step has in all processes."""
        masks = ("policy_mask", "environment_mask")
        counts = torch.zeros(len(dealt), 2, device=self.accelerator.device)
        for number, rows in enumerate(dealt):
            for column, name in enumerate(masks):
                if name in rows:
                    counts[number, column] = rows[name].bool().any(-1).sum()
        per_step = (
            self._sum(counts).view(-1, accumulation, 2).sum(1) / self.accelerator.num_processes
        )
        for number, rows in enumerate(dealt):
            rows["policy_rows"] = per_step[number // accumulation, 0]
            rows["environment_rows"] = per_step[number // accumulation, 1]
        if not per_step.any():
            _log.warning(
                "step %d: nothing to learn from in this rollout batch: the rewards of every group are"
                " equal. Its steps change no weight.",
                self.state.global_step + 1,
            )

    # ------------------------------------------------------------------ loss

    def _compute_loss(self, model: Any, inputs: Rows) -> Tensor:
        policy_rows, environment_rows = inputs["policy_rows"], inputs["environment_rows"]
        if not policy_rows and not environment_rows:
            # No parameter gets a gradient, so that the optimiser changes none: momentum would move
            # weights under a gradient of zero.
            return torch.zeros((), device=self.accelerator.device, requires_grad=True)
        logp, entropy, router_loss = self._get_per_token_logps_and_entropies(
            model,
            torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1),
            torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], 1),
            inputs["completion_ids"].size(1),
            compute_entropy=True,
            compute_aux_loss=self.aux_loss_enabled,
        )
        assert entropy is not None
        logp = logp.float()
        policy = gspo_loss(
            logp,
            inputs["old_logp"],
            inputs["advantages"],
            inputs["policy_mask"],
            form=self.config.form,
            epsilon_low=self.epsilon_low,
            epsilon_high=self.epsilon_high,
            normaliser=policy_rows.clamp(min=1e-9),
        )
        loss = policy.loss
        environment = torch.zeros_like(loss)
        if self.config.prediction_loss:
            environment = prediction_loss(
                logp, inputs["environment_mask"], normaliser=environment_rows.clamp(min=1e-9)
            )
            loss = loss + self.config.prediction_loss * environment
        if self.aux_loss_enabled:
            assert router_loss is not None
            steps = self.current_gradient_accumulation_steps
            loss = loss + self.router_aux_loss_coef * router_loss / steps
        mask = inputs["policy_mask"].bool()
        sums = torch.stack(
            [
                loss,
                environment,
                (policy.ratio * policy.live).sum(),
                policy.clipped_low.sum(),
                policy.clipped_high.sum(),
                policy.live.sum(),
                torch.where(mask, entropy, 0.0).sum(),
                mask.sum(),
            ]
        )
        self._note_loss(self._sum(sums.detach().float()).tolist())
        return loss

    def _note_loss(self, sums: list[float]) -> None:
        loss, environment, ratio, low, high, rows, entropy, tokens = sums
        if not math.isfinite(loss):
            raise self.divergence("loss", loss)
        metrics = self._metrics["train"]
        if rows:
            metrics["ratio/mean"].append(ratio / rows)
            metrics["clip_ratio/low_mean"].append(low / rows)
            metrics["clip_ratio/high_mean"].append(high / rows)
            metrics["clip_ratio/region_mean"].append((low + high) / rows)
        if tokens:
            metrics["entropy"].append(entropy / tokens)
        if self.config.prediction_loss:
            scale = self.args.gradient_accumulation_steps / self.accelerator.num_processes
            metrics["prediction_loss"].append(environment * scale)

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


def _whole(model: Any) -> Any:
    """The model itself, where adapters are wrapped around it."""
    return model.get_base_model() if isinstance(model, PeftModel) else model


def _with_positions(
    model: Any, args: tuple[Any, ...], settings: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Counts positions from a row's first token, where padding stands before it and nobody says them."""
    mask: Tensor | None = settings.get("attention_mask")
    if mask is not None and mask.dim() == 2 and settings.get("position_ids") is None:
        settings = {**settings, "position_ids": (mask.long().cumsum(-1) - 1).clamp(min=0)}
    return args, settings


def _rollout(prompts: list[str], trainer: GspoTrainer) -> dict[str, list[list[Any]]]:
    return trainer.play(prompts)


def rollout(*args: Any, **kwargs: Any) -> list[float]:
    raise NotImplementedError("rewards come with the rollouts")
