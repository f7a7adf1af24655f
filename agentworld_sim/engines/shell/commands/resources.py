"""What the machine has and how much of it is used: memory, disks, processors, time since boot."""

from __future__ import annotations

from collections.abc import Mapping

from agentworld_sim.engines.shell._command import Command, CommandCall, CommandResult
from agentworld_sim.engines.shell._volatile import MOUNTS, memory, up_seconds
from agentworld_sim.engines.shell.commands._options import Options
from agentworld_sim.engines.shell.commands._tool import Tool, tool
from agentworld_sim.engines.shell.commands._usage import described
from agentworld_sim.engines.shell.machine import Machine


def memory_use(machine: Machine) -> tuple[int, int, int, int, int, int]:
    """total, used, free, shared, buffers and cache, available; in KiB."""
    found = dict(memory(machine))
    total, free = found["MemTotal"], found["MemFree"]
    cache = found["Buffers"] + found["Cached"] + found["Slab"]
    available = found["MemAvailable"]
    return total, total - available, free, found["Shmem"], cache, available


_FREE = Options("bkmghltvVs:c:w", {
    "bytes": "b", "kibi": "k", "mebi": "m", "gibi": "g", "human": "h", "lohi": "l", "total": "t",
    "wide": "w", "si": "", "kilo": "", "mega": "", "giga": "", "version": "V",
})  # fmt: skip

_FREE_DIVISORS = {"b": 1 / 1024, "k": 1, "m": 1024, "g": 1_048_576}


@described
@tool
def free(t: Tool) -> None:
    parsed = _FREE.parse(t.name, t.call.argv)
    unit = parsed.last("b", "k", "m", "g", "h") or "k"
    numbers = memory_use(t.call.machine)

    def shown(kib: int) -> str:
        return human(kib * 1024, "free") if unit == "h" else str(int(kib / _FREE_DIVISORS[unit]))

    titles = ("total", "used", "free", "shared", "buff/cache", "available")
    t.say(f"{'':8}{titles[0]:>12}{''.join(f'{title:>12}' for title in titles[1:])}")
    t.say("Mem:    " + "".join(f"{shown(number):>12}" for number in numbers))
    t.say("Swap:   " + "".join(f"{shown(0):>12}" for _ in range(3)))
    if "t" in parsed:
        t.say("Total:  " + "".join(f"{shown(number):>12}" for number in numbers[:3]))


