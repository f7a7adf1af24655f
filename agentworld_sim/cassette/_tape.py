"""`Tape`: gives every question its answer, recorded or asked for now."""

from __future__ import annotations

import difflib
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from agentworld_sim.cassette._asking import Asked, Keys
from agentworld_sim.cassette._entries import Answers, Entry
from agentworld_sim.cassette._miss import miss
from agentworld_sim.cassette._yaml import mapping_lines
from agentworld_sim.cassette.file import TapeFile

Way = Literal["replay", "record", "verify"]
"""What is done with imagined answers."""

AskModel = Callable[[], Awaitable[Mapping[str, Any]]]

NEXT_STEP = "record it anew with --sim-mode=live, or delete the file"


@dataclass(frozen=True, slots=True)
class Given:
    """An answer, and whether it was recorded before."""

    answer: Mapping[str, Any]
    replayed: bool


class Tape:
    """The answers of one cassette while it is in use. Safe to use from several tasks and threads."""

    def __init__(self, path: Path, way: Way, file: TapeFile | None, keys: Keys) -> None:
        """
        Args:
            path: The cassette.
            way: What is done.
            file: What is recorded.
            keys: Makes the keys.
        """
        self._path = path
        self._way = way
        self._exists = file is not None
        self.keys = keys
        self.known = Answers(file.entries if file else ())
        """What was recorded before."""
        self.new = Answers()
        """What is recorded now."""
        self.used: set[int] = set()
        """`id`s of the known entries that were asked for."""
        self.replayed = 0
        self.asked = False
        """Whether anything was asked at all."""
        self.missed: list[str] = []
        """The messages of all `CassetteMiss`es, also of those that somebody caught."""
        self.drift: list[str] = []
        self._compared: set[int] = set()
        self._lock = threading.Lock()

    @property
    def records(self) -> bool:
        return self._way == "record"

    async def answer(self, asked: Asked, ask: AskModel | None) -> Given:
        """The answer to a question of a world.

        Args:
            asked: The question.
            ask: Asks a model; `None` where there is none.

        Raises:
            CassetteMiss: it is not recorded, and nobody may be asked.
        """
        self.asked = True
        if self._way == "replay" or ask is None:
            return Given(self.recorded(asked).answer, replayed=True)
        if self._way == "verify":
            return await self._verified(asked, ask)
        before = asked.before()
        held = self.new.exactly(asked.key, before)
        if held is None:
            held = self.add(asked, before, asked.clean(await ask()))
        return Given(held.answer, replayed=False)

    def recorded(self, asked: Asked) -> Entry:
        """What is recorded. Raises `CassetteMiss` for nothing."""
        found = self.known.find(asked.key, asked.before)
        if found is None:
            why = f"to have it, {NEXT_STEP}"
            if asked.key.kind == "real":
                why = (
                    "real tools run only in the mode `once` where there is no cassette. To have it,"
                    " delete the file and run the test in that mode"
                )
            elif not self._exists:
                why = "to have one, run the test with --sim-mode=once and a model"
            missed = miss(self._path, asked.key, self.known, exists=self._exists, why=why)
            with self._lock:
                self.missed.append(str(missed))
            raise missed
        with self._lock:
            self.used.add(id(found))
            self.replayed += 1
        return found

    def add(self, asked: Asked, before: str, answer: Mapping[str, Any]) -> Entry:
        """Records an answer; gives the one that is kept."""
        return self.new.put(Entry(asked.key, answer, before, asked.place))

    async def _verified(self, asked: Asked, ask: AskModel) -> Given:
        """What is recorded, compared with what a model says now. The world goes on with what is recorded,
        so that one difference is not taken for many."""
        found = self.known.find(asked.key, asked.before)
        before = asked.before()
        held = self.new.exactly(asked.key, before)
        if held is None:
            held = self.add(asked, before, asked.clean(await ask()))
            with self._lock:
                if id(held) not in self._compared:
                    self._compared.add(id(held))
                    self.drift += _drift(asked, found, held.answer)
        if found is None:
            return Given(held.answer, replayed=False)
        with self._lock:
            self.used.add(id(found))
            self.replayed += 1
        return Given(found.answer, replayed=True)


def _drift(asked: Asked, found: Entry | None, now: Mapping[str, Any]) -> list[str]:
    shown = asked.key.shown()
    lines = list(mapping_lines(now))
    if found is None:
        return ["\n".join([f"{shown} was not recorded. Now:", *_indented(lines)])]
    recorded = list(mapping_lines(found.answer))
    if recorded == lines:
        return []
    diff = difflib.unified_diff(recorded, lines, "recorded", "now", lineterm="", n=2)
    return ["\n".join([f"{shown} is answered otherwise:", *_indented(diff)])]


def _indented(lines: Any) -> list[str]:
    return [f"    {line}" for line in lines]
