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
    """The tools of the calls that it strikes are in no listing any more, and all later calls of them fail; all its tools
    are gone at once where it strikes every call."""

    allows_streaming: ClassVar[bool] = True

    text: str = "Unknown tool: {tool}"
    """What calls fail with; `{tool}` is the name that was called."""

    @property
    def answers(self) -> bool:
        return True

    def tools(self, specs: Sequence[ToolSpec], state: WorldState) -> Sequence[ToolSpec]:
        if self.unconditional:
            return [one for one in specs if not self.selects_tool(one)]
        gone = state.values.get(f"{self.key}/tools", ())
        return [one for one in specs if one.name not in gone]

    async def strikes(self, step: StepContext) -> bool:
        return step.call.name in step.values.get("tools", ()) or await super().strikes(step)

    async def strike(self, step: StepContext, next: Next) -> Answer:
        text = self.text.replace("{tool}", step.call.name)
        answer = step.enforce(Observation(text=text, is_error=True))
        gone = {*step.values.get("tools", ()), step.call.name}
        return step.keep(answer, tools=sorted(gone))

    def describe(self) -> str:
        return f"After {self.calls}, the tool that was called does not exist any more."
