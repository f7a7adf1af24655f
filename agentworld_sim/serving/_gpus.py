"""The GPUs of this machine, as far as a look at it can tell."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

QUERY = ("--query-gpu=name,memory.total", "--format=csv,noheader,nounits")


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
            [program, *QUERY], capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    if done.returncode:
        return ()
    found = [gpu for line in done.stdout.splitlines() if (gpu := _gpu(line)) is not None]
    return tuple(_visible(found, variables.get("CUDA_VISIBLE_DEVICES")))


def other_accelerator() -> bool:
    """Whether there is a card of another maker, of which nothing more is known here."""
    return Path("/dev/kfd").exists()


def _gpu(line: str) -> Gpu | None:
    name, _, mebibytes = line.rpartition(",")
    try:
        return Gpu(name.strip(), float(mebibytes) * 1024 * 1024 / 1e9)
    except ValueError:
        # Some cards with memory of the whole machine say `[N/A]`.
        return Gpu(name.strip(), 0.0) if name.strip() else None


def _visible(gpus: list[Gpu], chosen: str | None) -> list[Gpu]:
    if chosen is None:
        return gpus
    parts = [part.strip() for part in chosen.split(",") if part.strip()]
    if not all(part.isdigit() for part in parts):
        # Cards can be named by UUID: how many is known, which is not.
        return gpus if chosen.strip() not in {"", "-1"} else []
    return [gpus[int(part)] for part in parts if int(part) < len(gpus)]
