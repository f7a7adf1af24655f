"""What can be known of a model before it is loaded: its class, its size, its cache."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from agentworld_sim.errors import UsageError, nearest

WEIGHTS = ("*.safetensors", "*.bin", "*.gguf", "*.pt", "*.pth")

_BILLIONS = re.compile(r"(?<![A-Za-z0-9])(\d+(?:\.\d+)?)B(?![A-Za-z])", re.IGNORECASE)
"""`35B` in a model's name, but not `A3B`, the active part."""

_ACTIVE = re.compile(r"-A\d+(?:\.\d+)?B(?![A-Za-z])", re.IGNORECASE)

_BYTES_PER_PARAMETER = (
    # Published checkpoints of this size: 36.8 GB in FP8, 20 to 22 GB in 4 bits, 70 GB in BF16.
    (re.compile(r"fp8|int8|8bit|w8a", re.IGNORECASE), 1.05),
    (re.compile(r"int4|awq|gptq|4bit|w4a|fp4|q4", re.IGNORECASE), 0.58),
    (re.compile(""), 2.0),
)

OUR_CACHE_BYTES = 20_480
"""A token of the default model: 10 layers of attention, 2 heads of 256 numbers, keys and values."""


@dataclass(frozen=True, slots=True)
class Weights:
    """A model, as far as it is known on this machine."""

    model: str
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Its `config.json`; empty while that is not on this machine."""
    gigabytes: float | None = None
    """Size of the weights, 10⁹ bytes; estimated from the name if they are not here."""

    @property
    def declares_vision(self) -> bool:
        """Whether the config promises a vision part that a text-only checkpoint does not have."""
        return "agentworld" in self.model.lower() or self.config.get("model_type") == "qwen3_5_moe"

    @property
    def thinks_like_qwen(self) -> bool:
        """Whether its thinking is written as Qwen3 writes it."""
        kind = str(self.config.get("model_type", ""))
        return self.declares_vision or kind.startswith("qwen3") or "qwen3" in self.model.lower()

    @property
    def is_mixture(self) -> bool:
        """Whether it is a Mixture of Experts: those are spread over replicas, not repeated in each."""
        experts = any("num_experts" in name or "n_routed" in name for name in self._settings)
        return experts or _ACTIVE.search(self.model) is not None

    @property
    def context(self) -> int | None:
        """The longest context, in tokens, that its config names."""
        return self._number("max_position_embeddings")

    @property
    def cache_heads(self) -> int:
        """Heads that keys and values are kept of: over so many cards a cache can be spread."""
        return self._number("num_key_value_heads") or (2 if self._is_ours else 1)

    @property
    def cache_bytes(self) -> int | None:
        """Bytes of keys and values that a token of context takes, with two bytes a number."""
        settings = self._settings
        heads, width = self._number("num_attention_heads"), self._number("hidden_size")
        size = self._number("head_dim") or (width and heads and width // heads)
        layers = self._number("num_hidden_layers")
        if not (layers and size and heads) or "kv_lora_rank" in settings:
            return OUR_CACHE_BYTES if self._is_ours else None
        kinds = settings.get("layer_types")
        if isinstance(kinds, list):
            # Others keep a state that does not grow with the context.
            layers = cast("list[Any]", kinds).count("full_attention")
        else:
            layers //= self._number("full_attention_interval") or 1
        return 2 * 2 * layers * (self._number("num_key_value_heads") or heads) * size

    @property
    def _is_ours(self) -> bool:
        """Whether it is the default model or a copy of it, whose config is not here."""
        return not self.config and self.declares_vision

    @property
    def _settings(self) -> dict[str, Any]:
        inner = self.config.get("text_config")
        text = cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}
        return {**self.config, **text}

    def _number(self, name: str) -> int | None:
        value = self._settings.get(name)
        return value if isinstance(value, int) and value > 0 else None


def find_weights(model: str, environment: Mapping[str, str] | None = None) -> Weights:
    """Looks for a model in a folder or in the cache of the Hugging Face hub. Downloads nothing.

    Args:
        model: A folder, or a name on the hub.
        environment: Instead of this process's own.

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
    return Weights(model, gigabytes=_estimate(model))


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
    found = (sum(one.stat().st_size for one in folder.glob(pattern)) for pattern in WEIGHTS)
    size = next((size for size in found if size), 0)
    if not (folder / "config.json").is_file():
        if not any(folder.glob("*.gguf")):
            raise UsageError(
                f"{folder} has no config.json: it is no model's folder, or one half copied."
            )
        return Weights(model, gigabytes=size / 1e9)
    try:
        config: object = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except ValueError:
        config = None
    if not isinstance(config, dict):
        raise UsageError(
            f"{folder}/config.json is no JSON object: the model in {folder} is damaged."
        )
    # A download that was broken off has a config and not all weights: it will go on.
    return Weights(model, cast("dict[str, Any]", config), size / 1e9 or _estimate(model))


def _estimate(model: str) -> float | None:
    name = model.rpartition("/")[2]
    billions = _BILLIONS.search(name)
    if billions is None:
        return None
    factor = next(factor for pattern, factor in _BYTES_PER_PARAMETER if pattern.search(name))
    return float(billions[1]) * factor


def _no_folder(model: str, path: Path) -> str:
    if path.exists():
        return f"the model {model!r} is a file; name the folder that holds config.json and weights."
    beside = path.parent
    known = [one.name for one in beside.iterdir() if one.is_dir()] if beside.is_dir() else []
    where = f"{beside} has {', '.join(sorted(known)[:5])}" if known else f"{beside} has no folders"
    return f"there is no folder {model!r}; {where}.{nearest(path.name, known)}"
