"""`ModelEngine`: has imagined what no engine computes."""

from __future__ import annotations

from typing import Any, Literal

from agentworld_sim.engines.call_question import CallQuestion, Records
from agentworld_sim.engines.model_binding import bind_any, refusal
from agentworld_sim.ports import Answer, Imaginer, StepContext, whole_answer
from agentworld_sim.types.files import Blobs
from agentworld_sim.types.state import WorldState
from agentworld_sim.types.tools import ToolSpec

__all__ = ["ModelEngine"]


class ModelEngine:
    """Implements `Engine` for every domain: a language world model answers."""

    name = "model"
    route: Literal["imagine"] = "imagine"

    def __init__(self, imaginer: Imaginer, records: Records | None = None) -> None:
        """`records` shows records, and changes them, for tools of the domain `mcp`."""
        self._imaginer = imaginer
        self._records = records

    def bind(self, tool: ToolSpec) -> ToolSpec | None:
        return bind_any(tool)

    def refusal(self, tool: ToolSpec) -> str:
        return refusal(tool)

    async def open(self, state: WorldState, blobs: Blobs) -> CallImagining:
        return CallImagining(self._imaginer, self._records)


class CallImagining:
    """Implements `EngineSession`. All it knows is the history it is given."""

    def __init__(self, imaginer: Imaginer, records: Records | None) -> None:
        self._imaginer = imaginer
        self._records = records
        self._memory: dict[str, Any] = {}

    async def answer(self, context: StepContext) -> Answer:
        call, tool = context.call, context.tool
        question = CallQuestion(
            call=call,
            tool=tool,
            context=context,
            history=await context.history(),
            records=self._records,
            memory=self._memory,
        )
        return whole_answer(await self._imaginer.ask(question, context))

    def close(self) -> None:
        pass
