"""Commands that bashkit lets read and write bytes as they go."""

from __future__ import annotations

import threading
from asyncio import CancelledError
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import groupby
from operator import itemgetter
from queue import SimpleQueue
from typing import Any

from bashkit import CommandContext, CommandStatus

from agentworld_sim.engines.shell._command import CommandResult, Endless
from agentworld_sim.engines.shell.stack_guard import start_deep

LiveCommand = Callable[[CommandContext], Awaitable[CommandStatus]]

BROKEN_PIPE = 141
"""How a tool exits that dies of SIGPIPE."""


def live_command(callback: Callable[[CommandContext], CommandResult]) -> LiveCommand:
    """A live command of `callback`: with `2>&1`, messages and output come as they were written.

    It must not wait for its input: bashkit's synchronous call runs one live command at a time, so
    a pipeline of two would stand still.
    """

    async def live(context: CommandContext) -> CommandStatus:
        return await _write_result(context, callback(context))

    return live


async def _write_result(context: CommandContext, result: CommandResult) -> CommandStatus:
    pieces = result.pieces or (("err", result.stderr), ("out", result.stdout))
    try:
        for name, text in pieces:
            if text:
                output = context.stdout if name == "out" else context.stderr
                await output.write(text.encode("utf-8", "surrogateescape"))
    except BrokenPipeError:
        # The reader of a pipe has gone.
        return CommandStatus(BROKEN_PIPE)
    return CommandStatus(result.exit_code)


LUMP = 16_384
"""Bytes of output that are handed on together: each time costs two changes of the thread."""


class LiveStreams:
    """Standard input and output of a program that runs on a thread of its own, while a live command waits for it.

    What it asks for is done by the command, on its own event loop: so of two programs in a pipeline one runs while
    the other waits, and never both.
    """

    def __init__(self) -> None:
        self.asked = SimpleQueue[Callable[[CommandContext], Awaitable[Any]] | None]()
        """What the command is to do; `None` once the program has ended."""
        self.done = SimpleQueue[Any]()
        self._input = b""
        self._output: list[tuple[int, bytes]] = []
        self._size = 0

    def read(self, size: int) -> bytes:
        """At most so many bytes of standard input; none at its end."""
        if not self._input:
            self.flush()
            self._input = self._ask(lambda context: context.stdin.read_chunk()) or b""
        data, self._input = self._input[:size], self._input[size:]
        return data

    def write(self, number: int, data: bytes) -> None:
        """Writes to standard output (1) or error (2).

        Raises:
            BrokenPipeError: nobody reads it any more.
        """
        self._output.append((number, data))
        self._size += len(data)
        if self._size >= LUMP:
            self.flush()

    def flush(self) -> None:
        """Hands on what was written, in its order."""
        output, self._output, self._size = self._output, [], 0
        for number, lumps in groupby(output, key=itemgetter(0)):
            self._ask(partial(_write, number, b"".join(data for _, data in lumps)))

    def _ask(self, what: Callable[[CommandContext], Awaitable[Any]]) -> Any:
        self.asked.put(what)
        answer = self.done.get()
        if isinstance(answer, BaseException):
            raise answer
        return answer


def _write(number: int, data: bytes, context: CommandContext) -> Awaitable[None]:
    return (context.stdout if number == 1 else context.stderr).write(data)


class ProgramCount:
    """How many programs run on threads of their own. A script that is stopped does not wait for them."""

    def __init__(self) -> None:
        self._running = 0
        self._changed = threading.Condition()

    def __enter__(self) -> None:
        with self._changed:
            self._running += 1

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._running -= 1
            self._changed.notify_all()

    def wait(self, seconds: float) -> bool:
        """Waits until none runs; whether that is so."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._running, seconds)


def live_program(
    callback: Callable[[CommandContext, LiveStreams], CommandResult], programs: ProgramCount
) -> LiveCommand:
    """A live command that may wait for its input: for scripts that bashkit runs on an event loop."""

    async def live(context: CommandContext) -> CommandStatus:
        streams = LiveStreams()
        outcome: list[CommandResult] = []

        def run() -> None:
            with programs:
                try:
                    outcome.append(callback(context, streams))
                    streams.flush()
                except (BrokenPipeError, Endless):
                    outcome.append(CommandResult(exit_code=BROKEN_PIPE))
                finally:
                    streams.asked.put(None)

        start_deep(run)
        while (what := streams.asked.get()) is not None:
            try:
                streams.done.put(await what(context))
            except CancelledError:
                # The script is being stopped, and the turn has its own end.
                streams.done.put(Endless())
            except BaseException as failure:  # noqa: BLE001 -- raised in the program
                streams.done.put(failure)
        return await _write_result(context, outcome.pop())

    return live
