"""Sessions that were moved to another world by a control tool."""

from __future__ import annotations

import asyncio
import hashlib
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentworld_mcp_shim._keys import WorldKey


class Moves:
    """Which world a session is in, if it is no longer its own; known to all processes of a run."""

    def __init__(self, folder: Path | None = None) -> None:
        """
        Args:
            folder: Where the processes tell each other; `None` when there is one only.
        """
        self._folder = folder
        self._moved: dict[str, str] = {}

    async def moved(self, key: WorldKey) -> WorldKey:
        """The key of the world in which the session of `key` is now."""
        assert key.seat is not None
        if self._folder is None:
            world_id = self._moved.get(key.seat)
        else:
            world_id = await asyncio.to_thread(_read, self._file(self._folder, key.seat))
        return key if world_id is None else replace(key, id=world_id)

    async def move(self, key: WorldKey, world_id: str) -> None:
        """Moves the session of `key` to another world."""
        assert key.seat is not None
        if self._folder is None:
            self._moved[key.seat] = world_id
        else:
            await asyncio.to_thread(_write, self._file(self._folder, key.seat), world_id)

    def _file(self, folder: Path, seat: str) -> Path:
        return folder / f"moved-{hashlib.sha256(seat.encode()).hexdigest()}"


def _read(file: Path) -> str | None:
    try:
        return file.read_text(encoding="ascii")
    except FileNotFoundError:
        return None


def _write(file: Path, world_id: str) -> None:
    beside = file.with_suffix(f".{os.getpid()}")
    beside.write_text(world_id, encoding="ascii")
    beside.replace(file)
