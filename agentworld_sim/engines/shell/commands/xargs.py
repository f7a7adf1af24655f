"""`xargs`: the embedded shell's own reads and runs; the exit codes and the words are those of GNU findutils."""

from __future__ import annotations

from agentworld_sim.engines.shell.commands._options import Options
from agentworld_sim.engines.shell.commands._tool import Tool, tool

_OPTIONS = Options(
    "0a:d:E:i::I:L:n:rs:txP:",
    {
        "null": "0", "arg-file": "a", "delimiter": "d", "replace": "i", "max-lines": "L",
        "max-args": "n", "no-run-if-empty": "r", "max-chars": "s", "verbose": "t", "exit": "x",
        "max-procs": "P",
    },
    in_order=True,
)  # fmt: skip


@tool
def xargs(t: Tool) -> None:
    given = _OPTIONS.parse(t.name, t.call.argv)
    for name in "nLs":
        value = given.value(name)
        if value is not None and not value.isdigit():
            raise _OPTIONS.refuse(t.name, f'invalid number "{value}" for -{name} option')
    last = given.last("i", "I", "n", "L")
    if last in ("i", "I") or (last == "n" and given.value("n") == "1" and given.last("i", "I")):
        for letter, name in (("L", "max-lines"), ("n", "max-args")):
            if letter in given:
                t.err.append(
                    f"{t.name}: warning: options --{name} and --replace/-I/-i are mutually"
                    f" exclusive, ignoring previous --{name} value\n"
                )
    command = next(iter(given.operands), "echo")
    found = t.call.native()
    missing, said = f"bash: line 1: {command}: command not found\n", found.stderr
    if missing in said:
        # The embedded shell tries it for every batch.
        said = said.replace(missing, f"{t.name}: {command}: No such file or directory\n", 1)
        said = said.replace(missing, "")
    t.code = found.exit_code
    if 0 < t.code < 126 and not said.startswith(f"{t.name}: "):
        t.code = 123
    elif t.code == 255:
        said += f"{t.name}: {command}: exited with status 255; aborting\n"
        t.code = 124
    t.out.append(found.stdout)
    t.err.append(said)
