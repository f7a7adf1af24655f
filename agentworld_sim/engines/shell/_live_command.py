"""Commands whose messages and output keep their order."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import cast

from bashkit import BuiltinContext, CommandContext, CommandStatus, FileSystem

from agentworld_sim.engines.shell._command import CommandResult

LiveCallback = Callable[[BuiltinContext], CommandResult]


@dataclass(frozen=True, slots=True)
class GivenCall:
    """What `BuiltinContext` tells, of a call that has none."""

    name: str
    argv: list[str]
    env: dict[str, str]
    cwd: str
    fs: FileSystem
    stdin: str | None = None


def live_command(callback: LiveCallback) -> Callable[[CommandContext], Awaitable[CommandStatus]]:
    """A live command of `callback`: with `2>&1`, messages and output come as they were written.

    It must not wait for its input: bashkit's synchronous call runs one live command at a time, so
    a pipeline of two would stand still.
    """

    async def live(context: CommandContext) -> CommandStatus:
        given = GivenCall(context.name, context.argv, context.env, context.cwd, context.fs)
        result = callback(cast("BuiltinContext", given))
        pieces = result.pieces or (("err", result.stderr), ("out", result.stdout))
        try:
            for name, text in pieces:
                if text:
                    output = context.stdout if name == "out" else context.stderr
                    await output.write(text.encode("utf-8", "surrogateescape"))
        except BrokenPipeError:
            # The reader of a pipe has gone: a real tool dies of SIGPIPE.
            return CommandStatus(141)
        return CommandStatus(result.exit_code)

    return live
