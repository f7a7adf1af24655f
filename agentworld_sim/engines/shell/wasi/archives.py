"""Archives of files in the user's cache, which can be made again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import mkstemp
from zipfile import BadZipFile, ZipFile, ZipInfo


def read_archive(path: Path) -> dict[str, bytes] | None:
    """All files of an archive by their place in it; none, if it is not there or damaged."""
    try:
        with ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    except (OSError, BadZipFile):
        return None


def write_archive(path: Path, files: Mapping[str, bytes]) -> None:
    """Writes an archive whole or not at all: other processes make the same one.

    Raises:
        OSError: it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, beside = mkstemp(".building", path.stem, path.parent)
    with os.fdopen(handle, "wb") as file, ZipFile(file, "w") as archive:
        for name, data in files.items():
            archive.writestr(ZipInfo(name), data)
    os.replace(beside, path)
