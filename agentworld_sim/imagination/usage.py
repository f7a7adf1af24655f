"""What a world's model cost: tokens and time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from agentworld_sim.controls.control_list import OBEDIENCE
from agentworld_sim.types.exchanges import Exchange, FailedStep
from agentworld_sim.types.turns import Turn


@dataclass(slots=True)
class WorldUsage:
    """Sums over turns and failed steps."""

    turns: int = 0
    by_provenance: dict[str, int] = field(default_factory=dict[str, int])
    """Turns by where their observation came from."""
    failed_steps: int = 0
    commands: int = 0
    """Commands inside of turns that a model answered."""
    requests: int = 0
    """Replies that a server gave."""
    saved: int = 0
    """Replies that came from the cache, or from an equal request under way."""
    refused: int = 0
    """Replies that could not be used."""
    untagged: int = 0
    """Replies whose answer stood in no tag."""
    rated: int = 0
    """Answers whose confidence was worked out."""
    confidence: float = 0.0
    """Its mean over them."""
    controlled: int = 0
    """Imagined answers that were held against controls."""
    disobeyed: int = 0
    """Of them, those that did not keep to one."""
    rewritten: int = 0
    """Observations that a rule made obey."""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    """Of the prompt tokens, those that the server's prefix cache held."""
    completion_tokens: int = 0
    thinking_tokens: int = 0
    """Of the completion tokens; 0 when the server does not tell."""
    seconds: float = 0.0
    """Host time of all requests, one after another."""

    def add_turn(self, turn: Turn) -> None:
        """Counts a turn."""
        self.turns += 1
        provenance = turn.observation.provenance
        self.by_provenance[provenance] = self.by_provenance.get(provenance, 0) + 1
        self.commands += len(turn.inner)
        for one in turn.checks:
            if one.check == OBEDIENCE:
                self.rewritten += one.accepted and bool(one.reason)
                self.disobeyed += not one.accepted
                self.controlled += not (one.accepted and one.reason)
        self.add_exchanges(turn.exchanges)

    def add_failure(self, failed: FailedStep) -> None:
        """Counts a step that gave no turn."""
        self.failed_steps += 1
        self.add_exchanges(failed.exchanges)

    def add_exchanges(self, exchanges: Iterable[Exchange]) -> None:
        """Counts requests and replies."""
        for exchange in exchanges:
            self.refused += bool(exchange.problem)
            self.untagged += not exchange.tagged
            if exchange.confidence is not None:
                self.rated += 1
                self.confidence += (exchange.confidence - self.confidence) / self.rated
            if exchange.source != "server":
                self.saved += 1
                continue
            usage = exchange.usage
            self.requests += 1
            self.prompt_tokens += usage.get("prompt_tokens", 0)
            self.cached_tokens += usage.get("cached_tokens", 0)
            self.completion_tokens += usage.get("completion_tokens", 0)
            self.thinking_tokens += usage.get("thinking_tokens", 0)
            self.seconds += exchange.seconds

    @classmethod
    def total(cls, parts: Iterable[Mapping[str, Any]]) -> WorldUsage:
        """The sum of what `to_json` gave; without a mean confidence."""
        whole = cls()
        for part in parts:
            for name, value in part.items():
                if name == "by_provenance":
                    whole.by_provenance = dict(Counter(whole.by_provenance) + Counter(value))
                elif name not in ("rated", "confidence"):
                    setattr(whole, name, getattr(whole, name) + value)
        return whole

    @property
    def asked(self) -> int:
        """Steps that asked a model."""
        return self.by_provenance.get("imagined", 0) + self.failed_steps

    def per_answer(self) -> dict[str, float]:
        """What one step that asks a model costs, by name with its unit; empty where none was asked."""
        if not self.asked or not self.requests + self.saved:
            return {}
        return {
            "requests": self.requests / self.asked,
            "requests saved, %": 100 * self.saved / (self.requests + self.saved),
            "tokens read": self.prompt_tokens / self.asked,
            "of them cached, %": 100 * self.cached_tokens / max(1, self.prompt_tokens),
            "tokens written": self.completion_tokens / self.asked,
            "of them thinking, %": 100 * self.thinking_tokens / max(1, self.completion_tokens),
            "seconds": self.seconds / self.asked,
        }

    def to_json(self) -> dict[str, Any]:
        rounded = {"seconds": round(self.seconds, 3), "confidence": round(self.confidence, 4)}
        return {**asdict(self), **rounded}


def usage_of(turns: Iterable[Turn], failures: Iterable[FailedStep] = ()) -> WorldUsage:
    """What turns and failed steps cost."""
    usage = WorldUsage()
    for turn in turns:
        usage.add_turn(turn)
    for failed in failures:
        usage.add_failure(failed)
    return usage
