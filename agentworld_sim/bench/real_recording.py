"""Transitions of a real MCP server and of a real browser, in which tasks of replay transfer are done."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any

from agentworld_sim.bench.transfer.model_agent import PAGE_TOOLS
from agentworld_sim.bench.transfer.places import WorldPlace
from agentworld_sim.bench.transfer.scripted_agents import play
from agentworld_sim.bench.transfer.transfer_run import real_places
from agentworld_sim.bench.transfer.transfer_task import TransferTask
from agentworld_sim.bench.transitions import (
    RecordedCall,
    RecordedSession,
    TransitionSet,
    changes_between,
    drawn_by_chance,
    parse_json,
)
from agentworld_sim.episode import offered_tools
from agentworld_sim.types.turns import Observation


async def record_tasks(tasks: Sequence[TransferTask], server: Sequence[str] = ()) -> TransitionSet:
    """Has tasks done in a world, and every call made in two real things that are alike: what is otherwise in the
    second was drawn by chance. What calls change is known of a server's records, and of pages it is not.

    Args:
        tasks: Of the kinds `mcp` and `web`.
        server: See `real_places`.

    Raises:
        UsageError: this host has no browser, and a task needs one.
    """
    found = TransitionSet()
    async with real_places({task.kind for task in tasks}, server) as places:
        for task in tasks:
            calls: list[RecordedCall] = []
            async with AsyncExitStack() as stack:
                world = await WorldPlace.open(task)
                stack.push_async_callback(world.close)
                names = PAGE_TOOLS if task.kind == "web" else None
                tools = await offered_tools(world.world, names)
                both: list[Any] = []
                for _ in range(2):
                    both.append(place := await places[task.kind](task))
                    stack.push_async_callback(place.close)
                first = before = both[0].tables()
                for call in (await play("perfect", task, world)).calls:
                    answer, other = [await place.call(call) for place in both]
                    after, there = [place.tables() for place in both]
                    here, there = [parse_json(answer.text), after], [parse_json(other.text), there]
                    said = Observation(
                        text=answer.text, is_error=answer.compared == "error", provenance="real"
                    )
                    calls.append(
                        RecordedCall(
                            call=call,
                            observation=said,
                            changes=changes_between(before, after),
                            by_chance=drawn_by_chance(here, there),
                        )
                    )
                    before = after
            found.sessions.append(
                RecordedSession(
                    source=f"real {task.kind}",
                    task=task.name,
                    tools=tuple(tools.values()),
                    keys={
                        name: one["key"] for name, one in task.document.get("tables", {}).items()
                    },
                    initial=first,
                    calls=tuple(calls),
                    has_state=task.kind == "mcp",
                )
            )
    return found
