"""Calls that a real system answered, told to the model beside a call like them."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sqlite3
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeVar

from agentworld_sim.errors import UnusableReply, UsageError
from agentworld_sim.ports import ImaginedValue, Imaginer, PromptExample, Question, StepContext
from agentworld_sim.schema.validate import schema_problem
from agentworld_sim.types.json import canonical_json
from agentworld_sim.types.tools import ToolSpec

T = TypeVar("T")

logger = logging.getLogger(__name__)

COUNT = 3
"""Examples told with a call."""

LONGEST = 2_000
"""Characters of an example; a longer one would take the room of what is asked about."""

Choice = Literal["likest", "fixed"]
"""Those most like the call, or the same for all calls of a tool."""

_WORD = re.compile(r"\w+")
_LEFT_OUT = "left_out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One call, as a model is told it."""

    name: str
    """The tool, or the command's first word."""
    call: str
    """The call in the domain's written form."""
    answer: str
    """What the system said, in the domain's written form."""
    operations: Sequence[Mapping[str, Any]] | None = None
    """What it changed in records; `None` where that is not known."""
    records: str = ""
    """The records that matter for it, before it, as the model is shown those of its own call."""

    def to_prompt(self, *, with_operations: bool) -> PromptExample:
        """As a model is told it; with records and operations where it works on records."""
        if not with_operations or self.operations is None:
            return PromptExample(self.call, self.answer)
        try:
            result = json.loads(self.answer)
        except ValueError:
            result = self.answer
        # A text in quotes would be read as the text without them.
        result = self.answer if isinstance(result, str) else result
        reply = json.dumps({"result": result, "operations": self.operations}, ensure_ascii=False)
        return PromptExample(self.call, reply, self.records)

    @property
    def size(self) -> int:
        """Characters, about."""
        return len(self.call) + len(self.records) + 2 * len(self.answer)

    def problem(self, tool: ToolSpec) -> str | None:
        """Why its arguments are none of this tool, which may be of another version."""
        try:
            arguments = json.loads(self.call)["arguments"]
        except (ValueError, KeyError, TypeError):
            return None  # written in a form without arguments
        return schema_problem(tool.input_schema, arguments)


