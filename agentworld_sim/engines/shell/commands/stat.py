"""`stat` of GNU coreutils."""

from __future__ import annotations

import re
from collections.abc import Mapping

from agentworld_sim.engines.shell.commands._accounts import group_names, user_names
from agentworld_sim.engines.shell.commands._formats import (
    BLOCK,
    TYPE_BITS,
    disk_size,
    full_time,
    kind_text,
    mode_text,
)
from agentworld_sim.engines.shell.commands._options import CommandLine, Options
from agentworld_sim.engines.shell.commands._quoting import quote_for_shell
from agentworld_sim.engines.shell.commands._tool import Tool, strerror, tool
from agentworld_sim.engines.shell.live_files import FileStat

_OPTIONS = Options("c:Lt", {"dereference": "L", "format": "c", "printf": ":", "terse": "t"})
_DIRECTIVE = re.compile(r"%([#0+ '-]*)([0-9]*)(?:\.([0-9]+))?([HL]?[A-Za-z%:])|\\(.?)|%\Z")
_ESCAPES = {
    "n": "\n", "t": "\t", "\\": "\\", "a": "\a", "b": "\b", "f": "\f", "r": "\r", "v": "\v",
    '"': '"', "e": "\x1b",
}  # fmt: skip

DEVICE = 0xFE01
"""Of the one file system: major 254, minor 1, a virtual disk."""

_USUAL = (
    "  File: %:\n  Size: %-10s\tBlocks: %-10b IO Block: %-6o %F\n"
    "Device: %Hd,%Ld\tInode: %-10i  Links: %h\n"
    "Access: (%04a/%10.10A)  Uid: (%5u/%8U)   Gid: (%5g/%8G)\n"
    "Access: %x\nModify: %y\nChange: %z\n Birth: %w"
)
_TERSE = "%n %s %b %f %u %g %D %i %h %t %T %X %Y %Z %W %o"


@tool
def stat(running: Tool) -> None:
    given = _OPTIONS.parse(running.name, running.call.argv)
    if not given.operands:
        raise _OPTIONS.refuse(running.name, "missing operand")
    form, end, escapes = _format(given)
    for operand in given.operands:
        try:
            found = running.stat(operand) if "L" in given else running.lstat(operand)
            values = _file_values(running, operand, found)
        except OSError as error:
            running.complain(f"cannot statx {running.name_of(operand)}: {strerror(error)}")
            continue
        running.out.append(_fill(form, values, escapes) + end)


def _format(given: CommandLine) -> tuple[str, str, bool]:
    last = given.last("c", "printf")
    if last is not None:
        return given.value(last) or "", "" if last == "printf" else "\n", last == "printf"
    return (_TERSE if "t" in given else _USUAL), "\n", False


def _file_values(running: Tool, operand: str, found: FileStat) -> Mapping[str, str | int]:
    mode = TYPE_BITS[found.kind] | found.mode
    seconds = found.mtime_us // 1_000_000
    time = full_time(found.mtime_us)
    name, plain = quote_for_shell(operand, always=True), quote_for_shell(operand)
    if found.kind == "symlink":
        target = running.files.readlink(running.path(operand))
        name += f" -> {quote_for_shell(target, always=True)}"
        plain += f" -> {quote_for_shell(target)}"
    times: dict[str, str | int] = {}
    for letter in "xyzw":
        times[letter] = time
        times[letter.upper()] = f"{seconds}.{found.mtime_us % 1_000_000:06d}000"
    return {
        "a": found.mode, "A": mode_text(found.kind, found.mode),
        "b": disk_size(found.kind, found.size) // 512, "B": 512, "C": "?",
        "d": DEVICE, "D": f"{DEVICE:x}", "Hd": DEVICE >> 8, "Ld": DEVICE & 0xFF,
        "f": f"{mode:x}", "F": kind_text(found), "g": group_names(running.call).number(found.group),
        "G": _owner_name(found.group), "h": found.nlink, "i": found.inode, "m": "/", "n": operand, "N": name, ":": plain,
        "o": BLOCK, "s": found.size, "r": 0, "R": "0", "Hr": 0, "Lr": 0, "t": "0", "T": "0",
        "u": user_names(running.call).number(found.owner), "U": _owner_name(found.owner), **times,
    }  # fmt: skip


def _owner_name(name: str) -> str:
    return "UNKNOWN" if name.isdigit() else name


def _fill(form: str, values: Mapping[str, str | int], escapes: bool) -> str:
    def one(found: re.Match[str]) -> str:
        flags, width, precision, name, escape = found.groups()
        if escape is not None:
            return _ESCAPES.get(escape, found[0]) if escapes else found[0]
        if name is None or name == "%":
            return "%"
        value = values.get(name)
        if value is None:
            return "?"
        return _pad(name, value, flags, width, precision)

    text = _DIRECTIVE.sub(one, form)
    return re.sub(r"\\([0-7]{1,3}|x[0-9A-Fa-f]{1,2})", _char_of_code, text) if escapes else text


def _char_of_code(found: re.Match[str]) -> str:
    digits = found[1]
    return chr(int(digits[1:], 16) if digits[0] == "x" else int(digits, 8) & 0xFF)


def _pad(name: str, value: str | int, flags: str, width: str, precision: str | None) -> str:
    if name in "XYZW" and isinstance(value, str):
        whole, _, fraction = value.partition(".")
        digits = int(precision or "0")
        text = f"{whole}.{fraction.ljust(digits, '0')[:digits]}" if digits else whole
    elif name == "a" and isinstance(value, int):
        text = f"{value:o}"
        text = "0" + text if "#" in flags else text
    else:
        text = str(value)
        text = text[: int(precision)] if precision is not None and isinstance(value, str) else text
    if "+" in flags and isinstance(value, int) and name != "a":
        text = "+" + text
    if not width:
        return text
    if "-" in flags:
        return text.ljust(int(width))
    fill = "0" if "0" in flags and (isinstance(value, int) or name in "aXYZWDfRtT") else " "
    return text.rjust(int(width), fill)
