"""The proof of a task on a site: its reference meets its goals, the start does not, and near misses do not."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from agentworld_sim.errors import UsageError
from agentworld_sim.goals import check_goals
from agentworld_sim.scenario import SiteTasks
from agentworld_sim.scenario.site_tasks import element_ref
from agentworld_sim.types.tools import ToolCall
from agentworld_sim.world import World

Call = Callable[[str, Mapping[str, Any]], Awaitable[tuple[str, bool]]]


class TaskAgent:
    """Does the steps of a task with the tools of Playwright's MCP server, as an agent does.

    Args:
        call: Calls a tool; gives its answer, and whether it failed.
        home: The address that paths are relative to.
    """

    def __init__(self, call: Call, home: str) -> None:
        self._call = call
        self._home = home.rstrip("/")

    async def do(self, step: Mapping[str, Any]) -> None:
        """Does one step.

        Raises:
            UsageError: the page has no such element, or the tool refuses.
        """
        ((verb, said),) = step.items()
        match verb:
            case "open":
                await self._do("navigate", url=said if "://" in said else self._home + said)
            case "click":
                await self._do("click", element=said, target=await self._ref(said))
            case "type":
                for target, text in said.items():
                    ref = await self._ref(target)
                    await self._do("type", element=target, target=ref, text=str(text))
            case "select":
                for target, chosen in said.items():
                    values = (
                        cast("list[str]", chosen) if isinstance(chosen, list) else [str(chosen)]
                    )
                    ref = await self._ref(target)
                    await self._do("select_option", element=target, target=ref, values=values)
            case "press":
                await self._do("press_key", key=said)
            case "dialog":
                await self._do("handle_dialog", accept=said == "accept")
            case _:
                await self._do("submit_answer", answer=str(said))

    async def snapshot(self) -> str:
        """What the page looks like, as the tool tells it."""
        return await self._do("snapshot")

    async def _ref(self, target: str) -> str:
        snapshot = await self.snapshot()
        ref = element_ref(snapshot, target)
        if ref is None:
            raise UsageError(f"the page shows no {target}:\n{snapshot}")
        return ref

    async def _do(self, tool: str, **arguments: Any) -> str:
        name = tool if tool == "submit_answer" else f"browser_{tool}"
        text, failed = await self._call(name, arguments)
        if failed:
            raise UsageError(f"{name} {json.dumps(arguments)} failed: {text}")
        return text


def calls_of(world: World) -> Call:
    """Calls the tools of a world."""

    async def call(name: str, arguments: Mapping[str, Any]) -> tuple[str, bool]:
        observation = (await world.step(ToolCall(name, arguments))).observation
        return observation.text, observation.is_error

    return call


async def prove_site_task(tasks: SiteTasks, name: str) -> list[str]:
    """What is wrong with a task; nothing, where its reference reaches its goals, it is not done at the start, and
    every near miss is refused by the goal that it names.

    Raises:
        UsageError: there is no such task.
    """
    task = tasks.task(name)
    found: list[str] = []
    start = await World.create(tasks.scenario_of(name))
    forms = [next(iter(type(goal).model_fields)) for goal in start.scenario.goals]
    try:
        if all(result.met for result in await check_goals(start)):
            found.append("every goal is met at the start")
        plays = [("the reference", None, task.steps)]
        plays += [
            (f"near miss {number}", one.refused_by, one.steps)
            for number, one in enumerate(task.near_misses, 1)
        ]
        for what, refused_by, steps in plays:
            world = await start.fork()
            try:
                agent = TaskAgent(calls_of(world), tasks.home)
                for step in steps:
                    await agent.do(step)
                results = await check_goals(world)
            except UsageError as error:
                found.append(f"{what}: {error}")
                continue
            finally:
                await world.close()
            missed = {form: one for form, one in zip(forms, results, strict=True) if not one.met}
            if refused_by is None:
                found += [f"{what}: {one.goal}: {one.reason}" for one in missed.values()]
            elif refused_by not in missed:
                found.append(f"{what}: no goal of the form `{refused_by}` refuses it")
    finally:
        await start.close()
    return found
