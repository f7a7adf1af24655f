"""Rows of training data: what one line of a JSON Lines file holds.

A row is a value that a person can read. Tokens appear nowhere in it: a tokenizer meets a row only when a
stage renders it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar, cast, get_args

from agentworld_sim.errors import UsageError, nearest
from agentworld_sim.scoring import Message, PredictionSample
from agentworld_sim.types.json import canonical_json
from agentworld_sim.types.tools import DomainName


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One whole trajectory as a conversation, for continued pre-training."""

    id: str
    task: str
    domain: DomainName
    messages: tuple[Message, ...]
    """All turns in the wire form; every assistant message is an observation."""
    keep: tuple[float, ...]
    """For each assistant message, in order, the fraction of its tokens that stays in the loss."""

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "task": self.task,
            "domain": self.domain,
            "messages": list(self.messages),
            "keep": list(self.keep),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Document:
        given: dict[str, Any] = dict(value)
        for name in ("messages", "keep"):
            given[name] = tuple(given[name])
        return cls(**given)


@dataclass(frozen=True, slots=True, kw_only=True)
class Demonstration:
    """One conversation of an agent that is worth imitating: every assistant message is trained on."""

    id: str
    task: str
    messages: tuple[Message, ...]
    """Assistant messages hold the model's own text, tool calls written out as the model writes them."""
    tools: tuple[Mapping[str, Any], ...] = field(default=())
    """As chat templates take them: `{"type": "function", "function": {…}}`."""

    def to_json(self) -> dict[str, Any]:
        value: dict[str, Any] = {
            "id": self.id,
            "task": self.task,
            "messages": list(self.messages),
        }
        if self.tools:
            value["tools"] = list(self.tools)
        return value

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Demonstration:
        given: dict[str, Any] = dict(value)
        given["messages"] = tuple(given["messages"])
        given["tools"] = tuple(given.get("tools", ()))
        return cls(**given)


Row = PredictionSample | Document | Demonstration
R = TypeVar("R", PredictionSample, Document, Demonstration)


def write_rows(path: Path, rows: Iterable[Row]) -> int:
    """Writes rows as JSON Lines, all or nothing, and returns how many."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    count = 0
    try:
        with partial.open("w", encoding="utf-8", newline="\n") as file:
            for row in rows:
                file.write(canonical_json(row.to_json()) + "\n")
                count += 1
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return count


def read_rows(path: Path, kind: type[R]) -> Iterator[R]:
    """Streams the rows of a file.

    Raises:
        UsageError: the file cannot be read, or a line is no such row; the message names its number.
    """
    for place, value in _objects(path):
        yield _row(value, kind, place)


def read_trained_rows(path: Path) -> Iterator[PredictionSample | Demonstration]:
    """Streams the rows of supervised fine-tuning: predictions and demonstrations, in any order.

    Raises:
        UsageError: as `read_rows`.
    """
    for place, value in _objects(path):
        # A row of a prediction without its target must not pass for the other kind.
        if {"observation", "turn", "trajectory"} & set(value):
            yield _row(value, PredictionSample, place)
        else:
            yield _row(value, Demonstration, place)


def _objects(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The objects of a file, each with its place."""
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                place = f"{path}, line {number}"
                yield place, _object(line, place)
    except (OSError, UnicodeDecodeError) as error:
        why = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror
        raise UsageError(f"{str(path)!r} cannot be read: {why}.") from None


def _object(line: str, place: str) -> Mapping[str, Any]:
    try:
        value: object = json.loads(line)
    except (ValueError, RecursionError) as error:
        cut = "" if line.endswith("\n") else " The line has no end: the file was not written whole."
        raise UsageError(f"{place}: not JSON ({error}).{cut}") from None
    if not isinstance(value, dict):
        raise UsageError(f"{place}: {type(value).__name__} is no row.")
    return cast("dict[str, Any]", value)


def _row(value: Mapping[str, Any], kind: type[R], place: str) -> R:
    known = {one.name: one for one in fields(kind)}
    for name in value:
        if name not in known:
            raise UsageError(
                f"{place}: a {kind.__name__} has no {name!r}.{nearest(name, known)} It has:"
                f" {', '.join(known)}."
            )
    for name, one in known.items():
        if name in value:
            problem = _problem(name, value[name])
            if problem:
                raise UsageError(f"{place}: {name!r} {problem}.")
        elif one.default is MISSING and one.default_factory is MISSING:
            raise UsageError(f"{place}: the {kind.__name__} has no {name!r}.")
    return kind.from_json(value)


def _problem(name: str, value: Any) -> str:
    """What is wrong with a value; empty if nothing is."""
    if name in ("messages", "keep", "tools") and not isinstance(value, list):
        return f"is {type(value).__name__}, and must be a list"
    if name == "messages":
        empty = "" if value else "is empty"
        return next((text for text in map(_message_problem, value) if text), empty)
    if name == "keep":
        whole = all(isinstance(one, int | float) and not isinstance(one, bool) for one in value)
        return "" if whole else "must hold numbers"
    if name == "turn":
        return "" if type(value) is int else f"is {type(value).__name__}, and must be a number"
    if name == "domain":
        known = get_args(DomainName)
        hint = nearest(str(value), known)
        return (
            ""
            if value in known
            else f"is no domain: {value!r}.{hint} There are: {', '.join(known)}"
        )
    if name == "evidence":
        return "" if isinstance(value, dict | None) else f"is {type(value).__name__}, and no object"
    if name == "tools":
        return "" if all(isinstance(one, dict) for one in value) else "must hold objects"
    return "" if isinstance(value, str) else f"is {type(value).__name__}, and must be a text"


def _message_problem(message: object) -> str:
    if not isinstance(message, dict):
        return f"holds {type(message).__name__}, and must hold messages with a role and a content"
    one = cast("dict[str, Any]", message)
    for name in ("role", "content"):
        if not isinstance(one.get(name), str):
            return f"holds a message without a {name}, or one that is no text"
    return ""
