"""The real tools of a Debian 12 machine, to hold the simulated ones against."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from agentworld_sim.engines.shell.commands import commands_of
from agentworld_sim.engines.shell.image import base_tree
from agentworld_sim.engines.shell.live_shell import LiveShell
from agentworld_sim.engines.shell.machine import Machine
from agentworld_sim.engines.shell.session import ShellSession
from agentworld_sim.types.files import FileEntry, FileTree, MemoryBlobs

ENVIRONMENT = {
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "LOGNAME": "root",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "SHELL": "/bin/bash",
    "TERM": "dumb",
    "TZ": "UTC",
    "USER": "root",
}

START_US = 1_772_445_600_000_000
"""2026-03-02T10:00:00Z"""

# What a moment looks like that is now: the real one and the world's differ.
_RECENT = re.compile(r"\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d\b")


class Answer(NamedTuple):
    stdout: str
    stderr: str
    exit_code: int


class RealMachine:
    """Real bash, one process for each command, in one folder."""

    def __init__(self, folder: Path) -> None:
        folder.chmod(0o755)
        self._folder = folder

    def __call__(self, script: str) -> Answer:
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self._folder,
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            umask=0o022,
        )
        out, err = (text.decode(errors="replace") for text in (done.stdout, done.stderr))
        return Answer(_plain(out), _plain(err), done.returncode)


class SimulatedMachine:
    """The live shell over one world, a turn for each command."""

    def __init__(self) -> None:
        machine = Machine(workdir="/srv/app", env=tuple(ENVIRONMENT.items()))
        self.blobs = MemoryBlobs()
        self.live = LiveShell(machine, commands_of(machine))
        image = dict(base_tree(machine, START_US, self.blobs))
        image["/srv/app"] = FileEntry("directory", 0o755, START_US)
        self.live.materialise(FileTree.from_entries(image.items()), self.blobs)
        self._session = ShellSession()
        self._turn = 0

    def __call__(self, script: str) -> Answer:
        self.live.start_turn(START_US + self._turn * 1_000_000, self._turn)
        self._turn += 1
        run = self.live.run(script, self._session, keep="cwd")
        self._session = run.session
        self.live.collect(self.blobs)
        return Answer(_plain(run.stdout), _plain(run.stderr), run.exit_code)


def _plain(text: str) -> str:
    return _RECENT.sub("<recent>", text)


def assert_same_story(folder: Path, commands: Sequence[str], *, unordered: bool = False) -> None:
    """Runs the commands one after another on both machines and compares every answer.

    Args:
        folder: Where the real ones run; it is empty.
        commands: They name files by relative paths only.
        unordered: Compares lines without their order, where it is the order of directory entries.
    """
    real, simulated = RealMachine(folder), SimulatedMachine()
    different: list[str] = []
    try:
        for command in commands:
            expected, actual = real(command), simulated(command)
            if unordered:
                expected, actual = _sorted(expected), _sorted(actual)
            if actual != expected:
                different.append(f"{command}\n  real: {expected}\n  ours: {actual}")
    finally:
        simulated.live.close()
    assert not different, "\n".join(different)


def _sorted(answer: Answer) -> Answer:
    out, err = ("\n".join(sorted(text.split("\n"))) for text in answer[:2])
    return Answer(out, err, answer.exit_code)


def real_output(folder: Path, *command: str) -> str:
    """Standard output and error of one real program."""
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **ENVIRONMENT}, capture_output=True, check=False
    )
    return (done.stdout + done.stderr).decode("utf-8", "surrogateescape")
