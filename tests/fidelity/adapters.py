"""The implementations that can be compared. A new one is a class and a line in `ADAPTERS`."""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence

import bashkit

from .model import (
    ENVIRONMENT,
    ROOTS,
    WORKDIR,
    CommandOutcome,
    FileState,
    Implementation,
    SessionOutcome,
)

COMMAND_LIMIT_S = 20.0


class RawBashkit:
    """The embedded shell as it comes: a new instance for every command over one filesystem."""

    name = "raw"

    async def run_session(self, commands: Sequence[str]) -> SessionOutcome:
        files = bashkit.FileSystem()
        for path in (WORKDIR, "/tmp", "/root"):
            files.mkdir(path, recursive=True)
        directory = WORKDIR
        outcomes: list[CommandOutcome] = []
        for command in commands:
            shell = bashkit.Bash(
                username="root",
                hostname="debian",
                cwd=directory,
                env=ENVIRONMENT,
                profile=bashkit.ExecutionProfile.Interactive,
                max_commands=10**9,
                max_loop_iterations=10**9,
            )
            shell.mount("/", files)
            outcomes.append(await _execute(shell, command))
            directory = shell.shell_state().cwd
        return SessionOutcome(outcomes, dict(read_tree(files)))


async def _execute(shell: bashkit.Bash, command: str) -> CommandOutcome:
    try:
        async with asyncio.timeout(COMMAND_LIMIT_S):
            result = await shell.execute(command)
    except TimeoutError:
        shell.cancel()
        return CommandOutcome("", f"ran longer than {COMMAND_LIMIT_S:.0f} s", -1)
    stderr = result.stderr
    if result.error is not None and result.error not in stderr:
        stderr += f"[error] {result.error}\n"
    return CommandOutcome(result.stdout, stderr, result.exit_code)


def read_tree(files: bashkit.FileSystem) -> Iterator[tuple[str, FileState]]:
    """The tree under `ROOTS` of an embedded filesystem, as the recorder reads the real one."""
    waiting: list[str] = list(ROOTS)
    while waiting:
        folder = waiting.pop()
        for entry in files.read_dir(folder):
            path = posixpath.join(folder, entry["name"])
            kind, mode = str(entry["metadata"]["file_type"]), int(entry["metadata"]["mode"])
            if kind == "directory":
                waiting.append(path)
            if path != WORKDIR:
                yield path, _read_file(files, path, kind, mode)


def _read_file(files: bashkit.FileSystem, path: str, kind: str, mode: int) -> FileState:
    match kind:
        case "directory":
            return FileState.of_directory(mode)
        case "symlink":
            return FileState.of_symlink(files.read_link(path))
        case "file":
            return FileState.of_file(files.read_file(path), mode)
        case _:
            return FileState(kind="other", mode=f"{mode & 0o7777:o}")


def _world() -> Implementation:
    # Imported late: it imports this module.
    from .live import WorldShell

    return WorldShell()


ADAPTERS: Mapping[str, Callable[[], Implementation]] = {"raw": RawBashkit, "world": _world}
