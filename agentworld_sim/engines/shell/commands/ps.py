"""`ps` and `watch`. The machine runs one shell and what it is asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from agentworld_sim.engines.shell._command import Command, CommandCall, CommandResult
from agentworld_sim.engines.shell.commands._accounts import current_account
from agentworld_sim.engines.shell.commands._tool import with_help
from agentworld_sim.engines.shell.image import up_seconds


@dataclass(frozen=True, slots=True)
class _Process:
    """One line of a process list."""

    pid: int
    ppid: int
    command: str
    started_us: int
    user: str
    vsz: int = 4188
    rss: int = 3456
    state: str = "S"

    @property
    def name(self) -> str:
        return self.command.partition(" ")[0].rpartition("/")[2]


OWN_PID = 12
"""Of the command that looks."""

_ADDED_BY_SHELL_US = 4_000_000
"""The shell is that much older than the turn, at least."""


def _processes(call: CommandCall) -> list[_Process]:
    """All processes, by number."""
    user = current_account(call).name
    now_us = call.clock.now_us()
    booted_us = now_us - round(up_seconds(call.machine, now_us) * 1_000_000)
    shell_us = min(booted_us + 1_000_000, now_us - _ADDED_BY_SHELL_US)
    name = call.name.rpartition("/")[2]
    asked = " ".join((name, *call.argv))
    return [
        _Process(1, 0, "bash", shell_us, user, state="Ss"),
        _Process(OWN_PID, 1, asked, now_us, user, 8100, 4096, "R"),
    ]


def _start(process: _Process, call: CommandCall) -> str:
    started = datetime.fromtimestamp(process.started_us // 1_000_000, UTC)
    if call.clock.now_us() - process.started_us < 86_400 * 1_000_000:
        return started.strftime("%H:%M")
    return started.strftime("%b%d")


_Cell = Callable[[_Process, CommandCall], str]

_COLUMNS: Mapping[str, tuple[str, int, _Cell]] = {
    "bsdtime": ("TIME", 6, lambda p, c: "0:00"),
    "args": ("COMMAND", -27, lambda p, c: p.command),
    "c": ("C", 2, lambda p, c: "0"),
    "comm": ("COMMAND", -15, lambda p, c: p.name),
    "pcpu": ("%CPU", 4, lambda p, c: "0.0"),
    "pid": ("PID", 7, lambda p, c: str(p.pid)),
    "pmem": ("%MEM", 4, lambda p, c: f"{p.rss * 100 / c.machine.memory_kib:.1f}"),
    "ppid": ("PPID", 7, lambda p, c: str(p.ppid)),
    "rss": ("RSS", 5, lambda p, c: str(p.rss)),
    "s": ("S", -1, lambda p, c: p.state[0]),
    "start": ("START", -5, lambda p, c: _start(p, c)),
    "stat": ("STAT", -4, lambda p, c: p.state),
    "stime": ("STIME", -5, lambda p, c: _start(p, c)),
    "time": ("TIME", 8, lambda p, c: "00:00:00"),
    "tty": ("TT", -8, lambda p, c: "?"),
    "uid": ("UID", 5, lambda p, c: "0" if p.user == "root" else "1000"),
    "user": ("USER", -8, lambda p, c: p.user),
    "vsz": ("VSZ", 6, lambda p, c: str(p.vsz)),
}

_ALIASES = {
    "cmd": "args", "command": "args", "%cpu": "pcpu", "%mem": "pmem", "state": "s", "tt": "tty",
    "tname": "tty", "ucmd": "comm", "euser": "user", "vsize": "vsz", "euid": "uid",
}  # fmt: skip

_HEADINGS = {"cmd": "CMD", "ucmd": "CMD", "tty": "TT", "tname": "TTY", "state": "S"}


@dataclass(slots=True)
class _Listing:
    columns: list[tuple[str, int, _Cell]]
    pids: list[int] | None = None
    names: list[str] | None = None
    headings: bool = True


_BSD_COLUMNS = "user pid pcpu pmem vsz rss tname stat start bsdtime args".split()


@with_help
def ps(call: CommandCall) -> CommandResult:
    words = list(call.argv)
    flat = "".join(word.lstrip("-") for word in words)
    asked = _Listing([_column(name) for name in ("pid", "tname", "time", "ucmd")])
    error = _read(words, asked)
    if error is not None:
        return error
    processes = [p for p in _processes(call) if _is_selected(p, asked)]
    if "u" in flat and not call.argv[0].startswith("-") and set(flat) <= set("aAuxwfe"):
        asked.columns = [_column(one) for one in _BSD_COLUMNS]
    lines = _table(processes, asked, call)
    return CommandResult("\n".join(lines) + "\n" if lines else "", "", 0 if processes else 1)


def _column(name: str) -> tuple[str, int, _Cell]:
    given, equals, heading = name.partition("=")
    key = _ALIASES.get(given.lower(), given.lower())
    title, width, cell = _COLUMNS[key]
    title = _HEADINGS.get(given.lower(), title)
    return (heading if equals else title), width, cell


def _read(words: list[str], asked: _Listing) -> CommandResult | None:
    """Reads the options; an error, if they are none."""
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
                return CommandResult("", "error: unknown gnu long option\n\nUsage:\n ps [options]\n"
                                     "\n Try 'ps --help <simple|list|output|threads|misc|all>'\n  or"
                                     " 'ps --help <s|l|o|t|m|a>'\n for additional help text.\n\nFor"
                                     " more details see ps(1).\n", 1)  # fmt: skip
        else:
            if "o" in name and words:
                chosen += words.pop(0).split(",")
            if "f" in name and word.startswith("-"):
                names = ("user=UID", "pid", "ppid", "c", "stime", "tname", "time", "cmd")
                asked.columns = [_column(one) for one in names]
    try:
        asked.columns = [_column(name) for name in chosen] or asked.columns
    except KeyError:
        return CommandResult("", f'error: unknown user-defined format specifier "{chosen[-1]}"\n\n'
                             "Usage:\n ps [options]\n", 1)  # fmt: skip
    return None


def _is_selected(process: _Process, asked: _Listing) -> bool:
    if asked.pids is not None:
        return process.pid in asked.pids
    if asked.names is not None:
        return process.name in asked.names
    return True


def _table(processes: Sequence[_Process], asked: _Listing, call: CommandCall) -> list[str]:
    titles = [title for title, _, _ in asked.columns]
    rows = [[cell(p, call) for _, _, cell in asked.columns] for p in processes]
    if asked.headings and any(titles):
        rows.insert(0, titles)
    lines: list[str] = []
    for row in rows:
        cells: list[str] = []
        for index, (text, (title, width, _)) in enumerate(zip(row, asked.columns, strict=True)):
            last = index == len(row) - 1
            if width < 0:
                cells.append(text if last else text.ljust(max(-width, len(title))))
            else:
                cells.append(text.rjust(max(width, len(title))))
        lines.append(" ".join(cells))
    return lines


@with_help
def watch(call: CommandCall) -> CommandResult:
    terminal = call.env.get("TERM", "unknown")
    return CommandResult("", f"Error opening terminal: {terminal}.\n", 1)


COMMANDS: Mapping[str, Command] = {
    "ps": ps,
    "watch": watch,
}
