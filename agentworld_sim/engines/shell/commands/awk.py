"""`awk` and `jq` programs that may not end run where they can be killed."""

from __future__ import annotations

import re
from collections.abc import Mapping

from agentworld_sim.engines.shell._command import Command, CommandCall, CommandResult
from agentworld_sim.engines.shell.bash_shims import APART_AWK, TEXT
from agentworld_sim.engines.shell.commands._apart import option_files, run_apart

_RUNS_COMMANDS = re.compile(r"\bsystem\s*\(|\|\s*getline|\bprintf?\b[^\n;}]*\|\s*[\"\w(]")
_NAMES_MADE_UP = re.compile(
    r"getline[^;\n]*<\s*[^\"\s]|>\s*\(|>\s*[A-Za-z_$(][\w$]*\s*(?:[;}\n]|$)"
)
_UNBOUNDED = re.compile(r"\b(?:def|repeat|until|while|limit)\b|\b(?:recurse|last|range)\s*\(")


def awk(call: CommandCall) -> CommandResult:
    program = _awk_program(call)
    if _RUNS_COMMANDS.search(program):
        return call.native(program="awk")
    return run_apart(call, "awk", program=program, everything=bool(_NAMES_MADE_UP.search(program)))


def _awk_program(call: CommandCall) -> str:
    """All that may hold program text: files named by `-f`, and every argument."""
    texts = list(call.argv)
    for name in option_files(call.argv, "-f"):
        try:
            path = name if name.startswith("/") else f"{call.cwd}/{name}"
            texts.append(call.files.read(path).decode("utf-8", "replace"))
        except OSError:
            continue
    return "\n".join(texts)


def jq(call: CommandCall) -> CommandResult:
    program = _awk_program(call)
    if _UNBOUNDED.search(TEXT.sub('""', program)):
        return run_apart(call, "jq", program="")
    return call.native()


COMMANDS: Mapping[str, Command] = {APART_AWK: awk, "jq": jq}
