"""The tests of `find`: what may be asked of a file, read from its arguments."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC
from fnmatch import translate

from agentworld_sim.engines.shell.commands._dates import InvalidDate, parse_date
from agentworld_sim.engines.shell.commands._figures import allocated
from agentworld_sim.engines.shell.commands._modes import changed, is_mode
from agentworld_sim.engines.shell.commands._options import UsageError
from agentworld_sim.engines.shell.commands._people import groups, users
from agentworld_sim.engines.shell.commands._tool import Tool, base_name, why
from agentworld_sim.engines.shell.live_files import FileStat
from agentworld_sim.types.files import normal_path

MINUTE_US = 60_000_000
DAY_US = 86_400_000_000

_KIND_LETTER = {"f": "file", "d": "directory", "l": "symlink", "p": "fifo"}
_SIZE_UNIT = {"": 512, "b": 512, "c": 1, "w": 2, "k": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass(frozen=True, slots=True)
class Found:
    """One file that `find` looks at."""

    path: str
    """As `find` prints it."""
    start: str
    """The starting point it was reached from."""
    depth: int
    stat: FileStat
    place: str
    """Its absolute path."""


Test = Callable[[Found], bool]


class TestReader:
    """Makes tests of arguments."""

    # pytest would take the class for a collection of tests.
    __test__ = False

    def __init__(self, running: Tool) -> None:
        self.tool = running
        self.now_us = running.call.clock.now_us()
        self.day_start = False
        self.regex_type = "findutils-default"

    def refuse(self, text: str) -> UsageError:
        return UsageError(f"{self.tool.name}: {text}\n")

    def read(self, name: str, value: str) -> Test | None:
        """The test `-name value`; `None` if there is no such test.

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
        if name in ("user", "group", "uid", "gid"):
            return self._owner(name, value)
        match name:
            case "size":
                return self._size(value)
            case "perm":
                return self._mode(value)
            case "links":
                wanted = self._number(name, value)
                return lambda found: wanted(found.stat.nlink)
            case "inum":
                inode = self._number(name, value)
                return lambda found: inode(found.stat.inode)
            case "samefile":
                place = self._existing(value)
                return lambda found: normal_path(found.place) == place
            case "used":
                return lambda found: False
            case "fstype":
                return lambda found: value == "ext4"
            case _:
                return None

    def _pattern(self, name: str, value: str) -> Test:
        flags = re.DOTALL | (re.IGNORECASE if name.startswith("i") else 0)
        pattern = re.compile(_shell_pattern(value), flags)
        if name.endswith("lname"):
            readlink = self.tool.files.readlink
            return lambda found: (
                found.stat.kind == "symlink" and pattern.match(readlink(found.place)) is not None
            )
        if name.endswith("name") and not name.endswith("wholename"):
            return lambda found: pattern.match(base_name(found.path)) is not None
        return lambda found: pattern.match(found.path) is not None

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

        def through(found: Found) -> bool:
            if found.stat.kind != "symlink":
                return found.stat.kind in kinds
            try:
                return self.tool.files.stat(found.place).kind in kinds
            except OSError:
                return "symlink" in kinds

        return through

    def _number(self, name: str, value: str) -> Callable[[int], bool]:
        found = re.match(r"([-+]?)(\d+)\Z", value)
        if not found:
            raise self.refuse(f"invalid argument `{value}' to `-{name}'")
        return _compared(found[1], int(found[2]))

    def _age(self, name: str, value: str) -> Test:
        found = re.match(r"([-+]?)(\d*\.?\d+)\Z", value)
        if not found:
            raise self.refuse(f"invalid argument `{value}' to `-{name}'")
        sign, amount = found[1], float(found[2])
        minutes = name.endswith("min")
        unit = MINUTE_US if minutes else DAY_US
        origin = self.now_us
        if self.day_start:
            origin = (self.now_us // DAY_US + 1) * DAY_US
        if minutes:
            # As GNU: -N is younger than N minutes, +N older, N the minute in between.
            edge = origin - int(amount * unit)
            if sign == "-":
                return lambda found: found.stat.mtime_us > edge
            if sign == "+":
                return lambda found: found.stat.mtime_us < edge
            return lambda found: edge < found.stat.mtime_us <= edge + unit
        compare = _compared(sign, int(amount))
        return lambda found: compare(max(-1, (origin - found.stat.mtime_us) // unit))

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
                raise self.refuse(f"{self.tool.quote(value)}: {why(error)}") from None
        return lambda found: found.stat.mtime_us > edge

    def _existing(self, value: str) -> str:
        try:
            self.tool.stat(value)
            return self.tool.files.realpath(self.tool.path(value))
        except OSError as error:
            raise self.refuse(f"{self.tool.quote(value)}: {why(error)}") from None

    def _owner(self, name: str, value: str) -> Test:
        people = users(self.tool.call) if name in ("user", "uid") else groups(self.tool.call)
        field = "owner" if name in ("user", "uid") else "group"
        if name in ("uid", "gid"):
            compare = self._number(name, value)
            return lambda found: compare(people.number(getattr(found.stat, field)))
        wanted = people.found(value)
        if wanted is None:
            kind = "user" if name == "user" else "group"
            quoted = self.tool.quote(value)
            said = (
                "is not the name of a known user"
                if kind == "user"
                else ("is not the name of an existing group")
            )
            raise self.refuse(f"{quoted} {said}")
        return lambda found: getattr(found.stat, field) == wanted

    def _size(self, value: str) -> Test:
        found = re.match(r"([-+]?)(\d+)([bcwkMG]?)\Z", value)
        if not found:
            if value[-1:].isalpha() and value[-1:] not in "bcwkMG":
                raise self.refuse(f"invalid -size type `{value[-1:]}'")
            raise self.refuse(f"Invalid argument `{value}' to -size")
        unit = _SIZE_UNIT[found[3]]
        compare = _compared(found[1], int(found[2]))
        return lambda found: compare(-(-found.stat.size // unit))

    def _mode(self, value: str) -> Test:
        how, text = (value[0], value[1:]) if value[:1] in ("-", "/") else ("", value)
        if not text or not is_mode(text):
            raise self.refuse(f"invalid mode {self.tool.quote(value)}")
        wanted = changed(text, 0, directory=False, umask=0)
        if how == "-":
            return lambda found: found.stat.mode & wanted == wanted
        if how == "/":
            return lambda found: not wanted or bool(found.stat.mode & wanted)
        return lambda found: found.stat.mode == wanted


def blocks_kib(stat: FileStat) -> int:
    return allocated(stat.kind, stat.size) // 1024


def _compared(sign: str, wanted: int) -> Callable[[int], bool]:
    if sign == "+":
        return lambda value: value > wanted
    if sign == "-":
        return lambda value: value < wanted
    return lambda value: value == wanted


def _shell_pattern(pattern: str) -> str:
    """As `fnmatch`, which Python's differs from in `[^…]` and in backslashes."""
    parts: list[str] = []
    rest = pattern
    while rest:
        if rest[0] == "\\" and len(rest) > 1:
            parts.append(re.escape(rest[1]))
            rest = rest[2:]
            continue
        found = re.match(r"\[[!^]?\]?[^]]*\]", rest)
        piece = found[0] if found else rest[0]
        rest = rest[len(piece) :]
        if found:
            piece = re.sub(r"\A\[\^", "[!", piece)
            parts.append(_CLASS.sub(lambda m: _CLASSES.get(m[1], m[0]), _inner(piece)))
        else:
            parts.append({"*": ".*", "?": "."}.get(piece, re.escape(piece)))
    return "".join(parts) + r"\Z"


_CLASS = re.compile(r"\[:(\w+):\]?")
_CLASSES = {"digit": "0-9", "alpha": "A-Za-z", "alnum": "A-Za-z0-9", "upper": "A-Z", "lower": "a-z"}


def _inner(piece: str) -> str:
    inner = translate(piece)
    return inner[4 : inner.rindex(")")]


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
