"""What of a world's state an answer may depend on, as short digests that hold on every host.

No times, no seeds, no refs. Of the files only what differs from a freshly installed machine: another
version of this library may ship another base image.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from agentworld_sim.cassette._entries import short_digest
from agentworld_sim.types.files import FileEntry
from agentworld_sim.types.json import canonical_json
from agentworld_sim.types.state import WorldState
from agentworld_sim.types.values import changed_keys

BOOKKEEPING = ("control/", "replay/")
"""Beginnings of the keys under which we count: nothing in the world."""

_MODULUS = 1 << 160


class StateParts:
    """The digests of the worlds of one scenario."""

    def __init__(self, files_sum: int | None = None, seed: int = 0) -> None:
        """
        Args:
            files_sum: Hash of the machine's files before the scenario's came to it.
            seed: What the worlds begin with.
        """
        from agentworld_sim.engines.shell import Machine, machine_sum

        self._base = machine_sum(Machine()) if files_sum is None else files_sum
        self._seed = seed
        self._files: tuple[Mapping[str, FileEntry], int] = ({}, 0)
        self._values: tuple[Mapping[str, Any], int] = ({}, 0)

    def of(self, state: WorldState, files_sum: int | None = None) -> dict[str, str]:
        """The parts of a state; those that say nothing are left out.

        Args:
            state: The world before the turn.
            files_sum: The files in the middle of the turn; those of `state` by default.
        """
        if files_sum is None:
            files_sum = self._files_sum(state.files)
        parts: dict[str, str] = {}
        files = (files_sum - self._base) % _MODULUS
        if files:
            parts["files"] = short_digest(str(files))
        values = self._values_sum(state.values)
        if values:
            parts["values"] = short_digest(str(values))
        if state.seed != self._seed:
            # `fork(seed=…)` asks for other answers; the seed a world begins with does not.
            parts["seed"] = str(state.seed)
        return parts

    def _files_sum(self, files: Mapping[str, FileEntry]) -> int:
        from agentworld_sim.types.files import content_sum

        # Most imagined calls change no file.
        known, total = self._files
        if known is not files:
            total = content_sum(files)
            self._files = (files, total)
        return total

    def _values_sum(self, values: Mapping[str, Any]) -> int:
        before, total = self._values
        for key in changed_keys(before, values):
            if not key.startswith(BOOKKEEPING):
                total -= _value_hash(key, before.get(key))
                total += _value_hash(key, values.get(key))
        total %= _MODULUS
        self._values = (values, total)
        return total


def _value_hash(key: str, value: object) -> int:
    if value is None:
        return 0
    data = canonical_json([key, value]).encode()
    return int.from_bytes(blake2b(data, digest_size=20).digest())
