"""The tests of `find`, read from their arguments, and the formats of `-printf` and `-ls`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC

from agentworld_sim.engines.shell.commands import _formats
from agentworld_sim.engines.shell.commands._accounts import group_names, user_names
from agentworld_sim.engines.shell.commands._dates import InvalidDate, parse_date
from agentworld_sim.engines.shell.commands._formats import (
    TYPE_LETTER,
    apply_mode,
    is_mode,
    mode_text,
)
from agentworld_sim.engines.shell.commands._options import UsageError
from agentworld_sim.engines.shell.commands._tool import Tool, base_name, strerror
from agentworld_sim.engines.shell.glob_patterns import name_matcher
from agentworld_sim.engines.shell.live_files import FileStat

MINUTE_US = 60_000_000
DAY_US = 86_400_000_000

_KIND_LETTER = {"f": "file", "d": "directory", "l": "symlink", "p": "fifo"}
_SIZE_UNIT = {"": 512, "b": 512, "c": 1, "w": 2, "k": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass(frozen=True, slots=True)
class VisitedFile:
    """One file that `find` looks at."""

    path: str
    """As `find` prints it."""
    start: str
    """The starting point it was reached from."""
    depth: int
    stat: FileStat
    place: str
    """Its absolute path."""


Test = Callable[[VisitedFile], bool]

_VALUED = (
    "name iname path ipath wholename iwholename lname ilname regex iregex type xtype mtime atime ctime"
    " mmin amin cmin newer anewer cnewer user group size perm"
)
VALUED = frozenset(_VALUED.split())
"""The tests that have an argument, beside `newerXY`."""


class TestReader:
    """Makes tests of arguments."""

    # pytest would take the class for a collection of tests.
    __test__ = False

    def __init__(self, running: Tool) -> None:
        self.tool = running
        self.now_us = running.call.clock.now_us()
        self.regex_type = "findutils-default"

    def refuse(self, text: str) -> UsageError:
        return UsageError(f"{self.tool.name}: {text}\n")

    def read(self, name: str, value: str) -> Test:
        """The test `-name value`, one of `VALUED`.

        Raises:
            UsageError: the value cannot be read.
        """
        if name in ("name", "iname", "path", "ipath", "wholename", "iwholename", "lname", "ilname"):
            return self._pattern(name, value)
        if name in ("regex", "iregex"):
            return self._regex(name, value)
        if name in ("type", "xtype"):
            return self._kind(name, value)
        if name in ("mtime", "atime", "ctime", "mmin", "amin", "cmin"):
            return self._age(name, value)
        if name.startswith("newer") or name in ("anewer", "cnewer"):
            return self._newer(name, value)
        if name in ("user", "group"):
            return self._owner(name, value)
        return {"size": self._size, "perm": self._mode}[name](value)

    def _pattern(self, name: str, value: str) -> Test:
        fits = name_matcher(value, ignore_case=name.startswith("i"))
        if name.endswith("lname"):
            readlink = self.tool.files.readlink
            return lambda found: found.stat.kind == "symlink" and fits(readlink(found.place))
        if name.endswith("name") and not name.endswith("wholename"):
            return lambda found: fits(base_name(found.path))
        return lambda found: fits(found.path)

    def _regex(self, name: str, value: str) -> Test:
        basic = self.regex_type in (
            "findutils-default",
            "emacs",
            "posix-basic",
            "sed",
            "grep",
            "ed",
        )
        flags = re.DOTALL | (re.IGNORECASE if name.startswith("i") else 0)
        try:
            pattern = re.compile(_python_regex(value, self.regex_type) if basic else value, flags)
        except re.error:
            raise self.refuse(f"Invalid regular expression {self.tool.quote(value)}") from None
        return lambda found: pattern.fullmatch(found.path) is not None

    def _kind(self, name: str, value: str) -> Test:
        kinds: set[str] = set()
        for letter in value.split(","):
            if letter not in (*_KIND_LETTER, "b", "c", "s"):
                raise self.refuse(
                    f"Unknown argument to -{name}: {value}"
                    if len(letter) == 1
                    else f"Must separate multiple arguments to -{name} using: ','"
                    if letter
                    else f"Arguments to -{name} should contain at least one letter"
                )
            kinds.add(_KIND_LETTER.get(letter, ""))
        if name == "type":
            return lambda found: found.stat.kind in kinds

        def through(found: VisitedFile) -> bool:
            if found.stat.kind != "symlink":
                return found.stat.kind in kinds
            try:
                return self.tool.files.stat(found.place).kind in kinds
            except OSError:
                return "symlink" in kinds

        return through

    def _age(self, name: str, value: str) -> Test:
        found = re.match(r"([-+]?)(\d*\.?\d+)\Z", value)
        if not found:
            raise self.refuse(f"invalid argument `{value}' to `-{name}'")
        sign, amount = found[1], float(found[2])
        minutes = name.endswith("min")
        unit = MINUTE_US if minutes else DAY_US
        if minutes:
            # As GNU: -N is younger than N minutes, +N older, N the minute in between.
            edge = self.now_us - int(amount * unit)
            if sign == "-":
                return lambda found: found.stat.mtime_us > edge
            if sign == "+":
                return lambda found: found.stat.mtime_us < edge
            return lambda found: edge < found.stat.mtime_us <= edge + unit
        compare = _comparison(sign, int(amount))
        return lambda found: compare(max(-1, (self.now_us - found.stat.mtime_us) // unit))

    def _newer(self, name: str, value: str) -> Test:
        if name.endswith("t") and len(name) == len("newermt"):
            try:
                seconds, nanoseconds = parse_date(value, self.now_us, UTC)
            except InvalidDate:
                quoted = self.tool.quote(value)
                raise self.refuse(
                    f"I cannot figure out how to interpret {quoted} as a date or time"
                ) from None
            edge = seconds * 1_000_000 + nanoseconds // 1000
        else:
            try:
                edge = self.tool.stat(value).mtime_us
            except OSError as error:
                raise self.refuse(f"{self.tool.quote(value)}: {strerror(error)}") from None
        return lambda found: found.stat.mtime_us > edge

    def _owner(self, name: str, value: str) -> Test:
        user = name == "user"
        wanted = (user_names if user else group_names)(self.tool.call).lookup(value)
        if wanted is None:
            said = "the name of a known user" if user else "the name of an existing group"
            raise self.refuse(f"{self.tool.quote(value)} is not {said}")
        if user:
            return lambda found: found.stat.owner == wanted
        return lambda found: found.stat.group == wanted

    def _size(self, value: str) -> Test:
        found = re.match(r"([-+]?)(\d+)([bcwkMG]?)\Z", value)
        if not found:
            if value[-1:].isalpha() and value[-1:] not in "bcwkMG":
                raise self.refuse(f"invalid -size type `{value[-1:]}'")
            raise self.refuse(f"Invalid argument `{value}' to -size")
        unit = _SIZE_UNIT[found[3]]
        compare = _comparison(found[1], int(found[2]))
        return lambda found: compare(-(-found.stat.size // unit))

    def _mode(self, value: str) -> Test:
        how, text = (value[0], value[1:]) if value[:1] in ("-", "/") else ("", value)
        if not text or not is_mode(text):
            raise self.refuse(f"invalid mode {self.tool.quote(value)}")
        wanted = apply_mode(text, 0, directory=False, umask=0)
        if how == "-":
            return lambda found: found.stat.mode & wanted == wanted
        if how == "/":
            return lambda found: not wanted or bool(found.stat.mode & wanted)
        return lambda found: found.stat.mode == wanted


def blocks_kib(stat: FileStat) -> int:
    return _formats.disk_size(stat.kind, stat.size) // 1024


def _comparison(sign: str, wanted: int) -> Callable[[int], bool]:
    if sign == "+":
        return lambda value: value > wanted
    if sign == "-":
        return lambda value: value < wanted
    return lambda value: value == wanted


def _python_regex(pattern: str, kind: str) -> str:
    """Emacs and POSIX basic regular expressions as Python's."""
    plain = "(){}|" if kind in ("findutils-default", "emacs") else "(){}|+?"
    parts: list[str] = []
    escaped = False
    for char in pattern:
        if escaped:
            parts.append(char if char in "(){}|+?" else "\\" + char)
            escaped = False
        elif char == "\\":
            escaped = True
        else:
            parts.append("\\" + char if char in plain else char)
    return "".join(parts)


