"""A dry run builds the real model class and says what is in the way."""

from __future__ import annotations

from pathlib import Path

import pytest
from transformers import Qwen3MoeConfig

from agentworld_sim.errors import UsageError
from agentworld_trainers.recipes import load_recipe, shipped_recipes
from agentworld_trainers.recipes.schema import ModelPart
from agentworld_trainers.stages._budget import Plan, report
from agentworld_trainers.stages._dry_run import dry_run, meta_model, size_of
from experiments.pocket import WORLD_RECIPE


def plan(name: str, *changes: str) -> Plan:
    return dry_run(load_recipe(name, changes))


@pytest.mark.parametrize("name", shipped_recipes())
def test_every_shipped_recipe_passes_a_dry_run(name: str) -> None:
    made = plan(name)
    # What a shipped recipe cannot know.
    accepted = (
        "data.files: ",
        "rl: no rollouts.sync brings the trained",
        # What it is written for, and training does not do so far.
        "hardware.sharding=full says what spreading the weights would take",
        "rl: rollouts.policy is 'http', which takes one process",
    )
    assert [warning for warning in made.warnings if not warning.startswith(accepted)] == []
    assert any(line.startswith(name) for line in report(made))


def test_the_35b_is_the_real_class_with_the_published_sizes() -> None:
    size = plan("qwen-agentworld-35b").size
    assert size.class_name == "Qwen3_5MoeForCausalLM"
    assert size.parameters == pytest.approx(35e9, rel=0.02)
    assert size.active == pytest.approx(3e9, rel=0.02)
    assert size.context == 262_144
    assert (size.experts, size.experts_per_token) == (256, 8)
    # Ten layers of attention with two heads of 256; thirty of linear attention with a fixed state.
    assert size.cache_per_token == 10 * 2 * 2 * 256
    assert size.cache_per_rollout == 30 * (32 * 128 * 128 + (2 * 16 * 128 + 32 * 128) * 4)


def test_the_35b_has_the_published_figures_of_its_reinforcement_learning() -> None:
    rl = load_recipe("qwen-agentworld-35b").rl
    assert rl and rl.reward.judge
    assert (rl.steps, rl.mini_batches, rl.epsilon_low, rl.epsilon_high) == (440, 4, 3e-4, 4e-4)
    assert rl.reward.judge.weight == 0.9


def test_counts_are_those_of_the_model() -> None:
    part = load_recipe(WORLD_RECIPE).model
    model, config = meta_model(part)
    size = size_of(model, config)
    weights = dict(model.named_parameters())
    assert all(weight.device.type == "meta" for weight in weights.values())
    assert size.parameters == sum(weight.numel() for weight in weights.values())
    expert = config.hidden_size * config.moe_intermediate_size * 3
    idle = config.num_hidden_layers * (config.num_experts - config.num_experts_per_tok) * expert
    assert size.active == size.parameters - idle


def test_adapters_are_counted_on_the_layers_they_name() -> None:
    size = plan("one-gpu", "model.lora.rank=8").size
    # 28 layers; hidden 1024, queries 2048 wide, keys and values 1024.
    a_layer = 8 * ((1024 + 2048) + 2 * (1024 + 1024) + (2048 + 1024))
    assert size.adapters == 28 * a_layer
    assert size.parameters == 596_049_920


def test_a_folder_with_a_configuration_is_read_before_the_recipe(tmp_path: Path) -> None:
    Qwen3MoeConfig(
        vocab_size=64, hidden_size=64, num_hidden_layers=1, num_experts=4
    ).save_pretrained(tmp_path)
    made = plan("one-gpu", f"model.path={tmp_path}", "model.lora=")
    assert made.size.class_name == "Qwen3MoeForCausalLM"
    assert made.size.vocabulary == 64


