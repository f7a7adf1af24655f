"""How what goes wrong in a stage leaves the command: as an error of ours, with what is kept."""

from __future__ import annotations

import errno
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agentworld_sim.errors import UsageError, WorldFailure

if TYPE_CHECKING:
    from agentworld_trainers.recipes import Recipe

PACKAGES = (
    "accelerate",
    "datasets",
    "matplotlib",
    "peft",
    "safetensors",
    "tokenizers",
    "torch",
    "transformers",
    "trl",
)
"""What the extra `train` brings, also by way of others."""


@contextmanager
def boundary(recipe: Recipe | None = None) -> Generator[None]:
    """Turns a missing package, a full disk, a full GPU and Ctrl-C into what a user can act on."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in PACKAGES:
            raise
        raise UsageError(
            f"this needs the package {package!r}, which is not installed. Install it with"
            " `pip install 'agentworld-sim[train]'`."
        ) from None
    except KeyboardInterrupt:
        click.echo(f"\nstopped. {_kept(recipe)}", err=True)
        raise
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise WorldFailure(f"the disk is full ({error.filename}). {_kept(recipe)}") from error
        if error.filename is None:
            raise
        raise WorldFailure(f"{error.filename!r}: {error.strerror}. {_kept(recipe)}") from error
    except RuntimeError as error:
        # torch has an exception of its own for GPUs, and none for the machine's memory.
        on_gpu = type(error).__name__ == "OutOfMemoryError"
        if not on_gpu and "can't allocate memory" not in str(error):
            raise
        whose = "the GPU's" if on_gpu else "this machine's"
        raise UsageError(
            f"{whose} memory does not hold this. Lower `micro_batch_size` or the longest row, or set"
            f" `gradient_checkpointing = true`; `--dry-run` says what takes how much. {_kept(recipe)}"
        ) from error


def _kept(recipe: Recipe | None) -> str:
    if recipe is None:
        return ""
    folder = Path(recipe.output or Path("runs") / recipe.name)
    points = sorted(folder.glob("*/checkpoint-*"), key=lambda path: path.stat().st_mtime)
    good = [path for path in points if path.name.removeprefix("checkpoint-").isdigit()]
    state = f"The last good state is {good[-1]}. " if good else ""
    return f"{state}The same command goes on from there; --fresh begins anew."
