"""What this machine knows of a model, and whether it has a GPU."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agentworld_sim.errors import UsageError
from agentworld_sim.serving._machine import find_weights, has_gpu


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


def test_a_gpu_counts_if_a_process_here_would_see_it(
    nvidia_smi: Callable[[str], dict[str, str]],
) -> None:
    path = nvidia_smi('echo "GPU 0: NVIDIA GeForce RTX 3090 (UUID: GPU-8f1c)"')
    assert has_gpu(path)
    assert has_gpu({**path, "CUDA_VISIBLE_DEVICES": "1"})
    assert not has_gpu({**path, "CUDA_VISIBLE_DEVICES": ""})
    assert not has_gpu({"PATH": "/nowhere"})


def test_a_driver_that_fails_counts_as_no_gpu(
    nvidia_smi: Callable[[str], dict[str, str]],
) -> None:
    assert not has_gpu(nvidia_smi("echo NVIDIA-SMI has failed; exit 9"))
