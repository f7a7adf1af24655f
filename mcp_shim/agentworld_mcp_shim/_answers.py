"""Answers to `tools/call`: from the world, or a clear refusal. Nothing here can reach the upstream."""

from __future__ import annotations

import asyncio
import logging
import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from mcp.types import INVALID_PARAMS, CallToolResult

from agentworld_mcp_shim._mirror import Mirror, MirroredTool
from agentworld_mcp_shim._refusals import refuse_call
from agentworld_mcp_shim._schemas import (
    MalformedSchema,
    Schema,
    ValueTooComplex,
    argument_errors,
)
from agentworld_mcp_shim._taping import parted
from agentworld_mcp_shim._zod import not_found
from agentworld_sim.errors import (
    AccessRefused,
    ArgumentsError,
    WorldFailure,
)
from agentworld_sim.types.tools import ToolCall
from agentworld_sim.types.turns import Observation, Turn
from mcp import MCPError

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from agentworld_sim.world import World

logger = logging.getLogger(__name__)

SIMULATED = "agentworld/simulated"
"""Key in `_meta` of every result: for people and programs, not part of what a model is shown."""


PROGRESS_SECONDS = 3.0
"""Between two notes to a client that asked for progress."""


class AnswerTooLate(WorldFailure):
    """The answer took longer than clients wait."""


class Answers:
    """Answers calls of simulated tools."""

    def __init__(self, *, seconds: float = math.inf) -> None:
        """
        Args:
            seconds: Time for one answer.
        """
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
        refused = {"world": world.id, "access": "refuse"}
        if tool.problem is not None or world.tools[tool.world_name].access != "simulate":
            return _result(refuse_call(world, tool), refused, is_error=True)
        marks = {"world": world.id}
        try:
            wrong = argument_errors(tool.name, tool.input, arguments)
            if wrong is not None:
                return _result(wrong, marks, is_error=True)
            turn = await self._step(world, ToolCall(tool.world_name, arguments), context)
        except MalformedSchema as error:
            tool.problem = f"its input schema is malformed: {error}"
            return _result(refuse_call(world, tool), refused, is_error=True)
        except ArgumentsError as error:
            return _result(str(error), marks, is_error=True)
        except AccessRefused:
            return _result(refuse_call(world, tool), refused, is_error=True)
        marks |= {"ref": turn.ref, "provenance": turn.observation.provenance}
        return _rendered(tool, turn.observation, marks)

    def unknown(self, name: str, mirror: Mirror) -> CallToolResult:
        """What the server says of a tool that it does not have.

        Raises:
            MCPError: where it says so as an error of the protocol.
        """
        match mirror.style:
            case "zod":
                return _result(not_found(name), {}, is_error=True)
            case "pydantic":
                return _result(f"Unknown tool: {name}", {}, is_error=True)
            case "jsonschema":
                pass
        raise MCPError(INVALID_PARAMS, f"Unknown tool: {name}")

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
            await self._waited(task, context)
        except asyncio.CancelledError:
            # The SDK cancels again and again until we return; the step must hear it only once, or
            # it could not finish taking back what it did.
            import anyio

            task.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.wait([task])
            raise
        if not task.done():
            task.cancel()
            await asyncio.wait([task])
        # It may have been committed at the very last moment; then it is an answer.
        if task.cancelled() and self._ending:
            raise AnswerTooLate(
                f"no answer to {call.name!r}: the server was told to end. The world is unchanged."
            )
        if task.cancelled():
            raise AnswerTooLate(
                f"no answer to {call.name!r} within {self._seconds:g} s. The world is unchanged."
                " --answer-within gives it longer, if the client waits for it."
            )
        return task.result()

    async def _waited(
        self, task: asyncio.Task[Turn], context: ServerRequestContext[Any] | None
    ) -> None:
        """Waits until the step is done or its time is over, and tells the client that it goes on."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        while True:
            passed = loop.time() - began
            left = self._seconds - passed
            if left <= 0:
                return
            done, _ = await asyncio.wait({task}, timeout=min(PROGRESS_SECONDS, left))
            if done:
                return
            if context is not None:
                # Does nothing when the client did not ask for it.
                await context.session.report_progress(round(loop.time() - began, 1))


def _rendered(
    tool: MirroredTool, observation: Observation, marks: dict[str, Any]
) -> CallToolResult:
    schema, structured = tool.output, observation.structured
    if schema is None or observation.is_error:
        return _result(
            observation.text,
            marks,
            structured=structured if isinstance(structured, dict) else None,
            content=observation.content,
            is_error=observation.is_error,
        )
    if tool.takes_text and (structured is None or _misfit(schema, structured)):
        structured = {"result": observation.text}
    wrong = _misfit(schema, structured)
    if wrong is not None:
        return _result(
            f"{tool.name!r} has an answer, but none in the form that its output schema demands:"
            f" {wrong}.",
            marks,
            is_error=True,
        )
    return _result(observation.text, marks, structured=structured, content=observation.content)


def _misfit(schema: Schema, value: object) -> str | None:
    try:
        return schema.misfit(value)
    except MalformedSchema as error:
        return f"that schema is malformed: {error}"
    except ValueTooComplex as error:
        return f"it cannot be checked: {error}"


def _result(
    text: str,
    marks: Mapping[str, Any],
    *,
    structured: Any = None,
    content: Sequence[Mapping[str, Any]] = (),
    is_error: bool = False,
) -> CallToolResult:
    blocks, rest = parted(content, text)
    return CallToolResult.model_validate(
        {
            **rest,
            "content": _cleaned(blocks),
            "structuredContent": _cleaned(structured),
            "isError": is_error,
            "_meta": {**rest.get("_meta", {}), SIMULATED: dict(marks)},
        }
    )


def clean(text: str) -> str:
    """`text` with what cannot be sent as UTF-8 replaced, as servers that read files do."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(key): _cleaned(one) for key, one in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [_cleaned(one) for one in cast("list[object]", value)]
    return value
