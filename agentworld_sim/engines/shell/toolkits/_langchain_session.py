"""LangChain's persistent shell: one bash that reads its commands from a pipe.

After each command the real tool writes a line of its own that prints a marker with `$?`. Its habits
follow from that, and they are kept: `$?` is 0 at the start of every command; bash counts the lines of
the whole session in its messages; and where the marker does not come at the start of a line, the tool
waits until its time is over: after a command that ends the shell (`exit`, `set -e`, a syntax error), or
whose output does not end with a newline.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from agentworld_sim.engines.shell._bindings import ShellTurn
from agentworld_sim.engines.shell.toolkits._answers import failed, said
from agentworld_sim.turns import Observation

COMMAND_SECONDS = 30.0
MAX_LINES = 100

MARKER = "__LC_SHELL_DONE__"
_KEPT = "langchain/shell/stream"


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
    if run.ending == "timeout" or not marker or before[-1:] not in ("", "\n"):
        clock.sleep(give_up_us - clock.now_us())
        _forget(turn)
        return failed(f"Error: Command timed out after {COMMAND_SECONDS:.1f} seconds.")
    lines_read, held = _kept(turn)
    pieces = run.written if run.stderr == "".join(err for _, err in run.written) else ()
    lines, half = _lines(pieces or ((before, run.stderr),), before, held)
    _keep(turn, lines_read + payload.count("\n") + 1, half)
    lines = [_renumbered(line, lines_read) for line in lines]
    exit_code = int(after)
    text = "".join(lines[:MAX_LINES]) or "<no output>"
    if len(lines) > MAX_LINES:
        text = (
            f"{text.rstrip()}\n\n... Output truncated at {MAX_LINES} lines (observed {len(lines)})."
        )
    if exit_code:
        return failed(f"{text.rstrip()}\n\nExit code: {exit_code}")
    return said(text)


def _lines(pieces: tuple[tuple[str, str], ...], stdout: str, held: str) -> tuple[list[str], str]:
    """Both streams line by line, in the order of writing; error lines are marked.

    A line that is not finished goes on with the next piece of its own stream. The tool reads whole
    lines, so that an unfinished error line is held until a later command finishes it.
    """
    lines: list[str] = []
    left, half = len(stdout), ["", held]
    for out, err in pieces:
        out, left = out[:left], max(0, left - len(out))
        for stream, piece in enumerate((out, err)):
            *whole, half[stream] = (half[stream] + piece).split("\n")
            lines += [f"[stderr] {line}\n" if stream else f"{line}\n" for line in whole]
    return lines, half[1]


def _renumbered(line: str, lines_read: int) -> str:
    """bash calls itself by its path here, and counts from the session's first line."""
    return re.sub(
        r"^(\[stderr\] )bash: (?:-c: )?line (\d+): ",
        lambda found: f"{found[1]}/bin/bash: line {int(found[2]) + lines_read}: ",
        line,
    )


def _kept(turn: ShellTurn) -> tuple[int, str]:
    """Lines that bash has read so far, and the unfinished error line."""
    lines_read, held = json.loads(turn.raw.get(_KEPT, b'[0, ""]'))
    return int(lines_read), str(held)


def _keep(turn: ShellTurn, lines_read: int, held: str) -> None:
    turn.raw[_KEPT] = json.dumps([lines_read, held]).encode()
    turn.changed.add(_KEPT)


def _forget(turn: ShellTurn) -> None:
    turn.reset()
    _keep(turn, 0, "")
