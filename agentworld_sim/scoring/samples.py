"""What is scored: a prediction with its truth, as a value that a person can read; and what it earns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict

from agentworld_sim.types.tools import DomainName


@dataclass(frozen=True, slots=True)
class Reward:
    """A number, and what it is made of."""

    value: float
    parts: Mapping[str, float] = field(default_factory=dict[str, float])
    """Named parts, before weights; for metrics and people. Those with a slash in their names (`goal/…`) belong
    to one task: they are kept in its records and are no metrics."""
    reason: str = ""
    """Why, in one line, for people."""


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
    JSON; `None` where the source does not have it. See `evidence_of` and `check_input`."""

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
        given: dict[str, Any] = {**value, "messages": tuple(value["messages"])}
        return cls(**given)