_DIRECTIVE = re.compile(r"%([-#0 +]*)(\d*)(?:\.(\d+))?([ABCT].|[a-zA-Z%])|\\([0-7]{1,3}|.)")
_ESCAPES = {
    "n": "\n", "t": "\t", "0": "\0", "\\": "\\", "a": "\a", "b": "\b", "f": "\f", "r": "\r",
    "v": "\v",
}  # fmt: skip
_KNOWN = frozenset("abcdfgGhHiklmMnpPstuUyY%")


def printf(running: Tool, form: str) -> tuple[Callable[[VisitedFile], str], str]:
    """The printer for `form`, and the warnings that reading it gives."""
    warnings = "".join(
        f"{running.name}: warning: unrecognized format directive `%{found[4]}'\n"
        for found in _DIRECTIVE.finditer(form)
        if found[4] and found[4] not in _KNOWN and found[4][0] not in "ABCT"
    )

    def show(item: VisitedFile) -> str:
        text = _DIRECTIVE.sub(lambda found: _one(running, found, item), form)
        return text.partition("\x00\x01stop")[0]

    return show, warnings


def _one(running: Tool, found: re.Match[str], item: VisitedFile) -> str:
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


def _value(running: Tool, name: str, item: VisitedFile, long: bool) -> str:
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
        "k": str(blocks_kib(stat)),
        "b": str(blocks_kib(stat) * 2),
        "m": f"{stat.mode:04o}" if long else f"{stat.mode:o}",
        "M": mode_text(stat.kind, stat.mode),
        "u": stat.owner,
        "g": stat.group,
        "U": str(user_names(running.call).number(stat.owner)) if name == "U" else "",
        "G": str(group_names(running.call).number(stat.group)) if name == "G" else "",
        "n": str(stat.nlink),
        "i": str(stat.inode),
        "y": TYPE_LETTER[stat.kind].replace("-", "f"),
    }
    return table[name]


