"""`df`, `free`, `nproc` and `uptime`: what the machine has, and how much of it is used."""

from __future__ import annotations

from agentworld_sim.engines.shell._command import CommandCall, CommandResult
from agentworld_sim.engines.shell.commands import _formats
from agentworld_sim.engines.shell.commands._options import Options
from agentworld_sim.engines.shell.commands._tool import Tool, tool, with_help
from agentworld_sim.engines.shell.machine import Machine
from agentworld_sim.engines.shell.proc_files import memory, up_seconds


def _memory_use(machine: Machine) -> tuple[int, int, int, int, int, int]:
    """total, used, free, shared, buffers and cache, available; in KiB."""
    found = dict(memory(machine))
    total, free = found["MemTotal"], found["MemFree"]
    cache = found["Buffers"] + found["Cached"] + found["Slab"]
    available = found["MemAvailable"]
    return total, total - available, free, found["Shmem"], cache, available


_FREE = Options("bkmght", {
    "bytes": "b", "kibi": "k", "mebi": "m", "gibi": "g", "human": "h", "total": "t",
})  # fmt: skip

_FREE_DIVISORS = {"b": 1 / 1024, "k": 1, "m": 1024, "g": 1_048_576}


@tool
def free(t: Tool) -> None:
    parsed = _FREE.parse(t.name, t.call.argv)
    unit = parsed.last("b", "k", "m", "g", "h") or "k"
    numbers = _memory_use(t.call.machine)

    def format_kib(kib: int) -> str:
        return _human(kib * 1024) if unit == "h" else str(int(kib / _FREE_DIVISORS[unit]))

    titles = ("total", "used", "free", "shared", "buff/cache", "available")
    t.say(f"{'':8}{titles[0]:>12}{''.join(f'{title:>12}' for title in titles[1:])}")
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
    root = ("overlay", "overlay", machine.disk_kib, machine.disk_used_kib, "/")
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
        sizes = [_formats.human(n * 1024, base=base) if base else str(n)
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


def _uptime_line(call: CommandCall) -> str:
    now_us = call.clock.now_us()
    seconds = int(up_seconds(call.machine, now_us))
    days, rest = divmod(seconds, 86_400)
    hours, minutes = rest // 3600, rest % 3600 // 60
    since = f"{hours:>2}:{minutes:02}" if hours else f"{minutes} min"
    if days:
        since = f"{days} day{'s' if days > 1 else ''}, {since}"
    clock = now_us // 1_000_000 % 86_400
    time = f"{clock // 3600:02}:{clock % 3600 // 60:02}:{clock % 60:02}"
    return f" {time} up {since},  0 user,  load average: 0.00, 0.01, 0.00"


@with_help
def uptime(call: CommandCall) -> CommandResult:
    seconds = int(up_seconds(call.machine, call.clock.now_us()))
    if any(word in ("-p", "--pretty") for word in call.argv):
        parts = [(seconds // 86_400, "day"), (seconds // 3600 % 24, "hour"),
                 (seconds // 60 % 60, "minute")]  # fmt: skip
        said = [f"{n} {word}{'' if n == 1 else 's'}" for n, word in parts if n]
        return CommandResult(f"up {', '.join(said)}\n")
    return CommandResult(_uptime_line(call) + "\n")
