"""Small machines with tight limits, for tests of runaways and of kept shells."""

from __future__ import annotations

from collections.abc import Mapping

from agentworld_sim.engines.shell._command import Command
from agentworld_sim.engines.shell.commands import commands_of
from agentworld_sim.engines.shell.live_shell import LiveShell, ShellRun
from agentworld_sim.engines.shell.machine import Machine, ShellLimits
from agentworld_sim.engines.shell.session import ShellSession
from agentworld_sim.types.files import FileEntry, FileTree, MemoryBlobs

START_US = 1_772_442_000_000_000

TREE = FileTree.from_entries(
    [("/tmp", FileEntry("directory", 0o1777)), ("/root", FileEntry("directory", 0o755))]
)


_open: list[LiveShell] = []


def close_machines() -> None:
    """Closes every machine made here: an interpreter keeps files of the host open until then."""
    while _open:
        _open.pop().close()


class Kept:
    """One shell that is kept from call to call; `reopened` moves it to a new machine each time."""

    def __init__(
        self,
        *,
        reopened: bool = False,
        limits: ShellLimits | None = None,
        more: Mapping[str, Command] | None = None,
    ) -> None:
        self.blobs = MemoryBlobs()
        self.tree = TREE
        self.session = ShellSession()
        self._reopened = reopened
        self._limits = limits or ShellLimits(wall_seconds=20)
        self._commands = {**commands_of(Machine()), **(more or {})}
        self._turns = 0
        self.live = self._new()

    def _new(self) -> LiveShell:
        live = LiveShell(Machine(), self._commands, limits=self._limits)
        _open.append(live)
        live.materialise(self.tree, self.blobs)
        return live

    def __call__(self, script: str, *, timeout_s: float | None = None) -> ShellRun:
        if self._reopened and self._turns:
            self.close()
            self.live = self._new()
            self.session = ShellSession.from_bytes(self.session.to_bytes())
        self.live.start_turn(START_US + self._turns * 1_000_000, self._turns)
        timeout_us = None if timeout_s is None else round(timeout_s * 1_000_000)
        run = self.live.run(script, self.session, keep="all", timeout_us=timeout_us)
        self._turns += 1
        self.session = run.session
        self.tree = self.tree.with_changes(self.live.collect(self.blobs))
        return run

    def close(self) -> None:
        _open.remove(self.live)
        self.live.close()

    def out(self, script: str) -> str:
        return self(script).stdout


def once(
    script: str,
    *,
    wall_s: float = 20,
    stdin: bytes | None = None,
    limits: ShellLimits | None = None,
) -> ShellRun:
    """Runs `script` on a machine of its own, as `bash -c`."""
    live = LiveShell(
        Machine(), commands_of(Machine()), limits=limits or ShellLimits(wall_seconds=wall_s)
    )
    live.materialise(TREE, MemoryBlobs())
    live.start_turn(START_US, 7)
    try:
        return live.run(script, ShellSession(), keep="nothing", stdin=stdin)
    finally:
        live.close()
