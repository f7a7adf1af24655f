"""The tool of `SimulatedShellMiddleware`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain.agents.middleware import PIIDetectionError
from langchain_core.messages import ToolMessage
from langchain_core.tools import ToolException
from pydantic import PrivateAttr

from agentworld_graphs._simulate import SimulatedTool

if TYPE_CHECKING:
    from langchain.agents.middleware._execution import BaseExecutionPolicy
    from langchain.agents.middleware._redaction import ResolvedRedactionRule

    from agentworld_graphs._batches import Answered
    from agentworld_sim import ToolCall

BINDING = "langchain/shell-session"


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """What a shell session is set up with, besides what the agent says."""

    session: Mapping[str, Any]
    """For its start; only what differs from the default."""
    command: Mapping[str, Any]
    """For every command; only what differs from the default."""
    redaction: Sequence[ResolvedRedactionRule] = ()

    @classmethod
    def of(
        cls,
        policy: BaseExecutionPolicy,
        *,
        workspace_root: str | None,
        env: Mapping[str, str],
        startup_commands: Sequence[str],
        redaction: Sequence[ResolvedRedactionRule],
    ) -> SessionSettings:
        """From what `ShellToolMiddleware` takes."""
        session: dict[str, Any] = {}
        if policy.startup_timeout != 30.0:
            session["startup_timeout"] = policy.startup_timeout
        if workspace_root is not None:
            session["workspace_root"] = workspace_root
        if env:
            session["env"] = dict(env)
        if startup_commands:
            session["startup_commands"] = list(startup_commands)
        command: dict[str, Any] = {}
        if policy.command_timeout != 30.0:
            command["command_timeout"] = policy.command_timeout
        if policy.max_output_lines != 100:
            command["max_output_lines"] = policy.max_output_lines
        if policy.max_output_bytes is not None:
            command["max_output_bytes"] = policy.max_output_bytes
        return cls(session, command, redaction)

    def of_session(self) -> Mapping[str, Any]:
        """The arguments of a new session."""
        return self.session

    def of_command(self) -> Mapping[str, Any]:
        """The arguments of a command."""
        return self.command


class SimulatedShellTool(SimulatedTool):
    """A shell session's tool, whose limits the agent is not shown."""

    _settings: SessionSettings = PrivateAttr()

    @property
    def settings(self) -> SessionSettings:
        """What the session is set up with."""
        return self._settings

    @settings.setter
    def settings(self, settings: SessionSettings) -> None:
        self._settings = settings

    def _arguments(self, parsed: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
        asked = super()._arguments(parsed, given)
        if asked.get("restart"):
            return {"restart": True, **self.settings.of_session()}
        return {"command": asked.get("command"), **self.settings.of_command()}

    def _message(
        self,
        content: Any,
        call: ToolCall,
        answered: Answered | None,
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
        for rule in self.settings.redaction if not told.get("timed_out") else ():
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
