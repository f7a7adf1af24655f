"""Checkpoints that are there whole or not at all, so that a kill at any moment leaves a good one.

A checkpoint is written into `checkpoint-N.partial`, flushed to the disk and renamed to `checkpoint-N`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agentworld_trainers.training_errors import CheckpointDamaged, CheckpointFailed

_NAME = re.compile(r"checkpoint-(\d+)")
PARTIAL = ".partial"


def checkpoints(folder: Path) -> list[Path]:
    """The complete checkpoints in a folder, oldest first."""
    found: list[tuple[int, Path]] = []
    if folder.is_dir():
        for path in folder.iterdir():
            match = _NAME.fullmatch(path.name)
            if match and path.is_dir():
                found.append((int(match[1]), path))
    return [path for _, path in sorted(found)]


def last_checkpoint(folder: Path) -> Path | None:
    """The newest complete checkpoint in a folder."""
    return (checkpoints(folder) or [None])[-1]


def step_of(checkpoint: Path | None) -> int:
    """The optimiser step after which a checkpoint was written; 0 without one."""
    return int(checkpoint.name.rpartition("-")[2]) if checkpoint else 0


def sound_checkpoint(folder: Path) -> Path | None:
    """The newest complete checkpoint in a folder, after a look at each of its files.

    Raises:
        CheckpointDamaged: one of them is missing or cut off. Nothing falls back by itself: whoever has a
            broken disk should know of it.
    """
    found = checkpoints(folder)
    if not found:
        return None
    damage = _damage(found[-1])
    if damage is None:
        return found[-1]
    sound = next((one for one in reversed(found[:-1]) if _damage(one) is None), None)
    go_on = (
        f"from the last good state, {str(sound)!r}"
        if sound
        else "from the beginning, since no checkpoint before it is good"
    )
    newer = [one for one in found if sound is None or found.index(one) > found.index(sound)]
    them = "them" if len(newer) > 1 else "it"
    raise CheckpointDamaged(
        f"the checkpoint {str(found[-1])!r} is damaged: {damage}. Remove {them}"
        f" ({', '.join(one.name for one in newer)}): the same command then goes on {go_on}."
    )


_ALWAYS = ("trainer_state.json", "optimizer.pt", "scheduler.pt")
_WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "adapter_model.safetensors")


def _damage(checkpoint: Path) -> str | None:
    """What is wrong with a checkpoint, as far as it shows without reading all of it."""
    # Whoever only lists checkpoints need not have it.
    from safetensors import SafetensorError, safe_open

    for name in _ALWAYS:
        if not (checkpoint / name).is_file():
            return f"it has no {name!r}"
    if not any((checkpoint / name).is_file() for name in _WEIGHTS):
        return f"it has no {_WEIGHTS[0]!r}"
    for path in sorted(checkpoint.iterdir()):
        try:
            match path.suffix:
                case ".json":
                    read: Any = json.loads(path.read_text("utf-8"))
                    if path.name == _WEIGHTS[1]:
                        for part in sorted(set(read["weight_map"].values())):
                            if not (checkpoint / part).is_file():
                                return f"it has no {part!r}"
                case ".pt" | ".pth":
                    # torch writes archives, whose list of contents is at their end.
                    zipfile.ZipFile(path).close()
                case ".safetensors":
                    with safe_open(path, framework="np"):
                        pass
                case _:
                    pass
        except (
            OSError,
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
            zipfile.BadZipFile,
            SafetensorError,
        ) as error:
            return f"{path.name!r} cannot be read ({error})"
    return None


def keep_last(folder: Path, count: int | None) -> None:
    """Removes all but the newest `count` checkpoints, and what is left of broken ones."""
    for path in folder.glob(f"checkpoint-*{PARTIAL}"):
        shutil.rmtree(path, ignore_errors=True)
    if count:
        for path in checkpoints(folder)[:-count]:
            # Out of sight in one moment: a folder that is half removed must not pass for a checkpoint.
            gone = path.with_name(path.name + PARTIAL)
            path.rename(gone)
            shutil.rmtree(gone, ignore_errors=True)


@contextmanager
def whole_folder(final: Path) -> Generator[Path]:
    """Gives a folder to write into, which gets its name only when everything is on the disk. An older folder
    of that name is replaced.

    Raises:
        CheckpointFailed: it could not be written, for example because the disk is full.
    """
    partial = final.with_name(final.name + PARTIAL)
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        yield partial
        flush(partial)
        if final.exists():
            shutil.rmtree(final)
        partial.rename(final)
    # torch and safetensors tell of a full disk in exceptions of their own, which have no common base.
    except Exception as error:
        shutil.rmtree(partial, ignore_errors=True)
        last = last_checkpoint(final.parent)
        kept = (
            f"The last good one is {str(last)!r}: make room and resume from it."
            if last
            else "There is none before it: make room and begin again."
        )
        raise CheckpointFailed(f"{str(final)!r} could not be written: {error}. {kept}") from error
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def flush(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
