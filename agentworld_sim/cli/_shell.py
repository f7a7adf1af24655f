"""`agentworld shell`: a shell in a simulated machine."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import Coroutine
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import click

from agentworld_sim.cli.command_options import (
    ModelChoice,
    model_options,
    named_world,
    world_options,
)
from agentworld_sim.errors import AgentworldError, UsageError
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Turn
from agentworld_sim.world import World

RUN = ToolSpec(name="bash-c", binds_to="shell/run")
_DASH_C = re.compile(r"-[A-Za-z]*c")
_LEAVES = re.compile(r"\s*(?:exit|logout)(?:\s+(\d+))?\s*;?\s*")

QUIET_SECONDS = 1.0
"""How long an interactive command may take before something is shown."""

SESSION = ToolSpec(name="bash-session", binds_to="shell/session")


class _LikeBash(click.Command):
    """Lets any argument follow `-c COMMAND`, as bash does, and no misspelt option stand before it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ends = (number + 2 for number, one in enumerate(args) if _DASH_C.fullmatch(one))
        values = self.make_parser(ctx).parse_args(args[: next(ends, len(args))])[0]
        found: object = values["arguments"]
        # Where there are none, click has a mark of its own in the place.
        for one in cast("tuple[str, ...]", found) if isinstance(found, tuple) else ():
            if one.startswith("--"):
                options = [option for known in self.params for option in known.opts]
                raise click.NoSuchOption(one.partition("=")[0], possibilities=options, ctx=ctx)
        return super().parse_args(ctx, args)


@click.command(cls=_LikeBash, context_settings={"ignore_unknown_options": True})
@click.option("-c", "command", metavar="COMMAND", help="Run this, as `bash -c` would, and exit.")
@world_options
@click.option(
    "--native-python",
    "native",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Let this virtual environment of yours answer python3, locked in, on the world's files (Linux).",
)
@model_options
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def shell(
    command: str | None,
    world_id: str | None,
    scenario: str | None,
    folder: Path | None,
    seed: int | None,
    packages: tuple[str, ...],
    native: Path | None,
    arguments: tuple[str, ...],
    model_choice: ModelChoice,
) -> None:
    """A shell in a simulated Debian machine. Nothing on this host is read or changed.

    What the machine cannot compute (npm, docker, kubectl, …) is not found, as on a machine without it;
    with a language world model (--model-url) it is imagined, on the same files.

    With the extra machine, python3, git, sqlite3 and openssl are real; pip and pytest come with --package,
    curl and wget with a scenario that has sites.

    With -c it stands in for `bash -c`: the same standard output, standard error and exit code, and
    standard input is passed on. ARGUMENTS are $0, $1, … as there.

    \b
      agentworld shell
      agentworld shell --scenario failing-test -c 'make test'
      agentworld shell --from PROJECT --package pytest -c pytest
      printf 'b\\na\\n' | agentworld shell -c sort
      agentworld shell --world lab -c 'echo hello > note'; agentworld shell --world lab -c 'cat note'
    """
    if command is None and arguments:
        raise UsageError(
            f"{arguments[0]!r} stands where nothing is expected. Commands follow -c; a script comes on"
            " standard input: `agentworld shell < FILE`."
        )
    # pydantic would look through every installed package for plugins, and a shell needs none.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "true")
    opening = named_world(world_id, scenario, folder, seed, model_choice, native, packages)
    code = asyncio.run(_shell(command, opening, arguments))
    sys.exit(code)


async def _shell(
    command: str | None, opening: Coroutine[Any, Any, World], arguments: tuple[str, ...]
) -> int:
    async with await opening as world:
        if command is not None:
            world.add_tools([RUN])
            return await _run_once(world, command, arguments)
        world.add_tools([SESSION])
        if sys.stdin.isatty():
            return await _interactive(world)
        turn = await world.step(ToolCall(SESSION.name, {"command": sys.stdin.read()}))
        return _print(turn.observation.structured)


async def _run_once(world: World, command: str, arguments: tuple[str, ...]) -> int:
    call: dict[str, Any] = {"command": command}
    if arguments:
        call["arguments"] = list(arguments)
    if not sys.stdin.isatty():
        data = await asyncio.to_thread(sys.stdin.buffer.read)
        if data:
            # latin-1 carries any byte through JSON.
            call["stdin"] = data.decode("latin-1")
    turn = await world.step(ToolCall(RUN.name, call))
    return _print(turn.observation.structured)


async def _interactive(world: World) -> int:
    from agentworld_sim.engines.shell import needs_more_input

    with suppress(ImportError):
        # Importing it gives `input` a history and line editing.
        import_module("readline")
    code, pending = 0, ""
    prompt = await _prompt(world)
    while True:
        try:
            line = _read_line("> " if pending else prompt)
        except KeyboardInterrupt:
            click.echo()
            pending = ""
            continue
        except EOFError:
            click.echo("exit")
            return code
        pending += line
        if needs_more_input(pending):
            pending += "\n"
            continue
        script, pending = pending, ""
        leaving = _LEAVES.fullmatch(script)
        if leaving is not None:
            return int(leaving[1]) % 256 if leaving[1] else code
        step = asyncio.ensure_future(world.step(ToolCall(SESSION.name, {"command": script})))
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, step.cancel)
        try:
            turn = await _with_a_sign_of_life(step)
            result = cast("dict[str, Any]", turn.observation.structured)
        except asyncio.CancelledError:
            click.echo("^C")
            continue
        except AgentworldError as error:
            click.echo(f"agentworld: {error}", err=True)
            continue
        finally:
            loop.remove_signal_handler(signal.SIGINT)
        code = _print(result)
        prompt = await _prompt(world, result["cwd"])


def _read_line(prompt: str) -> str:
    """A line that the user types. Nothing else goes on meanwhile.

    Ctrl-C gives the line up, as in bash: in a thread of its own, `input` could not be told.

    Raises:
        KeyboardInterrupt: it was given up.
        EOFError: there are no more.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return input(prompt)
    finally:
        signal.signal(signal.SIGINT, before)


async def _with_a_sign_of_life(step: asyncio.Future[Turn]) -> Turn:
    """Waits for a step; says so when it takes long, as it does when a model thinks."""
    done, _ = await asyncio.wait({step}, timeout=QUIET_SECONDS)
    if done:
        return step.result()
    from rich.console import Console

    with Console(stderr=True).status("still working … (Ctrl-C stops it)"):
        return await step


async def _prompt(world: World, cwd: str | None = None) -> str:
    machine = world.scenario.machine
    at = cwd or machine.workdir_path
    home = machine.home_path
    shown = "~" + at[len(home) :] if at == home or at.startswith(home + "/") else at
    mark = "#" if machine.user == "root" else "$"
    return f"{machine.user}@{machine.hostname}:{shown}{mark} "


def _print(structured: object) -> int:
    """Writes the two streams as they are, and gives the exit code."""
    result = cast("dict[str, Any]", structured)
    sys.stdout.buffer.write(result["stdout"].encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()
    sys.stderr.buffer.write(result["stderr"].encode("utf-8", "surrogateescape"))
    sys.stderr.buffer.flush()
    return result["exit_code"]
