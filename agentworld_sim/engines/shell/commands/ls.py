"""`ls` of GNU coreutils. Standard output is never a terminal here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from agentworld_sim.engines.shell.commands import _formats
from agentworld_sim.engines.shell.commands._accounts import Names, group_names, user_names
from agentworld_sim.engines.shell.commands._formats import mode_text
from agentworld_sim.engines.shell.commands._options import CommandLine, Options
from agentworld_sim.engines.shell.commands._tool import Tool, join_path, strerror, tool
from agentworld_sim.engines.shell.live_files import FileStat

_OPTIONS = Options(
    "acdfghiklnoprstuAFGHI:LNRSUX1",
    {
        "all": "a", "directory": "d", "full-time": "", "group-directories-first": "",
        "human-readable": "h", "inode": "i", "kibibytes": "k", "numeric-uid-gid": "n",
        "no-group": "G", "reverse": "r", "size": "s", "almost-all": "A",
        "classify": "::", "file-type": "", "si": "", "dereference-command-line": "H",
        "ignore": "I", "dereference": "L", "literal": "N", "recursive": "R",
        "show-control-chars": "", "sort": ":", "time": ":", "time-style": ":", "color": "::",
    },
    exit_code=2,
)  # fmt: skip

_WORDS: Mapping[str, Sequence[Sequence[str]]] = {
    "color": (
        ("always", "yes", "force"), ("never", "no", "none"), ("auto", "tty", "if-tty"),
    ),
    "sort": (("none",), ("time",), ("size",), ("extension",)),
    "time": (
        ("atime", "access", "use"), ("ctime", "status"), ("mtime", "modification"),
        ("birth", "creation"),
    ),
}  # fmt: skip

_MARKS = {"p": "/", "F": "F", "classify": "F", "file-type": "-"}
_SORT_OF = {"t": "time", "S": "size", "X": "extension", "U": "none", "f": "none"}

_COLORS = {
    "di": "01;34", "ln": "01;36", "pi": "33", "ex": "01;32", "su": "37;41", "sg": "30;43",
    "st": "37;44", "ow": "34;42", "tw": "30;42",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Entry:
    """One name in a listing."""

    name: str
    stat: FileStat
    target: str | None = None
    """Where a link points, when the listing shows it."""
    target_stat: FileStat | None = None


class _Listing:
    """One run of `ls`."""

    def __init__(self, running: Tool, given: CommandLine) -> None:
        self.tool, self.given = running, given
        self._check_words()
        # -1 does not undo -l.
        self.long = given.last("l", "n", "g", "o", "full-time") is not None
        self.time_style = self._time_style()
        self.now_us = running.call.clock.now_us()
        # Only long lines name them, and finding them reads two files.
        self.users = user_names(running.call) if self.long else Names({})
        self.groups = group_names(running.call) if self.long else Names({})
        self.mark = _MARKS.get(given.last(*_MARKS) or "", "")
        if given.value("classify") in ("never", "no", "none", "auto", "tty", "if-tty"):
            self.mark = ""
        color = given.value("color") if "color" in given else "never"
        always = not color or color[0] in "yf" or "always".startswith(color)
        # GNU's own, on a terminal that is known to have any.
        known = running.call.env.get("TERM", "dumb") not in ("", "dumb", "unknown")
        self.colors = _COLORS if always and known else None
        self._any_painted = False
        human = given.last("h", "si", "k")
        self.human_base = {"h": 1024, "si": 1000}.get(human or "", 0)
        self.show_all = given.last("a", "f") is not None and given.last("a", "A", "f") != "A"
        self.almost_all = given.last("a", "A", "f") is not None

    # Reading the command line

    def _check_words(self) -> None:
        for name, value in self.given.options:
            allowed = _WORDS.get(name)
            if allowed is None or (name == "color" and not value):
                continue
            if not any(word.startswith(value) for words in allowed for word in words):
                choices = (", ".join(map(self.tool.quote, words)) for words in allowed)
                raise self.tool.bad_argument(value, "--" + name, choices)

    def _time_style(self) -> str:
        last = self.given.last("full-time", "time-style")
        if last == "full-time":
            return "full-iso"
        style = self.given.value("time-style") if last else self.tool.call.env.get("TIME_STYLE")
        style = (style or "locale").removeprefix("posix-")
        if style.startswith("+") or style in ("full-iso", "long-iso", "iso", "locale"):
            return style
        if not self.long:
            return "locale"
        forms = [f"[posix-]{form}" for form in ("full-iso", "long-iso", "iso", "locale")]
        forms.append("+FORMAT (e.g., +%H:%M) for a 'date'-style format")
        raise self.tool.bad_argument(style, "time style", forms, 2)

    # Gathering

    def run(self) -> None:
        operands = self.given.operands or ["."]
        files: list[_Entry] = []
        folders: list[_Entry] = []
        for operand in operands:
            entry = self._operand(operand)
            if entry is not None:
                is_folder = entry.stat.kind == "directory" and "d" not in self.given
                (folders if is_folder else files).append(entry)
        if files:
            self._print(self._sort(files), [*files, *folders])
        several = len(operands) > 1 or "R" in self.given
        shown = bool(files)
        for folder in self._sort(folders):
            shown = self._folder(folder.name, several, shown)

    def _operand(self, operand: str) -> _Entry | None:
        given, files = self.given, self.tool.files
        try:
            stat = self.tool.lstat(operand)
            if stat.kind == "symlink":
                follows = "L" in given or "H" in given or operand.endswith("/")
                lenient = not any(n in given for n in ("d", "F", "classify", "H", "L"))
                lenient = lenient and not self.long
                if follows or (lenient and self.tool.is_directory(operand)):
                    stat = files.stat(self.tool.path(operand))
            return self._entry(operand, self.tool.path(operand), stat)
        except OSError as error:
            self.tool.complain(f"cannot access {self.tool.name_of(operand)}: {strerror(error)}", 2)
            return None

    def _entry(self, name: str, path: str, found: FileStat) -> _Entry:
        files = self.tool.files
        if found.kind != "symlink" or not self.long:
            return _Entry(name, found)
        target_stat = None
        try:
            target_stat = files.stat(path)
        except OSError:
            pass
        return _Entry(name, found, files.readlink(path), target_stat)

    def _folder(self, name: str, several: bool, shown: bool) -> bool:
        path = self.tool.path(name)
        try:
            found = self.tool.files.entries(path)
        except OSError as error:
            self.tool.complain(
                f"cannot open directory {self.tool.name_of(name)}: {strerror(error)}", 2
            )
            return shown
        entries: list[_Entry] = []
        if self.show_all:
            found = [
                (dots, self.tool.files.lstat(join_path(path, dots))) for dots in (".", "..")
            ] + found
        for child, stat in found:
            if not self._visible(child):
                continue
            full = join_path(path, child)
            if stat.kind == "symlink" and "L" in self.given:
                try:
                    stat = self.tool.files.stat(full)
                except OSError as error:
                    shown_name = self.tool.name_of(join_path(name, child))
                    self.tool.complain(f"cannot access {shown_name}: {strerror(error)}", 1)
            entries.append(self._entry(child, full, stat))
        if several:
            self.tool.out.append(("\n" if shown else "") + f"{name}:\n")
        entries = self._sort(entries)
        if self.long or "s" in self.given:
            self.tool.say(f"total {self._blocks(*entries)}")
        self._print(entries, entries)
        if "R" in self.given:
            for entry in entries:
                if entry.stat.kind == "directory" and entry.name not in (".", ".."):
                    self._folder(join_path(name, entry.name), True, True)
        return True

    def _visible(self, name: str) -> bool:
        if name in (".", ".."):
            return True
        if name.startswith(".") and not self.almost_all:
            return False
        # A leading dot is matched by a dot only.
        return not any(
            fnmatchcase(name, pattern) and (not name.startswith(".") or pattern.startswith("."))
            for pattern in self.given.values("I")
        )

    # Order and output

    def _sort(self, entries: Sequence[_Entry]) -> list[_Entry]:
        last = self.given.last(*_SORT_OF, "sort") or ""
        value = self.given.value("sort") or ""
        by = _SORT_OF.get(last) or next(
            (w for (w,) in _WORDS["sort"] if value and w.startswith(value)), ""
        )
        if by == "none":
            return list(entries)
        keys: Mapping[str, Callable[[_Entry], tuple[int | bytes, bytes]]] = {
            "time": lambda e: (-e.stat.mtime_us, _bytes(e.name)),
            "size": lambda e: (-e.stat.size, _bytes(e.name)),
            "extension": lambda e: (_extension(e.name), _bytes(e.name)),
            "": lambda e: (0, _bytes(e.name)),
        }
        ordered = sorted(entries, key=keys[by], reverse="r" in self.given)  # pyright: ignore[reportArgumentType, reportCallIssue] -- of one type for all entries
        if "group-directories-first" in self.given:
            ordered.sort(key=lambda e: (e.target_stat or e.stat).kind != "directory")
        return ordered

    def _print(self, entries: Sequence[_Entry], measured: Sequence[_Entry]) -> None:
        """Prints `entries`; on a command line the columns are as wide as its directories need, too."""
        if not entries:
            return
        columns = self._columns()
        widths = [max((len(text(e)) for e in measured), default=0) for text, _ in columns]
        lines: list[str] = []
        for entry in entries:
            cells = [
                text(entry).rjust(width) if right else text(entry).ljust(width)
                for (text, right), width in zip(columns, widths, strict=True)
            ]
            lines.append(
                " ".join([*cells, self._long_name(entry) if self.long else self._name(entry)])
            )
        self.tool.out.append("".join(line + "\n" for line in lines))

    def _columns(self) -> list[tuple[Callable[[_Entry], str], bool]]:
        """The columns before the name: what they show, and whether they are set to the right."""
        given = self.given
        columns: list[tuple[Callable[[_Entry], str], bool]] = []
        if "i" in given:
            columns.append((lambda e: str(e.stat.inode), True))
        if "s" in given:
            columns.append((self._blocks, True))
        if not self.long:
            return columns
        columns.append((lambda e: mode_text(e.stat.kind, e.stat.mode), False))
        columns.append((lambda e: str(e.stat.nlink), True))
        numeric = "n" in given
        if "g" not in given:
            users = self.users
            owner: Callable[[_Entry], str] = lambda e: str(users.number(e.stat.owner))
            columns.append((owner if numeric else lambda e: e.stat.owner, numeric))
        if "o" not in given and "G" not in given:
            groups = self.groups
            group: Callable[[_Entry], str] = lambda e: str(groups.number(e.stat.group))
            columns.append((group if numeric else lambda e: e.stat.group, numeric))
        human = self.human_base
        size: Callable[[_Entry], str] = lambda e: (
            _formats.human(e.stat.size, base=human) if human else str(e.stat.size)
        )
        columns.append((size, True))
        columns.append((lambda e: self._time(e.stat.mtime_us), False))
        return columns

    def _blocks(self, *entries: _Entry) -> str:
        size = sum(_formats.disk_size(e.stat.kind, e.stat.size) for e in entries)
        return _formats.human(size, base=self.human_base) if self.human_base else str(size // 1024)

    def _time(self, time_us: int) -> str:
        style = self.time_style
        if style.startswith("+"):
            old, two, recent = style[1:].partition("\n")
            chosen = recent if two and _formats.is_recent(time_us, self.now_us) else old
            return _formats.format_time(chosen, time_us)
        if style == "full-iso":
            return _formats.full_time(time_us)
        when = _formats.moment(time_us)
        if style == "long-iso":
            return when.strftime("%Y-%m-%d %H:%M")
        if style == "iso":
            recent = _formats.is_recent(time_us, self.now_us)
            return when.strftime("%m-%d %H:%M") if recent else when.strftime("%Y-%m-%d ")
        return _formats.short_time(time_us, self.now_us)

    # Names

    def _name(self, entry: _Entry) -> str:
        """The name alone, with colour and mark."""
        return self._paint(entry.name, entry.stat) + self._indicator(entry.stat)

    def _long_name(self, entry: _Entry) -> str:
        if entry.target is None:
            return self._name(entry)
        shown = entry.target
        if entry.target_stat is not None:
            shown = self._paint(shown, entry.target_stat) + self._indicator(entry.target_stat)
        return f"{self._paint(entry.name, entry.stat)} -> {shown}"

    def _indicator(self, stat: FileStat) -> str:
        if not self.mark:
            return ""
        if stat.kind == "directory":
            return "/"
        if self.mark == "/":
            return ""
        if stat.kind != "file":
            return {"symlink": "@", "fifo": "|"}[stat.kind]
        return "*" if self.mark == "F" and stat.mode & 0o111 else ""

    def _paint(self, name: str, stat: FileStat) -> str:
        color = "" if self.colors is None else _color(stat, self.colors)
        if not color:
            return name
        start = "" if self._any_painted else "\x1b[0m"
        self._any_painted = True
        return f"{start}\x1b[{color}m{name}\x1b[0m"


def _color(stat: FileStat, colors: Mapping[str, str]) -> str:
    if stat.kind == "directory":
        sticky, open_ = stat.mode & 0o1000, stat.mode & 0o002
        key = "tw" if sticky and open_ else "ow" if open_ else "st" if sticky else "di"
        return colors.get(key, "")
    if stat.kind != "file":
        return colors.get({"symlink": "ln", "fifo": "pi"}[stat.kind], "")
    for bit, key in ((0o4000, "su"), (0o2000, "sg"), (0o111, "ex")):
        if stat.mode & bit:
            return colors[key]
    return ""


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


def _extension(name: str) -> bytes:
    dot = name.rfind(".")
    return _bytes(name[dot:]) if dot >= 0 else b""


@tool
def ls(running: Tool) -> None:
    _Listing(running, _OPTIONS.parse(running.name, running.call.argv)).run()
