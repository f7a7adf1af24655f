"""The GPUs of this machine, and whether weights and context fit into their memory."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agentworld_sim.serving._command import context_of, given_flags
from agentworld_sim.serving._weights import Weights
from agentworld_sim.serving.options import ServerOptions

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
    given = given_flags(options.extra)
    chosen = given.get("--gpu-memory-utilization") or given.get("--mem-fraction-static")
    try:
        return float(chosen or USABLE)
    except ValueError:
        return USABLE


def _context_warnings(options: ServerOptions, weights: Weights, room: float) -> Iterator[str]:
    """What to set where the cache of one context hardly fits into the gigabytes left on a card."""
    given = given_flags(options.extra)
    length = given.get("--max-model-len", "")
    context = int(length) if length.isdigit() else context_of(options) or weights.context
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
