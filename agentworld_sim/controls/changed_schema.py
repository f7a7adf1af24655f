"""`changed-schema`: a tool's arguments have other names than they had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from agentworld_sim.controls.selective_control import SelectiveControl, failure_of
from agentworld_sim.ports import Answer, Next, StepContext
from agentworld_sim.types.state import WorldState
from agentworld_sim.types.tools import ToolSpec


@dataclass(frozen=True, kw_only=True)
class ChangedSchema(SelectiveControl):
    """From the first call that it strikes, arguments are called otherwise, in the listing too; a call with an old name
    fails. At once where it strikes every call."""

    lasting: ClassVar[bool] = True

    rename: Mapping[str, str]
    """Old name to new name."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.rename or set(self.rename) & set(self.rename.values()):
            raise self.refusal("rename", dict(self.rename), "give old names to new ones")

    def tools(self, specs: Sequence[ToolSpec], state: WorldState) -> Sequence[ToolSpec]:
        if not (self.unconditional or self.count_in(state)):
            return specs
        return [self._with_names(one) if self.selects_tool(one) else one for one in specs]

    def _with_names(self, tool: ToolSpec) -> ToolSpec:
        schema: dict[str, Any] = dict(tool.input_schema)
        schema["properties"] = _with_keys(schema.get("properties", {}), self.rename)
        schema["required"] = [self.rename.get(name, name) for name in schema.get("required", ())]
        return replace(tool, input_schema=schema)

    async def strike(self, step: StepContext, next: Next) -> Answer:
        for old, new in self.rename.items():
            if old in step.call.arguments:
                text = f"Invalid arguments: unexpected argument {old!r}; {new!r} is expected"
                return step.enforce(failure_of(step, text))
        before = {new: old for old, new in self.rename.items()}
        if not set(before) & set(step.call.arguments):
            return await next(step)
        call = replace(step.call, arguments=_with_keys(step.call.arguments, before))
        answer = await next(replace(step, call=call))
        return answer.with_values({})

    def describe(self) -> str:
        changes = ", ".join(f"{old!r} is {new!r} now" for old, new in self.rename.items())
        return f"After {self.calls}, their arguments have other names: {changes}."


def _with_keys(held: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(key, key): value for key, value in held.items()}
