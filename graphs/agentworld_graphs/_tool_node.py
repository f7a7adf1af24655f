"""`SimToolNode`, and what stands between a tool node and its tools: who answers, in which order, and what
leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypedDict, Unpack, cast

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt import ToolNode, ToolRuntime
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from agentworld_graphs._interruption import SimulationInterrupted, as_ours, interrupting
from agentworld_graphs._run_context import (
    let_through,
    reach_called_tools,
    reach_nested_nodes,
    running,
    watch_from_here,
)
from agentworld_graphs._simulate import MESSAGES, SimulatedTool
from agentworld_graphs._thread_refs import MARK, Mark, messages_in
from agentworld_graphs._tool_selection import NodeTools, Refusals, ToolSelection
from agentworld_graphs._world_handle import EnclosingCall, ToolOptions, handle_of
from agentworld_sim import AccessRefused, AgentworldError, World
from agentworld_sim.supports_world import HoldsWorld

Result = ToolMessage | Command[Any]
Execute = Callable[[ToolCallRequest], Result]
AsyncExecute = Callable[[ToolCallRequest], Awaitable[Result]]
Wrapper = Callable[[ToolCallRequest, Execute], Result]
AsyncWrapper = Callable[[ToolCallRequest, AsyncExecute], Awaitable[Result]]


class Interceptor:
    """Answers the calls of one tool node from a world.

    It stands in two places: outside of the user's own wrapper, where nothing that happens to a call
    gets past it, and inside, where the tool is swapped.
    """

    def __init__(
        self,
        choice: ToolSelection,
        messages_key: str = MESSAGES,
        tools: NodeTools | None = None,
        wrapper: Wrapper | None = None,
        async_wrapper: AsyncWrapper | None = None,
    ) -> None:
        self._choice = choice
        self._wrapper = wrapper
        """The user's own."""
        self._async_wrapper = async_wrapper
        self._key = messages_key
        self._tools = tools
        self._handle = handle_of(choice.world)

    def run(self, request: ToolCallRequest, execute: Execute) -> Result:
        """One call, through the user's wrapper if there is one."""
        with self._in_order(request) as check:
            if self._wrapper is None:
                return check(self._execute(request, execute))
            given = self._as_given(request)
            return check(self._wrapper(given, lambda inner: self._execute(inner, execute)))

    async def arun(self, request: ToolCallRequest, execute: AsyncExecute) -> Result:
        """As `run`."""

        async def answer(inner: ToolCallRequest) -> Result:
            with self._swap(inner) as allowed:
                return await execute(allowed)

        with self._in_order(request) as check:
            if self._async_wrapper is not None:
                return check(await self._async_wrapper(self._as_given(request), answer))
            if self._wrapper is None:
                return check(await answer(request))
            # A wrapper without an async twin would block the loop: it gets a thread.
            loop = asyncio.get_running_loop()
            return check(
                await asyncio.to_thread(
                    self._wrapper,
                    self._as_given(request),
                    lambda inner: asyncio.run_coroutine_threadsafe(answer(inner), loop).result(),
                )
            )

    def _execute(self, request: ToolCallRequest, execute: Execute) -> Result:
        with self._swap(request) as swapped:
            return execute(swapped)

    @contextmanager
    def _swap(self, request: ToolCallRequest) -> Generator[ToolCallRequest]:
        """The request with the tool that may run. What a real one calls is still simulated.

        Raises:
            SimulationInterrupted: none may.
        """
        tool, runtime = request.tool, _runtime(request)
        with interrupting(AgentworldError):
            run = tool and self._tool_for(tool)
        if self._tools is None and isinstance(run, SimulatedTool):
            run = run.in_call(runtime)
        if run is not None and run is not tool:
            request = request.override(tool=run)
        if run is None or isinstance(run, SimulatedTool):
            if self._tools is None:
                # What stands inside of a middleware of ours may still replace the tool by a real one.
                watch_from_here(runtime.config, self._choice)
            yield request
            return
        watch = watch_from_here(runtime.config, self._choice)
        reach_nested_nodes()
        with reach_called_tools(), running(watch), let_through(run.name):
            yield request

    def _as_given(self, request: ToolCallRequest) -> ToolCallRequest:
        """The request with the user's own tool, for the user's own wrapper."""
        if self._tools is None or request.tool is None:
            return request
        given = self._tools.given.get(request.tool.name)
        return request if given is None else request.override(tool=given)

    def _tool_for(self, tool: BaseTool) -> BaseTool:
        if isinstance(tool, SimulatedTool):
            return tool
        if self._tools is None:
            return self._choice.tool_for(tool)
        if tool is self._tools.given.get(tool.name):
            return self._tools.run[tool.name]
        raise AccessRefused(
            f"a wrapper asked for a tool {tool.name!r} that was not given to the SimToolNode."
            " Give it there, or hand on simulate(tool, world) in its place."
        )

    @contextmanager
    def _in_order(self, request: ToolCallRequest) -> Generator[Callable[[Result], Result]]:
        """Tells the calls after this one when it is through; gives what checks its result."""
        entered = self._handle.enter_node(_runtime(request), self._key, self._choice.start)
        if entered is None:
            yield lambda result: result
            return
        attempt, call = entered.attempt, entered.site.call
        attempt.supervised = True
        attempt.left.pop(call, None)
        try:
            with entered.running():
                yield lambda result: self._check(result, request, entered)
        except GraphBubbleUp as left:
            attempt.left[call] = left
            raise
        finally:
            attempt.end(call)

    def _check(self, result: Result, request: ToolCallRequest, entered: EnclosingCall) -> Result:
        """The result, if nothing failed. The answer of a tool that asked the world itself, an agent for example,
        says where the world stands after it.

        Raises:
            SimulationInterrupted: the call failed on our side, and a wrapper made a message of it.
        """
        attempt, call = entered.attempt, entered.site.call
        failure = attempt.failed.get(call)
        if failure is not None:
            raise SimulationInterrupted(as_ours(failure)) from failure
        first = attempt.within.get(call)
        if first is None:
            return result
        entered.write_ref(_runtime(request).config)
        given: object = result.update if isinstance(result, Command) else None
        messages = messages_in(given, self._key) if given is not None else (result,)
        for message in messages:
            if isinstance(message, ToolMessage) and message.tool_call_id == call:
                mark: Mark = {**first.mark, "ref": attempt.refs[call], "provenance": "real"}
                mark.pop("model", None)
                message.additional_kwargs[MARK] = mark
        return result


