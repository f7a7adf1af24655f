import asyncio
from dataclasses import dataclass

from agentworld_sim import Answer, Control, Scenario, StepContext, ToolCall, World
from agentworld_sim.controls import Next, failure_of


@dataclass(frozen=True, kw_only=True)
class RateLimit(Control):
    """So many calls of a tool in a minute of the world's clock; the others fail."""

    name: str
    tool: str
    per_minute: int

    async def handle(self, step: StepContext, next: Next) -> Answer:
        if step.call.name != self.tool:
            return await next(step)
        now = step.state.clock_us
        recent = [at for at in step.values.get("answered", []) if at > now - 60_000_000]
        if len(recent) >= self.per_minute:
            return step.enforce(failure_of(step, "429 Too Many Requests"))
        return step.keep(await next(step), answered=[*recent, now])

    def describe(self) -> str:
        return f"{self.tool} answers at most {self.per_minute} calls a minute."


async def main() -> None:
    scenario = Scenario.model_validate({"name": "limited", "domains": ["terminal"]})
    limit = RateLimit(name="limit", tool="bash", per_minute=2)
    async with await World.create(scenario, controls=[limit]) as world:
        for command in ("echo 1", "echo 2", "echo 3"):
            turn = await world.step(ToolCall("bash", {"command": command}))
            print(turn.observation.provenance, turn.observation.text.strip())


asyncio.run(main())
