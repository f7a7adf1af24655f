"""What the embedded text tools lack: an option, a number format, an alignment."""

from __future__ import annotations

import errno
import os
import re
import struct
from itertools import chain

from agentworld_sim.engines.shell._command import CommandCall, CommandResult
from agentworld_sim.engines.shell.commands._options import Options
from agentworld_sim.engines.shell.commands._tool import Tool, strerror, tool
from agentworld_sim.engines.shell.live_files import quote_word


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


_HEX_OF = {"fF": "x4", "f4": "x4", "fD": "x8", "f8": "x8", "f": "x8"}


def od_hex(call: CommandCall) -> CommandResult:
    """The words of an `od` of floating point numbers, as one of hexadecimal numbers."""
    words = re.sub(
        r"(-\w*t(?:\0)?)(f\w?)(?=\0)", lambda found: found[1] + _HEX_OF.get(found[2], found[2]),
        "\0".join([*call.argv, ""]),
    )  # fmt: skip
    return CommandResult(" ".join(map(quote_word, words.split("\0")[:-1])))


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


_SPLIT = Options(
    "a:b:C:dl:n:ex",
    {"suffix-length": "a", "bytes": "b", "line-bytes": "C", "lines": "l", "number": "n"},
)


@tool
def split(t: Tool) -> None:
    """A script that splits into names of the usual length, and gives them the wanted one."""
    given = _SPLIT.parse(t.name, t.call.argv)
    source, prefix = [*given.operands, *("-", "x")[len(given.operands) :]][:2]
    options = [
        (f"-{name}", *([value] if value else [])) for name, value in given.options if name != "a"
    ]
    words = [*chain.from_iterable(options), source, f"{prefix}.#"]
    length = given.value("a") or "2"
    if not length.isdigit():
        t.complain(f"invalid suffix length: {t.quote(length)}")
        t.out.append("false")
        return
    t.out.append(
        f"builtin command split {' '.join(map(quote_word, words))} &&"
        f" /proc/self/exe split_names {quote_word(prefix)} {length}"
    )


@tool
def split_names(t: Tool) -> None:
    prefix, length = t.call.argv[0], int(t.call.argv[1])
    t.name = "split"
    folder, _, start = t.path(f"{prefix}.#").rpartition("/")
    for name in sorted(t.files.listdir(folder)):
        if not name.startswith(start):
            continue
        suffix = name[len(start) :]
        zero = "0" if suffix.isdigit() else "a"
        short = suffix.lstrip(zero) if len(suffix) > length else suffix
        if len(short) > length:
            t.files.remove(f"{folder}/{name}")
            t.code = 1
        else:
            t.files.rename(f"{folder}/{name}", f"{folder}/{start[:-2]}{short.rjust(length, zero)}")
    if t.code:
        t.err.append("split: output file suffixes exhausted\n")
