"""`SimulatedTools`: the tools of an agent made with `create_agent`, answered by a world.

`create_agent` tells a middleware nothing of the others; what one is handed shows which stand between it and
the tools. That reads private parts of LangChain, pinned by a canary test.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack, cast

from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    HostExecutionPolicy,
    LLMToolEmulator,
    ModelRequest,
    ModelResponse,
    PIIDetectionError,
    RedactionRule,
    ShellToolMiddleware,
    ToolCallRequest,
)
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, ToolException
from langgraph.runtime import Runtime
from pydantic import Field

from agentworld_graphs._interruption import SimulationInterrupted, interrupting
from agentworld_graphs._simulate import SimulatedTool
from agentworld_graphs._thread_refs import CHANNEL, SimState, marks_of, ref_in
from agentworld_graphs._tool_node import AsyncExecute, Execute, Interceptor, Result
from agentworld_graphs._tool_selection import Refusals, ToolSelection
from agentworld_graphs._world_handle import ToolOptions, WorldOptions, handle_of
from agentworld_graphs.langchain_tool_specs import (
    provider_side,
    provider_side_in,
    refusal_of,
    starts_real_shell,
)
from agentworld_sim import (
    AccessRefused,
    AgentworldError,
    ToolCall,
    ToolSpec,
    Turn,
    World,
    WorldRef,
)
from agentworld_sim.runtime.sync import run_sync
from agentworld_sim.supports_world import HoldsWorld
from agentworld_sim.toolkits import known_tools

if TYPE_CHECKING:
    from langchain.agents.middleware._execution import BaseExecutionPolicy

    from agentworld_graphs._call_order import CallAnswer


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


logger = logging.getLogger(__name__)

Commands = Sequence[str] | str | None


class SimulatedShellMiddleware(AgentMiddleware[SimulatedToolsState, Any, Any]):
    """Put it where an agent has its `ShellToolMiddleware`. No process is ever started.

    The agent has the same tool with the same texts, limits and redaction. Startup and shutdown commands
    run in the world. As with the real one a session begins with each run of the agent and keeps
    directory, variables and functions between calls; unlike the real one it outlives an interrupt, and
    time travel brings it back.
    """

    state_schema = SimulatedToolsState

    def __init__(
        self,
        workspace_root: object = None,
        *,
        world: World | HoldsWorld | str | None = None,
        startup_commands: Commands = None,
        shutdown_commands: Commands = None,
        execution_policy: BaseExecutionPolicy | None = None,
        redaction_rules: Sequence[RedactionRule] | None = None,
        tool_description: str | None = None,
        tool_name: str = "shell",
        shell_command: Sequence[str] | str | None = None,
        env: Mapping[str, Any] | None = None,
        **options: Unpack[WorldOptions],
    ) -> None:
        """
        Args:
            workspace_root: The directory in the world where a session begins; made if it is not there.
                Where the world's machine begins by default.
            world: The world that answers, or what holds it; the id of one in `store`; or nothing, for
                a fresh one.
            startup_commands: Run in the world at the start of every run and after a restart.
            shutdown_commands: Run in the world at the end of every run.
            execution_policy: Its limits of time and output hold. It starts nothing.
            redaction_rules: As for `ShellToolMiddleware`.
            tool_description: As for `ShellToolMiddleware`.
            tool_name: As for `ShellToolMiddleware`.
            shell_command: Taken and not used: the shell of a world is bash.
            env: Variables that a session has besides those of the world's machine.
            options: `scenario`, `store`, `model`, `controls` and `answers`, as `WorldOptions` says.

        Raises:
            UsageError: the world is not there, or it has another tool of that name.
        """
        super().__init__()
        # It starts nothing by being made, and tells what the tool looks like and what is wrong with
        # the settings.
        real = ShellToolMiddleware(
            tool_description=tool_description,
            tool_name=tool_name,
            redaction_rules=tuple(redaction_rules or ()),
            shell_command=shell_command,
            env=env,
        )
        self._choice = ToolSelection(world, **options)
        self._interceptor = Interceptor(self._choice)
        self._shutdown_commands = _several(shutdown_commands)
        spec = known_tools()[BINDING].spec
        handle_of(self.world).bind(
            replace(spec, name=tool_name, description=real.tools[0].description)
        )
        tool = SimulatedShellTool.of(real.tools[0], self.world, start=self._choice.start)
        assert isinstance(tool, SimulatedShellTool)
        # The real tool raises what it does not say.
        tool.handle_tool_error = False
        policy: Any = execution_policy or HostExecutionPolicy()
        tool.session = {
            **_settings_of(policy, startup_timeout=30.0),
            **({} if workspace_root is None else {"workspace_root": str(workspace_root)}),
            **({"env": {name: str(value) for name, value in env.items()}} if env else {}),
        }
        if startup_commands:
            tool.session["startup_commands"] = _several(startup_commands)
        tool.limits = _settings_of(
            policy, command_timeout=30.0, max_output_lines=100, max_output_bytes=None
        )
        tool.redaction = [rule.resolve() for rule in redaction_rules or ()]
        self._tool = tool
        self.tools = [tool]

    @property
    def world(self) -> World:
        """The world that answers."""
        return self._choice.world

    def before_agent(
        self, state: SimulatedToolsState, runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        """Begins a session and runs the startup commands.

        Raises:
            RuntimeError: a startup command failed.
            SimulationInterrupted: the world gave no answer.
        """
        return run_sync(self.abefore_agent(state, runtime))

    async def abefore_agent(
        self, state: SimulatedToolsState, runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        """As `before_agent`."""
        turn = await self._step({"restart": True, **self._tool.session}, state, None)
        if turn.observation.is_error:
            failed: Any = turn.observation.structured
            raise RuntimeError(
                f"Startup command '{failed['command']}' failed with exit code {failed['exit_code']}"
            )
        return {CHANNEL: turn.ref}

    def after_agent(
        self, state: SimulatedToolsState, runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        """Runs the shutdown commands."""
        return run_sync(self.aafter_agent(state, runtime))

    async def aafter_agent(
        self, state: SimulatedToolsState, runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        """As `after_agent`."""
        at: WorldRef | None = None
        for command in self._shutdown_commands:
            turn = await self._step({"command": command, **self._tool.limits}, state, at)
            at = turn.ref
            if turn.observation.is_error:
                logger.warning("Shutdown command '%s' failed: %s", command, turn.observation.text)
        return None if at is None else {CHANNEL: at}

    def wrap_tool_call(self, request: ToolCallRequest, handler: Execute) -> Result:
        """Keeps the thread's place in the world."""
        if not self._is_of_this_world(request):
            return handler(request)
        return self._interceptor.run(request, handler)

    async def awrap_tool_call(self, request: ToolCallRequest, handler: AsyncExecute) -> Result:
        """As `wrap_tool_call`."""
        if not self._is_of_this_world(request):
            return await handler(request)
        return await self._interceptor.arun(request, handler)

    def _is_of_this_world(self, request: ToolCallRequest) -> bool:
        return isinstance(request.tool, SimulatedTool) and request.tool.world is self.world

    async def _step(
        self, arguments: Mapping[str, Any], state: SimulatedToolsState, at: WorldRef | None
    ) -> Turn:
        base = at or ref_in(cast("object", state), world=self.world.id) or self._choice.start
        with interrupting():
            return await self.world.step(ToolCall(self._tool.name, arguments), at=base)


