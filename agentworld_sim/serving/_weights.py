"""What can be known of a model before it is loaded: its class, its size, whether it is there."""

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

INDEXES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")

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
    """A model's files, as far as they are known on this machine."""

    model: str
    folder: Path | None = None
    """Where they are; `None` if they are still to be downloaded."""
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Its `config.json`; empty while that is not on this machine."""
    gigabytes: float | None = None
    """Size of the weights, 10⁹ bytes; estimated from the name if they are not here."""
    problem: str | None = None
    """Why they cannot be loaded, and what to do."""

    @property
    def declares_vision(self) -> bool:
        """Whether the config promises a vision part that a text-only checkpoint does not have."""
        return "agentworld" in self.model.lower() or self.config.get("model_type") == "qwen3_5_moe"

    @property
    def is_mixture(self) -> bool:
        """Whether it is a Mixture of Experts: those are spread over replicas, not repeated in each."""
        experts = any("num_experts" in name or "n_routed" in name for name in self._settings)
        return experts or _ACTIVE.search(self.model) is not None

    @property
    def context(self) -> int | None:
        """The longest context, in tokens, that its config names."""
        return _whole(self._settings.get("max_position_embeddings"))

    @property
    def cache_heads(self) -> int:
        """Heads that keys and values are kept of: over so many cards a cache can be spread."""
        return _whole(self._settings.get("num_key_value_heads")) or (2 if self._is_ours else 1)

    @property
    def cache_bytes(self) -> int | None:
        """Bytes of keys and values that a token of context takes, with two bytes a number."""
        settings = self._settings
        heads = _whole(settings.get("num_attention_heads"))
        width = _whole(settings.get("hidden_size"))
        size = _whole(settings.get("head_dim")) or (width and heads and width // heads)
        layers = _whole(settings.get("num_hidden_layers"))
        if not (layers and size and heads) or "kv_lora_rank" in settings:
            return OUR_CACHE_BYTES if self._is_ours else None
        kinds = settings.get("layer_types")
        if isinstance(kinds, list):
            # Others keep a state that does not grow with the context.
            layers = cast("list[Any]", kinds).count("full_attention")
        else:
            layers //= _whole(settings.get("full_attention_interval")) or 1
        return 2 * 2 * layers * (_whole(settings.get("num_key_value_heads")) or heads) * size

    @property
    def _is_ours(self) -> bool:
        """Whether it is the default model or a copy of it, whose config is not here."""
        return not self.config and self.declares_vision

    @property
    def _settings(self) -> dict[str, Any]:
        inner = self.config.get("text_config")
        text = cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}
        return {**self.config, **text}

    @property
    def thinks_like_qwen(self) -> bool:
        """Whether its thinking is written as Qwen3 writes it."""
        kind = str(self.config.get("model_type", ""))
        return self.declares_vision or kind.startswith("qwen3") or "qwen3" in self.model.lower()


def find_weights(model: str, environment: Mapping[str, str] | None = None) -> Weights:
    """Looks for a model in a folder or in the cache of the Hugging Face hub. Downloads nothing.

    Args:
        model: A folder, or a name on the hub.
        environment: Instead of this process's own.

    Raises:
        UsageError: it is neither a folder that exists nor a possible name.
    """
    variables = os.environ if environment is None else environment
    path = Path(model).expanduser()
    if path.is_dir():
        return _in_folder(model, path)
    if model.startswith(("/", "./", "../", "~")) or path.exists():
        raise UsageError(_no_folder(model, path))
    if _HUB_NAME.fullmatch(model) is None:
        raise UsageError(
            f"{model!r} is neither a folder here nor a name on the Hugging Face hub, which looks"
            " like 'Qwen/Qwen-AgentWorld-35B-A3B'."
        )
    cached = _in_cache(model, variables)
    if cached is not None:
        return _in_folder(model, cached)
    offline = variables.get("HF_HUB_OFFLINE", "").lower() in {"1", "on", "true", "yes"}
    problem = (
        f"the weights of {model!r} are not in {hub_cache(variables)}, and HF_HUB_OFFLINE is set."
        " Unset it, or name a folder that has them."
    )
    return Weights(model, gigabytes=_estimate(model), problem=problem if offline else None)


def hub_cache(environment: Mapping[str, str]) -> Path:
    """Where downloads of the Hugging Face hub are kept, by its own rules."""
    if named := environment.get("HF_HUB_CACHE") or environment.get("HUGGINGFACE_HUB_CACHE"):
        return Path(named).expanduser()
    if home := environment.get("HF_HOME"):
        return Path(home).expanduser() / "hub"
    base = environment.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "huggingface" / "hub"


def _in_cache(model: str, environment: Mapping[str, str]) -> Path | None:
    repository = hub_cache(environment) / f"models--{model.replace('/', '--')}"
    try:
        commit = (repository / "refs" / "main").read_text(encoding="utf-8").strip()
    except OSError:
        return None
    snapshot = repository / "snapshots" / commit
    # A download that was broken off has a snapshot without all its shards: it will go on.
    return snapshot if snapshot.is_dir() and _problem(snapshot) is None else None


def _in_folder(model: str, folder: Path) -> Weights:
    config: dict[str, Any] = {}
    problem = _problem(folder)
    if problem is None:
        config = _json(folder / "config.json")
        if not config:
            problem = f"{folder}/config.json is no JSON object: the model in {folder} is damaged."
    return Weights(model, folder, config, _size(folder) or None, problem)


def _problem(folder: Path) -> str | None:
    gguf = any(folder.glob("*.gguf"))
    if not (folder / "config.json").is_file() and not gguf:
        return f"{folder} has no config.json: it is no model's folder, or one half copied."
    for index in INDEXES:
        if not (folder / index).is_file():
            continue
        shards = cast("dict[str, Any]", _json(folder / index).get("weight_map") or {}).values()
        missing = sorted({str(one) for one in shards if not (folder / str(one)).exists()})
        if missing:
            return (
                f"{folder} lacks {len(missing)} of the weight files its index names, the first is"
                f" {missing[0]!r}. Copy or download them again."
            )
        return None
    if not any(True for pattern in WEIGHTS for _ in folder.glob(pattern)):
        return (
            f"{folder} has a config.json but no weights (looked for {', '.join(WEIGHTS)})."
            " Copy or download them."
        )
    return None


def _size(folder: Path) -> float:
    for pattern in WEIGHTS:
        if found := sum(file.stat().st_size for file in folder.glob(pattern)):
            return found / 1e9
    return 0.0


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and value > 0 else None


def _estimate(model: str) -> float | None:
    name = model.rpartition("/")[2]
    billions = _BILLIONS.search(name)
    if billions is None:
        return None
    factor = next(factor for pattern, factor in _BYTES_PER_PARAMETER if pattern.search(name))
    return float(billions[1]) * factor


def _json(file: Path) -> dict[str, Any]:
    try:
        read = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", read) if isinstance(read, dict) else {}


def _no_folder(model: str, path: Path) -> str:
    if path.exists():
        return f"the model {model!r} is a file; name the folder that holds config.json and weights."
    beside = path.parent
    known = [one.name for one in beside.iterdir() if one.is_dir()] if beside.is_dir() else []
    where = f"{beside} has {', '.join(sorted(known)[:5])}" if known else f"{beside} has no folders"
    return f"there is no folder {model!r}; {where}.{nearest(path.name, known)}"
