"""`SimToolNode`: a `ToolNode` whose tools a world answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict, Unpack

from langchain_core.tools import BaseTool
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolCallRequest

from agentworld_graphs._access import Choice, Refusals
from agentworld_graphs._intercept import (
    AsyncExecute,
    AsyncWrapper,
    Execute,
    Interceptor,
    Result,
    Wrapper,
)
from agentworld_graphs._seat import ToolOptions
from agentworld_sim import World
from agentworld_sim.supports_world import HoldsWorld


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
        self._wrapper = wrap_tool_call
        self._async_wrapper = awrap_tool_call
        given: dict[str, Any] = {**options}
        own = {name: given.pop(name) for name in ToolNodeOptions.__annotations__ if name in given}
        choice = Choice(world, **given)
        self._world = choice.world
        key = own.get("messages_key", "messages")
        refusals = Refusals()
        chosen = choice.all_of(tools, messages_key=key, refusals=refusals)
        choice.require_known(chosen.given)
        refusals.raise_if_any(consequence="the node was not made")
        self._interceptor = Interceptor(choice, messages_key=key, tools=chosen)
        super().__init__(  # pyright: ignore[reportUnknownMemberType]  its functions are untyped
            list(chosen.run.values()),
            **own,
            wrap_tool_call=self._wrap,
            awrap_tool_call=self._wrap_async,
        )

    @property
    def world(self) -> World:
        """The world that answers."""
        return self._world

    def __repr__(self) -> str:
        # LangGraph's own shows the wrappers, and a bound method shows its object.
        return f"SimToolNode({list(self.tools_by_name)}, world={self._world.id!r})"

    def _wrap(self, request: ToolCallRequest, execute: Execute) -> Result:
        return self._interceptor.run(request, execute, self._wrapper)

    async def _wrap_async(self, request: ToolCallRequest, execute: AsyncExecute) -> Result:
        return await self._interceptor.arun(request, execute, self._wrapper, self._async_wrapper)
