"""What the embedded text tools lack: an option, a number format, an alignment."""

from __future__ import annotations

import errno
import os
import re
import struct
from base64 import b64decode, b64encode

from agentworld_sim.engines.shell._command import CommandCall, CommandResult
from agentworld_sim.engines.shell.bash_texts import unfaithful
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


_FILE = frozenset({"-b", "--brief", "-h", "--no-dereference", "-L", "--dereference"})


@tool
def file(t: Tool) -> None:
    """The kinds of files, set in one column."""
    for word in t.call.argv:
        if word.startswith("-") and word not in _FILE:
            raise unfaithful(f"the option {word} of file", " ".join(["file", *t.call.argv]))
    brief = not {"-b", "--brief"}.isdisjoint(t.call.argv)
    done = t.call.native([word for word in t.call.argv if word not in ("-b", "--brief")])
    said = re.sub(r": cannot open '(.*)' \(", r": cannot open `\1' (", done.stdout)
    names = [word for word in t.call.argv if not word.startswith("-") and f"{word}: " in said]
    width = max(map(len, names), default=0) + 2
    for name in names:
        found = re.search(rf"(?m)^{re.escape(name)}: +(.*)$", said)
        if found is not None:
            kind = found[1]
            if kind == "ASCII text":
                kind = _text_kind(t.files.read(t.path(name)))
            line = kind if brief else f"{name}:".ljust(width) + kind
            said = said[: found.start()] + line + said[found.end() :]
    t.add(CommandResult(said, done.stderr, done.exit_code))


def _text_kind(data: bytes) -> str:
    """What the embedded `file` takes for ASCII, looking at its first bytes."""
    if data[257:262] == b"ustar":
        return "POSIX tar archive" + " (GNU)" * (data[262:264] == b"  ")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return "data"
    if re.search(r"[\0-\x06\x0e-\x1a\x1c-\x1f\x7f]", text):
        return "data"
    kind = "ASCII text" if text.isascii() else "Unicode text, UTF-8 text"
    if "\n" not in text:
        return f"{kind}, with no line terminators"
    ends = text.count("\n"), text.count("\r\n")
    if not ends[1]:
        return kind
    return f"{kind}, with CRLF" + (", LF" * (ends[0] > ends[1])) + " line terminators"


_BASE64 = Options("di", {"decode": "d", "ignore-garbage": "i", "wrap": "w", "w": ":"})


@tool
def base64(t: Tool) -> None:
    """As much of a text in base64 as can be decoded: the embedded one gives nothing of one that breaks off."""
    given = _BASE64.parse(t.name, t.call.argv)
    try:
        named = [name for name in given.operands if name != "-"]
        text = t.text(named[0]) if named else t.call.stdin or ""
    except OSError as error:
        t.complain(f"{given.operands[0]}: {strerror(error)}")
        return
    text = re.sub(r"[^A-Za-z0-9+/=]" if "i" in given else r"\n", "", text)
    good = re.match(r"(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)*", text)
    end = good.end() if good else 0
    rest = re.match(r"[A-Za-z0-9+/]{2,3}", text[end:])
    whole = text[:end] + (rest[0].ljust(4, "=") if rest else "")
    t.say(b64encode(b"".join(map(b64decode, re.findall("[^=]+=*", whole)))).decode())
    if end < len(text):
        t.complain("invalid input")


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
