"""`expired-token`: the session ends, until somebody logs in again."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from agentworld_sim.controls.selective_control import FailureControl
from agentworld_sim.ports import Answer, Next, StepContext
from agentworld_sim.types.tools import ToolSpec


@dataclass(frozen=True, kw_only=True)
class ExpiredToken(FailureControl):
    """From the first call that it strikes, all calls of its tools fail, until a call of `login` succeeds; once in a line
    of history."""

    login: str = "*login*"
    """The tools, by name or pattern, that give a new token."""
    text: str = "401 Unauthorized: the access token has expired"

    def selects_tool(self, tool: ToolSpec) -> bool:
        return super().selects_tool(tool) and not fnmatchcase(tool.name, self.login)

    def concerns(self, tool: ToolSpec) -> bool:
        return self.selects_tool(tool) or fnmatchcase(tool.name, self.login)

    async def strikes(self, step: StepContext) -> bool:
        token = step.values.get("token")
        if token == "expired":
            return self.selects_tool(step.tool)
        return token is None and self.selects_tool(step.tool) and await super().strikes(step)

    async def handle(self, step: StepContext, next: Next) -> Answer:
        answer = await super().handle(step, next)
        renews = fnmatchcase(step.call.name, self.login) and step.values.get("token") == "expired"
        if renews and not answer.observation.is_error:
            return step.keep(answer, token="renewed")
        return answer

    async def strike(self, step: StepContext, next: Next) -> Answer:
        return step.keep(await super().strike(step, next), token="expired")

    def describe(self) -> str:
        return f"{self.calls} fail with {self.text!r} until a call of `{self.login}` succeeds."
