"""Rows of training data: what one line of a JSON Lines file holds.

A row is a value that a person can read. Tokens appear nowhere in it: a tokenizer meets a row only when a
stage renders it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict, TypeVar

from agentworld_sim.errors import UsageError
from agentworld_sim.tools import DomainName, canonical_json


class Message(TypedDict):
    """One message of a conversation, as chat templates take it."""

    role: str
    """`system`, `user`, `assistant` or `tool`."""
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionSample:
    """One next-observation prediction: a prompt in the wire form, and what the environment really said.

    The wire form is that of Qwen-AgentWorld (arXiv 2606.24597).
    """

    id: str
    """Of the trajectory and the turn; equal samples have equal ids."""
    task: str
    """What train and test are disjoint by: the template or scenario the trajectory is of."""
    trajectory: str
    turn: int
    """Which turn of the trajectory is predicted, from 1."""
    domain: DomainName
    messages: tuple[Message, ...]
    """The prompt: exactly what the world model is sent for this turn, the action last."""
    observation: str
    """What the environment said, in the domain's written form."""
    thinking: str = ""
    """What to think before it, where somebody wrote or checked that; empty otherwise."""
    evidence: Mapping[str, Any] | None = None
    """What checks need to judge a prediction (call, tool, state before the turn, earlier turns), as
    JSON; `None` where the source does not have it. Read and written by `data`."""

    def to_json(self) -> dict[str, Any]:
        value: dict[str, Any] = {
            "id": self.id,
            "task": self.task,
            "trajectory": self.trajectory,
            "turn": self.turn,
            "domain": self.domain,
            "messages": list(self.messages),
            "observation": self.observation,
        }
        if self.thinking:
            value["thinking"] = self.thinking
        if self.evidence is not None:
            value["evidence"] = self.evidence
        return value

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> PredictionSample:
        fields: dict[str, Any] = {**value, "messages": tuple(value["messages"])}
        return cls(**fields)


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
        fields: dict[str, Any] = dict(value)
        for name in ("messages", "keep"):
            fields[name] = tuple(fields[name])
        return cls(**fields)


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
        fields: dict[str, Any] = dict(value)
        fields["messages"] = tuple(fields["messages"])
        fields["tools"] = tuple(fields.get("tools", ()))
        return cls(**fields)


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
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                yield _row(line, kind, f"{path}, line {number}")
    except OSError as error:
        raise UsageError(f"{str(path)!r} cannot be read: {error.strerror}.") from None


def read_trained_rows(path: Path) -> Iterator[PredictionSample | Demonstration]:
    """Streams the rows of supervised fine-tuning: predictions and demonstrations, in any order.

    Raises:
        UsageError: as `read_rows`.
    """
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                place = f"{path}, line {number}"
                if _has(line, "observation"):
                    yield _row(line, PredictionSample, place)
                else:
                    yield _row(line, Demonstration, place)
    except OSError as error:
        raise UsageError(f"{str(path)!r} cannot be read: {error.strerror}.") from None


def _row(line: str, kind: type[R], place: str) -> R:
    try:
        return kind.from_json(json.loads(line))
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{place}: not a {kind.__name__} ({error}).") from None


def _has(line: str, key: str) -> bool:
    try:
        return key in json.loads(line)
    except (ValueError, TypeError):
        return False
