"""`-printf` and `-ls` of `find`."""

from __future__ import annotations

import re
from collections.abc import Callable

from agentworld_sim.engines.shell.commands import _figures
from agentworld_sim.engines.shell.commands._find_tests import Found, blocks_kib
from agentworld_sim.engines.shell.commands._modes import TYPE_LETTER, mode_text
from agentworld_sim.engines.shell.commands._people import groups, users
from agentworld_sim.engines.shell.commands._tool import Tool, base_name

_DIRECTIVE = re.compile(r"%([-#0 +]*)(\d*)(?:\.(\d+))?([ABCT].|[a-zA-Z%])|\\([0-7]{1,3}|.)")
_ESCAPES = {
    "n": "\n", "t": "\t", "0": "\0", "\\": "\\", "a": "\a", "b": "\b", "f": "\f", "r": "\r",
    "v": "\v",
}  # fmt: skip
_KNOWN = frozenset("abcdDfFgGhHiklmMnpPsStuUyYZ%")


def printf(running: Tool, form: str) -> tuple[Callable[[Found], str], str]:
    """The printer for `form`, and the warnings that reading it gives."""
    warnings = "".join(
        f"{running.name}: warning: unrecognized format directive `%{found[4]}'\n"
        for found in _DIRECTIVE.finditer(form)
        if found[4] and found[4] not in _KNOWN and found[4][0] not in "ABCT"
    )

    def show(item: Found) -> str:
        text = _DIRECTIVE.sub(lambda found: _one(running, found, item), form)
        return text.partition("\x00\x01stop")[0]

    return show, warnings


def _one(running: Tool, found: re.Match[str], item: Found) -> str:
    flags, width, precision, name, escape = found.groups()
    if escape is not None:
        if escape == "c":
            return "\x00\x01stop"
        if escape[0] in "01234567":
            return chr(int(escape, 8) & 0xFF)
        return _ESCAPES.get(escape, found[0])
    if name == "%":
        return "%"
    if name not in _KNOWN and name[0] not in "ABCT":
        return found[0]
    text = _value(running, name, item, "#" in flags)
    if precision is not None:
        text = text[: int(precision)]
    if not width:
        return text
    if "-" in flags:
        return text.ljust(int(width))
    return text.rjust(int(width), "0" if "0" in flags else " ")


def _value(running: Tool, name: str, item: Found, long: bool) -> str:
    stat = item.stat
    if name[0] in "ABCT":
        return _time(name[1], stat.mtime_us)
    if name in "act":
        return _long_time(stat.mtime_us)
    if name == "l":
        return running.files.readlink(item.place) if stat.kind == "symlink" else ""
    if name == "Y":
        try:
            return TYPE_LETTER[running.files.stat(item.place).kind].replace("-", "f")
        except OSError:
            return "N"
    inside = item.path[len(item.start) :].lstrip("/")
    folder = item.path.rpartition("/")[0]
    table = {
        "p": item.path,
        "f": base_name(item.path),
        "h": folder or ("." if "/" not in item.path else "/"),
        "H": item.start,
        "P": inside,
        "d": str(item.depth),
        "s": str(stat.size),
        "S": "1",
        "k": str(blocks_kib(stat)),
        "b": str(blocks_kib(stat) * 2),
        "m": f"{stat.mode:04o}" if long else f"{stat.mode:o}",
        "M": mode_text(stat.kind, stat.mode),
        "u": stat.owner,
        "g": stat.group,
        "U": str(users(running.call).number(stat.owner)) if name == "U" else "",
        "G": str(groups(running.call).number(stat.group)) if name == "G" else "",
        "n": str(stat.nlink),
        "i": str(stat.inode),
        "y": TYPE_LETTER[stat.kind].replace("-", "f"),
        "D": "65025",
        "F": "ext4",
        "Z": "",
    }
    return table[name]


def _time(letter: str, time_us: int) -> str:
    seconds, micro = divmod(time_us, 1_000_000)
    if letter == "@":
        return f"{seconds}.{micro:06d}0000"
    if letter == "+":
        return _figures.formatted_time("%Y-%m-%d+%H:%M:%S", time_us) + f".{micro:06d}0000"
    if letter in "STX":
        form = {"S": "%S", "T": "%H:%M:%S", "X": "%H:%M:%S"}[letter]
        return _figures.formatted_time(form, time_us) + f".{micro:06d}0000"
    return _figures.formatted_time("%" + letter, time_us)


def _long_time(time_us: int) -> str:
    when = _figures.moment(time_us)
    return f"{when:%a %b} {when.day:2d} {when:%H:%M:%S}.{when.microsecond:06d}0000 {when:%Y}"


def ls_line(running: Tool, item: Found) -> str:
    """The line of `-ls`."""
    stat = item.stat
    time = _figures.short_time(stat.mtime_us, running.call.clock.now_us())
    name = item.path
    if stat.kind == "symlink":
        name += f" -> {running.files.readlink(item.place)}"
    return (
        f"{stat.inode:9d} {blocks_kib(stat):6d} {mode_text(stat.kind, stat.mode)} {stat.nlink:3d}"
        f" {stat.owner:<8} {stat.group:<8} {stat.size:8d} {time} {name}\n"
    )
