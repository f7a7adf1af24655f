"""Proof that the host is as it was."""

from __future__ import annotations

import os
from pathlib import Path

MAX_FILES = 20_000
"""Of the working directory, so that the proof does not take longer than the demo."""

Fingerprint = dict[str, tuple[int, int, int]]


def fingerprint(folder: Path) -> Fingerprint:
    """Mode, size and time of every file below `folder`, but for caches that Python writes itself."""
    found: Fingerprint = {}
    for top, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name != "__pycache__"]
        for name in files:
            path = os.path.join(top, name)
            try:
                info = os.lstat(path)
            except OSError:
                continue
            found[path] = (info.st_mode, info.st_size, info.st_mtime_ns)
            if len(found) >= MAX_FILES:
                return found
    return found
