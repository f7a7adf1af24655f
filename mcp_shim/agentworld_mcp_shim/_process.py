"""The upstream as a child process: started first of all, so that it comes up while we import.

The SDK's own stdio client is not used, for three reasons: it starts the child only after its imports,
it does not keep what the child said on standard error, and it does not tell how the child ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from agentworld_mcp_shim._stdio_lines import LineWriter, read_in_thread
from agentworld_sim.errors import UsageError, nearest
from agentworld_sim.redaction.environment import secrets_of

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage

logger = logging.getLogger(__name__)

GRACE_SECONDS = 2.0
"""After each step of a shutdown: standard input closed, terminated, killed."""

LINE_BYTES = 64 * 2**20
"""A longer line is no message of a working server."""

PRIVATE_VARIABLES = ("AGENTWORLD_UPSTREAM_", "AGENTWORLD_STORE", "AGENTWORLD_WRAPPED")
"""How variables begin that hold credentials without being named like one."""

REMEMBERED_LINES = 8
"""Of what the upstream printed, for the message that explains its failure."""


class UpstreamProcess:
    """A running MCP server that speaks over its standard streams."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str] | None = None) -> None:
        """Starts it, with the environment of this process but for our own secrets.

        Raises:
            UsageError: there is no such command, or it cannot be executed.
        """
        self.command = tuple(command)
        self.secrets = secrets_of(env or {})
        """What its own variables hold as secrets."""
        self.stray: deque[str] = deque(maxlen=REMEMBERED_LINES)
        """The last lines on standard output that were no messages."""
        self._said: deque[str] = deque(maxlen=REMEMBERED_LINES)
        self._process = _start(self.command, {**inherited_environment(), **(env or {})})
        self._closing: threading.Thread | None = None
        self._read = False
        self._ended = threading.Event()
        self._code: int | None = None
        # Daemons: a grandchild that keeps the pipes open must not keep us.
        self._listener = threading.Thread(target=self._listen, name="upstream-stderr", daemon=True)
        self._listener.start()

    @property
    def shown(self) -> str:
        """The command as a person would type it, for messages."""
        import shlex

        return shlex.join(self.command)

    def wait_exit_code(self, seconds: float = 1.0) -> int | None:
        """The exit code if it ended by itself, negative for a signal; waits for it for `seconds`."""
        if self._ended.wait(seconds):
            self._listener.join(seconds)
        return self._code

    def last_words(self) -> str:
        """The last lines on standard error, indented; empty when there were none."""
        return "".join(f"\n    {line}" for line in self._said)

    @asynccontextmanager
    async def transport(self) -> AsyncGenerator[tuple[Any, Any]]:
        """Its streams as the SDK's client wants them. The process is closed at the end."""
        self._read = True
        send, receive = read_in_thread(self._messages, name="upstream-stdout")
        try:
            # How it ended must be known before the failure makes us close it.
            assert self._process.stdin is not None
            end = partial(asyncio.to_thread, self.wait_exit_code)
            yield receive, LineWriter(self._process.stdin, end)
        finally:
            send.close()
            receive.close()
            self.close()

    def close(self) -> None:
        """Ends the process in the background, politely first. Never blocks, and may be repeated."""
        if self._closing is None:
            self._closing = threading.Thread(
                target=_stop, args=(self._process,), name="upstream-close", daemon=True
            )
            self._closing.start()

    def wait_closed(self) -> None:
        """Waits until `close` has done its work, and makes haste: somebody waits for our own end."""
        if self._closing is not None and self._closing.is_alive():
            _signal(self._process, signal.SIGTERM)
            self._closing.join(3 * GRACE_SECONDS)
        if self._process.stdout is not None and not self._read:
            self._process.stdout.close()

    def _messages(self) -> Iterator[SessionMessage]:
        """What it sends, until it closes its standard output."""
        from mcp.shared.message import SessionMessage
        from mcp_types import jsonrpc_message_adapter

        stream = self._process.stdout
        assert stream is not None
        with contextlib.suppress(ValueError, OSError), stream:
            while line := stream.readline(LINE_BYTES):
                try:
                    message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValueError:
                    if text := line[:200].decode("utf-8", "replace").strip():
                        self.stray.append(text)
                        logger.info("the upstream printed a line that is no message: %r", text)
                    continue
                yield SessionMessage(message)
        if self._closing is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._code = self._process.wait(1.0)
        self._ended.set()

    def _listen(self) -> None:
        stream = self._process.stderr
        assert stream is not None
        with contextlib.suppress(ValueError, OSError), stream:
            for line in stream:
                text = line.decode("utf-8", "replace").rstrip()
                self._said.append(text)
                logger.info("upstream: %s", text)


def inherited_environment() -> dict[str, str]:
    """The environment without what is meant for us alone."""
    from agentworld_sim.redaction.environment import is_secret

    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(PRIVATE_VARIABLES)
        and not (name.startswith("AGENTWORLD_") and is_secret(name))
    }


def _start(command: tuple[str, ...], env: dict[str, str]) -> subprocess.Popen[bytes]:
    found = shutil.which(command[0], path=env.get("PATH"))
    if found is None:
        raise UsageError(_not_found(command[0]))
    try:
        return subprocess.Popen(
            [found, *command[1:]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
            # Ctrl-C is ours to handle, and a group of its own can be ended as a whole.
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise UsageError(f"the upstream {command[0]!r} cannot be started: {error}.") from error


def _not_found(name: str) -> str:
    if os.path.isfile(name):
        return (
            f"the upstream {name!r} is not executable. Start it with its interpreter, for example"
            f" `agentworld mcp -- {os.path.basename(sys.executable)} {name}`."
        )
    names: set[str] = set()
    for folder in os.get_exec_path():
        with contextlib.suppress(OSError):
            names.update(os.listdir(folder))
    return (
        f"there is no command {name!r} in PATH.{nearest(name, names)} What stands after `--` is"
        " the command that starts the MCP server, as in a client's configuration."
        f"{_subcommand(name)}"
    )


def _subcommand(name: str) -> str:
    from agentworld_mcp_shim._command import COMMANDS

    close = nearest(name, COMMANDS)
    return f" Of the subcommands of `agentworld mcp`:{close}" if close else ""


def _stop(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    with contextlib.suppress(OSError, ValueError):
        process.stdin.close()
    for number in (None, signal.SIGTERM, signal.SIGKILL):
        if number is not None:
            _signal(process, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_SECONDS)
            return


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    # Not yet reaped, so its id, which is also its group's, cannot be another's.
    if process.poll() is None:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, number)
