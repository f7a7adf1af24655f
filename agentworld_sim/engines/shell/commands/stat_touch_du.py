"""`stat`, `touch`, `truncate` and `du` of GNU coreutils: what files are, beside what is in them."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Mapping
from datetime import UTC
from fnmatch import fnmatchcase

from agentworld_sim.engines.shell.commands import _formats
from agentworld_sim.engines.shell.commands._accounts import group_names, user_names
from agentworld_sim.engines.shell.commands._dates import InvalidDate, parse_date
from agentworld_sim.engines.shell.commands._formats import (
    BLOCK,
    TYPE_BITS,
    disk_size,
    full_time,
    kind_text,
    mode_text,
)
from agentworld_sim.engines.shell.commands._options import CommandLine, Options, UsageError
from agentworld_sim.engines.shell.commands._tool import (
    Tool,
    join_path,
    quote_for_shell,
    strerror,
    tool,
)
from agentworld_sim.engines.shell.file_times import iso_time
from agentworld_sim.engines.shell.live_files import FileStat

_STAT = Options("c:Lt", {"dereference": "L", "format": "c", "printf": ":", "terse": "t"})
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
    given = _STAT.parse(running.name, running.call.argv)
    if not given.operands:
        raise _STAT.refuse(running.name, "missing operand")
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


_TOUCH = Options(
    "acd:fhmr:t:",
    {"no-create": "c", "date": "d", "reference": "r", "no-dereference": "h"},
)
_TRUNCATE = Options("cor:s:", {"no-create": "c", "io-blocks": "o", "reference": "r", "size": "s"})


@tool
def touch(running: Tool) -> None:
    """The embedded shell's, but for dates, which count from the world's clock, and for links."""
    given = _TOUCH.parse(running.name, running.call.argv)
    text, reference, stamp = given.value("d"), given.value("r"), given.value("t")
    if stamp is not None and (text is not None or reference is not None):
        raise _TOUCH.refuse(running.name, "cannot specify times from more than one source")
    when = (
        running.call.clock.now_us() if reference is None else running.reference(reference).mtime_us
    )
    if text is not None:
        when = _parse_date(running, text, when)
    if not given.operands:
        raise _TOUCH.refuse(running.name, "missing file operand")
    operands = [one for one in given.operands if _can_be_touched(running, given, one)]
    if "h" in given:
        for operand in operands:
            if running.exists(operand):
                running.files.set_mtime(running.path(operand), when, follow=False)
        return
    if "a" in given and "m" not in given:
        # There is one time for a file, and it is that of its content.
        operands = [one for one in operands if not running.exists(one)]
    time = ["-d", iso_time(when)] if stamp is None else ["-t", stamp]
    if operands:
        words = [*time, *["-c"] * ("c" in given), "--", *operands]
        running.add(running.call.native(words), curly="invalid date")


def _can_be_touched(running: Tool, given: CommandLine, operand: str) -> bool:
    """Whether the embedded shell may do it: of a file it takes a slash at the end, and no name."""
    if not operand:
        running.complain(f"cannot touch {running.name_of(operand)}: {os.strerror(errno.ENOENT)}")
        return False
    if not operand.endswith("/") or running.is_directory(operand):
        return operand != "-"
    if "c" not in given:
        code = errno.ENOTDIR if running.exists(operand.rstrip("/")) else errno.ENOENT
        running.complain(f"setting times of {running.name_of(operand)}: {os.strerror(code)}")
    return False


def _parse_date(running: Tool, text: str, now_us: int) -> int:
    """A date as `date -d` reads it, in microseconds."""
    try:
        seconds, nanoseconds = parse_date(text, now_us, UTC)
    except InvalidDate:
        said = f"{running.name}: invalid date format {running.quote(text)}\n"
        raise UsageError(said) from None
    return seconds * 1_000_000 + nanoseconds // 1000


@tool
def truncate(running: Tool) -> None:
    """The embedded shell's, but for a command line that lacks something."""
    given = _TRUNCATE.parse(running.name, running.call.argv)
    if "s" not in given and "r" not in given:
        either = f"{running.quote('--size')} or {running.quote('--reference')}"
        raise _TRUNCATE.refuse(running.name, f"you must specify either {either}")
    if not given.operands:
        raise _TRUNCATE.refuse(running.name, "missing file operand")
    running.add(running.call.native())


_DU = Options(
    "abd:chklmsxP",
    {
        "all": "a", "apparent-size": "", "bytes": "b", "count-links": "l", "exclude": ":",
        "human-readable": "h", "max-depth": "d", "no-dereference": "P", "one-file-system": "x",
        "summarize": "s", "total": "c",
    },
)  # fmt: skip
_UNITS = {"k": 1024, "m": 1 << 20, "b": 1}


class _Usage:
    def __init__(self, running: Tool, given: CommandLine) -> None:
        self.tool, self.given = running, given
        self.apparent = "apparent-size" in given or "b" in given
        unit = given.last("h", "k", "m", "b") or "k"
        self.unit = _UNITS.get(unit, 0)
        """Bytes in one of what is counted; 0 where sizes are written for people."""
        depth = given.value("d")
        if depth is not None and not depth.isdigit():
            raise _DU.refuse(running.name, f"invalid maximum depth {running.quote(depth)}")
        self.depth = int(depth) if depth is not None else None
        if "s" in given and "a" in given:
            raise _DU.refuse(running.name, "cannot both summarize and show all entries")
        if "s" in given:
            if self.depth:
                said = f"warning: summarizing conflicts with --max-depth={self.depth}"
                raise _DU.refuse(running.name, said)
            self.depth = 0
        self.seen: set[str] = set()

    def run(self) -> None:
        total = 0
        for operand in self.given.operands or ["."]:
            try:
                found = self.tool.lstat(operand)
            except OSError as error:
                self.tool.complain(f"cannot access {self.tool.name_of(operand)}: {strerror(error)}")
                continue
            total += self._visit(operand, found, 0)
        if "c" in self.given:
            self._show(total, "total")

    def _visit(self, name: str, found: FileStat, level: int) -> int:
        folder = found.kind == "directory"
        if folder:
            path = self.tool.files.realpath(self.tool.path(name))
            if path in self.seen:
                return 0
            self.seen.add(path)
        size = self._size(found)
        for child in self.tool.files.listdir(self.tool.path(name)) if folder else ():
            full = join_path(name, child)
            if not any(
                fnmatchcase(child, pattern) or fnmatchcase(full, pattern)
                for pattern in self.given.values("exclude")
            ):
                inner = self.tool.files.lstat(self.tool.path(full))
                size += self._visit(full, inner, level + 1)
        shown = folder or "a" in self.given or level == 0
        if shown and (self.depth is None or level <= self.depth):
            self._show(size, name)
        return size

    def _size(self, found: FileStat) -> int:
        if self.apparent:
            return found.size if found.kind != "fifo" else 0
        return _formats.disk_size(found.kind, found.size)

    def _show(self, size: int, name: str) -> None:
        self.tool.say(f"{-(-size // self.unit) if self.unit else _formats.human(size)}\t{name}")


@tool
def du(running: Tool) -> None:
    _Usage(running, _DU.parse(running.name, running.call.argv)).run()