@pytest.mark.parametrize(
    ("changes", "warning"),
    [
        (
            ["hardware.gpus=2"],
            "cpt: does not fit 2 x 80 GB: about",
        ),
        (
            ["hardware.gpu_memory_gb=50"],
            "cpt: leaves little room on 16 x 50 GB: about 48.5 GB on each GPU",
        ),
        (
            ["cpt.max_tokens=262144"],
            "The largest part is activations. Lower cpt.max_tokens.",
        ),
        (
            ["cpt.gradient_checkpointing=false"],
            "Set cpt.gradient_checkpointing=true.",
        ),
        (
            ["hardware.sharding=none"],
            "Set hardware.sharding=full.",
        ),
        (
            ["cpt.max_tokens=300000"],
            "cpt: rows of 300,000 tokens are longer than the model's context of 262,144",
        ),
        (
            ["hardware.rollout_gpus=2"],
            "rl: the server's cache holds about",
        ),
        (
            ["hardware.rollout_gpus=1", "hardware.gpu_memory_gb=70"],
            "do not fit. Raise hardware.rollout_gpus.",
        ),
        (
            ["hardware.gpus=24"],
            "rl: a batch of 64 rows does not divide by 24 (micro_batch_size times GPUs)",
        ),
        (["rl.rollouts.url="], "rl: rollouts.policy is 'http', but rollouts.url is empty"),
        (
            ["rl.rollouts.max_turn_tokens=65536"],
            "rl: a turn may have 65,536 tokens, which leaves no room for a prompt in the 65,536",
        ),
        (["rl.mini_batches=1"], "rl: with one mini-batch the ratio is always 1"),
        (["rl.steps=441"], "rl: 441 steps are no whole number of rollout batches of 4 steps"),
        (
            ['model.lora.targets=["q_prj"]'],
            "no linear layer ends with q_prj: there is nothing for model.lora.targets to adapt",
        ),
        (
            ["model.config.num_expert=8"],
            "model.config.num_expert: Qwen3_5MoeTextConfig has no such field. Did you mean 'num_experts'?",
        ),
        (['data.files=["none.jsonl"]'], "data.files: 'none.jsonl' matches no file here"),
        (["data.prompts=nowhere"], "data.prompts: there is no folder 'nowhere' here"),
        (
            ["rl.rollouts.sync=os.path:joyn"],
            "rl.rollouts.sync: the function 'os.path:joyn' does not exist: 'os.path' has no 'joyn'. Did",
        ),
        (
            ["data.source=no_such_module:f"],
            "data.source: the function 'no_such_module:f'",
        ),
        (["rl.micro_batch_size=1"], "rollouts.policy is 'http', which takes one process"),
        (["rl.micro_batch_size=1"], "refuses to be started with FSDP"),
        (
            ["model.config.num_experts_per_tok=300"],
            "model.config: `num_experts_per_tok` (300) is more than `num_experts` (256)",
        ),
        (
            ["model.path=", "model.config.vocab_size="],
            "model.config.vocab_size is left to the tokenizer; 248,320 is reckoned with",
        ),
    ],
)
def test_what_is_in_the_way_is_told(changes: list[str], warning: str) -> None:
    told = "\n".join(plan("qwen-agentworld-35b", *changes).warnings)
    assert warning in told


def test_reinforcement_learning_of_an_untrained_model_is_told_of() -> None:
    told = plan(str(WORLD_RECIPE), "cpt=", "sft=").warnings
    assert told == (
        "the model is made from nothing and goes into reinforcement learning untrained",
    )


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (ModelPart(config={"model_type": "qwen3_mo"}), "no model type 'qwen3_mo'. Did you mean"),
        (ModelPart(), "the recipe says neither where the model is"),
        (
            ModelPart(config={"model_type": "qwen3_moe", "hidden_size": "wide"}),
            r"can be made from \[model.config\] .*hidden_size",
        ),
        (ModelPart(path="no/such-model"), "the configuration of 'no/such-model' cannot be read"),
        (
            ModelPart(config={"model_type": "qwen3_moe", "hidden_size": 16}),
            "no causal language model can be built",
        ),
        (ModelPart(config={"model_type": "clip"}), "no causal language model can be built"),
    ],
)
def test_a_configuration_that_cannot_be_built_is_the_users_mistake(
    part: ModelPart, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        meta_model(part)


def test_the_report_is_a_table_for_people() -> None:
    text = "\n".join(report(plan("qwen-agentworld-35b")))
    assert (
        "Qwen3_5MoeForCausalLM, 34.7B parameters; 2.9B compute for a token (8 of 256 experts)"
        in text
    )
    assert "16 GPUs of 80 GB, spread over all; computed in bfloat16" in text
    assert "rl                440    64        65,536     1.8B    28,160   922.7M" in text
