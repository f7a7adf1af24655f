"""The pocket agent's tasks in a real bash: namespaces of its own, no network, an empty folder in memory.

What an agent writes is run only inside of the namespaces, without privileges, on a root filesystem that
is mounted read-only. Where namespaces cannot be made, nothing is run.
"""

from __future__ import annotations

import asyncio
import base64
import io
import secrets
import shlex
import shutil
import subprocess
import tarfile
from collections.abc import Mapping
from typing import Final

from agentworld_sim.episode import unknown_tool
from agentworld_sim.errors import EngineFailure, UsageError
from agentworld_sim.rollouts import EnvironmentReply, Opening, tool_objects
from agentworld_sim.rollouts.hermes import MalformedCall, parse_calls
from agentworld_sim.scoring import Reward
from agentworld_sim.types.tools import ToolSpec
from experiments.pocket.shell_tasks import SYSTEM, ShellTask
from experiments.pocket.world import TOOL

NAMESPACES: Final = ("--mount", "--uts", "--ipc", "--pid", "--net", "--fork", "--mount-proc")

COMMAND_SECONDS: Final = 10.0

MAX_INVALID_CALLS: Final = 3
"""As in a `WorldTask`."""

_FOLDER: Final = "/srv/data"
"""Stands for the simulated machine's working directory, whose name no task mentions."""

_SETUP: Final = """
set -e
mount -t tmpfs -o mode=755,size=16m none /srv
mount -t tmpfs -o mode=1777,size=16m none /tmp
mkdir {folder}
cd {folder}
base64 -d <<< {files} | tar -x
chown -R 65534:65534 .
mount -o remount,bind,ro /
export HOME={folder} LANG=C.UTF-8 TZ=UTC TERM=dumb
export PATH=/usr/local/bin:/usr/bin:/bin
umask 022
echo {mark} ready
setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all \\
  --no-new-privs bash --norc --noprofile || true
echo
echo {mark} end
tar -c . | base64 -w0
"""


class NoNamespaces(UsageError):
    """This machine does not let us run a shell apart from itself; nothing was run."""


def namespace_command() -> list[str]:
    """The `unshare` call that isolates a shell.

    Raises:
        NoNamespaces: a program is missing, or namespaces are not allowed here.
    """
    missing = [name for name in ("unshare", "setpriv", "mount", "tar") if not shutil.which(name)]
    if missing:
        raise NoNamespaces(
            f"a real shell needs {', '.join(missing)}, which this machine lacks; nothing was run"
        )
    command = ["unshare", *NAMESPACES]
    if subprocess.run([*command, "true"], capture_output=True, check=False).returncode:
        raise NoNamespaces(
            "a real shell needs mount, process and network namespaces, and this machine does not allow"
            " them (run as root); nothing was run"
        )
    return command


class RealShellTask:
    """Implements `Task`: the same task as `ShellTask.task()`, in a real bash."""

    def __init__(self, task: ShellTask, namespace: list[str]) -> None:
        """
        Args:
            task: What is to be done.
            namespace: From `namespace_command`.
        """
        self._task = task
        self._namespace = namespace

    @property
    def name(self) -> str:
        return self._task.name

    async def environment(self, *, seed: int) -> RealShell:
        return RealShell(self._task, self._namespace)

    async def close(self) -> None:
        pass


