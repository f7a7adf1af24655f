"""Searching contents as ripgrep does, with its regular expressions and its words.

The expressions are matched by the embedded shell's own `rg`, whose engine is ripgrep's: it takes time
in proportion to the text, whatever the pattern, so that no search needs a guard.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from agentworld_sim.engines.shell.turn import ShellTurn

FILES_PER_RUN = 500
"""How many files one run of `rg` is given."""

MAX_HITS_PER_FILE = 20_000
"""Beyond this, the answer is cut anyway."""


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


def search(
    turn: ShellTurn,
    pattern: str,
    paths: Sequence[str],
    *,
    ignore_case: bool = False,
    multiline: bool = False,
) -> list[Hit]:
    """The lines of `paths` (absolute, all existing) that match `pattern`, in the order of `paths`.

    Raises:
        PatternRefused: `rg` would refuse the pattern.
    """
    if not multiline and ("\n" in pattern or re.search(r"(?<!\\)(?:\\\\)*\\n", pattern)):
        raise PatternRefused(_NEWLINE)
    options = ["--json", "--max-count", str(MAX_HITS_PER_FILE)]
    if ignore_case:
        options.append("--ignore-case")
    if multiline:
        options += ["--multiline", "--multiline-dotall"]
    options += ["-e", pattern, "--"]
    hits: list[Hit] = []
    # A pattern is refused even where there is nothing to search.
    for start in range(0, max(len(paths), 1), FILES_PER_RUN):
        some = paths[start : start + FILES_PER_RUN] or ["/dev/null"]
        result = turn.live.embedded("rg", [*options, *some])
        if result.exit_code > 1 and "invalid pattern" in result.stderr:
            raise PatternRefused(_refusal(result.stderr))
        hits += _hits(result.stdout)
    return hits


def _hits(output: str) -> Iterator[Hit]:
    for line in output.splitlines():
        try:
            event = cast("dict[str, Any]", json.loads(line))
        except ValueError:
            # Only a last line that the embedded shell cut at its limit.
            return
        if event["type"] != "match":
            continue
        data = event["data"]
        texts = str(data["lines"]["text"]).removesuffix("\n").split("\n")
        for offset, text in enumerate(texts):
            yield Hit(data["path"]["text"], data["line_number"] + offset, text)


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
    text = stderr.partition("invalid pattern: ")[2].rstrip("\n")
    if "look-around" in text or "backreferences" in text:
        text += _PCRE2
    return text
