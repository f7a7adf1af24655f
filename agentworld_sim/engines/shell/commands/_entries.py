"""The lines of `ls`: one entry in its forms, and entries in columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from agentworld_sim.engines.shell.commands import _figures
from agentworld_sim.engines.shell.commands._modes import mode_text
from agentworld_sim.engines.shell.commands._people import People
from agentworld_sim.engines.shell.commands._quoting import shell_quoted
from agentworld_sim.engines.shell.live_files import FileStat

_DEFAULT_COLORS = {
    "di": "01;34", "ln": "01;36", "pi": "33", "ex": "01;32", "su": "37;41", "sg": "30;43",
    "st": "37;44", "ow": "34;42", "tw": "30;42",
}  # fmt: skip
_COLOR_TERM = re.compile(
    r"(Eterm|ansi|.*color.*|con[0-9]*x[0-9]*|cons25|console|cygwin|.*direct.*|dtterm|gnome|hurd"
    r"|jfbterm|konsole|kterm|linux(-c)?|mlterm|putty|rxvt.*|screen.*|st|terminator|tmux.*|vt100"
    r"|vt220|xterm.*)\Z"
)
TAB = 8


@dataclass(frozen=True, slots=True)
class Entry:
    """One name in a listing."""

    name: str
    stat: FileStat
    target: str | None = None
    """Where a link points, when the listing shows it."""
    target_stat: FileStat | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """How entries are shown."""

    now_us: int
    users: People
    groups: People
    indicator: str = ""
    """`""`, `"/"` (directories only), `"-"` (file type) or `"F"` (classify)."""
    quoting: str = "literal"
    colors: Mapping[str, str] | None = None
    inode: bool = False
    blocks: bool = False
    numeric: bool = False
    owner: bool = True
    group: bool = True
    author: bool = False
    context: bool = False
    time_style: str = "locale"
    unit: tuple[int, str] | None = None
    """Bytes per unit and suffix for sizes, `None` for plain bytes."""
    human_base: int = 0
    block_unit: tuple[int, str] = (1024, "")


def colors_of(env: Mapping[str, str]) -> dict[str, str] | None:
    """The colours of `LS_COLORS`; where it is not set, GNU's own on a terminal known to have any."""
    given = env.get("LS_COLORS", "")
    if not given:
        known = env.get("COLORTERM") or _COLOR_TERM.match(env.get("TERM", ""))
        return dict(_DEFAULT_COLORS) if known else None
    pairs = (part.partition("=") for part in given.split(":") if "=" in part)
    return {**_DEFAULT_COLORS, **{key: value for key, _, value in pairs}}


def size_text(size: int, look: Look, unit: tuple[int, str] | None) -> str:
    if look.human_base:
        return _figures.human(size, base=look.human_base)
    if unit is None:
        return str(size)
    return f"{-(-size // unit[0])}{unit[1]}"


def blocks_of(entry: Entry) -> int:
    return _figures.allocated(entry.stat.kind, entry.stat.size)


def indicator(stat: FileStat, style: str) -> str:
    if not style:
        return ""
    if stat.kind == "directory":
        return "/"
    if style == "/":
        return ""
    if stat.kind == "symlink":
        return "@"
    if stat.kind == "fifo":
        return "|"
    return "*" if style == "F" and stat.mode & 0o111 else ""


class Painter:
    """Writes names: quoted, coloured, marked."""

    def __init__(self, look: Look) -> None:
        self.look = look
        self._started = False

    def quoted(self, name: str) -> str:
        match self.look.quoting:
            case "c":
                return '"' + _escaped(name, '"') + '"'
            case "escape":
                return _escaped(name, " ")
            case "shell" | "shell-escape":
                return shell_quoted(name).replace("':'", ":") if name == ":" else shell_quoted(name)
            case "shell-always" | "shell-escape-always":
                return shell_quoted(name, always=True)
            case "hide":
                return re.sub(r"[\x00-\x1f\x7f]", "?", name)
            case _:
                return name

    def name(self, entry: Entry) -> str:
        """The name alone, with colour and mark."""
        text = self.paint(self.quoted(entry.name), entry.name, entry.stat)
        return text + indicator(entry.stat, self.look.indicator)

    def long_name(self, entry: Entry) -> str:
        text = self.paint(self.quoted(entry.name), entry.name, entry.stat)
        if entry.target is None:
            return text + indicator(entry.stat, self.look.indicator)
        shown = self.quoted(entry.target)
        if entry.target_stat is not None:
            shown = self.paint(shown, entry.target, entry.target_stat)
            shown += indicator(entry.target_stat, self.look.indicator)
        return f"{text} -> {shown}"

    def paint(self, text: str, name: str, stat: FileStat) -> str:
        if self.look.colors is None:
            return text
        color = _color(name, stat, self.look.colors)
        if not color:
            return text
        start = "" if self._started else "\x1b[0m"
        self._started = True
        return f"{start}\x1b[{color}m{text}\x1b[0m"


