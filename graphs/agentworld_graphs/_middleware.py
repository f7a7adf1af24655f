"""`SimulatedTools`: the tools of an agent made with `create_agent`, answered by a world.

`create_agent` tells a middleware nothing of the others; what one is handed shows which stand between it and
the tools. That reads private parts of LangChain, pinned by a canary test.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Unpack, cast

from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    LLMToolEmulator,
    ModelRequest,
    ModelResponse,
    ToolCallRequest,
)
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool

from agentworld_graphs._interruption import SimulationInterrupted, interrupting
from agentworld_graphs._thread_refs import SimState, marks_of, ref_in
from agentworld_graphs._tool_node import AsyncExecute, Execute, Interceptor, Result
from agentworld_graphs._tool_selection import Refusals, ToolSelection
from agentworld_graphs._world_handle import ToolOptions
from agentworld_graphs.tool_specs import (
    provider_side,
    provider_side_in,
    refusal_of,
    starts_real_shell,
)
from agentworld_sim import (
    AccessRefused,
    AgentworldError,
    ToolSpec,
    World,
)
from agentworld_sim.runtime.sync import run_sync
from agentworld_sim.supports_world import HoldsWorld


class SimulatedToolsState(AgentState[Any], SimState):
    """The agent's state with the point of the world's history where the thread stands."""


class SimulatedTools(AgentMiddleware[SimulatedToolsState, Any, Any]):
    """Middleware that lets a world answer every tool of an agent. Put it last.

    `create_agent(model, tools, middleware=[..., SimulatedTools(world=world)])`: the tools, those of
    other middleware included, stay what they are; only who answers changes. What cannot be simulated
    fails the run before the model is asked for the first time. Our own failures end the run as
    `SimulationInterrupted`, whatever stands around.

    `write_todos` and the `task` tool of deepagents run as they are: they only steer the agent. The
    tools of subagents are simulated too.
    """

    state_schema = SimulatedToolsState

    def __init__(
        self,
        world: World | HoldsWorld | str | None = None,
        **options: Unpack[ToolOptions],
    ) -> None:
        """
        Args:
            world: The world that answers, or what holds it; the id of one in `store`; or nothing, for
                a fresh one.
            options: `scenario`, `store`, `model`, `controls`, `answers`, `access` and `binds_to`, as
                `ToolOptions` says.

        Raises:
            UsageError: the world is not there, or `access` holds what is no access.
        """
        super().__init__()
        self.tools = []
        self._choice = ToolSelection(world, **options)
        self._interceptor = Interceptor(self._choice)
        self._failed: dict[tuple[str | None, str], SimulationInterrupted] = {}

    @property
    def world(self) -> World:
        """The world that answers."""
        return self._choice.world

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Asks the model, if everything that it could call is simulated; it is told of the tools as controls
        of the world leave them."""
        return handler(run_sync(self._ready(request)))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """As `wrap_model_call`."""
        return await handler(await self._ready(request))

    def wrap_tool_call(self, request: ToolCallRequest, handler: Execute) -> Result:
        """Lets the world answer one call."""
        self._require_innermost(request, handler)
        with self._noting_failures(request):
            return self._interceptor.run(request, handler)

    async def awrap_tool_call(self, request: ToolCallRequest, handler: AsyncExecute) -> Result:
        """As `wrap_tool_call`."""
        self._require_innermost(request, handler)
        with self._noting_failures(request):
            return await self._interceptor.arun(request, handler)

    @contextmanager
    def _noting_failures(self, request: ToolCallRequest) -> Generator[None]:
        place = _thread_of(cast("Any", request).runtime), request.tool_call["id"] or ""
        try:
            yield
        except SimulationInterrupted as failure:
            self._failed[place] = failure
            raise
        self._failed.pop(place, None)

    async def _ready(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        """
        Raises:
            SimulationInterrupted: something could not be simulated, or the agent would read a message
                that a middleware made of a failure of ours.
        """
        with interrupting(AgentworldError):
            self._require_simulated(request)
            request = await self._as_listed(request)
        thread = _thread_of(request.runtime)
        for message in reversed(request.state["messages"]):
            if isinstance(message, AIMessage):
                break
            if isinstance(message, ToolMessage) and marks_of(message) is None:
                failure = self._failed.get((thread, message.tool_call_id))
                if failure is not None:
                    raise failure
        return request

    async def _as_listed(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        """The request with the tools that the world lists where the thread stands."""
        at = ref_in(request.state, world=self.world.id) or self._choice.start
        listed, bound = await self.world.listing(at), self.world.tools
        if listed == bound:
            return request
        tools: list[BaseTool | dict[str, Any]] = []
        for tool in request.tools:
            name = None if isinstance(tool, dict) else tool.name
            if name is None or name not in bound:
                tools.append(tool)
            elif name in listed:
                tools.append(_as_listed_tool(cast("BaseTool", tool), bound[name], listed[name]))
        return request.override(tools=tools)

    def _require_simulated(self, request: ModelRequest[Any]) -> None:
        refusals = Refusals()
        sides = [provider_side(tool) for tool in request.tools]
        sides += provider_side_in(request.model, request.model_settings)
        refusals.lines += [refusal_of(name) for name in sides if name is not None]
        tools = [tool for tool in request.tools if not isinstance(tool, dict)]
        refusals.lines += [shell for tool in tools if (shell := starts_real_shell(tool))]
        self._choice.all_of(tools, refusals)
        refusals.raise_if_any(consequence="the model was not asked")

    def _require_innermost(self, request: ToolCallRequest, handler: object) -> None:
        """
        Raises:
            SimulationInterrupted: another middleware stands between this one and the tools; or `access`
                or `binds_to` name tools that the agent does not have.
        """
        with interrupting(AgentworldError):
            inner = unknown_to_us(inside_of(handler))
            if inner:
                raise AccessRefused(
                    "SimulatedTools is not the last middleware that handles tool calls:"
                    f" {', '.join(inner)} would stand between it and the tools, and could answer or run"
                    " one itself. Put SimulatedTools last."
                )
            tools = cast("Any", request).runtime.tools
            self._choice.require_known([*(one.name for one in tools), request.tool_call["name"]])


def _as_listed_tool(tool: BaseTool, bound: ToolSpec, listed: ToolSpec) -> BaseTool:
    """A tool as it is listed."""
    changes: dict[str, Any] = {}
    if listed.description != bound.description:
        changes["description"] = listed.description
    if listed.input_schema != bound.input_schema:
        changes["args_schema"] = dict(listed.input_schema)
    return tool.model_copy(update=changes) if changes else tool


def _thread_of(runtime: Any) -> str | None:
    info = runtime.execution_info
    return info and info.thread_id


FACTORY = "langchain.agents.factory"
"""Where `create_agent` chains what wraps tool calls."""

HARMLESS = ("langchain.agents.middleware.", "deepagents.", "agentworld_graphs.")
"""Where middleware is defined that hands a call on, or not at all. Should one hand on another tool,
`SimulationWatch` stops it."""

DECORATED = "langchain.agents.middleware.types"
"""Where the classes are made of functions of the user's (`@wrap_tool_call`)."""


def inside_of(handler: object) -> list[object]:
    """The middleware between a wrapper of tool calls and the tools."""
    return list(_owners(handler, set()))


def unknown_to_us(inner: Iterable[object]) -> list[str]:
    """The names of those that might answer a call themselves or run another tool."""
    return [
        kind.__name__
        for kind in map(type, inner)
        if issubclass(kind, LLMToolEmulator)
        or not issubclass(kind, AgentMiddleware)
        or not kind.__module__.startswith(HARMLESS)
        or kind.__module__ == DECORATED
    ]


def _owners(function: Any, seen: set[int]) -> Iterator[object]:
    if id(function) in seen:
        return
    seen.add(id(function))
    owner = getattr(function, "__self__", None)
    if owner is not None:
        yield owner
        return
    wrapped = getattr(function, "__wrapped__", None)
    if wrapped is not None:
        yield from _owners(wrapped, seen)
        return
    if getattr(function, "__module__", None) != FACTORY:
        return
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        if name in ("inner", "outer"):
            yield from _owners(cell.cell_contents, seen)
