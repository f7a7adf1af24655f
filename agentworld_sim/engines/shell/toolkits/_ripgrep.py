"""Searching contents as ripgrep does, with its regular expressions and its words.

The expressions are matched by the embedded shell's own `rg`, whose engine is ripgrep's: it takes time
in proportion to the text, whatever the pattern, so that no search needs a guard.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from agentworld_sim.engines.shell.turn import ShellTurn
from agentworld_sim.types.files import parent_of


class PatternRefused(ValueError):
    """The pattern is no regular expression. The text is what `rg` prints, without its name."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One line that matches, or that a match covers."""

    path: str
    line: int
    """From 1."""
    text: str
    """Without its newline."""


def run_ripgrep(turn: ShellTurn, options: Sequence[str], root: str) -> list[str]:
    """The lines that `rg` prints of the absolute path `root`, searched in the order of paths.

    Raises:
        PatternRefused: `rg` would refuse the pattern.
    """
    given = ["--sort", "path", *(word for glob in options for word in _below_too(glob))]
    folder = turn.live.files.stat(root).kind == "directory"
    cwd = root if folder else parent_of(root)
    result = turn.live.embedded("rg", [*given, "--", root], cwd=cwd)
    if result.exit_code > 1:
        raise PatternRefused(_refusal(result.stderr))
    return result.stdout.splitlines()


def pattern_options(pattern: str, *, ignore_case: bool, multiline: bool = False) -> list[str]:
    """How a pattern is given to `rg`.

    Raises:
        PatternRefused: it has a newline that `rg` would refuse.
    """
    if not multiline and ("\n" in pattern or re.search(r"(?<!\\)(?:\\\\)*\\n", pattern)):
        raise PatternRefused(_NEWLINE)
    options = ["--ignore-case"] * ignore_case
    options += ["--multiline", "--multiline-dotall"] * multiline
    return [*options, f"--regexp={pattern}"]


def _below_too(option: str) -> list[str]:
    """What leaves out a folder leaves out what is below it, too: the embedded `rg` looks at files only."""
    if not option.startswith("--glob=!"):
        return [option]
    name = option.removeprefix("--glob=!").rstrip("/")
    return [option, f"--glob=!{name if '/' in name else f'**/{name}'}/**"]


def search(turn: ShellTurn, options: Sequence[str], root: str) -> list[Hit]:
    """The lines that match.

    Raises:
        PatternRefused: `rg` would refuse the pattern.
    """
    hits: list[Hit] = []
    for line in run_ripgrep(turn, ["--json", *options], root):
        try:
            event = cast("dict[str, Any]", json.loads(line))
        except ValueError:
            # Only a last line that the embedded shell cut at its limit.
            break
        if event["type"] == "match":
            data = event["data"]
            texts = str(data["lines"]["text"]).removesuffix("\n").split("\n")
            hits += [
                Hit(data["path"]["text"], data["line_number"] + offset, text)
                for offset, text in enumerate(texts)
            ]
    return hits


_NEWLINE = (
    'the literal "\\n" is not allowed in a regex\n\n'
    "Consider enabling multiline mode with the --multiline flag (or -U for short).\n"
    "When multiline mode is enabled, new line characters can be matched."
)

_PCRE2 = (
    "\n\nConsider enabling PCRE2 with the --pcre2 flag, which can handle backreferences\n"
    "and look-around."
)


def _refusal(stderr: str) -> str:
    text = stderr.removeprefix("rg: ").removeprefix("invalid pattern: ").rstrip("\n")
    if "look-around" in text or "backreferences" in text:
        text += _PCRE2
    return text
