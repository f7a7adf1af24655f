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
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from agentworld_sim.engines.shell.toolkits._answers import error_answer, text_answer
from agentworld_sim.engines.shell.turn import ShellTurn
from agentworld_sim.types.turns import Observation

COMMAND_SECONDS = 30.0
MAX_LINES = 100

MARKER = "__LC_SHELL_DONE__"
_STREAM = "langchain/shell/stream"


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """What the real middleware is set up with."""

    seconds: float = COMMAND_SECONDS
    lines: int = MAX_LINES
    bytes: int | None = None


def in_session(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    """Runs `command`, or starts the session anew.

    With what the real middleware is set up with: `command_timeout`, `max_output_lines` and
    `max_output_bytes`, and for a new session `workspace_root`, `env` and `startup_commands`.
    """
    command: str | None = arguments.get("command")
    limits = SessionLimits(
        arguments.get("command_timeout", COMMAND_SECONDS),
        arguments.get("max_output_lines", MAX_LINES),
        arguments.get("max_output_bytes"),
    )
    if arguments.get("restart"):
        if command is not None:
            return error_answer("Specify only one of 'command' or 'restart'.")
        return _restart(turn, arguments)
    if command is None:
        return error_answer("Shell tool requires either 'command' or 'restart'.")
    if not command:
        return error_answer("Shell tool expects a 'command' string when restart is not requested.")
    return _run(turn, command, limits)


def _restart(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    _reset(turn)
    root: str | None = arguments.get("workspace_root")
    env: Mapping[str, str] = arguments.get("env") or {}
    script = [f"export {name}={shlex.quote(value)}" for name, value in env.items()]
    if root is not None:
        script += [f"mkdir -p {shlex.quote(root)}", f"cd {shlex.quote(root)}"]
    if script:
        turn.run("\n".join(script), keep="all")
    limits = SessionLimits(arguments.get("startup_timeout", COMMAND_SECONDS))
    for command in arguments.get("startup_commands") or ():
        seen = _run(turn, command, limits)
        if seen.is_error:
            told = {"command": command, "exit_code": seen.structured["exit_code"]}
            return Observation(
                text="Failed to restart shell session.", is_error=True, structured=told
            )
    return text_answer("Shell session restarted.")


def _run(turn: ShellTurn, command: str, limits: SessionLimits) -> Observation:
    payload = command if command.endswith("\n") else command + "\n"
    clock = turn.live.files.clock
    give_up_us = clock.now_us() + round(limits.seconds * 1_000_000)
    run = turn.run(f"{payload}printf '{MARKER} %s\\n' $?", keep="all", timeout_s=limits.seconds)
    before, marker, after = run.stdout.rpartition(MARKER)
    if run.ending == "timeout" or not marker or before[-1:] not in ("", "\n"):
        clock.sleep(give_up_us - clock.now_us())
        _reset(turn)
        return Observation(
            text=f"Error: Command timed out after {limits.seconds:.1f} seconds.",
            is_error=True,
            structured={"timed_out": True, "exit_code": None},
        )
    lines_read, held = _load_stream(turn)
    pieces = run.written if run.stderr == "".join(err for _, err in run.written) else ()
    lines, half = _lines(pieces or ((before, run.stderr),), before, held)
    _save_stream(turn, lines_read + payload.count("\n") + 1, half)
    return _observation([_renumber(line, lines_read) for line in lines], int(after), limits)


def _observation(lines: list[str], exit_code: int, limits: SessionLimits) -> Observation:
    ends = list(accumulate(len(line.removeprefix("[stderr] ").encode()) for line in lines))
    size = ends[-1] if lines else 0
    first = lines[: limits.lines]
    kept = [
        line
        for line, end in zip(first, ends, strict=False)
        if limits.bytes is None or end <= limits.bytes
    ]
    by_lines, by_bytes = len(lines) > len(first), len(first) > len(kept)
    text = "".join(kept) or "<no output>"
    for is_cut, at, seen in (
        (by_lines, f"{limits.lines} lines", len(lines)),
        (by_bytes, f"{limits.bytes} bytes", size),
    ):
        if is_cut:
            text = f"{text.rstrip()}\n\n... Output truncated at {at} (observed {seen})."
    if exit_code:
        text = f"{text.rstrip()}\n\nExit code: {exit_code}"
    structured = {
        "timed_out": False,
        "exit_code": exit_code,
        "truncated_by_lines": by_lines,
        "truncated_by_bytes": by_bytes,
        "total_lines": len(lines),
        "total_bytes": size,
    }
    return Observation(text=text, is_error=bool(exit_code), structured=structured)


def without_details(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    """As the model reads it: `in_session` without what only the caller is told."""
    seen = in_session(turn, arguments)
    return error_answer(seen.text) if seen.is_error else text_answer(seen.text)


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


def _renumber(line: str, lines_read: int) -> str:
    """bash calls itself by its path here, and counts from the session's first line."""
    return re.sub(
        r"^(\[stderr\] )bash: (?:-c: )?line (\d+): ",
        lambda found: f"{found[1]}/bin/bash: line {int(found[2]) + lines_read}: ",
        line,
    )


def _load_stream(turn: ShellTurn) -> tuple[int, str]:
    """Lines that bash has read so far, and the unfinished error line."""
    lines_read, held = json.loads(turn.raw.get(_STREAM, b'[0, ""]'))
    return int(lines_read), str(held)


def _save_stream(turn: ShellTurn, lines_read: int, held: str) -> None:
    turn.raw[_STREAM] = json.dumps([lines_read, held]).encode()
    turn.changed.add(_STREAM)


def _reset(turn: ShellTurn) -> None:
    turn.reset()
    _save_stream(turn, 0, "")
