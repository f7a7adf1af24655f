"""LangChain's persistent shell: one bash that reads its commands from a pipe.

After each command the real tool writes a line of its own that prints a marker with `$?`. Three habits
of the tool follow from it, and they are kept: `$?` is 0 at the start of every command, bash counts the
lines of the whole session in its messages, and a command that ends the shell (`exit`, `set -e`, a
syntax error) never prints the marker, so that the tool waits until its time is over.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from agentworld_sim.engines.shell._bindings import ShellTurn
from agentworld_sim.engines.shell.toolkits._answers import failed, said
from agentworld_sim.turns import Observation

COMMAND_SECONDS = 30.0
MAX_LINES = 100

MARKER = "__LC_SHELL_DONE__"
_LINES_READ = "langchain/shell/lines"


def in_session(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    """Runs `command`, or starts the session anew."""
    command: str | None = arguments.get("command")
    if arguments.get("restart"):
        if command is not None:
            return failed("Specify only one of 'command' or 'restart'.")
        _forget(turn)
        return said("Shell session restarted.")
    if command is None:
        return failed("Shell tool requires either 'command' or 'restart'.")
    if not command:
        return failed("Shell tool expects a 'command' string when restart is not requested.")
    return _run(turn, command)


def _run(turn: ShellTurn, command: str) -> Observation:
    payload = command if command.endswith("\n") else command + "\n"
    clock = turn.live.files.clock
    give_up_us = clock.now_us() + round(COMMAND_SECONDS * 1_000_000)
    run = turn.run(f"{payload}printf '{MARKER} %s\\n' $?", keep="all", timeout_s=COMMAND_SECONDS)
    before, marker, after = run.stdout.rpartition(MARKER)
    if run.ending == "timeout" or not marker:
        clock.sleep(give_up_us - clock.now_us())
        _forget(turn)
        return failed(f"Error: Command timed out after {COMMAND_SECONDS:.1f} seconds.")
    lines_read = _lines_read(turn)
    _remember(turn, lines_read + payload.count("\n") + 1)
    exit_code = int(after)
    lines = [_renumbered(line, lines_read) for line in _lines(run.written, before, run.stderr)]
    text = "".join(lines[:MAX_LINES]) or "<no output>"
    if len(lines) > MAX_LINES:
        text = (
            f"{text.rstrip()}\n\n... Output truncated at {MAX_LINES} lines (observed {len(lines)})."
        )
    if exit_code:
        return failed(f"{text.rstrip()}\n\nExit code: {exit_code}")
    return said(text)


def _lines(written: tuple[tuple[str, str], ...], stdout: str, stderr: str) -> Iterator[str]:
    """Both streams line by line, in the order of writing; error lines are marked.

    A line that is not finished goes on with the next piece of its own stream.
    """
    if "".join(err for _, err in written) != stderr:
        written = ((stdout, stderr),)
    left, half = len(stdout), ["", ""]
    for out, err in written:
        out, left = out[:left], max(0, left - len(out))
        for stream, piece in enumerate((out, err)):
            *whole, half[stream] = (half[stream] + piece).split("\n")
            for line in whole:
                yield f"[stderr] {line}\n" if stream else f"{line}\n"
    if half[0]:
        yield half[0]
    if half[1]:
        yield f"[stderr] {half[1]}"


def _renumbered(line: str, lines_read: int) -> str:
    """bash calls itself by its path here, and counts from the session's first line."""
    return re.sub(
        r"^(\[stderr\] )bash: (?:-c: )?line (\d+): ",
        lambda found: f"{found[1]}/bin/bash: line {int(found[2]) + lines_read}: ",
        line,
    )


def _lines_read(turn: ShellTurn) -> int:
    return int(json.loads(turn.raw.get(_LINES_READ, b"0")))


def _remember(turn: ShellTurn, lines_read: int) -> None:
    turn.raw[_LINES_READ] = json.dumps(lines_read).encode()
    turn.changed.add(_LINES_READ)


def _forget(turn: ShellTurn) -> None:
    turn.reset()
    _remember(turn, 0)
