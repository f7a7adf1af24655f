"""`ShellTurn`: what the operations of a toolkit work with on the shell engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentworld_sim.engines.shell.live_shell import Keep, LiveShell, ShellRun
from agentworld_sim.engines.shell.session import ShellSession
from agentworld_sim.types.turns import Observation


@dataclass(slots=True)
class ShellTurn:
    """What an operation works with: the live machine and the shells it keeps."""

    live: LiveShell
    sessions: dict[str, ShellSession]
    raw: dict[str, bytes] = field(default_factory=dict[str, bytes])
    """Other things kept between calls, for example a terminal's screen."""
    changed: set[str] = field(default_factory=set[str])
    """Names of sessions and raw entries written in this turn."""
    shell: str = "main"
    """Which shell this tool talks to."""

    @property
    def cwd(self) -> str:
        """Where the tool's shell stands."""
        return self.session.cwd or self.live.machine.workdir

    @property
    def session(self) -> ShellSession:
        return self.sessions.get(self.shell, ShellSession())

    def run(
        self,
        script: str,
        *,
        keep: Keep = "nothing",
        stdin: bytes | None = None,
        merge: bool = False,
        timeout_s: float | None = None,
    ) -> ShellRun:
        """Runs a script in this tool's shell, which remembers for the next call what `keep` says.

        With `merge`, standard error goes where standard output goes. After `timeout_s` seconds of the world's time
        the tool gives up.
        """
        result = self.live.run(
            script,
            self.session,
            keep=keep,
            stdin=stdin,
            merge=merge,
            timeout_us=None if timeout_s is None else round(timeout_s * 1_000_000),
        )
        if keep != "nothing":
            self.sessions[self.shell] = result.session
            self.changed.add(self.shell)
        return result

    def reset(self) -> None:
        """A fresh shell for the next call."""
        self.sessions[self.shell] = ShellSession()
        self.changed.add(self.shell)


Operation = Callable[[ShellTurn, Mapping[str, Any]], Observation]
"""Computes one call. Arguments fit the tool's schema."""
