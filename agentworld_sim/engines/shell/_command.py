"""How a command of the simulated machine is written in Python.

bashkit answers most commands itself. Where its answer differs from a plain Debian machine's, a
function here takes over: it receives a `CommandCall` and returns a `CommandResult`. It may read and
write files, read the world's clock and draw from the world's random source; it touches nothing else,
so that the same call in the same state gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal, Protocol

from agentworld_sim.engines.shell.machine import Machine

HELPER = "/proc/self/exe"
"""The command of ours that functions call. An agent sees an unreadable file of this name."""

IMAGINE = "installed"
"""Its first word where it stands for a program that is not there."""

FileKind = Literal["file", "directory", "symlink", "fifo"]


@dataclass(frozen=True, slots=True)
class FileStat:
    """What `lstat` says of one path. Times are microseconds since the epoch, on the world's clock."""

    kind: FileKind
    size: int
    mode: int
    """Permission bits only, for example `0o644`."""
    mtime_us: int
    owner: str = "root"
    group: str = "root"
    nlink: int = 1
    inode: int = 0
    """Stable for a path within one world; 0 when unknown."""


class ShellFiles(Protocol):
    """The live files of one world. Paths are absolute; relative ones are the caller's mistake.

    Failures raise `OSError` with a real `errno` (`ENOENT`, `ENOTDIR`, `EISDIR`, `EEXIST`, `ENOSPC`, …),
    so that a command can print `os.strerror(error.errno)`.
    """

    @property
    def umask(self) -> int:
        """What `umask` says in the running shell."""
        ...

    def lstat(self, path: str) -> FileStat: ...
    def stat(self, path: str) -> FileStat:
        """Follows symbolic links."""
        ...

    def exists(self, path: str) -> bool: ...
    def read(self, path: str) -> bytes: ...
    def write(self, path: str, data: bytes, *, mode: int | None = None) -> None: ...
    def append(self, path: str, data: bytes) -> None: ...
    def listdir(self, path: str) -> list[str]:
        """Names in byte order, without `.` and `..`."""
        ...

    def entries(self, path: str) -> list[tuple[str, FileStat]]:
        """The same with what `lstat` says of each."""
        ...

    def mkdir(self, path: str, *, parents: bool = False, mode: int | None = None) -> None: ...
    def remove(self, path: str, *, recursive: bool = False) -> None: ...
    def rename(self, source: str, target: str) -> None: ...
    def symlink(self, target: str, path: str) -> None: ...
    def readlink(self, path: str) -> str: ...
    def realpath(self, path: str) -> str: ...
    def chmod(self, path: str, mode: int) -> None: ...
    def chown(
        self, path: str, owner: str | None, group: str | None, *, follow: bool = True
    ) -> None: ...
    def set_mtime(self, path: str, mtime_us: int, *, follow: bool = True) -> None: ...
    def walk(self, top: str) -> Iterator[tuple[str, FileStat]]:
        """`top` itself and all below it, parents first, names in byte order; links not followed."""
        ...


class ShellClock(Protocol):
    """The world's clock as seen from inside a running command."""

    def now_us(self) -> int:
        """Microseconds since the epoch (UTC)."""
        ...

    def sleep(self, microseconds: int) -> None:
        """Moves the world's clock on; returns at once."""
        ...


class NativeCall(Protocol):
    """Runs bashkit's own command of the same name on the same files."""

    def __call__(
        self,
        argv: Sequence[str] | None = None,
        stdin: str | None = None,
        *,
        program: str | None = None,
        limit_us: int | None = None,
    ) -> CommandResult:
        """Runs it.

        Args:
            argv: Other arguments than those of the call.
            stdin: Another input than that of the call.
            program: Another command than the one of the same name: for commands that run commands.
                One of ours answers there too, except the calling one.
            limit_us: World time after which it is killed.
        """
        ...


class Endless(Exception):
    """Raised by a command that a real machine would still be running: the turn ends by timeout."""


@dataclass(frozen=True, slots=True)
class CommandCall:
    """One invocation of a command."""

    name: str
    """As typed: `ls` or `/usr/bin/ls`."""
    argv: Sequence[str]
    """Arguments after the name, already expanded by the shell."""
    stdin: str | None
    """What the pipe or redirection delivers; `None` when nothing is connected."""
    env: Mapping[str, str]
    cwd: str
    files: ShellFiles
    clock: ShellClock
    random: Random
    machine: Machine
    native: NativeCall
    """The embedded shell's own command: for arguments the override does not care about."""
    seconds_left: Callable[[], float] = lambda: 30.0
    """Host time until the command is to be given up; 0 or less once the turn is being stopped."""


Piece = tuple[Literal["out", "err"], str]
"""Something written to standard output or standard error."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0
    pieces: tuple[Piece, ...] = ()
    """Both outputs in the order of writing, for commands named in `IN_ORDER`."""
    timed_out: bool = False
    """Of a `native` call with a time limit: the limit ended it."""


Command = Callable[[CommandCall], CommandResult]
