"""A real shell: this host's programs in namespaces of their own, on a copy of the task's files."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from tempfile import TemporaryDirectory

from agentworld_sim.bench.transfer.places import PlaceAnswer, shell_answer
from agentworld_sim.bench.transfer.transfer_task import TransferTask
from agentworld_sim.engines.shell.jail import Jail, write_entry
from agentworld_sim.scenario import CommandGoal, FileGoal
from agentworld_sim.types.files import MemoryBlobs
from agentworld_sim.types.tools import ToolCall

SECONDS = 30.0
ENV = {
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "USER": "root",
    "PYTHONDONTWRITEBYTECODE": "1",
}


class RealShell:
    """Implements `Place`."""

    @classmethod
    async def open(cls, task: TransferTask, jail: Jail) -> RealShell:
        return cls(task, jail)

    def __init__(self, task: TransferTask, jail: Jail) -> None:
        self._scenario, self._jail = task.scenario, jail
        self._blobs = MemoryBlobs()
        self._tree = self._scenario.initial_files(self._blobs).tree
        self._folder = TemporaryDirectory(prefix="agentworld-transfer-")
        for path, entry in self._tree.items():
            if path != "/" and not path.startswith(("/usr/", "/proc/", "/dev/", "/bin", "/lib")):
                write_entry(Path(self._folder.name + path), entry, self._blobs)

    @classmethod
    def jail(cls) -> Jail:
        """The jail of all of them.

        Raises:
            UsageError: this host does not let a process be locked in, so nothing is replayed.
        """
        # Debian's names for programs lead through here.
        names = "/etc/alternatives"
        return Jail([names] if Path(names).is_dir() else [], seconds=SECONDS)

    async def call(self, call: ToolCall) -> PlaceAnswer:
        code, out, err = await self._run(str(call.arguments["command"]))
        return shell_answer(code, out, err)

    async def problems(self, finished: bool) -> list[str]:
        found: list[str] = []
        for goal in self._scenario.goals:
            if isinstance(goal, CommandGoal):
                code, out, err = await self._run(goal.command)
                met = code == goal.exit_code and goal.stdout_equals in (None, out)
                title, said = f"$ {goal.command}", f"it exited with {code}: {out}{err}"
            else:
                assert isinstance(goal, FileGoal), goal
                title, (met, said) = goal.file, self._holds(goal)
            if not met:
                found.append(f"{title}: {said[:200]}")
        return found

    def _holds(self, goal: FileGoal) -> tuple[bool, str]:
        place = Path(self._folder.name + goal.file)
        if place.is_symlink() and not place.resolve().is_relative_to(self._folder.name):
            return False, "it is a link that leads out"
        if goal.exists is not None:
            return place.exists() == goal.exists, f"it is {'' if place.exists() else 'not '}there"
        if not place.is_file():
            return False, "it is not there"
        data = place.read_bytes()
        if goal.unchanged:
            entry = self._tree[goal.file]
            return data == (self._blobs.get(entry.content) if entry.size else b""), "it was changed"
        text = data.decode("utf-8", "replace")
        return text == goal.equals, f"it says {text!r}"

    async def close(self) -> None:
        self._folder.cleanup()

    async def _run(self, command: str) -> tuple[int, str, str]:
        done = await asyncio.to_thread(
            self._jail.run,
            self._folder.name,
            ["/bin/bash", "-c", command],
            cwd=self._scenario.machine.workdir or "/",
            env=ENV,
        )
        out, err = (one.decode("utf-8", "replace") for one in (done.stdout, done.stderr))
        # Named as the world names it: by the shell's own name, not by its path.
        return done.returncode, out, re.sub(r"(?m)^/bin/bash: ", "bash: ", err)