def _runtime(request: ToolCallRequest) -> ToolRuntime[Any, Any]:
    return cast("ToolRuntime[Any, Any]", cast("Any", request).runtime)


class ToolNodeOptions(TypedDict, total=False):
    """What `ToolNode` takes besides the tools; handed on as it is."""

    name: str
    tags: list[str] | None
    handle_tool_errors: (
        bool | str | Callable[..., str] | type[Exception] | tuple[type[Exception], ...]
    )
    messages_key: str


class SimToolNodeOptions(ToolOptions, ToolNodeOptions, total=False):
    """What `SimToolNode` takes besides."""


class SimToolNode(ToolNode):
    """Put it where a graph has its `ToolNode`. The tools stay the user's, a world answers them.

    A wrapper (`wrap_tool_call`) is given the user's own tools; only what it executes is swapped. Calls
    of one message are answered in the order of the message. Our own failures end the run as
    `SimulationInterrupted`, whatever `handle_tool_errors` says.
    """

    _agentworld_simulated = True

    def __init__(
        self,
        tools: Sequence[BaseTool | Callable[..., Any] | Mapping[str, Any]],
        *,
        world: World | HoldsWorld | str | None = None,
        wrap_tool_call: Wrapper | None = None,
        awrap_tool_call: AsyncWrapper | None = None,
        **options: Unpack[SimToolNodeOptions],
    ) -> None:
        """
        Args:
            tools: The real tools.
            world: The world that answers, or what holds it; the id of one in `store`; or nothing, for
                a fresh one.
            wrap_tool_call: As for `ToolNode`.
            awrap_tool_call: As for `ToolNode`.
            options: `scenario`, `store`, `model`, `controls`, `answers`, `access` and `binds_to`, as
                `ToolOptions` says; `name`, `tags`, `handle_tool_errors` and `messages_key`, as for
                `ToolNode`.

        Raises:
            AccessRefused: tools that bind to nothing; the message lists each and what to do.
            UsageError: an option names what is not there.
        """
        given: dict[str, Any] = {**options}
        own = {name: given.pop(name) for name in ToolNodeOptions.__annotations__ if name in given}
        choice = ToolSelection(world, **given)
        self._world = choice.world
        refusals = Refusals()
        chosen = choice.all_of(tools, refusals)
        choice.require_known(chosen.given)
        refusals.raise_if_any(consequence="the node was not made")
        key = own.get("messages_key", MESSAGES)
        interceptor = Interceptor(choice, key, chosen, wrap_tool_call, awrap_tool_call)
        super().__init__(  # pyright: ignore[reportUnknownMemberType]  its functions are untyped
            list(chosen.run.values()),
            **own,
            wrap_tool_call=interceptor.run,
            awrap_tool_call=interceptor.arun,
        )

    @property
    def world(self) -> World:
        """The world that answers."""
        return self._world

    def __repr__(self) -> str:
        return f"SimToolNode({list(self.tools_by_name)}, world={self._world.id!r})"
