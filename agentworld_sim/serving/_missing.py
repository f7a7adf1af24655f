"""What stands in the way of a server, said before it is started."""

from __future__ import annotations

import math
import os
import shutil
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentworld_sim.serving._command import context_of, given_flags
from agentworld_sim.serving._gpus import Gpu, find_gpus, other_accelerator
from agentworld_sim.serving._weights import Weights, hub_cache
from agentworld_sim.serving.environments import Environment
from agentworld_sim.serving.options import ServerOptions

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
class Obstacle:
    """One thing that is missing."""

    text: str
    """What, with numbers, and what to do."""
    fatal: bool
    """The start would surely fail."""


def find_obstacles(
    options: ServerOptions,
    weights: Weights,
    engine: Environment | None,
    *,
    host: str | None = None,
    port: int | None = None,
    cpu: bool = False,
    environment: Mapping[str, str] | None = None,
) -> list[Obstacle]:
    """What stands in the way, the fatal first. A missing environment is not among it.

    Args:
        options: What is asked for.
        weights: What is known of the model.
        engine: Where the engine is; `None` if it is nowhere yet.
        host: Where it will listen, if arguments for the server say otherwise than `options`.
        port: Likewise.
        cpu: It computes on the processor; known from `engine` if there is one.
        environment: Instead of this process's own.
    """
    variables = os.environ if environment is None else environment
    found: list[Obstacle] = []
    if weights.problem:
        found.append(Obstacle(f"weights: {weights.problem}", fatal=True))
    if taken := port_taken(host or options.host, port or options.port):
        found.append(Obstacle(taken, fatal=True))
    if not (cpu if engine is None else engine.is_cpu_build):
        found += gpu_obstacles(options, weights, find_gpus(variables), other=other_accelerator())
    if weights.folder is None and weights.gigabytes and not weights.problem:
        found += _download(weights, hub_cache(variables))
    return sorted(found, key=lambda one: not one.fatal)


def gpu_obstacles(
    options: ServerOptions, weights: Weights, gpus: Sequence[Gpu], *, other: bool = False
) -> list[Obstacle]:
    """What the cards lack for these weights.

    Args:
        options: How many replicas over how many cards.
        weights: What is to be loaded.
        gpus: The cards there are.
        other: There is a card of another maker, of which nothing is known.
    """
    size = weights.gigabytes
    needed = options.tensor_parallel_size * options.data_parallel_size
    if not gpus:
        if other or (size is not None and size <= SMALL):
            return []
        about = f"about {size:.0f} GB of weights" if size else "its weights"
        return [
            Obstacle(
                f"GPU: none found (`nvidia-smi` lists none), and {weights.model} has {about}."
                " Start it on a machine with a GPU; --force tries all the same.",
                fatal=True,
            )
        ]
    found: list[Obstacle] = []
    if needed > len(gpus):
        found.append(
            Obstacle(
                f"GPUs: {options.data_parallel_size} replica(s) on {options.tensor_parallel_size}"
                f" card(s) each need {needed}, and there are {len(gpus)}"
                f" ({', '.join(map(str, gpus))}). On one machine the start will fail.",
                fatal=False,
            )
        )
    smallest = min(gpu.gigabytes for gpu in gpus)
    if size is None or not smallest:
        return found
    spread = needed if weights.is_mixture else options.tensor_parallel_size
    share = size / spread + AROUND
    usable = _usable(options)
    if share > smallest * usable:
        found.append(Obstacle(_too_large(spread, size, share, gpus, smallest, usable), fatal=False))
    elif text := _context_too_long(options, weights, smallest * usable - share):
        found.append(Obstacle(text, fatal=False))
    return found


def port_taken(host: str, port: int) -> str | None:
    """Why a server cannot listen there; `None` if it can."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host.strip("[]"), port))
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else str(error)
            return (
                f"port: {host}:{port} cannot be listened on ({why}). Stop what uses it or choose"
                " another with --port."
            )
    return None


def _too_large(
    spread: int, size: float, share: float, gpus: Sequence[Gpu], smallest: float, usable: float
) -> str:
    text = (
        f"GPU memory: about {size:.0f} GB of weights over {spread} card(s) is"
        f" {share:.0f} GB on each with what else is needed, and {gpus[0]} lets {usable:.0%} be used,"
        f" {smallest * usable:.0f} GB."
    )
    room = smallest * usable - AROUND
    cards = 2 ** math.ceil(math.log2(size / room)) if room > 0 else None
    if cards and cards <= len(gpus):
        return f"{text} Give --tensor-parallel-size {cards}."
    return (
        f"{text} Serve quantised weights (FP8 halves BF16, 4 bits make it less than a third), or"
        " use more or larger cards."
    )


def _usable(options: ServerOptions) -> float:
    given = given_flags(options.extra)
    asked = given.get("--gpu-memory-utilization") or given.get("--mem-fraction-static")
    try:
        return float(asked or USABLE)
    except ValueError:
        return USABLE


def _context_too_long(options: ServerOptions, weights: Weights, room: float) -> str | None:
    """What to set where the cache of one context hardly fits beside the weights.

    Args:
        options: What is asked for.
        weights: What is to be loaded.
        room: Gigabytes that are left on a card.
    """
    given = given_flags(options.extra)
    asked = given.get("--max-model-len", "")
    context = int(asked) if asked.isdigit() else context_of(options) or weights.context
    if context is None or weights.cache_bytes is None:
        return None
    each = weights.cache_bytes / min(options.tensor_parallel_size, weights.cache_heads) / 1e9
    if given.get("--kv-cache-dtype", "").startswith("fp8"):
        each /= 2
    if context * each * REQUESTS <= room:
        return None
    shorter = context
    while shorter * each * REQUESTS > room and shorter > 1024:
        shorter //= 2
    return (
        f"GPU memory: the cache of one request of {context:,} tokens is {context * each:.1f} GB on each"
        f" card, and beside the weights there is room for about {room:.1f} GB. The start may fail. Give"
        f" --max-model-len {shorter}."
    )


def _download(weights: Weights, cache: Path) -> list[Obstacle]:
    size = weights.gigabytes or 0.0
    there = next(folder for folder in (cache, *cache.parents) if folder.exists())
    free = shutil.disk_usage(there).free / 1e9
    if free > size * 1.02:
        return []
    return [
        Obstacle(
            f"disk: about {size:.0f} GB are to be downloaded to {cache}, and {free:.0f} GB are"
            " free. Set HF_HOME to a folder on a larger disk.",
            fatal=False,
        )
    ]