class RealShell:
    """Implements `Environment` with one bash that stays open between calls."""

    world_ref = ""

    def __init__(self, task: ShellTask, namespace: list[str]) -> None:
        self._task = task
        self._namespace = namespace
        self._mark = f"mark-{secrets.token_hex(8)}"
        self._process: asyncio.subprocess.Process | None = None
        self._ended = False
        self._invalid = 0

    async def open(self) -> Opening:
        script = _SETUP.format(
            folder=_FOLDER, files=shlex.quote(_packed(self._task.files)), mark=self._mark
        )
        self._process = await asyncio.create_subprocess_exec(
            *self._namespace,
            *("bash", "-c", script),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            limit=1 << 24,
        )
        said = await self._until(f"{self._mark} ready")
        if said is None:
            raise EngineFailure(f"the real shell of {self._task.name!r} did not come up")
        tool = ToolSpec(name="bash", input_schema=TOOL["input_schema"])
        return Opening(
            messages=(
                {"role": "system", "content": SYSTEM},
                {"role": "user", "content": self._task.instruction},
            ),
            tools=tool_objects([tool]),
        )

    async def answer(self, text: str) -> EnvironmentReply:
        calls = parse_calls(text)
        answers: list[str] = []
        for call in calls:
            command = None if isinstance(call, MalformedCall) else call.arguments.get("command")
            if isinstance(call, MalformedCall):
                answers.append(call.problem)
            elif call.name != "bash":
                answers.append(unknown_tool(call.name, ["bash"]))
            elif not isinstance(command, str):
                answers.append("Error: the argument 'command' is a text.")
            else:
                answers.append(await self._run(command))
                self._invalid = -1
            self._invalid += 1
        return EnvironmentReply(
            messages=tuple({"role": "tool", "content": answer} for answer in answers),
            done=not calls or self._ended or self._invalid >= MAX_INVALID_CALLS,
        )

    async def reward(self) -> Reward:
        tree = await self._left()
        missed = [goal for goal in self._task.goals if not _met(goal, tree)]
        return Reward(float(not missed), reason="; ".join(map(str, missed)))

    async def close(self) -> None:
        process = self._process
        if process is not None:
            if process.returncode is None:
                process.kill()
            await process.communicate()

    async def _run(self, command: str) -> str:
        """What a command prints. The shell that ran it is the one of the commands before."""
        if self._ended:
            return ""
        mark = f"{self._mark} {secrets.token_hex(4)}"
        text = base64.b64encode(command.encode()).decode()
        # `eval` keeps variables and the working directory; a syntax error ends it and not the shell.
        await self._type(f'eval "$(base64 -d <<< {text})" </dev/null 2>&1; echo; echo {mark}\n')
        said = await self._until(mark)
        if said is None:
            raise EngineFailure(f"{command!r} did not end within {COMMAND_SECONDS:.0f} s")
        return said

    async def _left(self) -> Mapping[str, bytes | None]:
        """The files at the end; `None` is a folder."""
        process = self._process
        assert process is not None and process.stdin is not None and process.stdout is not None
        if not self._ended:
            process.stdin.close()
            await self._until(f"{self._mark} end")
        packed = await asyncio.wait_for(process.stdout.read(), COMMAND_SECONDS)
        with tarfile.open(fileobj=io.BytesIO(base64.b64decode(packed))) as tar:
            return {
                member.name.removeprefix("./"): _content(tar, member) for member in tar.getmembers()
            }

    async def _type(self, line: str) -> None:
        process = self._process
        assert process is not None and process.stdin is not None
        try:
            process.stdin.write(line.encode())
            await process.stdin.drain()
        except ConnectionError:
            # The shell has ended; what it left is read all the same.
            pass

    async def _until(self, mark: str) -> str | None:
        """What is printed before a line with the mark, or before the shell's end; `None`: too long."""
        process = self._process
        assert process is not None and process.stdout is not None
        lines: list[str] = []
        try:
            async with asyncio.timeout(COMMAND_SECONDS):
                while line := (await process.stdout.readline()).decode("utf-8", "replace"):
                    if line.rstrip("\n") in (mark, f"{self._mark} end"):
                        self._ended = line.rstrip("\n") != mark or mark.endswith(" end")
                        break
                    lines.append(line)
        except TimeoutError:
            return None
        # One newline stands before the mark, so that it begins a line.
        return "".join(lines).removesuffix("\n")


def _packed(files: Mapping[str, str | None]) -> str:
    """A tree as a tar archive, in base64."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for path, text in files.items():
            member = tarfile.TarInfo(path)
            if text is None:
                member.type, member.mode = tarfile.DIRTYPE, 0o755
                tar.addfile(member)
            else:
                data = text.encode()
                member.size, member.mode = len(data), 0o644
                tar.addfile(member, io.BytesIO(data))
    return base64.b64encode(buffer.getvalue()).decode()


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes | None:
    if member.isdir():
        return None
    file = tar.extractfile(member)
    return file.read() if file else b""


def _met(goal: Mapping[str, object], tree: Mapping[str, bytes | None]) -> bool:
    """Whether a goal of the pocket agent's templates holds; they have these three forms."""
    if "command" in goal:
        folder = str(goal["command"]).removeprefix("test -d ")
        return folder in tree and tree[folder] is None
    name = str(goal["file"])
    if "exists" in goal:
        return (name in tree) == goal["exists"]
    return tree.get(name) == str(goal["equals"]).encode()
