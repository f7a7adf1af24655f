"""Commands that bashkit lets read and write bytes as they go."""

from __future__ import annotations

import errno
import os
import threading
from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import partial
from inspect import CORO_CREATED, getcoroutinestate
from itertools import groupby
from operator import itemgetter
from queue import SimpleQueue
from typing import Any

from bashkit import CommandContext, CommandStatus

from agentworld_sim.engines.shell._command import CommandResult, Endless
from agentworld_sim.engines.shell.stack_guard import start_deep

LiveCommand = Callable[[CommandContext], Coroutine[Any, Any, CommandStatus]]

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


class CountedCommand:
    """A live command whose calls are noted in `calls`: one that bashkit never began is seen there."""

    def __init__(
        self, command: LiveCommand, calls: list[Coroutine[Any, Any, CommandStatus]]
    ) -> None:
        self._command, self._calls = command, calls
        # bashkit asks the instance whether it is a coroutine function, and calls it as its class says.
        self.__dict__["__call__"] = command

    def __call__(self, context: CommandContext) -> Coroutine[Any, Any, CommandStatus]:
        call = self._command(context)
        self._calls.append(call)
        return call


def close_lost(calls: list[Coroutine[Any, Any, CommandStatus]]) -> bool:
    """Empties `calls`; whether one of them never began."""
    lost = [one for one in calls if getcoroutinestate(one) == CORO_CREATED]
    for one in lost:
        one.close()
    calls.clear()
    return bool(lost)


async def _write_result(context: CommandContext, result: CommandResult) -> CommandStatus:
    pieces = result.pieces or (("err", result.stderr), ("out", result.stdout))
    try:
        for name, text in pieces:
            if text:
                number = 1 if name == "out" else 2
                await _write(number, text.encode("utf-8", "surrogateescape"), context)
    except BrokenPipeError:
        # The reader of a pipe has gone.
        return CommandStatus(BROKEN_PIPE)
    except OSError as error:
        with suppress(OSError):
            said = f"{context.name}: write error: {error.strerror}\n"
            await _write(2, said.encode(), context)
        return CommandStatus(1)
    return CommandStatus(result.exit_code)


LUMP = 16_384
"""Bytes of output that are handed on together: each time costs two changes of the thread."""


class LiveStreams:
    """`Streams` of a program that runs on a thread of its own, while a live command waits for it.

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
        if not self._input:
            self.flush()
            self._input = self._ask(lambda context: context.stdin.read_chunk()) or b""
        data, self._input = self._input[:size], self._input[size:]
        return data

    def write(self, number: int, data: bytes) -> None:
        self._output.append((number, data))
        self._size += len(data)
        if self._size >= LUMP:
            self.flush()

    def flush(self) -> None:
        output, self._output, self._size = self._output, [], 0
        for number, lumps in groupby(output, key=itemgetter(0)):
            self._ask(partial(_write, number, b"".join(data for _, data in lumps)))

    def _ask(self, what: Callable[[CommandContext], Awaitable[Any]]) -> Any:
        self.asked.put(what)
        answer = self.done.get()
        if isinstance(answer, BaseException):
            raise answer
        return answer


async def _write(number: int, data: bytes, context: CommandContext) -> None:
    try:
        await (context.stdout if number == 1 else context.stderr).write(data)
    except RuntimeError:
        # The file that it goes to has the most bytes that a file may have.
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from None


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
                except OSError:
                    # The disk is full for its messages too.
                    outcome.append(CommandResult(exit_code=1))
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