class ExampleLibrary:
    """Examples, searched by their words with BM25 (SQLite's full-text search)."""

    def __init__(self, examples: Iterable[Example], left_out: Iterable[str] = ()) -> None:
        """
        Args:
            left_out: Tools that are told none, since they lose by them.
        """
        self._examples = list(examples)
        self._left_out = frozenset(left_out)
        self._lock = threading.Lock()
        self._usable: dict[str, tuple[ToolSpec | None, list[int]]] = {}
        self._index = sqlite3.connect(":memory:", check_same_thread=False)
        self._index.execute("CREATE VIRTUAL TABLE example USING fts5(name UNINDEXED, words)")
        self._index.executemany(
            "INSERT INTO example (rowid, name, words) VALUES (?, ?, ?)",
            ((number, one.name, one.call) for number, one in enumerate(self._examples)),
        )

    @classmethod
    def load(cls, path: Path) -> ExampleLibrary:
        """Reads what `write_examples` wrote.

        Raises:
            UsageError: the file is not that.
        """
        try:
            return _library(path.read_text("utf-8"))
        except (OSError, ValueError, TypeError) as error:
            raise UsageError(
                f"{str(path)!r} holds no examples ({error}). `agentworld bench examples` writes them."
            ) from None

    def choose(
        self, name: str, about: str, *, choice: Choice = "likest", tool: ToolSpec | None = None
    ) -> list[Example]:
        """Examples for a call, at most `COUNT`, the likest last: of the same tool where it has any, else of all.

        Args:
            name: The tool, or the command's first word.
            about: Its arguments as text.
            tool: As it is now: examples of another version of it are left out.
        """
        if name in self._left_out:
            return []
        with self._lock:
            numbers = self._numbers(name, tool)
            if choice == "fixed":
                chosen = {
                    numbers[len(numbers) * place // COUNT] for place in range(COUNT) if numbers
                }
                return [self._examples[number] for number in sorted(chosen)]
            words = dict.fromkeys(_WORD.findall(f"{name} {about}"))
            ranked = self._index.execute(
                "SELECT rowid FROM example WHERE example MATCH ? ORDER BY rank, rowid",
                (" OR ".join(f'"{word}"' for word in words),),
            )
            among = set(numbers)
            found = list(islice((number for (number,) in ranked if number in among), COUNT))
        return [self._examples[number] for number in reversed(found)]

    def _numbers(self, name: str, tool: ToolSpec | None) -> list[int]:
        """Which examples can be told with calls of a tool."""
        held = self._usable.get(name)
        if held is not None and held[0] == tool:
            return held[1]
        own = [number for number, one in enumerate(self._examples) if one.name == name]
        problems: dict[int, str] = {}
        for number in own:
            if tool is not None and (problem := self._examples[number].problem(tool)):
                problems[number] = problem
        if problems:
            logger.warning(
                "%d of %d examples of %r do not fit its arguments any more and are left out; the first: %s",
                len(problems),
                len(own),
                name,
                next(iter(problems.values())),
            )
        usable = [number for number in own or range(len(self._examples)) if number not in problems]
        found = [number for number in usable if self._examples[number].size <= LONGEST]
        self._usable[name] = (tool, found)
        return found


def write_examples(path: Path, examples: Iterable[Example], left_out: Iterable[str] = ()) -> None:
    """Writes examples as `ExampleLibrary.load` reads them."""
    values = [{_LEFT_OUT: name} for name in sorted(left_out)] + [asdict(one) for one in examples]
    lines = (json.dumps(value, ensure_ascii=False) + "\n" for value in values)
    path.write_text("".join(lines), encoding="utf-8")


@lru_cache(maxsize=8)
def _library(text: str) -> ExampleLibrary:
    # Not `splitlines`: texts may hold other line ends, which JSON does not escape.
    values = [json.loads(line) for line in text.split("\n") if line]
    return ExampleLibrary(
        (Example(**value) for value in values if _LEFT_OUT not in value),
        (value[_LEFT_OUT] for value in values if _LEFT_OUT in value),
    )


class ExampleImaginer:
    """Implements `Imaginer`: has another one answer, which is told examples."""

    def __init__(self, inner: Imaginer, library: ExampleLibrary, choice: Choice = "likest") -> None:
        self._inner = inner
        self._library = library
        self._choice: Choice = choice

    async def ask(self, question: Question[T], context: StepContext) -> ImaginedValue[T]:
        told = await _examples(self._library, question, context, self._choice)
        return await self._inner.ask(question, replace(context, examples=told))


class LookupImaginer:
    """Implements `Imaginer` without a model: what the system said to the likest call. It shows what recordings alone
    are worth."""

    def __init__(self, library: ExampleLibrary) -> None:
        self._library = library

    async def ask(self, question: Question[T], context: StepContext) -> ImaginedValue[T]:
        found = await _examples(self._library, question, context, "likest")
        if not found:
            raise UnusableReply(f"no recorded call is like {question.key.name!r}.")
        try:
            value = question.read(found[-1].reply)
        except ValueError as error:
            raise UnusableReply(f"what was recorded does not fit here: {error}") from None
        return ImaginedValue(value, "replayed")


async def _examples(
    library: ExampleLibrary, question: Question[Any], context: StepContext, choice: Choice
) -> tuple[PromptExample, ...]:
    key = question.key
    tool = context.tool if key.kind == "tool" else None
    # On a thread: the search is SQLite's, and some loops refuse whatever could block.
    found = await asyncio.to_thread(
        library.choose, key.name, canonical_json(key.about), choice=choice, tool=tool
    )
    with_operations = bool(question.prompt().records)
    return tuple(one.to_prompt(with_operations=with_operations) for one in found)
