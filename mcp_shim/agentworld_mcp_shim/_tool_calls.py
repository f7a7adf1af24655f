"""Answers to `tools/call`: from the world, or a clear refusal. Nothing here can reach the upstream."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import anyio
from mcp.types import CallToolResult

from agentworld_mcp_shim._mirror import MirroredTool, schema_fault
from agentworld_mcp_shim._results import tool_result
from agentworld_sim.errors import AccessRefused, ArgumentsError, WorldFailure
from agentworld_sim.runtime.access import rule_for
from agentworld_sim.schema.validate import MalformedSchema, schema_problem
from agentworld_sim.types.tools import ToolCall
from agentworld_sim.types.turns import Observation, Turn

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from agentworld_sim.world import World

logger = logging.getLogger(__name__)

PROGRESS_SECONDS = 3.0
"""Between two notes to a client that asked for progress."""


class AnswerTooLate(WorldFailure):
    """The answer took longer than clients wait."""


class ToolCalls:
    """Answers calls of simulated tools."""

    def __init__(self, *, seconds: float = math.inf) -> None:
        self._seconds = seconds
        self._running: set[asyncio.Task[Turn]] = set()
        self._ending = False

    async def call(
        self,
        world: World,
        tool: MirroredTool,
        arguments: Mapping[str, Any],
        *,
        context: ServerRequestContext[Any] | None = None,
    ) -> CallToolResult:
        """One call.

        Raises:
            AgentworldError: the world failed; it is as it was.
        """
        marks = {"world": world.id}
        refused = {**marks, "access": "refuse"}
        if tool.problem is not None or world.tools[tool.world_name].access != "simulate":
            return tool_result(_refuse_call(world, tool), refused, is_error=True)
        try:
            turn = await self._step(world, ToolCall(tool.world_name, arguments), context)
        except MalformedSchema as error:
            tool.problems.append(schema_fault("input or output", error))
            return tool_result(_refuse_call(world, tool), refused, is_error=True)
        except ArgumentsError as error:
            # The client calls the tool by another name where several upstreams share a world.
            text = str(error).replace(repr(tool.world_name), repr(tool.name), 1)
            return tool_result(text, marks, is_error=True)
        except AccessRefused:
            return tool_result(_refuse_call(world, tool), refused, is_error=True)
        marks |= {"ref": turn.ref, "provenance": turn.observation.provenance}
        return _result(tool, turn.observation, marks)

    async def settle(self, seconds: float) -> None:
        """Cancels the calls that are being answered and waits for them, at most so long."""
        self._ending = True
        for task in self._running:
            task.cancel()
        if self._running:
            await asyncio.wait(self._running, timeout=seconds)

    async def _step(
        self, world: World, call: ToolCall, context: ServerRequestContext[Any] | None
    ) -> Turn:
        logger.info("answering %r", call.name)
        task = asyncio.ensure_future(world.step(call))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        try:
            await self._wait(task, context)
        except asyncio.CancelledError:
            # The SDK cancels again and again until we return; the step must hear it only once, or
            # it could not finish taking back what it did.
            task.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.wait([task])
            raise
        if not task.done():
            task.cancel()
            await asyncio.wait([task])
        # It may have been committed at the very last moment; then it is an answer.
        if not task.cancelled():
            return task.result()
        if self._ending:
            why = ": the server was told to end. The world is unchanged."
        else:
            why = (
                f" within {self._seconds:g} s. The world is unchanged."
                " --answer-within gives it longer, if the client waits for it."
            )
        raise AnswerTooLate(f"no answer to {call.name!r}{why}")

    async def _wait(
        self, task: asyncio.Task[Turn], context: ServerRequestContext[Any] | None
    ) -> None:
        """Waits until the step is done or its time is over, and tells the client that it goes on."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        # Most steps are done the first time they run.
        await asyncio.sleep(0)
        while not task.done() and (left := began + self._seconds - loop.time()) > 0:
            done, _ = await asyncio.wait({task}, timeout=min(PROGRESS_SECONDS, left))
            if done:
                return
            if context is not None:
                # Does nothing when the client did not ask for it.
                await context.session.report_progress(round(loop.time() - began, 1))


def _result(tool: MirroredTool, observation: Observation, marks: dict[str, Any]) -> CallToolResult:
    schema, structured = tool.output_schema, observation.structured
    if schema is None or observation.is_error:
        return tool_result(
            observation.text,
            marks,
            structured=structured if isinstance(structured, dict) else None,
            content=observation.content,
            is_error=observation.is_error,
        )
    if tool.takes_text and (structured is None or _misfit(schema, structured)):
        structured = {"result": observation.text}
    # The world has checked it, but for what a control made of it afterwards.
    wrong = _misfit(schema, structured)
    if wrong is not None:
        return tool_result(
            f"{tool.name!r} has an answer, but none in the form that its output schema demands:"
            f" {wrong}.",
            marks,
            is_error=True,
        )
    return tool_result(observation.text, marks, structured=structured, content=observation.content)


def _misfit(schema: Mapping[str, Any], value: Any) -> str | None:
    try:
        return schema_problem(schema, value)
    except MalformedSchema as error:
        return str(error)


def _refuse_call(world: World, tool: MirroredTool) -> str:
    """The error that an agent gets. The reason and the remedy are logged: it can do nothing with them."""
    problem = tool.problem or tool.examine()
    if problem is not None:
        logger.warning("%r is refused: %s. Its server's author has to mend it.", tool.name, problem)
        return f"{tool.name!r} was not called, and nothing was changed: {problem}."
    logger.warning("%s%s", world.refusal(tool.world_name), _remedy(world, tool))
    return f"{tool.name!r} was not called, and nothing was changed: it is not available here."


def _remedy(world: World, tool: MirroredTool) -> str:
    if rule_for(tool.world_name, world.scenario.access) is not None:
        return ""
    remedy = (
        " If it does what a known tool does, start with"
        f" `--bind {tool.name}=TOOLKIT/TOOL`, for example `--bind {tool.name}=terminal/bash`."
    )
    if rule_for(tool.world_name, world.scenario.routes.tools) is None:
        remedy += " Or name a language world model that imagines it: `--model-url URL`."
    return remedy