def human(size: int, style: str) -> str:
    """A size as `free -h` (`free`) or `df -h` (`df`) shows it."""
    units = ("B", "Ki", "Mi", "Gi", "Ti") if style == "free" else ("", "K", "M", "G", "T")
    value, index = float(size), 0
    while value >= 1024 and index < len(units) - 1:
        value /= 1024
        index += 1
    if index == 0:
        return f"{size}{units[0]}"
    if style == "free":
        return f"{value:.1f}{units[index]}" if value < 10 else f"{int(value)}{units[index]}"
    # df rounds up, so that no disk looks emptier than it is.
    tenths = -int(-value * 10 // 1)
    return (
        f"{tenths / 10:.1f}{units[index]}" if tenths < 100 else f"{-int(-value // 1)}{units[index]}"
    )


_DF = Options("aB:hHiklPTt:x:v", {
    "all": "a", "block-size": "B", "human-readable": "h", "si": "H", "inodes": "i", "local": "l",
    "output": "::", "portability": "P", "print-type": "T", "total": "", "type": "t",
    "exclude-type": "x", "sync": "", "no-sync": "",
})  # fmt: skip


@described
@tool
def df(t: Tool) -> None:
    parsed = _DF.parse(t.name, t.call.argv)
    machine = t.call.machine
    every = [
        ("overlay", "overlay", machine.disk_kib, machine.disk_used_kib, "/"),
        ("tmpfs", "tmpfs", 65_536, 0, "/dev"),
        ("shm", "tmpfs", 65_536, 0, "/dev/shm"),
    ]
    rows = every
    if parsed.operands:
        rows = list[tuple[str, str, int, int, str]]()
        for operand in parsed.operands:
            if not t.exists(operand):
                t.complain(f"{operand}: No such file or directory")
                continue
            full = t.files.realpath(t.path(operand))
            rows.append(next(r for r in (every[2], every[1], every[0]) if _below(full, r[4])))
    wanted, hidden = parsed.values("t"), parsed.values("x")
    rows = [r for r in rows if (not wanted or r[1] in wanted) and r[1] not in hidden]
    if not rows:
        if not t.err:
            t.complain("no file systems processed")
        return
    t.out.append(_df_table(rows, parsed.last("h", "H", "k", "B"), parsed.value("B"),
                           typed="T" in parsed, inodes="i" in parsed,
                           posix="P" in parsed))  # fmt: skip


def _below(path: str, point: str) -> bool:
    return point == "/" or path == point or path.startswith(point + "/")


_BLOCKS = {"K": 1024, "M": 1024**2, "G": 1024**3, "1": 1, "KB": 1000, "MB": 1000**2}


def _df_table(
    rows: list[tuple[str, str, int, int, str]],
    unit: str | None,
    block: str | None,
    *,
    typed: bool,
    inodes: bool,
    posix: bool,
) -> str:
    size = _BLOCKS.get((block or "K").removeprefix("1") or "1", 1024) if unit == "B" else 1024

    def shown(kib: int) -> str:
        if unit in ("h", "H") and not inodes:
            return human(kib * 1024, "df")
        return str(kib) if inodes else str(-(-kib * 1024 // size))

    if inodes:
        titles = ["Filesystem", "Inodes", "IUsed", "IFree", "IUse%", "Mounted on"]
    else:
        sized = {"h": "Size", "H": "Size"}.get(unit or "", "1024-blocks" if posix else "1K-blocks")
        sized = f"1{block.removeprefix('1')}-blocks" if unit == "B" and block else sized
        short = "Avail" if unit in ("h", "H") else "Available"
        titles = ["Filesystem", sized, "Used", short, "Capacity" if posix else "Use%", "Mounted on"]
    table = [titles]
    for name, _, total, used, point in rows:
        if inodes:
            total, used = total // 16, max(1, used // 60)
        # A twentieth is kept for root, as ext4 does.
        left = total - used - (total // 20 if name == "overlay" and not inodes else 0)
        share = f"{-(-used * 100 // max(1, used + left))}%"
        table.append([name, shown(total), shown(used), shown(left), share, point])
    if typed:
        table = [[r[0], k, *r[1:]] for r, k in zip(table, ["Type", *(r[1] for r in rows)],
                                                   strict=True)]  # fmt: skip
    return _aligned(table, left=2 if typed else 1)


def _aligned(table: list[list[str]], *, left: int) -> str:
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    least = [14, *([5] * (len(widths) - 1))]
    widths = [max(pair) for pair in zip(widths, least, strict=True)]
    # The share of use is the one narrow column.
    widths[-2] = max(4, *(len(row[-2]) for row in table))
    lines: list[str] = []
    for row in table:
        cells = [
            cell.ljust(width) if index < left else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row[:-1], widths, strict=False))
        ]
        lines.append(" ".join([*cells, row[-1]]))
    return "\n".join(lines) + "\n"


@described
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


def uptime_line(call: CommandCall) -> str:
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


@described
def uptime(call: CommandCall) -> CommandResult:
    seconds = int(up_seconds(call.machine, call.clock.now_us()))
    if any(word in ("-p", "--pretty") for word in call.argv):
        parts = [(seconds // 86_400, "day"), (seconds // 3600 % 24, "hour"),
                 (seconds // 60 % 60, "minute")]  # fmt: skip
        said = [f"{n} {word}{'' if n == 1 else 's'}" for n, word in parts if n]
        return CommandResult(f"up {', '.join(said)}\n")
    if any(word in ("-s", "--since") for word in call.argv):
        from datetime import UTC, datetime

        started = datetime.fromtimestamp(call.clock.now_us() // 1_000_000 - seconds, UTC)
        return CommandResult(f"{started:%Y-%m-%d %H:%M:%S}\n")
    return CommandResult(uptime_line(call) + "\n")


@described
def w(call: CommandCall) -> CommandResult:
    return CommandResult(
        f"{uptime_line(call)}\nUSER     TTY      FROM             LOGIN@   IDLE   JCPU   PCPU WHAT\n"
    )


@described
def who(call: CommandCall) -> CommandResult:
    """Nobody is logged in: an agent's shell is no login."""
    del call
    return CommandResult()


@described
def last(call: CommandCall) -> CommandResult:
    del call
    return CommandResult("\nwtmp begins Sat Sep 14 12:00:00 2024\n")


@described
def mount(call: CommandCall) -> CommandResult:
    if [word for word in call.argv if not word.startswith("-")]:
        target = call.argv[-1]
        return CommandResult("", f"mount: {target}: permission denied.\n", 32)
    return CommandResult(
        "".join(f"{what} on {where} type {kind} ({how})\n" for what, where, kind, how in MOUNTS)
    )


@described
def lsblk(call: CommandCall) -> CommandResult:
    size = human(call.machine.disk_kib * 1024, "df")
    return CommandResult(
        "NAME   MAJ:MIN RM  SIZE RO TYPE MOUNTPOINTS\n"
        f"sda      8:0    0 {size:>5}  0 disk \n"
        f"└─sda1   8:1    0 {size:>5}  0 part \n"
    )


@described
def dmesg(call: CommandCall) -> CommandResult:
    del call
    return CommandResult("", "dmesg: read kernel buffer failed: Operation not permitted\n", 1)


@described
def lscpu(call: CommandCall) -> CommandResult:
    cpus = call.machine.cpus
    listed = ",".join(map(str, range(cpus))) if cpus < 3 else f"0-{cpus - 1}"
    rows = (
        ("Architecture", call.machine.arch),
        ("CPU op-mode(s)", "32-bit, 64-bit"),
        ("Address sizes", "46 bits physical, 48 bits virtual"),
        ("Byte Order", "Little Endian"),
        ("CPU(s)", cpus),
        ("On-line CPU(s) list", listed),
        ("Vendor ID", "GenuineIntel"),
        ("Model name", "Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz"),
        ("CPU family", 6),
        ("Model", 85),
        ("Thread(s) per core", 1),
        ("Core(s) per socket", cpus),
        ("Socket(s)", 1),
        ("Stepping", 7),
        ("BogoMIPS", "4999.99"),
        ("NUMA node(s)", 1),
        ("NUMA node0 CPU(s)", listed),
    )
    return CommandResult("".join(f"{name + ':':<24}{value}\n" for name, value in rows))


COMMANDS: Mapping[str, Command] = {
    "df": df,
    "dmesg": dmesg,
    "free": free,
    "last": last,
    "lsblk": lsblk,
    "lscpu": lscpu,
    "mount": mount,
    "nproc": nproc,
    "uptime": uptime,
    "users": who,
    "w": w,
    "who": who,
}
