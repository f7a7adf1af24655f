"""`ps` and `watch`. The machine runs one shell and what it is asked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from agentworld_sim.engines.shell._command import CommandCall, CommandResult
from agentworld_sim.engines.shell.commands._accounts import current_account
from agentworld_sim.engines.shell.commands._tool import with_help
from agentworld_sim.engines.shell.proc_files import up_seconds

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
        _process(call, 1, 0, "bash", shell_us, 4188, 3456, "Ss"),
        _process(call, OWN_PID, 1, asked, now_us, 8100, 4096, "R"),
    ]


def _process(
    call: CommandCall,
    pid: int,
    ppid: int,
    command: str,
    start_us: int,
    vsz: int,
    rss: int,
    stat: str,
) -> _Process:
    today = call.clock.now_us() - start_us < 86_400 * 1_000_000
    start = datetime.fromtimestamp(start_us // 1_000_000, UTC).strftime(
        "%H:%M" if today else "%b%d"
    )
    user = current_account(call)
    return {
        "args": command, "comm": command.partition(" ")[0], "pid": str(pid), "ppid": str(ppid),
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
    lines = _table(processes, asked)
    return CommandResult("\n".join(lines) + "\n" if lines else "", "", 0 if processes else 1)


def _column(name: str) -> _Column:
    given, equals, heading = name.partition("=")
    key = _ALIASES.get(given.lower(), given.lower())
    title, width = _COLUMNS[key]
    return key, heading if equals else _HEADINGS.get(given.lower(), title), width


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
