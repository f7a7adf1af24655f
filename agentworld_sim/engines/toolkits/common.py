"""What many agents have beside their shell: a clock, and a place to think."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from agentworld_sim.engines.toolkits.toolkit_engine import ServerTurn
from agentworld_sim.types.turns import Observation


def _moment(turn: ServerTurn) -> datetime:
    return datetime.fromtimestamp(turn.clock_us // 1_000_000, UTC)


def now(turn: ServerTurn, arguments: Mapping[str, Any]) -> Observation:
    return Observation(text=_moment(turn).isoformat())


def today(turn: ServerTurn, arguments: Mapping[str, Any]) -> Observation:
    return Observation(text=_moment(turn).date().isoformat())


def think(turn: ServerTurn, arguments: Mapping[str, Any]) -> Observation:
    return Observation(text="Thought recorded.")
