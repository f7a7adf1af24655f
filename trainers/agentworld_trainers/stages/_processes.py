"""Processes: what several of one training can do, how many threads one has, and who writes into a folder.

Every process holds a whole copy of the weights and takes its share of the rows or groups (PyTorch's
distributed data parallel). Weights that are spread over processes would have to be gathered for the
finished model, for sampling in the training process, and for a server; none of that is written.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from agentworld_sim.errors import UsageError

_SPREAD = {
    "ACCELERATE_USE_FSDP": "FSDP",
    "ACCELERATE_USE_DEEPSPEED": "DeepSpeed",
    "ACCELERATE_USE_MEGATRON_LM": "Megatron-LM",
    "ACCELERATE_USE_PARALLELISM_CONFIG": "a parallelism configuration",
}
"""What accelerate says of itself, and what it means."""

LOCK = ".lock"
_LAUNCH = (
    "`accelerate launch --multi_gpu --num_processes N -m agentworld_sim.cli train STAGE RECIPE`"
)


def processes() -> int:
    """How many processes this training has. accelerate and torchrun say it in a variable."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def verify_processes(stage: str, *, gpus: int = 0, policy: str = "in-process") -> None:
    """Looks at how a stage was started, before it does anything.

    Raises:
        UsageError: it cannot be trained like that.
    """
    started = processes()
    for variable, name in _SPREAD.items():
        if os.environ.get(variable, "false").lower() in ("true", "1", "yes"):
            raise UsageError(
                f"the stage {stage!r} was started with {name}, which spreads the weights over processes,"
                " and the finished model is not gathered from them. What works: one process, or"
                f" several with a whole copy each: {_LAUNCH}."
            )
    if started > 1 and policy != "in-process":
        raise UsageError(
            f"the stage {stage!r} was started with {started} processes, and a served policy"
            f" (`rollouts.policy` = {policy!r}) is brought its weights by one. What works: one process,"
            " or `rollouts.policy=in-process`."
        )
    if started == 1 and gpus > 1:
        raise UsageError(
            f"{gpus} GPUs are visible to one process, which can train on one. Choose it with"
            f" `CUDA_VISIBLE_DEVICES=0`, or start a process for each: {_LAUNCH}."
        )


def verify_alone(what: str, instead: str) -> None:
    """
    Raises:
        UsageError: this is one of several processes, which would do the same thing at the same time.
    """
    if processes() > 1:
        raise UsageError(f"{what} is for one process, and {processes()} were started. {instead}")


@contextmanager
def threads(count: int | None) -> Generator[None]:
    """Has torch use so many CPU threads while the block runs; `None` changes nothing."""
    import torch

    before = torch.get_num_threads()
    try:
        if count:
            torch.set_num_threads(count)
        yield
    finally:
        torch.set_num_threads(before)


def lock_folder(folder: Path) -> FileLock:
    """Locks a folder for this process; its release, or the death of the process, unlocks it.

    Raises:
        UsageError: another process writes there.
    """
    lock = FileLock(folder / LOCK, thread_local=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise UsageError(
            f"another process is writing {str(folder)!r}. Wait for it, or choose another `output`."
        ) from None
    return lock


def verify_free(folder: Path) -> None:
    """
    Raises:
        UsageError: another process writes there.
    """
    if folder.is_dir():
        lock_folder(folder).release()


def set_aside(folder: Path) -> None:
    """Renames a folder, if there is one, to `NAME.old-N`."""
    if folder.exists():
        number = 1
        while (aside := folder.with_name(f"{folder.name}.old-{number}")).exists():
            number += 1
        folder.rename(aside)
