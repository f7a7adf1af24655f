"""`pagination`: a long answer comes in pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from agentworld_sim.controls.observation_parts import change_items, with_text
from agentworld_sim.controls.selective_control import SelectiveControl
from agentworld_sim.ports import Answer, Next, StepContext
from agentworld_sim.types.state import WorldState
from agentworld_sim.types.tools import ToolSpec


@dataclass(frozen=True, kw_only=True)
class Pagination(SelectiveControl):
    """A call gives one page of the items (of a JSON list, or lines); a parameter that its tools have beside their own
    asks for another. A last line says that there are more."""

    size: int = 10
    """Items on a page."""
    parameter: str = "page"
    """The parameter: a whole number from 1 on."""

    def tools(self, specs: Sequence[ToolSpec], state: WorldState) -> Sequence[ToolSpec]:
        return [self._with_parameter(one) if self.selects_tool(one) else one for one in specs]

    def _with_parameter(self, tool: ToolSpec) -> ToolSpec:
        schema: dict[str, Any] = dict(tool.input_schema)
        page = {"type": "integer", "minimum": 1, "description": "Page of the result; 1 by default."}
        schema["properties"] = {**schema.get("properties", {}), self.parameter: page}
        return replace(tool, input_schema=schema)

    async def handle(self, step: StepContext, next: Next) -> Answer:
        own = self.selects_tool(step.tool) and self.parameter in step.call.arguments
        if not own or await self.strikes(step):
            return await super().handle(step, next)
        # The tool itself knows nothing of pages.
        return await next(self._without_parameter(step))

    def _without_parameter(self, step: StepContext) -> StepContext:
        if self.parameter not in step.call.arguments:
            return step
        arguments = {**step.call.arguments}
        del arguments[self.parameter]
        return replace(step, call=replace(step.call, arguments=arguments))

    @property
    def own_words(self) -> tuple[str, ...]:
        return (r"\bpage \d+ of \d+",)

    async def strike(self, step: StepContext, next: Next) -> Answer:
        page: int = step.call.arguments.get(self.parameter, 1)
        answer = await next(self._without_parameter(step))
        most = 0

        def cut(items: list[Any]) -> list[Any]:
            nonlocal most
            most = max(most, len(items))
            return items[(page - 1) * self.size : page * self.size]

        observation = change_items(answer.observation, cut)
        if most <= self.size and page == 1:
            return answer
        pages = -(-most // self.size)
        if page < pages:
            more = f"(page {page} of {pages}; {self.parameter}={page + 1} gives the next)"
            observation = with_text(observation, f"{observation.text.rstrip()}\n{more}\n")
        return replace(answer, observation=observation)

    def describe(self) -> str:
        return f"Answers to {self.calls} are given to the agent in pages of {self.size} items: write them whole."
