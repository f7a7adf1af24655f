"""What the embedded text tools lack: an option, a number format, an alignment."""

from __future__ import annotations

import errno
import os
import re
import struct

from agentworld_sim.engines.shell._command import CommandCall, CommandResult
from agentworld_sim.engines.shell.commands._options import Options
from agentworld_sim.engines.shell.commands._tool import Tool, strerror, tool


@tool
def checksum(t: Tool) -> None:
    """`md5sum` and its kind: the embedded ones stop at the first operand that is no file."""
    t.name, *words = t.call.argv
    rest: list[str] = []
    for word in words:
        try:
            if not word.startswith("-") and t.stat(word).kind == "directory":
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), word)
            rest.append(word)
        except OSError as error:
            t.complain(f"{word}: {strerror(error)}")
    if any(not word.startswith("-") for word in rest):
        t.add(t.call.native(rest, program=t.name))


_COLUMN = Options("c:xt", {"output-width": "c", "fillrows": "x"})


@tool
def column(t: Tool) -> None:
    """Entries in columns, with tabs between them."""
    given = _COLUMN.parse(t.name, t.call.argv)
    text = "".join(map(t.text, given.operands)) if given.operands else t.call.stdin or ""
    entries = [line for line in text.splitlines() if line.strip()]
    width = (max(map(len, entries), default=0) + 8) // 8 * 8
    across = max(1, int(given.value("c") or 80) // width)
    down = -(-len(entries) // across)
    for row in range(down):
        by_row = entries[row * across : (row + 1) * across]
        line = by_row if "x" in given else entries[row::down]
        tabs = ["\t" * -(-(width - len(entry)) // 8) for entry in line]
        t.say("".join(map("".join, zip(line, tabs, strict=True))).rstrip("\t"))


@tool
def file(t: Tool) -> None:
    """The kinds of files, set in one column."""
    done = t.call.native()
    said = re.sub(r": cannot open '(.*)' \(", r": cannot open `\1' (", done.stdout)
    names = [word for word in t.call.argv if not word.startswith("-") and f"{word}: " in said]
    width = max(map(len, names), default=0) + 2
    for name in names:
        said = re.sub(
            rf"(?m)^{re.escape(name)}: +", lambda found: found[0].rstrip().ljust(width), said
        )
    if names and t.call.argv[0] in ("-b", "--brief"):
        said = said.removeprefix(f"{names[0]}:").lstrip(" ")
    t.add(CommandResult(said, done.stderr, done.exit_code))


def od_float(call: CommandCall) -> CommandResult:
    """What such an `od` prints, with the numbers that it stands for."""
    text = re.sub(r" +([0-9a-f]{16}|[0-9a-f]{8})\b", _number, call.stdin or "")
    return CommandResult(text)


def _number(found: re.Match[str]) -> str:
    data = bytes.fromhex(found[1])
    form, digits, width = (">f", 6, 16) if len(data) == 4 else (">d", 15, 25)
    number = struct.unpack(form, data)[0]
    texts = (f"{number:.{n}g}" for n in range(digits, digits + 4))
    return next((text for text in texts if struct.pack(form, float(text)) == data), "nan").rjust(
        width
    )