def _time(letter: str, time_us: int) -> str:
    seconds, micro = divmod(time_us, 1_000_000)
    if letter == "@":
        return f"{seconds}.{micro:06d}0000"
    form = {"+": "%Y-%m-%d+%H:%M:%S", "S": "%S", "T": "%H:%M:%S", "X": "%H:%M:%S"}.get(letter)
    if form:
        return _formats.format_time(form, time_us) + f".{micro:06d}0000"
    return _formats.format_time("%" + letter, time_us)


def _long_time(time_us: int) -> str:
    when = _formats.moment(time_us)
    return f"{when:%a %b} {when.day:2d} {when:%H:%M:%S}.{when.microsecond:06d}0000 {when:%Y}"


def ls_line(running: Tool, item: VisitedFile) -> str:
    """The line of `-ls`."""
    stat = item.stat
    time = _formats.short_time(stat.mtime_us, running.call.clock.now_us())
    name = item.path
    if stat.kind == "symlink":
        name += f" -> {running.files.readlink(item.place)}"
    return (
        f"{stat.inode:9d} {blocks_kib(stat):6d} {mode_text(stat.kind, stat.mode)} {stat.nlink:3d}"
        f" {stat.owner:<8} {stat.group:<8} {stat.size:8d} {time} {name}\n"
    )
