"""Files of the host that are written whole or not at all."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from agentworld_sim.errors import UsageError


def write_file(path: Path, text: str) -> None:
    """Writes a file, with the folders on the way: who reads it meanwhile finds what was there before.

    Raises:
        UsageError: it cannot be written.
    """
    scratch = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            scratch.write_bytes(text.encode())
            scratch.replace(path)
        finally:
            scratch.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"{str(path)!r} cannot be written: {error.strerror}.") from error
