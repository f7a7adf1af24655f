"""Configuration files on disk: read, written whole or not at all, and backed up."""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from agentworld_sim.errors import UsageError

BACKUP = ".agentworld-backup"
_MOST_BYTES = 64 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFile:
    """A file as it was read."""

    path: Path
    """As it was named."""
    target: Path
    """Where it really is, after links."""
    data: bytes

    @property
    def text(self) -> str:
        """Its text, line endings and byte order mark as they are."""
        try:
            return self.data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise UsageError(
                f"{self.path}: byte {error.start} is not UTF-8. Save the file as UTF-8."
            ) from None


def read_file(path: Path) -> ConfigFile:
    """Reads a configuration file."""
    try:
        target = Path(os.path.realpath(path, strict=True))
        if target.is_dir():
            raise UsageError(f"{path} is a folder. Name the client's configuration file in it.")
        with target.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        raise UsageError(
            f"there is no file {str(path)!r}. `agentworld mcp wrap` alone lists the configuration"
            " files that are found."
        ) from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None
    if len(data) > _MOST_BYTES:
        raise UsageError(f"{path} is larger than any configuration file.")
    return ConfigFile(path=path, target=target, data=data)


def write_in_place(file: ConfigFile, text: str) -> None:
    """Puts new text into the file: all at once, with its permissions, where a link leads."""
    _write(file.target, text.encode(), like=file.target, unchanged=file)


def write_new(path: Path, text: str, *, like: Path) -> None:
    """Writes another file, all at once. It gets the permissions of the one it is made from, because it
    holds the same secrets.
    """
    target = Path(os.path.realpath(path))
    _write(target, text.encode(), like=target if target.exists() else like)


def back_up(file: ConfigFile) -> Path:
    """Keeps what was read beside the file, and gives where; a backup of something else stays as it is."""
    for number in itertools.count():
        path = Path(f"{file.target}{BACKUP}{f'.{number}' if number else ''}")
        if not os.path.lexists(path):
            _write(path, file.data, like=file.target)
            return path
        if _holds(path, file.data):
            return path
    raise AssertionError


def drop_backup(file: ConfigFile, text: str) -> Path | None:
    """Removes the backup when the file is again what it holds, and gives where it was."""
    path = Path(f"{file.target}{BACKUP}")
    if not _holds(path, text.encode()):
        return None
    path.unlink(missing_ok=True)
    return path


def _holds(path: Path, data: bytes) -> bool:
    with contextlib.suppress(OSError):
        return path.read_bytes() == data
    return False


def _write(target: Path, data: bytes, *, like: Path, unchanged: ConfigFile | None = None) -> None:
    name = None
    try:
        had = like.stat()
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            # Of another owner's file we may not be able to make it theirs.
            with contextlib.suppress(OSError):
                os.fchown(file.fileno(), had.st_uid, had.st_gid)
            os.fchmod(file.fileno(), stat.S_IMODE(had.st_mode))
            os.fsync(file.fileno())
        if unchanged is not None and target.read_bytes() != unchanged.data:
            raise UsageError(
                f"{unchanged.path} was changed while this ran; nothing was written. Run it again."
            )
        os.replace(name, target)
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror}.") from None
    finally:
        if name is not None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)
