"""The model's weights and the GPUs of this machine, and whether weights and context fit into their memory."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from agentworld_sim.errors import UsageError, nearest
from agentworld_sim.serving.options import ServerOptions, flags_in

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


QUERY = ("--query-gpu=name,memory.total", "--format=csv,noheader,nounits")

SMALL = 2.0
"""Gigabytes of weights that a processor can be asked to compute with."""

USABLE = 0.92
"""Part of a card's memory that vLLM takes by default (0.33)."""

AROUND = 3.0
"""Gigabytes a card needs beside weights and cache, roughly: activations, CUDA graphs."""

REQUESTS = 1.3
"""Requests of full length that the cache should have room for. A server without room for one does not
start, and `AROUND` may be short by a gigabyte."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """One card."""

    name: str
    gigabytes: float
    """Its memory, 10⁹ bytes."""

    def __str__(self) -> str:
        return f"{self.name} ({self.gigabytes:.0f} GB)"


def find_gpus(environment: Mapping[str, str] | None = None) -> tuple[Gpu, ...]:
    """The NVIDIA GPUs that a process started here would see.

    Args:
        environment: Instead of this process's own; `CUDA_VISIBLE_DEVICES` counts.
    """
    variables = os.environ if environment is None else environment
    program = shutil.which("nvidia-smi", path=variables.get("PATH"))
    if program is None:
        return ()
    try:
        done = subprocess.run(
            [program, *QUERY], capture_output=True, text=True, timeout=20, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ()
    found = [_gpu(line) for line in done.stdout.splitlines() if line.strip()]
    chosen = variables.get("CUDA_VISIBLE_DEVICES")
    parts = [part.strip() for part in (chosen or "").split(",") if part.strip()]
    if chosen is None or not all(part.isdigit() for part in parts):
        # Cards can be named by UUID: how many is known, which is not.
        return () if chosen == "-1" else tuple(found)
    return tuple(found[int(part)] for part in parts if int(part) < len(found))


def _gpu(line: str) -> Gpu:
    name, _, mebibytes = line.rpartition(",")
    try:
        return Gpu(name.strip(), float(mebibytes) * 1024 * 1024 / 1e9)
    except ValueError:
        # Some cards with memory of the whole machine say `[N/A]`.
        return Gpu(name.strip(), 0.0)


def memory_warnings(
    options: ServerOptions, weights: Weights, gpus: Sequence[Gpu], *, other: bool = False
) -> Iterator[str]:
    """What the cards lack for these weights, with numbers, and what to do.

    Args:
        options: How many replicas over how many cards.
        weights: What is to be loaded.
        gpus: The cards there are.
        other: There is a card of another maker, of which nothing is known.
    """
    size = weights.gigabytes
    needed = options.tensor_parallel_size * options.data_parallel_size
    if not gpus:
        if not other and (size is None or size > SMALL):
            about = f"about {size:.0f} GB of weights" if size else "its weights"
            yield (
                f"GPU: none found (`nvidia-smi` lists none), and {weights.model} has {about}."
                " Start it on a machine with a GPU."
            )
        return
    if needed > len(gpus):
        yield (
            f"GPUs: {options.data_parallel_size} replica(s) on {options.tensor_parallel_size}"
            f" card(s) each need {needed}, and there are {len(gpus)}"
            f" ({', '.join(map(str, gpus))}). On one machine the start will fail."
        )
    smallest = min(gpu.gigabytes for gpu in gpus)
    if size is None or not smallest:
        return
    spread = needed if weights.is_mixture else options.tensor_parallel_size
    share, usable = size / spread + AROUND, _usable(options)
    room = smallest * usable
    if share <= room:
        yield from _context_warnings(options, weights, room - share)
        return
    cards = 2 ** math.ceil(math.log2(size / (room - AROUND))) if room > AROUND else math.inf
    advice = (
        f"Give --tensor-parallel-size {cards}."
        if cards <= len(gpus)
        else "Serve quantised weights (FP8 halves BF16, 4 bits make it less than a third), or use more"
        " or larger cards."
    )
    yield (
        f"GPU memory: about {size:.0f} GB of weights over {spread} card(s) is {share:.0f} GB on each"
        f" with what else is needed, and {gpus[0]} lets {usable:.0%} be used, {room:.0f} GB. {advice}"
    )


def _usable(options: ServerOptions) -> float:
    given = flags_in(options.extra)
    chosen = given.get("--gpu-memory-utilization") or given.get("--mem-fraction-static")
    try:
        return float(chosen or USABLE)
    except ValueError:
        return USABLE


def _context_warnings(options: ServerOptions, weights: Weights, room: float) -> Iterator[str]:
    """What to set where the cache of one context hardly fits into the gigabytes left on a card."""
    given = flags_in(options.extra)
    length = given.get("--max-model-len", "")
    context = int(length) if length.isdigit() else options.context or weights.context
    if context is None or weights.cache_bytes is None:
        return
    each = weights.cache_bytes / min(options.tensor_parallel_size, weights.cache_heads) / 1e9
    if given.get("--kv-cache-dtype", "").startswith("fp8"):
        each /= 2
    shorter = context
    while shorter * each * REQUESTS > room and shorter > 1024:
        shorter //= 2
    if shorter != context:
        yield (
            f"GPU memory: the cache of one request of {context:,} tokens is {context * each:.1f} GB on"
            f" each card, and beside the weights there is room for about {room:.1f} GB. The start may"
            f" fail. Give --max-model-len {shorter}."
        )
