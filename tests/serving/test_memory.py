"""Whether a model fits into the memory of the cards, said before anything is started."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentworld_sim.errors import UsageError
from agentworld_sim.serving import ServerOptions
from agentworld_sim.serving._hardware import Gpu, Weights, find_gpus, find_weights, memory_warnings

DEFAULT = "Qwen/Qwen-AgentWorld-35B-A3B"
NONE: dict[str, str] = {"HF_HUB_CACHE": "/nowhere"}


def warnings(
    options: ServerOptions, weights: Weights, gpus: list[Gpu], *, other: bool = False
) -> list[str]:
    return list(memory_warnings(options, weights, gpus, other=other))


@pytest.mark.parametrize(
    ("name", "gigabytes"),
    [
        (DEFAULT, 70.0),
        ("org/Qwen-AgentWorld-35B-A3B-FP8", 36.75),
        ("org/Qwen-AgentWorld-35B-A3B-AWQ-4bit", 20.3),
        ("Qwen/Qwen3-0.6B", 1.2),
        ("org/mystery", None),
    ],
)
def test_the_size_of_a_model_that_is_not_here_is_estimated_from_its_name(
    name: str, gigabytes: float | None
) -> None:
    found = find_weights(name, NONE).gigabytes
    assert found == (None if gigabytes is None else pytest.approx(gigabytes))  # pyright: ignore[reportUnknownMemberType]


@pytest.mark.parametrize("name", ["HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"])
def test_a_model_in_the_cache_of_the_hub_is_found_there(
    tmp_path: Path, tiny_model: Path, name: str
) -> None:
    below = {"HF_HUB_CACHE": "", "HF_HOME": "hub", "XDG_CACHE_HOME": "huggingface/hub"}[name]
    repository = tmp_path / "cache" / below / "models--org--tiny"
    repository.joinpath("refs").mkdir(parents=True)
    repository.joinpath("refs", "main").write_text("abc")
    repository.joinpath("snapshots").mkdir()
    tiny_model.rename(repository / "snapshots" / "abc")
    variables = {name: str(tmp_path / "cache")}
    assert find_weights("org/tiny", variables).config == {"model_type": "qwen3_moe"}
    assert find_weights("org/other", variables).config == {}


def test_a_folder_that_holds_no_model_is_refused(tmp_path: Path, tiny_model: Path) -> None:
    with pytest.raises(UsageError, match=r"has no config\.json"):
        find_weights(str(tmp_path))
    tiny_model.joinpath("config.json").write_text("half")
    with pytest.raises(UsageError, match="is damaged"):
        find_weights(str(tiny_model))


def test_a_name_that_is_nothing_says_what_is_near(tmp_path: Path, tiny_model: Path) -> None:
    with pytest.raises(UsageError, match=r"Did you mean 'tiny'\?"):
        find_weights(str(tmp_path / "tny"))
    with pytest.raises(UsageError, match="is a file"):
        find_weights(str(tiny_model / "config.json"))


LARGE = Gpu("NVIDIA H100 80GB HBM3", 85.5)
SMALL = Gpu("NVIDIA GeForce RTX 3090", 25.8)


@pytest.mark.parametrize(
    ("gigabytes", "gpus", "parallel", "said"),
    [
        (70.0, [LARGE], 1, ["The start may fail. Give --max-model-len 131072."]),
        (20.3, [SMALL, SMALL], 2, []),
        (1.0, [], 1, []),
        (70.0, [], 1, ["GPU: none found"]),
        (None, [], 1, ["GPU: none found"]),
        (None, [SMALL], 1, []),
        (70.0, [LARGE], 2, ["GPUs: 1 replica(s) on 2 card(s) each need 2, and there are 1"]),
        (70.0, [SMALL] * 4, 1, ["Give --tensor-parallel-size 4."]),
        (70.0, [SMALL], 1, ["Serve quantised weights"]),
    ],
)
def test_what_the_cards_lack_is_said_with_numbers(
    gigabytes: float | None, gpus: list[Gpu], parallel: int, said: list[str]
) -> None:
    options = ServerOptions(tensor_parallel_size=parallel)
    found = warnings(options, Weights(DEFAULT, gigabytes=gigabytes), gpus)
    assert len(found) == len(said)
    for one, text in zip(found, said, strict=True):
        assert text in one


def test_replicas_of_a_mixture_of_experts_share_their_experts() -> None:
    options = ServerOptions(data_parallel_size=4, max_model_len=65_536)
    mixture, dense = Weights(DEFAULT, gigabytes=70.0), Weights("org/Dense-35B", gigabytes=70.0)
    assert warnings(options, mixture, [SMALL] * 4) == []
    assert len(warnings(options, dense, [SMALL] * 4)) == 1
    inner = {"text_config": {"num_experts": 8}}
    assert Weights("tiny", config=inner).is_mixture
    assert not Weights("tiny", config={"text_config": {}}).is_mixture


HYBRID: dict[str, Any] = {
    "text_config": {
        "max_position_embeddings": 262_144,
        "num_hidden_layers": 40,
        "full_attention_interval": 4,
        "num_attention_heads": 16,
        "num_key_value_heads": 2,
        "head_dim": 256,
        "hidden_size": 2048,
    }
}


def test_the_published_weights_and_their_whole_context_are_tight_on_one_card_of_80_gb() -> None:
    downloaded = Weights(DEFAULT, config=HYBRID, gigabytes=69.3)
    for weights in (downloaded, Weights(DEFAULT, gigabytes=69.3)):
        (found,) = warnings(ServerOptions(), weights, [LARGE])
        assert found == (
            "GPU memory: the cache of one request of 262,144 tokens is 5.4 GB on each card, and beside"
            " the weights there is room for about 6.4 GB. The start may fail. Give --max-model-len"
            " 131072."
        )


@pytest.mark.parametrize(
    ("options", "cards"),
    [
        ({"max_model_len": 131_072}, 1),
        ({"extra": ("--max-model-len", "131072")}, 1),
        ({"extra": ("--kv-cache-dtype=fp8",)}, 1),
        ({"extra": ("--gpu-memory-utilization", "0.95")}, 1),
        ({"tensor_parallel_size": 2}, 2),
    ],
)
def test_what_makes_room_for_the_cache_ends_the_warning(
    options: dict[str, Any], cards: int
) -> None:
    weights = Weights(DEFAULT, config=HYBRID, gigabytes=69.3)
    assert warnings(ServerOptions(**options), weights, [LARGE] * cards) == []


@pytest.mark.parametrize(
    ("config", "each"),
    [
        (HYBRID, 20_480),
        ({"layer_types": ["full_attention", "linear_attention"], **HYBRID["text_config"]}, 2_048),
        ({"num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 64}, 512),
        (
            {
                "num_hidden_layers": 2,
                "num_attention_heads": 4,
                "hidden_size": 64,
                "kv_lora_rank": 1,
            },
            None,
        ),
        ({"model_type": "other"}, None),
    ],
)
def test_the_cache_of_a_token_follows_from_the_config(
    config: dict[str, Any], each: int | None
) -> None:
    assert Weights("org/model", config=config).cache_bytes == each


def test_a_card_of_another_maker_is_left_to_the_server() -> None:
    assert warnings(ServerOptions(), Weights(DEFAULT, gigabytes=70.0), [], other=True) == []


@pytest.fixture
def nvidia_smi(tmp_path: Path) -> Callable[[str], dict[str, str]]:
    """Puts a program of that name on a path."""

    def make(script: str) -> dict[str, str]:
        program = tmp_path / "bin" / "nvidia-smi"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        return {"PATH": str(program.parent)}

    return make


def test_cards_are_those_that_a_process_here_would_see(
    nvidia_smi: Callable[[str], dict[str, str]],
) -> None:
    path = nvidia_smi('echo "NVIDIA GeForce RTX 3090, 24576"; echo "NVIDIA GB10, [N/A]"')
    cards = (Gpu("NVIDIA GeForce RTX 3090", 24576 * 1024**2 / 1e9), Gpu("NVIDIA GB10", 0.0))
    assert find_gpus(path) == cards
    assert find_gpus({**path, "CUDA_VISIBLE_DEVICES": "1,5"}) == cards[1:]
    assert find_gpus({**path, "CUDA_VISIBLE_DEVICES": ""}) == ()
    assert find_gpus({**path, "CUDA_VISIBLE_DEVICES": "GPU-8f1c"}) == cards


def test_a_driver_that_fails_counts_as_no_card(
    nvidia_smi: Callable[[str], dict[str, str]],
) -> None:
    assert find_gpus(nvidia_smi("echo NVIDIA-SMI has failed; exit 9")) == ()
