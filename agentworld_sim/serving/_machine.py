"""The model's config and whether this machine has a GPU: what the command line of a server depends on."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from agentworld_sim.errors import UsageError, nearest


@dataclass(frozen=True, slots=True)
class Weights:
    """A model, as far as it is known on this machine."""

    model: str
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Its `config.json`; empty while that is not on this machine."""

    @property
    def declares_vision(self) -> bool:
        """Whether the config promises a vision part that a text-only checkpoint does not have."""
        return "agentworld" in self.model.lower() or self.config.get("model_type") == "qwen3_5_moe"

    @property
    def thinks_like_qwen(self) -> bool:
        """Whether its thinking is written as Qwen3 writes it."""
        kind = str(self.config.get("model_type", ""))
        return self.declares_vision or kind.startswith("qwen3") or "qwen3" in self.model.lower()


def find_weights(model: str, environment: Mapping[str, str] | None = None) -> Weights:
    """Looks for a model in a folder or in the cache of the Hugging Face hub. Downloads nothing.

    Args:
        model: A folder, or a name on the hub.

    Raises:
        UsageError: it names a folder that does not exist or holds no model.
    """
    path = Path(model).expanduser()
    if path.is_dir():
        return _in_folder(model, path)
    if model.startswith(("/", "./", "../", "~")) or path.exists():
        raise UsageError(_no_folder(model, path))
    cached = _in_cache(model, os.environ if environment is None else environment)
    if cached is not None:
        return _in_folder(model, cached)
    return Weights(model)


def _in_cache(model: str, variables: Mapping[str, str]) -> Path | None:
    home = variables.get("HF_HOME") or f"{variables.get('XDG_CACHE_HOME', '~/.cache')}/huggingface"
    hub = Path(variables.get("HF_HUB_CACHE") or f"{home}/hub").expanduser()
    repository = hub / f"models--{model.replace('/', '--')}"
    try:
        commit = (repository / "refs" / "main").read_text(encoding="utf-8").strip()
    except OSError:
        return None
    snapshot = repository / "snapshots" / commit
    return snapshot if (snapshot / "config.json").is_file() else None


def _in_folder(model: str, folder: Path) -> Weights:
    if not (folder / "config.json").is_file():
        if not any(folder.glob("*.gguf")):
            raise UsageError(
                f"{folder} has no config.json: it is no model's folder, or one half copied."
            )
        return Weights(model)
    try:
        config: object = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except ValueError:
        config = None
    if not isinstance(config, dict):
        raise UsageError(
            f"{folder}/config.json is no JSON object: the model in {folder} is damaged."
        )
    return Weights(model, cast("dict[str, Any]", config))


def _no_folder(model: str, path: Path) -> str:
    if path.exists():
        return f"the model {model!r} is a file; name the folder that holds config.json and weights."
    beside = path.parent
    known = [one.name for one in beside.iterdir() if one.is_dir()] if beside.is_dir() else []
    where = f"{beside} has {', '.join(sorted(known)[:5])}" if known else f"{beside} has no folders"
    return f"there is no folder {model!r}; {where}.{nearest(path.name, known)}"


def has_gpu(environment: Mapping[str, str] | None = None) -> bool:
    """Whether a server started here would see a GPU. Of other makers than NVIDIA only AMD's is looked for.

    Args:
        environment: Instead of this process's own; `CUDA_VISIBLE_DEVICES` counts.
    """
    variables = os.environ if environment is None else environment
    if Path("/dev/kfd").exists():
        return True
    program = shutil.which("nvidia-smi", path=variables.get("PATH"))
    if program is None or variables.get("CUDA_VISIBLE_DEVICES", "0") in ("", "-1"):
        return False
    try:
        done = subprocess.run([program, "--list-gpus"], capture_output=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return False
    return bool(done.stdout.strip())
