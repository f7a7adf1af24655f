"""Commands that write their messages before their output."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import cast

from bashkit import BuiltinContext, BuiltinResult, CommandContext, CommandStatus

Callback = Callable[[BuiltinContext], BuiltinResult]


@dataclass(frozen=True, slots=True)
class _Given:
    """What `BuiltinContext` tells, of a live command."""

    name: str
    argv: list[str]
    env: dict[str, str]
    cwd: str
    stdin: str | None = None


def live_command(callback: Callback) -> Callable[[CommandContext], Awaitable[CommandStatus]]:
    """A live command of `callback`: standard error first.

    It must not wait for its input: bashkit's synchronous call runs one live command at a time, so
    a pipeline of two would stand still.
    """

    async def live(context: CommandContext) -> CommandStatus:
        given = _Given(context.name, context.argv, context.env, context.cwd)
        result = callback(cast("BuiltinContext", given))
        for text, output in ((result.stderr, context.stderr), (result.stdout, context.stdout)):
            if text:
                await output.write(text.encode("utf-8", "surrogateescape"))
        return CommandStatus(result.exit_code)

    return live
