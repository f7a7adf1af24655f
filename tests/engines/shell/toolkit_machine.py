"""A machine for tests of toolkits: calls by binding id, state kept between calls as the engine does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentworld_sim.engines.shell import ShellTurn
from agentworld_sim.engines.shell.commands import commands_of
from agentworld_sim.engines.shell.live_shell import LiveShell
from agentworld_sim.engines.shell.machine import Machine, ShellLimits
from agentworld_sim.engines.shell.session import ShellSession
from agentworld_sim.schema.validate import check_arguments
from agentworld_sim.toolkits import KnownTool, known_tools, resolve_function
from agentworld_sim.types.files import FileEntry, FileTree, MemoryBlobs, parent_of
from agentworld_sim.types.turns import Observation

START_US = 1_772_445_600_000_000
"""2026-03-02 10:00:00 UTC."""

Content = str | bytes | None
"""A file's content; `None` for a directory."""


class ToolMachine:
    """A machine with some files, called through bindings."""

    def __init__(
        self,
        files: Mapping[str, Content] | None = None,
        *,
        workdir: str = "/project",
        limits: ShellLimits | None = None,
    ) -> None:
        blobs = MemoryBlobs()
        entries: dict[str, FileEntry] = {}
        for number, (path, content) in enumerate({workdir: None, **(files or {})}.items()):
            above = parent_of(path)
            while above not in entries:
                entries[above] = FileEntry("directory", 0o755, START_US)
                above = parent_of(above)
            mtime = START_US - 86_400_000_000 * 30 + number * 1_000_000
            if content is None:
                entries[path] = FileEntry("directory", 0o755, mtime)
            else:
                data = content.encode() if isinstance(content, str) else content
                entries[path] = FileEntry("file", 0o644, mtime, blobs.put(data), len(data))
        self.blobs = blobs
        machine = Machine(workdir=workdir)
        self.live = LiveShell(machine, commands_of(machine), limits=limits)
        self.live.materialise(FileTree.from_entries(sorted(entries.items())), blobs)
        self.now_us = START_US
        self.sessions: dict[str, ShellSession] = {}
        self.raw: dict[str, bytes] = {}
        self.changed: Mapping[str, FileEntry | None] = {}
        """What the last call changed, as it would be committed."""

    def call(self, binding: str, **arguments: Any) -> Observation:
        """One call; the arguments are checked against the binding's schema first."""
        one = known_tools()[binding]
        check_arguments(one.spec, arguments)
        turn = self.turn(one)
        self.live.start_turn(self.now_us, 1)
        observation = resolve_function(one.operation)(turn, arguments)
        self.changed = self.live.collect(self.blobs)
        self.now_us = self.live.files.clock.now_us() + 100_000
        return observation

    def text(self, binding: str, **arguments: Any) -> str:
        """The text of a call that must not be an error."""
        observation = self.call(binding, **arguments)
        assert not observation.is_error, observation.text
        return observation.text

    def error(self, binding: str, **arguments: Any) -> str:
        """The text of a call that must be an error."""
        observation = self.call(binding, **arguments)
        assert observation.is_error, observation.text
        return observation.text

    def turn(self, binding: KnownTool) -> ShellTurn:
        """A turn for `binding`, over what was kept so far."""
        shell = binding.shell or binding.id
        return ShellTurn(self.live, self.sessions, self.raw, shell=shell)

    def read(self, path: str) -> bytes:
        """A file's content now."""
        return self.live.files.read(path)

    @classmethod
    def copy_of(cls, root: Path, **settings: Any) -> ToolMachine:
        """A machine that holds what lies in `root`, at the same paths."""
        found: dict[str, Content] = {}
        for path in sorted(root.rglob("*")):
            if not path.is_symlink():
                found[str(path)] = path.read_bytes() if path.is_file() else None
        machine = cls(found, workdir=str(root), **settings)
        for path in sorted(root.rglob("*")):
            if path.is_symlink():
                machine.live.files.symlink(str(path.readlink()), str(path))
        machine.live.collect(machine.blobs)
        return machine


def tree_of(root: Path) -> dict[str, Content]:
    """What lies in `root` on this host, by path: bytes, a link's target, `None` for a directory."""
    return {
        str(path): str(path.readlink())
        if path.is_symlink()
        else path.read_bytes()
        if path.is_file()
        else None
        for path in root.rglob("*")
    }


def live_tree_of(machine: ToolMachine, root: Path) -> dict[str, Content]:
    """The same of the machine."""
    files = machine.live.files
    return {
        path: files.readlink(path)
        if info.kind == "symlink"
        else files.read(path)
        if info.kind == "file"
        else None
        for path, info in files.walk(str(root))
        if path != str(root)
    }
