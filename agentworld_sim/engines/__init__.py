"""Engines: each answers tool calls, given the state of a world."""

from agentworld_sim.engines.function import FunctionEngine
from agentworld_sim.ports import (
    Answer,
    Engine,
    EngineSession,
    RefusedAnswer,
    TurnContext,
)

__all__ = [
    "Answer",
    "Engine",
    "EngineSession",
    "FunctionEngine",
    "RefusedAnswer",
    "TurnContext",
]
