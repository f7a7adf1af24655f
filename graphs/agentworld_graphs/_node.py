"""`SimToolNode`: a `ToolNode` whose tools a world answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, cast

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from agentworld_graphs._access import Tools, chosen
from agentworld_graphs._batches import Pass
from agentworld_graphs._failures import SimulationInterrupted, as_ours
from agentworld_graphs._place import place_of
from agentworld_graphs._refs import CHANNEL, channel_in, ref_in
from agentworld_graphs._seat import seat_of, world_of
from agentworld_graphs._simulate import SimulatedTool
from agentworld_sim import Access, AccessRefused, World, WorldRef, WorldStore

if TYPE_CHECKING:
    from agentworld_sim.model import WorldModel

Result = ToolMessage | Command[Any]
Execute = Callable[[ToolCallRequest], Result]
AsyncExecute = Callable[[ToolCallRequest], Awaitable[Result]]
Wrapper = Callable[[ToolCallRequest, Execute], Result]
AsyncWrapper = Callable[[ToolCallRequest, AsyncExecute], Awaitable[Result]]


class ToolNodeOptions(TypedDict, total=False):
    """What `ToolNode` takes besides the tools; handed on as it is."""

    name: str
    tags: list[str] | None
    handle_tool_errors: (
        bool | str | Callable[..., str] | type[Exception] | tuple[type[Exception], ...]
    )
    messages_key: str


class SimToolNode(ToolNode):
    """Put it where a graph has its `ToolNode`. The tools stay the user's, a world answers them.

    A wrapper (`wrap_tool_call`) is given the user's own tools; only what it executes is swapped. Calls
    of one message are answered in the order of the message. Our own failures end the run as
    `SimulationInterrupted`, whatever `handle_tool_errors` says.
    """

    def __init__(
        self,
        tools: Sequence[BaseTool | Callable[..., Any] | Mapping[str, Any]],
        *,
        world: World | str | None = None,
        store: WorldStore | None = None,
        model: WorldModel | str | None = None,
        access: Mapping[str, Access] | None = None,
        binds_to: Mapping[str, str] | None = None,
        wrap_tool_call: Wrapper | None = None,
        awrap_tool_call: AsyncWrapper | None = None,
        **options: Unpack[ToolNodeOptions],
    ) -> None:
        """
        Args:
            tools: The real tools.
            world: The world that answers; the id of one in `store`; or nothing, for a fresh empty
                machine.
            store: Where the world of that id lives.
            model: The language world model that imagines what cannot be computed, or its URL, for a
                world that is made or opened here; what AGENTWORLD_MODEL_URL names by default.
            access: By exact tool name: `real` lets the real tool run, `refuse` fails the run when the
                agent calls it. All others are simulated.
            binds_to: By tool name: what it is, for example `{"sh": "claude-code/Bash"}`.
            wrap_tool_call: As for `ToolNode`.
            awrap_tool_call: As for `ToolNode`.
            options: As for `ToolNode`.

        Raises:
            AccessRefused: tools that bind to nothing; the message lists each and what to do.
            UsageError: `access` or `binds_to` name what is not there.
        """
        self._wrapper = wrap_tool_call
        self._async_wrapper = awrap_tool_call
        self._world = world_of(world, store, model)
        self._seat = seat_of(self._world)
        self._start = self._world.ref
        self._key = options.get("messages_key", "messages")
        self._chosen: Tools = chosen(
            tools,
            self._world,
            access=access or {},
            binds_to=binds_to or {},
            messages_key=self._key,
        )
        super().__init__(  # pyright: ignore[reportUnknownMemberType]  its functions are untyped
            list(self._chosen.run.values()),
            **options,
            wrap_tool_call=self._wrap,
            awrap_tool_call=self._wrap_async,
        )

    @property
    def world(self) -> World:
        """The world that answers."""
        return self._world

    def _wrap(self, request: ToolCallRequest, execute: Execute) -> Result:
        with self._watched(request) as finish:
            if self._wrapper is None:
                return finish(execute(request))
            return finish(
                self._wrapper(self._as_given(request), lambda inner: execute(self._swapped(inner)))
            )

    async def _wrap_async(self, request: ToolCallRequest, execute: AsyncExecute) -> Result:
        with self._watched(request) as finish:
            if self._async_wrapper is None and self._wrapper is None:
                return finish(await execute(request))

            async def swapped(inner: ToolCallRequest) -> Result:
                return await execute(self._swapped(inner))

            given = self._as_given(request)
            if self._async_wrapper is not None:
                return finish(await self._async_wrapper(given, swapped))
            # A wrapper without an async twin would block the loop: it gets a thread.
            loop = asyncio.get_running_loop()
            return finish(
                await asyncio.to_thread(
                    cast("Wrapper", self._wrapper),
                    given,
                    lambda inner: asyncio.run_coroutine_threadsafe(swapped(inner), loop).result(),
                )
            )

    def _as_given(self, request: ToolCallRequest) -> ToolCallRequest:
        """The request with the user's own tool, for the user's own wrapper."""
        given = request.tool and self._chosen.given.get(request.tool.name)
        return request.override(tool=given) if given is not None else request

    def _swapped(self, request: ToolCallRequest) -> ToolCallRequest:
        """The request with the tool that may run."""
        tool = request.tool
        if tool is None or isinstance(tool, SimulatedTool):
            return request
        if tool is self._chosen.given.get(tool.name):
            return request.override(tool=self._chosen.run[tool.name])
        raise SimulationInterrupted(
            AccessRefused(
                f"a wrapper asked for a tool {tool.name!r} that was not given to the SimToolNode."
                " Give it there, or hand on simulate(tool, world) in its place."
            )
        )

    @contextmanager
    def _watched(self, request: ToolCallRequest) -> Generator[Callable[[Result], Result]]:
        """Tells the calls after this one when it is through; gives what finishes its result."""
        place = place_of(cast("Any", request).runtime, self._key)
        if place is None:
            yield lambda result: result
            return

        def base() -> WorldRef:
            return ref_in(request.state, world=self.world.id, key=self._key) or self._start

        attempt = self._seat.enter(place, base)[1]
        attempt.supervised = True
        attempt.left.pop(place.call, None)
        try:
            yield lambda result: self._finished(result, request, attempt, place.call)
        except GraphBubbleUp as left:
            attempt.left[place.call] = left
            raise
        finally:
            attempt.end(place.call)

    def _finished(
        self, result: Result, request: ToolCallRequest, attempt: Pass, call: str
    ) -> Result:
        """The result with the new ref for the graph's channel, if it has one.

        Raises:
            SimulationInterrupted: the call failed on our side, and a wrapper made a message of it.
        """
        failure = attempt.failed.get(call)
        if failure is not None:
            raise SimulationInterrupted(as_ours(failure)) from failure
        ref = attempt.refs.get(call)
        if ref is None or channel_in(request.state) is None:
            return result
        if isinstance(result, ToolMessage):
            return Command(update={self._key: [result], CHANNEL: ref})
        update: object = result.update
        if isinstance(update, Mapping):
            changed = {**cast("Mapping[str, Any]", update), CHANNEL: ref}
            return replace(result, update=changed)
        return result
