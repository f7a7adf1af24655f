"""Observations, turns and trajectories: what happened, as it is recorded.

A turn is one log entry of a world. It is the cassette, the training sample and the undo record, read
in different ways. Its JSON has one form only: `Turn.to_line` of a parsed line gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal, cast

from agentworld_sim.errors import UsageError
from agentworld_sim.types.exchanges import Exchange, blobs_of
from agentworld_sim.types.files import BlobId
from agentworld_sim.types.json import canonical_json, json_form
from agentworld_sim.types.refs import WorldRef, hash_ref
from agentworld_sim.types.state import StateChange
from agentworld_sim.types.tools import ToolCall

Provenance = Literal["computed", "imagined", "native", "replayed", "real", "enforced"]
"""Where an observation came from. On every record, never shown to the agent."""


@dataclass(frozen=True, slots=True)
class Action:
    """A call in the domain's own written form: what the world model reads."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """An answer in the domain's own written form."""

    text: str
    structured: Any = None
    """JSON content beside the text, for tools with an output schema."""
    content: tuple[Mapping[str, Any], ...] = ()
    """The content blocks as the Model Context Protocol carries them, when they are more than one text:
    images, audio, resources. `text` is then what a reader of text alone sees."""
    is_error: bool = False
    """Set where the real tool would set it. Never for our own failures: those are raised."""
    provenance: Provenance = "computed"

    def to_json(self) -> dict[str, Any]:
        return json_form(self, "provenance")

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Observation:
        fields: dict[str, Any] = dict(value)
        if "content" in fields:
            fields["content"] = tuple(fields["content"])
        return cls(**fields)


@dataclass(frozen=True, slots=True)
class CheckVerdict:
    """What one check said of one observation."""

    check: str
    accepted: bool
    reason: str = ""
    attempt: int = 1
    """Which answer of the turn it was said of; an engine that imagines may give several."""

    def to_json(self) -> dict[str, Any]:
        return json_form(self)


@dataclass(frozen=True, slots=True)
class InnerAnswer:
    """An answer given in the middle of a turn, for example by a model inside a pipe.

    It is fed back by `(argv, stdin_hash, occurrence)` when the turn is executed again.
    """

    argv: tuple[str, ...]
    stdin_hash: str
    occurrence: int
    answer: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        return json_form(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> InnerAnswer:
        return cls(tuple(value["argv"]), value["stdin_hash"], value["occurrence"], value["answer"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """What two branches changed, each in its own way, when they were merged."""

    kind: Literal["file", "value", "record", "seed"]
    key: str
    """The path of a file, the key of a value, `TABLE/KEY` of a record."""
    kept: WorldRef
    """The tip of the later branch, whose version stays."""
    moved: str = ""
    """Where the later one's new record lies now, if it only had the same key: then nothing is lost."""

    def __str__(self) -> str:
        if self.moved:
            return f"{self.kind} {self.key}: a new one of both branches; the later one's is {self.moved}"
        return f"{self.kind} {self.key}: changed by both branches; the one up to {self.kept[:12]} stays"

    def to_json(self) -> dict[str, Any]:
        return json_form(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One call, its answer and what it changed; or a merge of branches, which answers no call."""

    parent: WorldRef
    call: ToolCall
    action: Action
    observation: Observation
    change: StateChange
    inner: tuple[InnerAnswer, ...] = ()
    checks: tuple[CheckVerdict, ...] = ()
    exchanges: tuple[Exchange, ...] = ()
    """What a model was asked for this turn, thinking and cost included; not part of the ref."""
    merged: tuple[WorldRef, ...] = ()
    """The tips of the branches that a merge brings together with `parent`; its change is told from there."""
    conflicts: tuple[Conflict, ...] = ()
    """What a merge could not bring together."""
    ref: WorldRef = field(init=False)
    """The point of history after this turn: a hash of the parent and of all that happened. What is said
    again from a cassette counts as imagined: a replayed session has the refs of the recorded one, and all
    that is made of refs, such as the random source of the next turn, is the same."""

    def __post_init__(self) -> None:
        identity = self._identity()
        if self.observation.provenance == "replayed":
            identity["observation"]["provenance"] = "imagined"
        object.__setattr__(self, "ref", hash_ref("turn", identity))

    def _identity(self) -> dict[str, Any]:
        return {
            "parent": self.parent,
            "call": {"name": self.call.name, "arguments": self.call.arguments},
            "action": self.action.text,
            "observation": self.observation.to_json(),
            "change": self.change.to_json(),
            **self._nonempty("inner", "merged", "conflicts"),
        }

    def _nonempty(self, *names: str) -> dict[str, Any]:
        return {name: json_form(held) for name in names if (held := getattr(self, name))}

    @property
    def parents(self) -> tuple[WorldRef, ...]:
        """The points that it follows: one, or those that a merge brings together."""
        return (self.parent, *self.merged)

    def to_json(self) -> dict[str, Any]:
        value = self._identity()
        value["call"]["id"] = self.call.id
        return {**value, "ref": self.ref, **self._nonempty("checks", "exchanges")}

    def blobs(self) -> set[BlobId]:
        """Every blob this turn refers to."""
        return self.change.blobs() | blobs_of(self.exchanges)

    def to_line(self) -> str:
        """One line of JSON, without the newline."""
        return canonical_json(self.to_json())

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Turn:
        """Raises `UsageError` when the recorded ref is not the ref of the content."""
        turn = cls(
            parent=value["parent"],
            call=ToolCall(**value["call"]),
            action=Action(value["action"]),
            observation=Observation.from_json(value["observation"]),
            change=StateChange.from_json(value["change"]),
            inner=tuple(InnerAnswer.from_json(one) for one in value.get("inner", ())),
            checks=tuple(CheckVerdict(**one) for one in value.get("checks", ())),
            exchanges=tuple(Exchange.from_json(one) for one in value.get("exchanges", ())),
            merged=tuple(value.get("merged", ())),
            conflicts=tuple(Conflict(**one) for one in value.get("conflicts", ())),
        )
        if turn.ref != value["ref"]:
            raise UsageError(
                f"turn {value['ref']} does not hash to its own ref ({turn.ref}): the record was"
                " edited or damaged. Use an untouched copy."
            )
        return turn

    @classmethod
    def from_line(cls, line: str) -> Turn:
        try:
            value = cast("Mapping[str, Any]", json.loads(line))
            return cls.from_json(value)
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(f"not a turn: {line[:80]!r} ({error})") from None


@dataclass(frozen=True, slots=True)
class Trajectory:
    """The turns that answer calls, oldest first; the branches that a merge brought together stand one
    after another, in its order. The parent of a turn may be one that answers no call, such as a merge."""

    turns: tuple[Turn, ...] = ()

    def __len__(self) -> int:
        return len(self.turns)

    def __iter__(self) -> Iterator[Turn]:
        return iter(self.turns)

    def write(self, target: Path | IO[str]) -> None:
        """Writes JSON Lines, one turn each."""
        if isinstance(target, Path):
            with target.open("w", encoding="utf-8", newline="\n") as file:
                self.write(file)
            return
        for turn in self.turns:
            target.write(turn.to_line() + "\n")

    @classmethod
    def read(cls, source: Path | Iterable[str]) -> Trajectory:
        return cls(tuple(read_turns(source)))


def read_turns(source: Path | Iterable[str]) -> Iterator[Turn]:
    """Streams turns from JSON Lines, one at a time.

    Raises:
        UsageError: a line is not a turn; the message names its number.
    """
    if isinstance(source, Path):
        with source.open(encoding="utf-8") as file:
            yield from read_turns(file)
        return
    for number, line in enumerate(source, 1):
        if line.strip():
            try:
                yield Turn.from_line(line)
            except UsageError as error:
                raise UsageError(f"line {number}: {error}") from None
