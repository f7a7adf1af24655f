"""What the operation of a server's tool works with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


class Kept:
    """What a server keeps in the world's values, under keys that begin with its own name."""

    def __init__(self, values: Mapping[str, Any], prefix: str) -> None:
        self._values = values
        self._prefix = prefix
        self.changes: dict[str, Any] = {}
        """Key of the world's to new value; `None` for one that is gone."""

    def get(self, key: str, default: Any = None) -> Any:
        return self._values.get(self._prefix + key, default)

    def put(self, key: str, value: Any) -> None:
        """Keeps `value`; `None` removes the key. What is kept already is no change."""
        if self.get(key) != value:
            self.changes[self._prefix + key] = value

    def items(self, beginning: str) -> dict[str, Any]:
        """The values whose keys begin so, by the rest of the key, in the order of the keys."""
        start = self._prefix + beginning
        found = sorted(key for key in self._values if key.startswith(start))
        return {key[len(start) :]: self._values[key] for key in found}


@dataclass(frozen=True, slots=True)
class ServerTurn:
    """What an operation may look at, beside the arguments."""

    kept: Kept
    clock_us: int
    """The world's time, in microseconds since the epoch."""
    seed: int
    """Of the turn's random source."""
    name: str
    """What the agent calls the tool."""
