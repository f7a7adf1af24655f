"""`ls`, `dir` and `vdir` of GNU coreutils. Standard output is never a terminal here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase

from agentworld_sim.engines.shell._command import Command
from agentworld_sim.engines.shell.commands import _figures
from agentworld_sim.engines.shell.commands._entries import (
    Entry,
    Look,
    Painter,
    blocks_of,
    colors_of,
    in_columns,
    long_lines,
    size_text,
)
from agentworld_sim.engines.shell.commands._name_order import version_key, width_of
from agentworld_sim.engines.shell.commands._options import Options, Parsed, UsageError
from agentworld_sim.engines.shell.commands._people import People, groups, users
from agentworld_sim.engines.shell.commands._tool import Tool, joined, tool, why
from agentworld_sim.engines.shell.live_files import FileStat

_OPTIONS = Options(
    "abcdfghiklmnopqrstuvw:xABCDFGHI:LNQRST:UXZ1",
    {
        "all": "a", "escape": "b", "directory": "d", "dired": "D", "full-time": "",
        "group-directories-first": "", "human-readable": "h", "inode": "i", "kibibytes": "k",
        "numeric-uid-gid": "n", "no-group": "G", "hide-control-chars": "q", "reverse": "r",
        "size": "s", "width": "w", "almost-all": "A", "ignore-backups": "B", "classify": "::",
        "file-type": "", "si": "", "dereference-command-line": "H",
        "dereference-command-line-symlink-to-dir": "", "hide": ":", "ignore": "I",
        "indicator-style": ":", "dereference": "L", "literal": "N", "quote-name": "Q",
        "quoting-style": ":", "recursive": "R", "format": ":", "show-control-chars": "",
        "sort": ":", "tabsize": "T", "time": ":", "time-style": ":", "zero": "", "color": "::",
        "hyperlink": "::", "block-size": ":", "context": "Z", "author": "",
    },
    exit_code=2,
)  # fmt: skip

_WORDS: Mapping[str, Sequence[Sequence[str]]] = {
    "format": (
        ("verbose", "long"), ("commas",), ("horizontal", "across"), ("vertical",),
        ("single-column",),
    ),
    "color": (
        ("always", "yes", "force"), ("never", "no", "none"), ("auto", "tty", "if-tty"),
    ),
    "sort": (("none",), ("time",), ("size",), ("extension",), ("version",), ("width",)),
    "time": (
        ("atime", "access", "use"), ("ctime", "status"), ("mtime", "modification"),
        ("birth", "creation"),
    ),
    "indicator-style": (("none",), ("slash",), ("file-type",), ("classify",)),
    "quoting-style": (
        ("literal",), ("shell",), ("shell-always",), ("shell-escape",), ("shell-escape-always",),
        ("c",), ("c-maybe",), ("escape",), ("locale",), ("clocale",),
    ),
}  # fmt: skip

_FORMAT_OF = {"l": "long", "C": "vertical", "x": "across", "m": "commas", "1": "single"}


class Listing:
    """One run of `ls`."""

    def __init__(self, running: Tool, given: Parsed, default: str) -> None:
        self.tool, self.given = running, given
        self.default = default
        self._check_words()
        self.format = self._format(default)
        self.look = self._look()
        self.paint = Painter(self.look)
        self.show_all = given.last("a", "f") is not None and given.last("a", "A", "f") != "A"
        self.almost_all = given.last("a", "A", "f") is not None
        self.line = self._width()
        self.end = "\0" if "zero" in given else "\n"

    # Reading the command line

    def _check_words(self) -> None:
        for name, value in self.given.options:
            allowed = _WORDS.get(name)
            if allowed is None or (name == "color" and not value):
                continue
            if not any(word.startswith(value) for words in allowed for word in words):
                quote = self.tool.quote
                choices = "".join(f"  - {', '.join(map(quote, words))}\n" for words in allowed)
                raise UsageError(
                    f"{self.tool.name}: invalid argument {quote(value)} for {quote('--' + name)}\n"
                    f"Valid arguments are:\n{choices}"
                    f"Try '{self.tool.name} --help' for more information.\n",
                    # The exit code of gnulib's argmatch, not of ls.
                    1,
                )

    def _word(self, name: str) -> str | None:
        value = self.given.value(name)
        if value is None:
            return None
        return next(
            (words[0] for words in _WORDS[name] for word in words if word.startswith(value)), value
        )

    def _format(self, default: str) -> str:
        chosen = default
        for name, _ in self.given.options:
            if name in ("l", "n", "g", "o", "full-time"):
                chosen = "long"
            elif name == "1":
                # -1 does not undo -l.
                chosen = chosen if chosen == "long" else "single"
            elif name in _FORMAT_OF:
                chosen = _FORMAT_OF[name]
            elif name == "format":
                chosen = {
                    "verbose": "long", "commas": "commas", "horizontal": "across",
                    "vertical": "vertical", "single-column": "single",
                }[self._word("format") or "single-column"]  # fmt: skip
            elif name == "zero" and chosen != "long":
                chosen = "single"
        return chosen

    def _look(self) -> Look:
        given = self.given
        long = self.format == "long"
        style = {"p": "/", "F": "F", "classify": "F", "file-type": "-"}.get(
            given.last("p", "F", "classify", "file-type", "indicator-style") or "", ""
        )
        if given.last("p", "F", "classify", "file-type", "indicator-style") == "indicator-style":
            style = {"none": "", "slash": "/", "file-type": "-", "classify": "F"}[
                self._word("indicator-style") or "none"
            ]
        if given.value("classify") in ("never", "no", "none", "auto", "tty", "if-tty"):
            style = ""
        quoting = {"b": "escape", "N": "literal", "Q": "c", "q": "hide"}.get(
            given.last("b", "N", "Q", "q", "quoting-style") or "",
            # `dir` and `vdir` show names as C would write them.
            "literal" if self.default == "single" else "escape",
        )
        if given.last("b", "N", "Q", "q", "quoting-style") == "quoting-style":
            quoting = self._word("quoting-style") or "literal"
        color = given.value("color") if "color" in given else "never"
        always = not color or color[0] in "yf" or "always".startswith(color)
        human = given.last("h", "si", "k", "block-size")
        unit, block_unit = None, (1024, "")
        if "block-size" in given:
            size = _figures.block_size(given.value("block-size") or "")
            if size is None:
                shown = self.tool.name_of(given.value("block-size") or "")
                raise UsageError(f"{self.tool.name}: invalid --block-size argument {shown}\n", 2)
            unit = block_unit = size
        return Look(
            now_us=self.tool.call.clock.now_us(),
            # Only long lines name them, and finding them reads two files.
            users=users(self.tool.call) if long else People({}),
            groups=groups(self.tool.call) if long else People({}),
            indicator=style,
            quoting=quoting,
            colors=colors_of(self.tool.call.env) if always else None,
            inode="i" in given,
            blocks="s" in given,
            numeric="n" in given,
            owner="g" not in given,
            group="o" not in given and "G" not in given,
            author="author" in given and long,
            context="Z" in given and long,
            time_style=self._time_style(),
            unit=unit,
            human_base={"h": 1024, "si": 1000}.get(human or "", 0),
            block_unit=block_unit,
        )

    def _time_style(self) -> str:
        last = self.given.last("full-time", "time-style")
        if last == "full-time":
            return "full-iso"
        style = self.given.value("time-style") if last else self.tool.call.env.get("TIME_STYLE")
        style = (style or "locale").removeprefix("posix-")
        if style.startswith("+") or style in ("full-iso", "long-iso", "iso", "locale"):
            return style
        if self.format != "long":
            return "locale"
        name = self.tool.name
        raise UsageError(
            f"{name}: invalid argument {self.tool.quote(style)} for {self.tool.quote('time style')}"
            "\nValid arguments are:\n  - [posix-]full-iso\n  - [posix-]long-iso\n  - [posix-]iso\n"
            "  - [posix-]locale\n  - +FORMAT (e.g., +%H:%M) for a 'date'-style format\n"
            f"Try '{name} --help' for more information.\n",
            2,
        )

    def _width(self) -> int:
        text = self.given.value("w") or self.tool.call.env.get("COLUMNS", "")
        if "w" in self.given and not text.isdigit():
            raise UsageError(f"{self.tool.name}: invalid line width: {self.tool.quote(text)}\n", 2)
        return (int(text) or 1 << 30) if text.isdigit() else 80

    # Gathering

    def run(self) -> None:
        operands = self.given.operands or ["."]
        files: list[Entry] = []
        folders: list[Entry] = []
        for operand in operands:
            entry = self._operand(operand)
            if entry is not None:
                is_folder = entry.stat.kind == "directory" and "d" not in self.given
                (folders if is_folder else files).append(entry)
        measured = [*files, *folders]
        if files:
            self._print(self._ordered(files), measured)
        several = len(operands) > 1 or "R" in self.given
        shown = bool(files)
        for folder in self._ordered(folders):
            shown = self._folder(folder.name, several, shown)

    def _operand(self, operand: str) -> Entry | None:
        given, files = self.given, self.tool.files
        try:
            stat = self.tool.lstat(operand)
            if stat.kind == "symlink":
                follows = "L" in given or "H" in given
                lenient = not any(n in given for n in ("d", "F", "classify", "H", "L"))
                lenient = lenient and self.format != "long"
                if (
                    follows
                    or (lenient and self.tool.is_directory(operand))
                    or operand.endswith("/")
                ):
                    stat = files.stat(self.tool.path(operand))
            return self._entry(operand, self.tool.path(operand), stat)
        except OSError as error:
            self.tool.complain(f"cannot access {self.tool.name_of(operand)}: {why(error)}", 2)
            return None

    def _entry(self, name: str, path: str, found: FileStat) -> Entry:
        files = self.tool.files
        if found.kind != "symlink" or self.format != "long":
            return Entry(name, found)
        target_stat = None
        try:
            target_stat = files.stat(path)
        except OSError:
            pass
        return Entry(name, found, files.readlink(path), target_stat)

    def _folder(self, name: str, several: bool, shown: bool) -> bool:
        path = self.tool.path(name)
        try:
            found = self.tool.files.entries(path)
        except OSError as error:
            self.tool.complain(f"cannot open directory {self.tool.name_of(name)}: {why(error)}", 2)
            return shown
        entries: list[Entry] = []
        if self.show_all:
            found = [
                (dots, self.tool.files.lstat(joined(path, dots))) for dots in (".", "..")
            ] + found
        for child, stat in found:
            if not self._visible(child):
                continue
            full = joined(path, child)
            if stat.kind == "symlink" and "L" in self.given:
                try:
                    stat = self.tool.files.stat(full)
                except OSError as error:
                    shown_name = self.tool.name_of(joined(name, child))
                    self.tool.complain(f"cannot access {shown_name}: {why(error)}", 1)
            entries.append(self._entry(child, full, stat))
        if several:
            self.tool.out.append(("\n" if shown else "") + f"{self.paint.quoted(name)}:\n")
        entries = self._ordered(entries)
        if self.format == "long" or self.look.blocks:
            total = sum(blocks_of(entry) for entry in entries)
            self.tool.out.append(
                f"total {size_text(total, self.look, self.look.block_unit)}{self.end}"
            )
        self._print(entries, entries)
        if "R" in self.given:
            for entry in entries:
                if entry.stat.kind == "directory" and entry.name not in (".", ".."):
                    self._folder(joined(name, entry.name), True, True)
        return True

    def _visible(self, name: str) -> bool:
        given = self.given
        if name in (".", ".."):
            return True
        if name.startswith(".") and not self.almost_all:
            return False
        if not self.almost_all and any(fnmatchcase(name, p) for p in given.values("hide")):
            return False
        if any(_ignored(name, pattern) for pattern in given.values("I")):
            return False
        return not ("B" in given and name.endswith("~"))

    # Order and output

    def _ordered(self, entries: Sequence[Entry]) -> list[Entry]:
        given = self.given
        key: Callable[[Entry], object] = _by_name
        last = given.last("t", "S", "X", "v", "U", "f", "sort")
        by = {"t": "time", "S": "size", "X": "extension", "v": "version", "U": "none"}.get(
            last or "", ""
        )
        by = "none" if last == "f" else self._word("sort") or "" if last == "sort" else by
        if by == "none":
            return list(entries)
        keys: Mapping[str, Callable[[Entry], object]] = {
            "time": lambda e: (-e.stat.mtime_us, _by_name(e)),
            "size": lambda e: (-e.stat.size, _by_name(e)),
            "extension": lambda e: (_extension(e.name), _by_name(e)),
            "version": lambda e: (version_key(e.name), _by_name(e)),
            "width": lambda e: (width_of(self.paint.quoted(e.name)), _by_name(e)),
        }
        key = keys.get(by, key)
        # Each key is a tuple of comparable values; their types are the same for all entries.
        ordered = sorted(entries, key=key, reverse="r" in given)  # pyright: ignore[reportArgumentType, reportCallIssue, reportUnknownVariableType]
        if "group-directories-first" in given:
            ordered.sort(key=lambda e: (e.target_stat or e.stat).kind != "directory")
        return ordered

    def _print(self, entries: Sequence[Entry], measured: Sequence[Entry]) -> None:
        if not entries:
            return
        if self.format == "long":
            lines = long_lines(entries, measured, self.look, self.paint)
        else:
            prefixes = self._prefixes(entries, measured)
            names = [p + self.paint.name(e) for p, e in zip(prefixes, entries, strict=True)]
            if self.format == "single":
                lines = names
            else:
                lines = self._many(names)
        self.tool.out.append("".join(line + self.end for line in lines))

    def _prefixes(self, entries: Sequence[Entry], measured: Sequence[Entry]) -> list[str]:
        look = self.look
        columns: list[Callable[[Entry], str]] = []
        if look.inode:
            columns.append(lambda e: str(e.stat.inode))
        if look.blocks:
            columns.append(lambda e: size_text(blocks_of(e), look, look.block_unit))
        if "Z" in self.given:
            columns.append(lambda _: "?")
        if self.format == "commas":
            widths = [0] * len(columns)
        else:
            widths = [max(len(text(e)) for e in measured) for text in columns]
        return [
            "".join(t(e).rjust(w) + " " for t, w in zip(columns, widths, strict=True))
            for e in entries
        ]

    def _many(self, names: Sequence[str]) -> list[str]:
        widths = [width_of(name) for name in names]
        if self.format != "commas":
            return in_columns(names, widths, self.line, across=self.format == "across")
        lines, position = [""], 0
        for index, name in enumerate(names):
            last = index == len(names) - 1
            needed = widths[index] + (0 if last else 1)
            if index and position + 1 + needed >= self.line:
                lines[-1] = lines[-1].rstrip(" ")
                lines.append("")
                position = 0
            elif index:
                lines[-1] += " "
                position += 1
            lines[-1] += name + ("" if last else ",")
            position += needed
        return lines


def _ignored(name: str, pattern: str) -> bool:
    # A leading dot is matched by a dot only.
    return fnmatchcase(name, pattern) and (not name.startswith(".") or pattern.startswith("."))


def _by_name(entry: Entry) -> bytes:
    return entry.name.encode("utf-8", "surrogateescape")


def _extension(name: str) -> bytes:
    dot = name.rfind(".")
    return name[dot:].encode("utf-8", "surrogateescape") if dot >= 0 else b""


def _command(default: str) -> Command:
    @tool
    def ls(running: Tool) -> None:
        given = _OPTIONS.parse(running.name, running.call.argv)
        Listing(running, given, default).run()

    return ls


COMMANDS: Mapping[str, Command] = {
    "ls": _command("single"),
    "dir": _command("vertical"),
    "vdir": _command("long"),
}