def _color(name: str, stat: FileStat, colors: Mapping[str, str]) -> str:
    if stat.kind == "directory":
        sticky, open_ = stat.mode & 0o1000, stat.mode & 0o002
        key = "tw" if sticky and open_ else "ow" if open_ else "st" if sticky else "di"
        return colors.get(key, "")
    if stat.kind != "file":
        return colors.get({"symlink": "ln", "fifo": "pi"}[stat.kind], "")
    for bit, key in ((0o4000, "su"), (0o2000, "sg"), (0o111, "ex")):
        if stat.mode & bit and colors.get(key, "0") not in ("", "0", "00"):
            return colors[key]
    suffixes = (key for key in colors if key.startswith("*") and name.endswith(key[1:]))
    best = max(suffixes, key=len, default="")
    return colors.get(best, colors.get("fi", ""))


def _escaped(name: str, special: str) -> str:
    table = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\a": "\\a", "\b": "\\b", "\f": "\\f"}
    table |= {"\v": "\\v", "\\": "\\\\", special: "\\" + special}
    return "".join(
        table.get(char) or (f"\\{ord(char):03o}" if char < " " or char == "\x7f" else char)
        for char in name
    )


def long_lines(
    entries: Sequence[Entry], measured: Sequence[Entry], look: Look, paint: Painter
) -> list[str]:
    """The lines of `ls -l`.

    Args:
        entries: What is shown.
        measured: What the column widths are taken from: on a command line also its directories.
        look: How it is shown.
        paint: Writes the names.
    """  # fmt: skip
    columns = _columns(look)
    widths = [max((len(text(e)) for e in measured), default=0) for text, _ in columns]
    lines: list[str] = []
    for entry in entries:
        cells = [
            text(entry).rjust(width) if right else text(entry).ljust(width)
            for (text, right), width in zip(columns, widths, strict=True)
        ]
        lines.append(" ".join([*cells, paint.long_name(entry)]))
    return lines


def _columns(look: Look) -> list[tuple[Callable[[Entry], str], bool]]:
    """The columns before the name: what they show, and whether they are set to the right."""
    columns: list[tuple[Callable[[Entry], str], bool]] = []
    if look.inode:
        columns.append((lambda e: str(e.stat.inode), True))
    if look.blocks:
        columns.append((lambda e: size_text(blocks_of(e), look, look.block_unit), True))
    columns.append((lambda e: mode_text(e.stat.kind, e.stat.mode), False))
    columns.append((lambda e: str(e.stat.nlink), True))
    for shown, field, people in (
        (look.owner, "owner", look.users),
        (look.group, "group", look.groups),
        (look.author, "owner", look.users),
    ):
        if shown and look.numeric:
            columns.append((lambda e, f=field, p=people: str(p.number(getattr(e.stat, f))), True))
        elif shown:
            columns.append((lambda e, f=field: str(getattr(e.stat, f)), False))
    if look.context:
        columns.append((lambda _: "?", False))
    columns.append((lambda e: size_text(e.stat.size, look, look.unit), True))
    columns.append((lambda e: time_text(e.stat.mtime_us, look), False))
    return columns


def time_text(time_us: int, look: Look) -> str:
    style = look.time_style
    if style.startswith("+"):
        old, two, recent = style[1:].partition("\n")
        chosen = recent if two and _figures.is_recent(time_us, look.now_us) else old
        return _figures.formatted_time(chosen, time_us)
    if style == "full-iso":
        return _figures.full_time(time_us)
    when = _figures.moment(time_us)
    if style == "long-iso":
        return when.strftime("%Y-%m-%d %H:%M")
    if style == "iso":
        recent = _figures.is_recent(time_us, look.now_us)
        return when.strftime("%m-%d %H:%M") if recent else when.strftime("%Y-%m-%d ")
    return _figures.short_time(time_us, look.now_us)


def in_columns(
    names: Sequence[str], widths: Sequence[int], line: int, *, across: bool
) -> list[str]:
    """Names in as many columns as fit into `line` characters, filled with spaces and tabs.

    Source: GNU ls, `calculate_columns`, `print_many_per_line`, `print_horizontal`.
    """  # fmt: skip
    count = len(names)
    if not count:
        return []
    columns, sizes = 1, [0]
    for columns in range(min(count, max(1, line // 3)), 0, -1):
        rows = -(-count // columns)
        sizes = [0] * columns
        for index, width in enumerate(widths):
            column = index % columns if across else index // rows
            sizes[column] = max(sizes[column], width + (0 if column == columns - 1 else 2))
        if columns == 1 or sum(sizes) < line:
            break
    lines: list[str] = []
    rows = -(-count // columns)
    for row in range(rows):
        chosen = (
            range(row * columns, min((row + 1) * columns, count))
            if across
            else range(row, count, rows)
        )
        text, position, start = "", 0, 0
        for place, index in enumerate(chosen):
            text += _gap(position, start) if place else ""
            text += names[index]
            position = start + widths[index]
            start += sizes[place]
        lines.append(text)
    return lines


def _gap(position: int, goal: int) -> str:
    """From one column to another with tabs where they help, as GNU's `indent`."""
    text = ""
    while position < goal:
        if goal // TAB > (position + 1) // TAB:
            text += "\t"
            position += TAB - position % TAB
        else:
            text += " "
            position += 1
    return text
