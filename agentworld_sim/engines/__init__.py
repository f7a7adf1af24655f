"""Engines: each answers tool calls, given the state of a world."""

from agentworld_sim.engines.function import FunctionEngine
from agentworld_sim.ports import (
    Answer,
    Engine,
    EngineSession,
    Judge,
    StepContext,
    accept_unchecked,
)

__all__ = [
    "Answer",
    "Engine",
    "EngineSession",
    "FunctionEngine",
    "Judge",
    "StepContext",
    "accept_unchecked",
]
