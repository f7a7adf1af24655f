"""Texts: what the embedded shell says, put as the real bash puts it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

SYNTAX_ERROR = 2
"""The exit code of a script that bash cannot parse."""

_PLAIN = (
    # bashkit adds advice that no shell gives.
    (re.compile(r"(: command not found)\. (?:Did you mean|Package managers)[^\n]*"), r"\1"),
)


def plain(text: str) -> str:
    """`text` without the embedded shell's own additions."""
    for pattern, replacement in _PLAIN:
        text = pattern.sub(replacement, text)
    return text


def limit_reached(
    error: str, stderr: str
) -> tuple[Literal["finished", "timeout", "cancelled"], str, int]:
    """What a real shell prints where bashkit reports a limit: ending, standard error, exit code."""
    said = stderr.removesuffix(error).rstrip("\n")
    said = said + "\n" if said else ""
    if "timeout" in error:
        return "timeout", said, 124
    if "cancelled" in error:
        return "cancelled", said, 130
    depth = re.search(r"maximum function depth exceeded \((\d+)\)", error)
    if depth:
        return (
            "finished",
            f"{said}bash: line 1: maximum function nesting level exceeded ({depth[1]})\n",
            1,
        )
    if "memory" in error or "budget" in error:
        return "finished", f"{said}bash: xmalloc: cannot allocate memory\n", 2
    return "finished", f"{said}Killed\n", 137


def exited(script: str) -> bool:
    """Whether `script` leaves the shell by itself, so that nothing after it is read."""
    return re.search(r"(?m)^\s*exit\b", script) is not None


def split_at_syntax_error(
    script: str, error: str, parse: Callable[[str], object]
) -> tuple[str, str]:
    """bash runs whole commands as it reads them: what comes before the error has run.

    Returns:
        The lines that run, and the message that follows.
    """
    lines = script.split("\n")
    found = re.search(r"line (\d+)", error)
    last = min(int(found[1]), len(lines)) if found else len(lines)
    runnable = ""
    for count in range(last - 1, 0, -1):
        candidate = "\n".join(lines[:count])
        try:
            parse(candidate)
        except Exception:  # any complaint means: not a whole command yet
            continue
        runnable = candidate
        break
    message = error.partition(": ")[2] or error
    if "near unexpected token" in message:
        text = f"bash: -c: line {last}: {message}\nbash: -c: line {last}: `{lines[last - 1]}'\n"
    elif "unexpected EOF while looking" in message:
        text = f"bash: -c: line {last}: {message}\n"
    else:
        text = f"bash: -c: line {len(lines) + 1}: syntax error: unexpected end of file\n"
    return runnable, text
