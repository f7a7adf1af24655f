"""Engines: each answers tool calls, given the state of a world."""

from agentworld_sim.engines._base import (
    Answer,
    Engine,
    EngineSession,
    RefusedAnswer,
    TurnContext,
)
from agentworld_sim.engines._function import FunctionEngine
from agentworld_sim.engines._router import Router

__all__ = [
    "Answer",
    "Engine",
    "EngineSession",
    "FunctionEngine",
    "RefusedAnswer",
    "Router",
    "TurnContext",
]
