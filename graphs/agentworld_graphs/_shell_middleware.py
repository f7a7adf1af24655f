"""`SimulatedShellMiddleware`: LangChain's shell for agents, in a world."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack, cast

from langchain.agents.middleware import (
    AgentMiddleware,
    HostExecutionPolicy,
    PIIDetectionError,
    RedactionRule,
    ShellToolMiddleware,
    ToolCallRequest,
)
from langchain_core.messages import ToolMessage
from langchain_core.tools import ToolException
from langgraph.runtime import Runtime
from pydantic import Field

from agentworld_graphs._interruption import interrupting
from agentworld_graphs._middleware import SimulatedToolsState
from agentworld_graphs._simulate import SimulatedTool
from agentworld_graphs._thread_refs import CHANNEL, ref_in
from agentworld_graphs._tool_node import AsyncExecute, Execute, Interceptor, Result
from agentworld_graphs._tool_selection import ToolSelection
from agentworld_graphs._world_handle import WorldOptions, handle_of
from agentworld_sim import ToolCall, Turn, World, WorldRef
from agentworld_sim.runtime.sync import run_sync
from agentworld_sim.supports_world import HoldsWorld
from agentworld_sim.toolkits import known_tools

if TYPE_CHECKING:
    from langchain.agents.middleware._execution import BaseExecutionPolicy

    from agentworld_graphs._call_order import CallAnswer


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
