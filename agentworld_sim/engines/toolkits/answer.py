"""`submit_answer`: what an agent hands in as its answer stays in the world, where goals look at it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentworld_sim.engines.toolkits.toolkit_engine import ServerTurn
from agentworld_sim.types.turns import Observation

ANSWER = "answer/text"
"""The key of the world's values that holds the answer; the last one counts."""


def submit_answer(turn: ServerTurn, arguments: Mapping[str, Any]) -> Observation:
    turn.kept.put("text", arguments["answer"])
    return Observation(text="Answer submitted.")
