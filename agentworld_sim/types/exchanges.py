"""Exchanges: what a language world model was asked in a turn, and what it said.

They stand beside a turn and are no part of its ref: the same answer from a faster server is the same
turn. Messages are kept as blobs, so that the ones two turns share are stored once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from agentworld_sim.types.files import BlobId
from agentworld_sim.types.json import json_form
from agentworld_sim.types.refs import WorldRef
from agentworld_sim.types.tools import ToolCall

Source = Literal["server", "cache", "shared"]
"""Where a reply came from: the server, an earlier equal request, or an equal one still under way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request to the model and its reply."""

    about: str
    """What was asked for: `observation`, or the words of a command inside a turn."""
    messages: tuple[tuple[str, BlobId], ...]
    """Role and content of each message as sent, oldest first."""
    parameters: Mapping[str, Any]
    """The rest of the request as sent: model, sampling, limits, seed, schema. Never a key."""
    content: str
    """The raw reply, without the thinking."""
    thinking: str = ""
    """What the model thought. Kept here and nowhere else; no later prompt contains it."""
    finish_reason: str = ""
    usage: Mapping[str, int] = field(default_factory=dict[str, int])
    """`prompt_tokens`, `completion_tokens`, `cached_tokens`, `thinking_tokens`, as far as known."""
    seconds: float = 0.0
    """Host time from the request to the end of the reply; 0 when no server was asked."""
    first_token_seconds: float | None = None
    source: Source = "server"
    logprob: float | None = None
    """Mean of the natural logarithms of the answer's token probabilities, where the server told them."""
    confidence: float | None = None
    """How sure the answer is, from 0 to 1, where somebody worked that out."""
    tagged: bool = True
    """Whether the answer stood in the tag it was asked for."""
    problem: str = ""
    """Why the reply was not used; empty for the one that was."""

    def to_json(self) -> dict[str, Any]:
        return json_form(self, "finish_reason", "usage", "seconds", "source")

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Exchange:
        fields: dict[str, Any] = dict(value)
        fields["messages"] = tuple((role, blob) for role, blob in value["messages"])
        return cls(**fields)

    def blobs(self) -> set[BlobId]:
        """Every blob this exchange refers to."""
        return {blob for _, blob in self.messages}


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedStep:
    """A step that gave no turn although a model was asked. No part of any history."""

    base: WorldRef
    """Where the world stood, and still stands."""
    call: ToolCall
    error: str
    """What was raised."""
    exchanges: tuple[Exchange, ...]
    """Every reply that was not used, with the reason."""
    when: str
    """Host time, ISO 8601; for people only."""

    def to_json(self) -> dict[str, Any]:
        return json_form(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> FailedStep:
        fields: dict[str, Any] = {**value, "call": ToolCall(**value["call"])}
        fields["exchanges"] = tuple(Exchange.from_json(one) for one in value["exchanges"])
        return cls(**fields)

    def blobs(self) -> set[BlobId]:
        """Every blob this record refers to."""
        return blobs_of(self.exchanges)


def blobs_of(exchanges: Iterable[Exchange]) -> set[BlobId]:
    """Every blob that some exchanges refer to."""
    return set[BlobId]().union(*(exchange.blobs() for exchange in exchanges))
