"""`vanished-tool`: a tool is not there any more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from agentworld_sim.controls.selective_control import SelectiveControl
from agentworld_sim.ports import Answer, Next, StepContext
from agentworld_sim.types.state import WorldState
from agentworld_sim.types.tools import ToolSpec
from agentworld_sim.types.turns import Observation


@dataclass(frozen=True, kw_only=True)
class VanishedTool(SelectiveControl):
    """From the first call that it strikes, its tools are in no listing, and calls of them fail; at once where it strikes
    every call."""

    lasting: ClassVar[bool] = True
    allows_streaming: ClassVar[bool] = True

    text: str = "Unknown tool: {tool}"
    """What calls fail with; `{tool}` is the name that was called."""

    @property
    def answers(self) -> bool:
        return True

    def tools(self, specs: Sequence[ToolSpec], state: WorldState) -> Sequence[ToolSpec]:
        if not (self.unconditional or self.count_in(state)):
            return specs
        return [one for one in specs if not self.selects_tool(one)]

    async def strike(self, step: StepContext, next: Next) -> Answer:
        text = self.text.replace("{tool}", step.call.name)
        return step.enforce(Observation(text=text, is_error=True))

    def describe(self) -> str:
        return f"After {self.calls}, these tools do not exist any more."
