"""Calls that a real system answered, told to the model beside a call like them."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import threading
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from agentworld_sim.errors import UsageError
from agentworld_sim.ports import ImaginedValue, Imaginer, Question, StepContext
from agentworld_sim.types.json import canonical_json

T = TypeVar("T")

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One call, as a model is told it."""

    name: str
    """The tool, or the command's first word."""
    call: str
    """The call in the domain's written form."""
    answer: str
    """What the model should write: the observation, or result and operations."""
    records: str = ""
    """The records that it is about, before it; one JSON object a line."""

    def to_text(self) -> str:
        records = f"Records before:\n{self.records}\n" if self.records else ""
        return f"Call:\n{self.call}\n{records}Answer:\n{self.answer}"


class ExampleLibrary:
    """Examples, searched by their words with BM25 (SQLite's full-text search)."""

    def __init__(self, examples: Iterable[Example]) -> None:
        self._examples = list(examples)
        self._lock = threading.Lock()
        self._index = sqlite3.connect(":memory:", check_same_thread=False)
        self._index.execute("CREATE VIRTUAL TABLE example USING fts5(name UNINDEXED, words)")
        self._index.executemany(
            "INSERT INTO example (rowid, name, words) VALUES (?, ?, ?)",
            ((number, one.name, one.call) for number, one in enumerate(self._examples)),
        )
        self._names = {one.name for one in self._examples}

    @classmethod
    def load(cls, path: Path) -> ExampleLibrary:
        """Reads examples, one JSON object a line.

        Raises:
            UsageError: the file is not that.
        """
        try:
            lines = path.read_text("utf-8").splitlines()
            return _library(path, tuple(Example(**json.loads(line)) for line in lines))
        except (OSError, ValueError, TypeError) as error:
            raise UsageError(
                f"{str(path)!r} holds no examples ({error}). `agentworld bench examples` writes them."
            ) from None

    def similar(self, name: str, about: str, count: int) -> list[Example]:
        """The examples most like a call, the likest last: of the same tool where it has any, else of all.

        Args:
            name: The tool, or the command's first word.
            about: Its arguments as text.
            count: Most of them.
        """
        words = " OR ".join(f'"{word}"' for word in dict.fromkeys(_WORD.findall(f"{name} {about}")))
        own = name in self._names
        query = "SELECT rowid FROM example WHERE example MATCH ? {} ORDER BY rank, rowid LIMIT ?"
        with self._lock:
            found = self._index.execute(
                query.format("AND name = ?" if own else ""),
                (words, name, count) if own else (words, count),
            ).fetchall()
        return [self._examples[number] for (number,) in reversed(found)]


def write_examples(path: Path, examples: Iterable[Example]) -> None:
    """Writes examples as `ExampleLibrary.load` reads them."""
    lines = (json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in examples)
    path.write_text("".join(lines), encoding="utf-8")


@lru_cache(maxsize=8)
def _library(path: Path, examples: tuple[Example, ...]) -> ExampleLibrary:
    del path  # for the cache: equal files share an index
    return ExampleLibrary(examples)


class ExampleImaginer:
    """Implements `Imaginer`: has another one answer, which is told similar calls."""

    def __init__(self, inner: Imaginer, library: ExampleLibrary, count: int = 3) -> None:
        """
        Args:
            inner: Answers.
            library: What was recorded.
            count: How many calls are told.
        """
        self._inner = inner
        self._library = library
        self._count = count

    async def ask(self, question: Question[T], context: StepContext) -> ImaginedValue[T]:
        key = question.key
        # On a thread: the search is SQLite's, and some loops refuse whatever could block.
        found = await asyncio.to_thread(
            self._library.similar, key.name, canonical_json(key.about), self._count
        )
        told = "\n\n".join(example.to_text() for example in found)
        return await self._inner.ask(question, replace(context, examples=told))
