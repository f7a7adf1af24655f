"""The machine at work: `ps` and `watch`, `df`, `free`, `nproc` and `uptime`. It runs one shell and what that is asked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from agentworld_sim.engines.shell._command import CommandCall, CommandResult
from agentworld_sim.engines.shell.commands._accounts import current_account
from agentworld_sim.engines.shell.commands._formats import format_time, human
from agentworld_sim.engines.shell.commands._options import Options, UsageError
from agentworld_sim.engines.shell.commands._tool import Tool, tool, with_help
from agentworld_sim.engines.shell.image import memory, up_seconds

OWN_PID = 12
"""Of the command that looks."""

_ADDED_BY_SHELL_US = 4_000_000
"""The shell is that much older than the turn, at least."""

_Process = Mapping[str, str]
"""What each column shows of one process."""


def _processes(call: CommandCall) -> list[_Process]:
    """All processes, by number."""
    now_us = call.clock.now_us()
    booted_us = now_us - round(up_seconds(call.machine, now_us) * 1_000_000)
    shell_us = min(booted_us + 1_000_000, now_us - _ADDED_BY_SHELL_US)
    asked = " ".join((call.name.rpartition("/")[2], *call.argv))
    return [
        _process(call, 1, "bash", shell_us, 4188, 3456, "Ss"),
        _process(call, OWN_PID, asked, now_us, 8100, 4096, "R"),
    ]


def _process(
    call: CommandCall, pid: int, command: str, start_us: int, vsz: int, rss: int, stat: str
) -> _Process:
    today = call.clock.now_us() - start_us < 86_400 * 1_000_000
    start = datetime.fromtimestamp(start_us // 1_000_000, UTC).strftime(
        "%H:%M" if today else "%b%d"
    )
    user = current_account(call)
    return {
        "args": command, "comm": command.partition(" ")[0], "pid": str(pid), "ppid": str(int(pid > 1)),
        "pmem": f"{rss * 100 / call.machine.memory_kib:.1f}", "rss": str(rss), "vsz": str(vsz),
        "s": stat[0], "stat": stat, "start": start, "stime": start, "user": user.name,
        "uid": str(user.uid), "c": "0", "pcpu": "0.0", "tty": "?", "time": "00:00:00",
        "bsdtime": "0:00",
    }  # fmt: skip


_COLUMNS: Mapping[str, tuple[str, int]] = {
    "bsdtime": ("TIME", 6), "args": ("COMMAND", -27), "c": ("C", 2), "comm": ("COMMAND", -15),
    "pcpu": ("%CPU", 4), "pid": ("PID", 7), "pmem": ("%MEM", 4), "ppid": ("PPID", 7),
    "rss": ("RSS", 5), "s": ("S", -1), "start": ("START", -5), "stat": ("STAT", -4),
    "stime": ("STIME", -5), "time": ("TIME", 8), "tty": ("TT", -8), "uid": ("UID", 5),
    "user": ("USER", -8), "vsz": ("VSZ", 6),
}  # fmt: skip
"""Headings and widths; what is less than zero is set to the left."""

_ALIASES = {
    "cmd": "args", "command": "args", "%cpu": "pcpu", "%mem": "pmem", "state": "s", "tt": "tty",
    "tname": "tty", "ucmd": "comm", "euser": "user", "vsize": "vsz", "euid": "uid",
}  # fmt: skip

_HEADINGS = {"cmd": "CMD", "ucmd": "CMD", "tty": "TT", "tname": "TTY", "state": "S"}


_Column = tuple[str, str, int]
"""Its name, its heading, its width."""


@dataclass(slots=True)
class _Listing:
    columns: list[_Column]
    pids: list[int] | None = None
    names: list[str] | None = None
    headings: bool = True


_UNKNOWN_OPTION = """\
error: unknown gnu long option

Usage:
 ps [options]

 Try 'ps --help <simple|list|output|threads|misc|all>'
  or 'ps --help <s|l|o|t|m|a>'
 for additional help text.

