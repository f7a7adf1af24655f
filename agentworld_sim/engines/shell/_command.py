"""How a command of the simulated machine is written in Python.

bashkit answers most commands itself. Where its answer differs from a plain Debian machine's, a
function here takes over: it receives a `CommandCall` and returns a `CommandResult`. It may read and
write files, read the world's clock and draw from the world's random source; it touches nothing else,
so that the same call in the same state gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Literal, Protocol

from agentworld_sim.engines.shell.file_times import TurnClock
from agentworld_sim.engines.shell.live_files import LiveFiles
from agentworld_sim.engines.shell.machine import Machine
from agentworld_sim.engines.shell.network_door import NetworkDoor
from agentworld_sim.errors import EngineFailure

HELPER = "/proc/self/exe"
"""The command of ours that functions call. An agent sees an unreadable file of this name."""

IMAGINE = "installed"
"""Its first word where it stands for a program that is not there."""


class NativeCall(Protocol):
    """Runs bashkit's own command of the same name on the same files."""

    def __call__(
        self,
        argv: Sequence[str] | None = None,
        stdin: str | None = None,
        *,
        program: str | None = None,
        limit_us: int | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> CommandResult:
        """Runs it, with other arguments and another input than those of the call where they are given.

        Args:
            program: Another command than the one of the same name: for commands that run commands.
                One of ours answers there too, except the calling one.
            limit_us: World time after which it is killed.
            cwd: Another directory than that of the call; for programs of the extra `machine`.
            env: Another environment, likewise.
        """
        ...


class Endless(Exception):
    """Raised by a command that a real machine would still be running: the turn ends by timeout."""


class NotComputed(EngineFailure):
    """Raised by a program that has changed nothing and does not compute what it was asked for: where commands are
    imagined, this one is."""


class Streams(Protocol):
    """Standard input and output of a program while it runs."""

    def read(self, size: int) -> bytes:
        """At most so many bytes of standard input; none at its end."""
        ...

    def write(self, number: int, data: bytes) -> None:
        """Writes to standard output (1) or error (2).

        Raises:
            BrokenPipeError: nobody reads it any more.
            OSError: the disk is full.
        """
        ...

    def flush(self) -> None:
        """Hands on what was written, in its order. Raises as `write`."""
        ...


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
    files: LiveFiles
    clock: TurnClock
    random: Random
    machine: Machine
    native: NativeCall
    """The embedded shell's own command: for arguments the override does not care about."""
    seconds_left: Callable[[], float] = lambda: 30.0
    """Host time until the command is to be given up; 0 or less once the turn is being stopped."""
    network: NetworkDoor | None = None
    """The internet of the world, if it has one."""
    depth: int = 0
    """How many commands wait for this one's end."""
    streams: Streams | None = None
    """Of a program that reads and writes as it goes; `stdin` is `None` then."""

    def read_stdin(self) -> bytes:
        """All of standard input."""
        if self.streams is None:
            return (self.stdin or "").encode("utf-8", "surrogateescape")
        return b"".join(iter(partial(self.streams.read, 1 << 20), b""))


Piece = tuple[Literal["out", "err"], str]
"""Something written to standard output or standard error."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0
    pieces: tuple[Piece, ...] = ()
    """Both outputs in the order of writing, for commands named in `IN_ORDER` and programs of the extra `machine`."""
    timed_out: bool = False
    """Of a `native` call with a time limit: the limit ended it."""


Command = Callable[[CommandCall], CommandResult]