def _several(commands: Commands) -> list[str]:
    return [commands] if isinstance(commands, str) else list(commands or ())


def _settings_of(policy: Any, **defaults: object) -> dict[str, Any]:
    """What a policy sets otherwise than by default."""
    found = {name: getattr(policy, name) for name in defaults}
    return {name: value for name, value in found.items() if value != defaults[name]}


BINDING = "langchain/shell-session"


class SimulatedShellTool(SimulatedTool):
    """A shell session's tool, whose limits the agent is not shown."""

    session: dict[str, Any] = Field(default_factory=dict[str, Any], exclude=True, repr=False)
    """What a session is started with."""
    limits: dict[str, Any] = Field(default_factory=dict[str, Any], exclude=True, repr=False)
    """Of every command."""
    redaction: Sequence[Any] = Field(default=(), exclude=True, repr=False)

    def _arguments(self, parsed: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
        asked = super()._arguments(parsed, given)
        if asked.get("restart"):
            return {"restart": True, **self.session}
        return {"command": asked.get("command"), **self.limits}

    def _message(
        self,
        content: Any,
        call: ToolCall,
        answered: CallAnswer | None,
        artifact: object,
        *,
        error: bool = False,
    ) -> Any:
        message = super()._message(content, call, answered, artifact, error=error)
        if answered is None:
            return message
        told = dict(answered.observation.structured or {})
        asked = call.arguments
        if error and not asked.get("command") and (not asked.get("restart") or "command" in told):
            # What the real tool raises instead of saying it: the run fails, as it does there.
            raise ToolException(str(content))
        text, status = str(content), "error" if error else "success"
        matches: dict[str, Any] = {}
        for rule in self.redaction if not told.get("timed_out") else ():
            try:
                text, found = rule.apply(text)
            except PIIDetectionError as blocked:
                text, status = f"Output blocked: detected {blocked.pii_type}.", "error"
                told = {
                    "timed_out": False,
                    "exit_code": told.get("exit_code"),
                    "matches": {blocked.pii_type: blocked.matches},
                }
                break
            if found:
                matches.setdefault(rule.pii_type, []).extend(found)
        if "timed_out" in told and "matches" not in told and not told["timed_out"]:
            told["redaction_matches"] = matches
        if not isinstance(message, ToolMessage):
            return text
        return message.model_copy(update={"content": text, "status": status, "artifact": told})
