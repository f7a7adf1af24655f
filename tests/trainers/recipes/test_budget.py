"""The arithmetic of a dry run, worked by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentworld_trainers.recipes.schema import (
    Gspo,
    Hardware,
    ModelPart,
    Recipe,
    Rollouts,
    SupervisedPart,
)
from agentworld_trainers.stages._budget import (
    Memory,
    ModelSize,
    Server,
    Tokens,
    memory_of,
    server_of,
    stages_of,
    tokens_of,
)

SIZE = ModelSize(
    class_name="Tiny",
    parameters=1000,
    active=400,
    layers=2,
    layer_parameters=300,
    hidden=10,
    vocabulary=50,
    cache_per_token=8,
    cache_per_rollout=100,
)
PART = SupervisedPart(batch_size=8, micro_batch_size=2, max_tokens=100)
# 2 rows of 100 tokens: 200 tokens in a backward pass.


def test_all_weights_in_float32_on_one_gpu() -> None:
    assert memory_of(SIZE, ModelPart(), PART, Hardware()) == Memory(
        weights=1000 * 4,
        gradients=1000 * 4,
        optimiser=1000 * 8,
        activations=2 * 17 * 10 * 200 * 4,
        logits=200 * 50 * (4 + 4) + 50 * 10 * 4,
    )


def test_bfloat16_adds_a_copy_of_the_weights_and_halves_activations() -> None:
    memory = memory_of(SIZE, ModelPart(dtype="bfloat16"), PART, Hardware())
    assert memory == Memory(
        weights=1000 * 4 + 1000 * 2,
        gradients=1000 * 4,
        optimiser=1000 * 8,
        activations=2 * 17 * 10 * 200 * 2,
        logits=200 * 50 * (2 + 4) + 50 * 10 * 4,
    )


def test_full_sharding_spreads_weights_gradients_and_optimiser_and_gathers_two_layers() -> None:
    hardware = Hardware(gpus=4, sharding="full")
    memory = memory_of(SIZE, ModelPart(dtype="bfloat16"), PART, hardware)
    assert memory.weights == 1000 + 2 * 300 * 2
    assert (memory.gradients, memory.optimiser) == (1000, 2000)
    # A batch of 8 rows on 4 GPUs leaves 2 for each: the same backward pass as on one.
    assert memory.activations == 2 * 17 * 10 * 200 * 2


def test_without_sharding_more_gpus_hold_as_much_each() -> None:
    one = memory_of(SIZE, ModelPart(), PART, Hardware())
    assert memory_of(SIZE, ModelPart(), PART, Hardware(gpus=4)) == one


def test_adapters_alone_have_gradients_and_an_optimiser() -> None:
    size = replace(SIZE, adapters=60)
    memory = memory_of(size, ModelPart(dtype="bfloat16"), PART, Hardware())
    assert memory.weights == 1000 * 2 + 60 * 4
    assert (memory.gradients, memory.optimiser) == (60 * 4, 60 * 8)


def test_gradient_checkpointing_keeps_the_inputs_of_layers_and_the_inside_of_one() -> None:
    part = PART.model_copy(update={"gradient_checkpointing": True})
    memory = memory_of(SIZE, ModelPart(), part, Hardware())
    assert memory.activations == 2 * 10 * 200 * 4 + 17 * 10 * 200 * 4


RL = Gspo(
    steps=10,
    group_size=4,
    groups_per_step=6,
    mini_batches=3,
    rollouts=Rollouts(max_turns=2, max_turn_tokens=30, max_rollout_tokens=100, in_flight=16),
)
# 24 rollouts of a rollout batch, 8 rows of an optimiser step.


def test_rollouts_in_the_process_keep_a_cache_of_the_rollouts_under_way() -> None:
    memory = memory_of(SIZE, ModelPart(dtype="bfloat16"), RL, Hardware())
    assert memory.rollouts == 16 * (8 * 100 + 100) * 2
    fewer = RL.model_copy(update={"rollouts": RL.rollouts.model_copy(update={"in_flight": 99})})
    assert memory_of(SIZE, ModelPart(), fewer, Hardware()).rollouts == 24 * 900 * 4


def test_logits_come_in_pieces_with_the_gradient_of_the_head_in_float32() -> None:
    memory = memory_of(SIZE, ModelPart(), RL, Hardware())
    assert memory.logits == 8 * 100 * 50 * 8 + 50 * 10 * 4
    large = replace(SIZE, vocabulary=1_000_000)
    piece = 4096 * 32_768 * 8
    assert memory_of(large, ModelPart(), RL, Hardware()).logits == piece + 1_000_000 * 10 * 4


def test_the_cache_and_the_backward_pass_take_turns() -> None:
    memory = Memory(weights=1, gradients=2, optimiser=4, activations=8, logits=16, rollouts=100)
    assert memory.peak == 1 + 4 + 100
    assert Memory(
        weights=1, gradients=2, optimiser=4, activations=8, logits=16, rollouts=20
    ).peak == 1 + 4 + (2 + 8 + 16)


def test_a_server_spreads_weights_and_cache_over_its_own_gpus() -> None:
    part = RL.model_copy(update={"rollouts": RL.rollouts.model_copy(update={"policy": "http"})})
    hardware = Hardware(rollout_gpus=2)
    assert server_of(SIZE, part, hardware) == Server(weights=1000, cache=16 * 900)
    assert memory_of(SIZE, ModelPart(), part, hardware).rollouts == 0
    assert server_of(SIZE, part, Hardware()) is None
    assert server_of(SIZE, RL, hardware) is None


def test_tokens_of_written_rows() -> None:
    assert tokens_of(PART) == Tokens(steps=100, rows=8, row_tokens=100, trained=100 * 8 * 100)


@pytest.mark.parametrize(("turns", "sampled"), [(2, 60), (4, 100)])
def test_tokens_of_rollouts(turns: int, sampled: int) -> None:
    rollouts = RL.rollouts.model_copy(update={"max_turns": turns})
    # Ten steps of three to a batch are four batches, the last one used in part.
    assert tokens_of(RL.model_copy(update={"rollouts": rollouts})) == Tokens(
        steps=10,
        rows=8,
        row_tokens=100,
        trained=10 * 8 * 100,
        rollouts=4 * 24,
        sampled=4 * 24 * sampled,
    )


def test_users_figures_of_the_35b_cache_agree_with_the_arithmetic() -> None:
    # Two cards of 24 GB with 4-bit weights (20 to 22 GB) held 1.8 million tokens of FP8 cache: 10 layers
    # of attention, 2 heads of 256, keys and values, one byte each.
    per_token = 10 * 2 * 2 * 256
    assert 0.6 < 1.8e6 * per_token / (2 * 24e9 - 21e9) < 0.9


def test_stages_come_in_their_order() -> None:
    recipe = Recipe(name="x", rl=RL, cpt=PART)
    assert [name for name, _ in stages_of(recipe)] == ["cpt", "rl"]
