"""The parts of TRL and transformers that the trainer leans on. Where one of these fails after an upgrade,
`gspo_trainer` is to be read again beside the new release before its version is allowed."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from transformers import Trainer
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer

from agentworld_sim.errors import UsageError
from agentworld_trainers import gspo_trainer
from agentworld_trainers.gspo_trainer import gspo_config
from agentworld_trainers.recipes.schema import AgentPart, Gspo
from tests.trainers.gspo import tiny

UPGRADE = (
    "{name} is no longer what `GspoTrainer` was written against (TRL 1.16, transformers 5.23): {what}. Read"
    " trainers/agentworld_trainers/gspo_trainer beside the new release, then change this test."
)

OVERRIDES: dict[tuple[type, str], list[str] | None] = {
    (GRPOTrainer, "_calculate_rewards"): [
        "inputs",
        "prompts",
        "completions",
        "completion_ids_list",
    ],
    (GRPOTrainer, "_generate_and_score_completions"): ["inputs"],
    (GRPOTrainer, "_prepare_inputs"): ["generation_batch"],
    (GRPOTrainer, "_compute_loss"): ["model", "inputs"],
    (GRPOTrainer, "create_model_card"): None,
    (GRPOTrainer, "_save_checkpoint"): ["model", "trial"],
    (GRPOTrainer, "_load_optimizer_and_scheduler"): ["checkpoint"],
    (Trainer, "_get_grad_norm"): ["model", "grad_norm"],
    (Trainer, "_run_epoch"): None,
}
"""What is overridden, and the parameters it is called with; `None` where any may come."""

CALLED: dict[tuple[type, str], list[str] | None] = {
    (GRPOTrainer, "_get_per_token_logps_and_entropies"): [
        "model",
        "input_ids",
        "attention_mask",
        "logits_to_keep",
        "batch_size",
        "compute_entropy",
        "compute_aux_loss",
    ],
    (GRPOTrainer, "_log_metric"): ["name", "value"],
}


@pytest.mark.parametrize("place", [*OVERRIDES, *CALLED], ids=lambda place: place[1])
def test_trl_still_has_what_is_overridden_and_called(place: tuple[type, str]) -> None:
    wanted = {**OVERRIDES, **CALLED}[place]
    function = getattr(*place)
    has = [name for name in inspect.signature(function).parameters if name != "self"]
    if wanted is not None:
        problem = UPGRADE.format(name=function.__qualname__, what=f"its parameters are {has}")
        assert has[: len(wanted)] == wanted, problem


def test_torch_and_trl_are_loaded_when_they_are_asked_for() -> None:
    script = (
        "import sys, agentworld_trainers.gspo_trainer, agentworld_trainers.stages._checkpoints;"
        "print([m for m in ('torch', 'trl', 'transformers', 'datasets') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_without_trl_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trl", None)
    monkeypatch.delattr(gspo_trainer, "GspoTrainer", raising=False)
    with pytest.raises(UsageError, match=r"pip install 'agentworld-sim\[train\]'"):
        _ = gspo_trainer.GspoTrainer


def test_the_release_of_trl_is_the_one_that_was_read() -> None:
    assert version("trl").startswith("1.16."), UPGRADE.format(name="TRL", what=version("trl"))


SAID: dict[tuple[type, str], list[str]] = {
    (GRPOTrainer, "_generate"): ["output = self.rollout_func(prompts, self)", '"env_mask"'],
    (GRPOTrainer, "_generate_and_score_completions"): [
        "self.args.gradient_accumulation_steps % generate_every != 0",
        'output["old_per_token_logps"]',
        'output["sampling_per_token_logps"]',
        'output["tool_mask"]',
        "self._calculate_rewards(inputs, prompts, completions, completion_ids_list)",
    ],
    (GRPOTrainer, "_prepare_inputs"): [
        "self._buffered_inputs[self._step % self.args.steps_per_generation]",
    ],
    (GRPOTrainer, "training_step"): ["self._step += 1"],
    (GRPOTrainer, "_get_train_sampler"): ["mini_repeat_count=self.num_generations"],
    (Trainer, "_run_epoch"): [
        "self._get_grad_norm(model, grad_norm=grad_norm)",
        "model.zero_grad()",
    ],
    (Trainer, "_inner_training_loop"): [
        "self._run_epoch(\n                model=model,",
        "if self.control.should_training_stop:",
    ],
    (Trainer, "_save_checkpoint"): ['f"{PREFIX_CHECKPOINT_DIR}-{self.state.global_step}"'],
}
"""Lines whose meaning is relied on and that no signature shows."""


@pytest.mark.parametrize("place", SAID, ids=lambda place: place[1])
def test_trl_still_does_it_in_the_way_that_is_relied_on(place: tuple[type, str]) -> None:
    function = getattr(*place)
    source = inspect.getsource(function)
    for line in SAID[place]:
        problem = UPGRADE.format(name=function.__qualname__, what=f"{line!r} is gone")
        assert line in source, problem


def test_the_preset_is_gspo(tmp_path: Path) -> None:
    config = tiny.trainer(tmp_path).config
    wanted = {
        "importance_sampling_level": "sequence",
        "loss_type": "grpo",
        "beta": 0.0,
        "epsilon": 3e-4,
        "epsilon_high": 4e-4,
        "num_iterations": 1,
        "router_aux_loss_coef": 0.0,
        "scale_rewards": "group",
        "num_generations": 4,
        "per_device_train_batch_size": 2,
        "gradient_accumulation_steps": 2,
        "steps_per_generation": 4,
        "generation_batch_size": 8,
        "disable_dropout": True,
    }
    assert {name: getattr(config, name) for name in wanted} == wanted


def test_what_a_recipe_says_of_advantages_and_mismatch_is_taken(tmp_path: Path) -> None:
    config = gspo_config(Gspo(), tmp_path, use_cpu=True)
    assert (config.advantage_eps, config.mismatch_limit) == (0.0, 0.02)
    config = gspo_config(Gspo(advantage_eps=1e-4, mismatch_limit=0.1), tmp_path, use_cpu=True)
    assert (config.advantage_eps, config.mismatch_limit) == (1e-4, 0.1)
    (departure,) = config.departures()
    assert departure.startswith("advantage_eps=0.0001")
    agent = gspo_config(AgentPart(advantage_eps=0.5), tmp_path, use_cpu=True)
    assert agent.advantage_eps == 0.5


def test_trls_own_defaults_would_not_be_gspo(tmp_path: Path) -> None:
    # The day they are, the preset can be shorter.
    config = GRPOConfig(output_dir=str(tmp_path), bf16=False, activation_checkpointing=False)
    assert config.loss_type == "dapo"
    assert config.importance_sampling_level == "token"
    assert config.router_aux_loss_coef is None
    assert config.steps_per_generation == config.gradient_accumulation_steps
