"""The engine's shell under comparison: a new shell for every command, over the files of one world."""

from __future__ import annotations

from collections.abc import Sequence

from agentworld_sim.engines.shell.commands import commands_of
from agentworld_sim.engines.shell.image import base_tree
from agentworld_sim.engines.shell.live_shell import LiveShell
from agentworld_sim.engines.shell.machine import Machine
from agentworld_sim.engines.shell.session import ShellSession
from agentworld_sim.errors import EngineFailure
from agentworld_sim.types.files import FileEntry, FileTree, MemoryBlobs

from .adapters import read_tree
from .model import ENVIRONMENT, ROOTS, WORKDIR, CommandOutcome, SessionOutcome

START_US = 1_772_445_600_000_000
"""2026-03-02 10:00:00 UTC; a session's commands follow at intervals of one second."""

MACHINE = Machine(workdir=WORKDIR, env=tuple(ENVIRONMENT.items()))
START_MODES = {"/tmp": 0o1777, "/root": 0o700}


class WorldShell:
    """The live machine as the engine runs it."""

    name = "world"

    async def run_session(self, commands: Sequence[str]) -> SessionOutcome:
        blobs = MemoryBlobs()
        tree = _start(blobs)
        shell = _shell(tree, blobs)
        outcomes: list[CommandOutcome] = []
        session = ShellSession()
        for number, command in enumerate(commands):
            shell.start_turn(START_US + number * 1_000_000, number)
            try:
                run = shell.run(command, session, keep="cwd")
            except EngineFailure as failure:
                # As the engine does: the live machine is thrown away, the turn never happened.
                outcomes.append(CommandOutcome("", str(failure), -1))
                shell = _shell(tree, blobs)
                continue
            session = run.session
            tree = tree.with_changes(shell.collect(blobs))
            # The real machine ended every command by itself.
            stopped = "" if run.ending == "finished" else f"[{run.ending}]\n"
            outcomes.append(CommandOutcome(run.stdout, run.stderr + stopped, run.exit_code))
        return SessionOutcome(outcomes, dict(read_tree(shell.files.fs)))


def _shell(tree: FileTree, blobs: MemoryBlobs) -> LiveShell:
    shell = LiveShell(MACHINE, commands_of(MACHINE))
    shell.materialise(tree, blobs)
    return shell


def _start(blobs: MemoryBlobs) -> FileTree:
    """The base image, with what the recorded machine holds under `ROOTS` at the start."""
    image = {
        path: entry
        for path, entry in base_tree(MACHINE, START_US, blobs).items()
        if not path.startswith(tuple(root + "/" for root in ROOTS))
    }
    folders = {path: START_MODES.get(path, 0o755) for path in (*ROOTS, WORKDIR)}
    image |= {path: FileEntry("directory", mode, START_US) for path, mode in folders.items()}
    return FileTree.from_entries(image.items())