For more details see ps(1).
"""

_BSD_COLUMNS = "user pid pcpu pmem vsz rss tname stat start bsdtime args".split()


@tool
def ps(t: Tool) -> None:
    words = list(t.call.argv)
    flat = "".join(word.lstrip("-") for word in words)
    asked = _Listing([_column(name) for name in ("pid", "tname", "time", "ucmd")])
    _read(words, asked)
    processes = [p for p in _processes(t.call) if _is_selected(p, asked)]
    if "u" in flat and not t.call.argv[0].startswith("-") and set(flat) <= set("aAuxwfe"):
        asked.columns = [_column(one) for one in _BSD_COLUMNS]
    t.out.extend(f"{line}\n" for line in _table(processes, asked))
    t.code = 0 if processes else 1


def _column(name: str) -> _Column:
    given, equals, heading = name.partition("=")
    key = _ALIASES.get(given.lower(), given.lower())
    title, width = _COLUMNS[key]
    return key, heading if equals else _HEADINGS.get(given.lower(), title), width


def _read(words: list[str], asked: _Listing) -> None:
    """Reads the options.

    Raises:
        UsageError: one is none.
    """
    chosen: list[str] = []
    while words:
        word = words.pop(0)
        name = word.lstrip("-")
        if name[:1] in ("o", "O", "p", "C", "q", "u", "U") and word.startswith("-"):
            value = name[1:] or (words.pop(0) if words else "")
            value = value.removeprefix("id").removeprefix("=") if name == "pid" else value
            if name[0] in "oO":
                chosen += value.split(",") if "=" not in value else [value]
            elif name[0] in "pq":
                asked.pids = [int(n) for n in re.split(r"[, ]+", value) if n.isdigit()]
            elif name[0] == "C":
                asked.names = value.split(",")
        elif name.isdigit():
            asked.pids = [*(asked.pids or []), int(name)]
        elif word.startswith("--"):
            if name.startswith("no-head"):
                asked.headings = False
            elif not name.startswith(("sort", "forest", "width", "cols")):
                raise UsageError(_UNKNOWN_OPTION)
        else:
            if "o" in name and words:
                chosen += words.pop(0).split(",")
            if "f" in name and word.startswith("-"):
                names = ("user=UID", "pid", "ppid", "c", "stime", "tname", "time", "cmd")
                asked.columns = [_column(one) for one in names]
    try:
        asked.columns = [_column(name) for name in chosen] or asked.columns
    except KeyError:
        said = f'error: unknown user-defined format specifier "{chosen[-1]}"'
        raise UsageError(f"{said}\n\nUsage:\n ps [options]\n") from None


def _is_selected(process: _Process, asked: _Listing) -> bool:
    if asked.pids is not None:
        return int(process["pid"]) in asked.pids
    return asked.names is None or process["comm"] in asked.names


def _table(processes: Sequence[_Process], asked: _Listing) -> list[str]:
    titles = [title for _, title, _ in asked.columns]
    rows = [[process[key] for key, _, _ in asked.columns] for process in processes]
    if asked.headings and any(titles):
        rows.insert(0, titles)
    lines: list[str] = []
    for row in rows:
        cells = [
            text.ljust(max(-width, len(title))) if width < 0 else text.rjust(max(width, len(title)))
            for text, (_, title, width) in zip(row, asked.columns, strict=True)
        ]
        last = row[-1] if asked.columns[-1][2] < 0 else cells[-1]
        lines.append(" ".join([*cells[:-1], last]))
    return lines


@with_help
def watch(call: CommandCall) -> CommandResult:
    terminal = call.env.get("TERM", "unknown")
    return CommandResult("", f"Error opening terminal: {terminal}.\n", 1)


_FREE = Options("bkmght", {
    "bytes": "b", "kibi": "k", "mebi": "m", "gibi": "g", "human": "h", "total": "t",
})  # fmt: skip

_FREE_DIVISORS = {"b": 1 / 1024, "k": 1, "m": 1024, "g": 1_048_576}


@tool
def free(t: Tool) -> None:
    parsed = _FREE.parse(t.name, t.call.argv)
    unit = parsed.last("b", "k", "m", "g", "h") or "k"
    found = dict(memory(t.call.machine))
    total, available = found["MemTotal"], found["MemAvailable"]
    cache = found["Buffers"] + found["Cached"] + found["Slab"]
    numbers = (total, total - available, found["MemFree"], found["Shmem"], cache, available)

    def format_kib(kib: int) -> str:
        return _human(kib * 1024) if unit == "h" else str(int(kib / _FREE_DIVISORS[unit]))

    titles = ("total", "used", "free", "shared", "buff/cache", "available")
    t.say(" " * 8 + "".join(f"{title:>12}" for title in titles))
    t.say("Mem:    " + "".join(f"{format_kib(number):>12}" for number in numbers))
    t.say("Swap:   " + "".join(f"{format_kib(0):>12}" for _ in range(3)))
    if "t" in parsed:
        t.say("Total:  " + "".join(f"{format_kib(number):>12}" for number in numbers[:3]))


def _human(size: int) -> str:
    """A size as `free -h` shows it."""
    value, index = float(size), 0
    while value >= 1024:
        value, index = value / 1024, index + 1
    unit = ("B", "Ki", "Mi", "Gi", "Ti")[index]
    return f"{value:.1f}{unit}" if index and value < 10 else f"{int(value)}{unit}"


_DF = Options("ahHklPT", {
    "all": "a", "human-readable": "h", "si": "H", "local": "l", "portability": "P",
    "print-type": "T",
})  # fmt: skip


@tool
def df(t: Tool) -> None:
    parsed = _DF.parse(t.name, t.call.argv)
    machine = t.call.machine
    used, free_bytes = machine.disk_used_kib, t.files.conditions.free_bytes
    if free_bytes is not None:
        used = machine.disk_kib - machine.disk_kib // 20 - free_bytes // 1024
    root = ("overlay", "overlay", machine.disk_kib, used, "/")
    rows = [root, ("tmpfs", "tmpfs", 65_536, 0, "/dev"), ("shm", "tmpfs", 65_536, 0, "/dev/shm")]
    for operand in parsed.operands:
        if not t.exists(operand):
            t.complain(f"{operand}: No such file or directory")
    if parsed.operands:
        places = [t.files.realpath(t.path(name)) for name in parsed.operands if t.exists(name)]
        rows = [next((r for r in rows[:0:-1] if f"{place}/".startswith(f"{r[4]}/")), root)
                for place in places]  # fmt: skip
    if not rows:
        return
    base = {"h": 1024, "H": 1000}.get(parsed.last("h", "H", "k") or "")
    titles = ["Filesystem", "1K-blocks", "Used", "Available", "Use%", "Mounted on"]
    if base:
        titles[1:4] = ["Size", "Used", "Avail"]
    elif "P" in parsed:
        titles[1:5] = ["1024-blocks", "Used", "Available", "Capacity"]
    table = [titles]
    for name, _, total, used, point in rows:
        # A twentieth is kept for root, as ext4 does.
        left = total - used - (total // 20 if name == "overlay" else 0)
        sizes = [human(n * 1024, base=base) if base else str(n)
                 for n in (total, used, left)]  # fmt: skip
        table.append([name, *sizes, f"{-(-used * 100 // max(1, used + left))}%", point])
    if "T" in parsed:
        kinds = ["Type", *(row[1] for row in rows)]
        table = [[row[0], kind, *row[1:]] for row, kind in zip(table, kinds, strict=True)]
    _print_table(t, table, left=2 if "T" in parsed else 1)


def _print_table(t: Tool, table: list[list[str]], *, left: int) -> None:
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]) - 1)]
    # The share of use is the one narrow column.
    least = [14, *([5] * (len(widths) - 2)), 4]
    for row in table:
        cells = [
            cell.ljust(max(pair)) if index < left else cell.rjust(max(pair))
            for index, (cell, *pair) in enumerate(zip(row, widths, least, strict=False))
        ]
        t.say(" ".join([*cells, row[-1]]))


@tool
def nproc(t: Tool) -> None:
    spec = Options("", {"all": "", "ignore": ":"})
    parsed = spec.parse(t.name, t.call.argv)
    if parsed.operands:
        raise spec.refuse(t.name, f"extra operand {t.quote(parsed.operands[0])}")
    ignored = parsed.value("ignore") or "0"
    if not ignored.isdigit():
        t.complain(f"invalid number: {t.quote(ignored)}")
        return
    t.say(str(max(1, t.call.machine.cpus - int(ignored))))


@with_help
def uptime(call: CommandCall) -> CommandResult:
    now_us = call.clock.now_us()
    seconds = int(up_seconds(call.machine, now_us))
    days, hours, minutes = seconds // 86_400, seconds // 3600 % 24, seconds // 60 % 60
    if any(word in ("-p", "--pretty") for word in call.argv):
        parts = ((days, "day"), (hours, "hour"), (minutes, "minute"))
        said = [f"{n} {word}{'' if n == 1 else 's'}" for n, word in parts if n]
        return CommandResult(f"up {', '.join(said)}\n")
    since = f"{hours:>2}:{minutes:02}" if hours else f"{minutes} min"
    if days:
        since = f"{days} day{'s' if days > 1 else ''}, {since}"
    time = format_time("%H:%M:%S", now_us)
    return CommandResult(f" {time} up {since},  0 user,  load average: 0.00, 0.01, 0.00\n")
