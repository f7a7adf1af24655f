"""Limits of the embedded shell: what a real machine says instead, or nothing that it could say.

bashkit reports its own limits in its own words, on standard error, and often goes on. A real machine
has other limits or none, so each report is put into one of three kinds: a limit that a real machine
has too is said in its words; a runaway ends the script; and everything else is an answer that was not
computed faithfully, which is a failure of the engine and never shown as the machine's answer.
"""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass
from typing import Literal

from agentworld_sim.errors import EngineFailure

Verdict = Literal["timeout", "cancelled", "dead"]

SEGMENTATION_FAULT = 139
FORK_FAILED = 254
OUT_OF_MEMORY = 2
KILLED_BY_TOOL = 124
INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Verdicts:
    """How a script ended that bashkit stopped."""

    verdict: Verdict
    """`dead`: the shell itself died, and a session of it starts afresh."""
    said: str
    """What the machine prints on standard error."""
    exit_code: int


_FULL = "No space left on device"
_REAL = (
    (re.compile(r"file too large: \d+ bytes exceeds \d+ byte limit"), _FULL),
    (re.compile(r"filesystem full: \d+ bytes would exceed \d+ byte limit"), _FULL),
    (re.compile(r"(?:io error: )?too many (?:files|directories): \d+ [^\n]*limit"), _FULL),
    (re.compile(r"file(?:name)? too long: \d+ bytes exceeds \d+ byte limit"), "File name too long"),
    (re.compile(r"path too (?:deep|long): \d+ \w+ exceeds \d+ \w+ limit"), "File name too long"),
    (
        re.compile(r"(?m)^(bash|sh): maximum nesting depth exceeded$"),
        r"\1: fork: retry: Resource temporarily unavailable",
    ),
    (
        re.compile(
            r"(?m)^(?:\S*: line \d+: )*fork: retry: Resource temporarily unavailable \(.*\)$"
        ),
        "bash: fork: retry: Resource temporarily unavailable",
    ),
)

_UNFAITHFUL = re.compile(
    r"(?m)^.*(?:"
    r"limit \([^)\n]*\) (?:exceeded|reached)"
    r"|output limit exceeded \(max"
    r"|output size limit exceeded"
    r"|exceeds (?:limit|maximum|the maximum|hard limit|VFS limit|max depth)[ (]*\d+"
    r"|(?:nesting|recursion)[^\n]*\((?:\d+ levels, )?max \d+\)"
    r"|JSON nesting too deep"
    r"|resource limit exceeded: "
    r"|execution error: "
    r"|budget exhausted"
    r"|brace range too large"
    r"|output may be truncated"
    r"|not supported in (?:virtual|this context|bashkit|the sandbox|VFS)"
    r"|callbacks are not supported"
    r"|never executes host commands"
    r"|is not supported \(L-"
    r"|zip bomb"
    r"|decompress\w+ (?:size|ratio)[^\n]*exceed"
    r"|needs a terminal session\)"
    r").*$",
    re.IGNORECASE,
)

_RUNAWAY = re.compile(
    r"execution timeout|command count exceeded|loop iterations exceeded|command limit exceeded"
    r"|call limit exceeded"
)
_FORKS = re.compile(r"(?:subshell|command substitution) depth exceeded")
_RECURSES = re.compile(r"(?:source|trap nesting) depth exceeded")
_CONDITION = re.compile(r"\b(?:if|case|while|until|test|return)\b|\[|&&|\|\||\(\(")


def faithful(text: str, *, script: str = "", said: Container[str] = ()) -> str:
    """`text` with limits in a real machine's words.

    Args:
        text: What bashkit wrote to standard error.
        script: What it ran, to be named in the failure.
        said: Lines that others wrote: they are no reports.

    Raises:
        EngineFailure: `text` says that the answer is not what a real machine would have answered.
    """
    for pattern, words in _REAL:
        text = pattern.sub(words, text)
    for found in _UNFAITHFUL.finditer(text):
        if found[0] not in said:
            raise unfaithful(found[0].strip(), script)
    return text


def unfaithful(reason: str, script: str = "") -> EngineFailure:
    """The failure to raise when an answer would not be a real machine's."""
    of = f" The script: {script[:300]!r}." if script else ""
    return EngineFailure(
        f"The shell's answer was not computed faithfully: {reason!r}.{of} A model can imagine what"
        " the engine cannot compute; without one, ask for less in one call."
    )


def verdict_on(error: str, script: str) -> Verdicts:
    """How a real machine ends a script that bashkit stopped with `error`.

    Raises:
        EngineFailure: a real machine would not have stopped.
    """
    if "cancelled" in error:
        return Verdicts("cancelled", "", INTERRUPTED)
    if _RUNAWAY.search(error):
        return Verdicts("timeout", "", KILLED_BY_TOOL)
    if "function depth" in error and not _CONDITION.search(script):
        # Nothing in the script could have ended the recursion.
        if re.search(r"&(?![&>])", script):
            return FORK_BOMB
        return OVERFLOW
    if _RECURSES.search(error):
        return OVERFLOW
    if _FORKS.search(error):
        return FORK_BOMB
    if "variable byte limit" in error:
        said = "bash: xrealloc: cannot allocate 4294967296 bytes\n"
        return Verdicts("dead", said, OUT_OF_MEMORY)
    if re.search(r"io error: too many|filesystem full", error):
        return Verdicts("dead", f"bash: write error: {_FULL}\n", 1)
    raise unfaithful(error, script)


OVERFLOW = Verdicts("dead", "Segmentation fault\n", SEGMENTATION_FAULT)
"""A real bash recurses until its stack overflows."""

FORK_BOMB = Verdicts("dead", "bash: fork: retry: Resource temporarily unavailable\n", FORK_FAILED)
