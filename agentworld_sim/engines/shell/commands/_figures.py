"""Sizes and times as GNU tools print them."""

from __future__ import annotations

from datetime import UTC, datetime

from agentworld_sim.engines.shell.commands._strftime import strftime

HALF_A_YEAR_S = 31_556_952 // 2
"""`ls` shows the year instead of the hour for what is older than this, or in the future."""

BLOCK = 4096
"""What a file system allocates at a time."""

_POWERS = "KMGTPEZY"


def disk_size(kind: str, size: int) -> int:
    """Bytes on disk (ext4): whole blocks; short links live in the inode."""
    if kind == "directory":
        return max(BLOCK, -(-size // BLOCK) * BLOCK)
    if kind == "fifo" or (kind == "symlink" and size < 60):
        return 0
    return -(-size // BLOCK) * BLOCK


def human(size: int, *, base: int = 1024) -> str:
    """`1536` → `1.5K`: rounded up, one decimal below ten."""
    if size < base:
        return str(size)
    power, divisor = 0, base
    while size >= divisor * base and power < len(_POWERS) - 1:
        divisor *= base
        power += 1
    tenths = -(-size * 10 // divisor)
    if tenths >= 100:
        whole = -(-size // divisor)
        if whole >= base and power < len(_POWERS) - 1:
            return f"1.0{_letter(power + 1, base)}"
        return f"{whole}{_letter(power, base)}"
    return f"{tenths // 10}.{tenths % 10}{_letter(power, base)}"


def _letter(power: int, base: int) -> str:
    return "k" if base == 1000 and power == 0 else _POWERS[power]


def moment(time_us: int) -> datetime:
    seconds, micro = divmod(time_us, 1_000_000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=micro)


def full_time(time_us: int) -> str:
    """`2024-01-02 03:04:05.000000000 +0000`."""
    return moment(time_us).strftime("%Y-%m-%d %H:%M:%S.%f000 +0000")


def is_recent(time_us: int, now_us: int) -> bool:
    return now_us // 1_000_000 - HALF_A_YEAR_S < time_us / 1_000_000 <= now_us / 1_000_000


def short_time(time_us: int, now_us: int) -> str:
    """`ls -l` in the C locale: `Mar  2 09:00`, or `Mar  2  2024` when it is not recent."""
    when = moment(time_us)
    if is_recent(time_us, now_us):
        return f"{when:%b} {when.day:2d} {when:%H:%M}"
    return f"{when:%b} {when.day:2d}  {when:%Y}"


def format_time(style: str, time_us: int) -> str:
    """A `+FORMAT` time style, as `date` reads it."""
    return strftime(style, moment(time_us), time_us % 1_000_000 * 1000)
