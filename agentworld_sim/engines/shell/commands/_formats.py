"""Sizes, times and permission bits as GNU tools print them, and modes as `chmod` reads them."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from agentworld_sim.engines.shell.commands._strftime import strftime
from agentworld_sim.engines.shell.live_files import FileKind, FileStat

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


TYPE_LETTER = {"file": "-", "directory": "d", "symlink": "l", "fifo": "p"}
TYPE_BITS = {"file": 0o100000, "directory": 0o040000, "symlink": 0o120000, "fifo": 0o010000}

UMASK = 0o022
"""Of a fresh shell."""

_WHO = {"u": 0o4700, "g": 0o2070, "o": 0o1007, "a": 0o7777}
_PERMISSION = {"r": 0o444, "w": 0o222, "x": 0o111}
_CLAUSE = re.compile(
    r"(?:[ugoa]*(?:[-+=](?:[rwxXst]*|[ugo]))+|(?:[-+=](?:[rwxXst]*|[ugo]))*[-+=][0-7]+)\Z"
)
_ACTION = re.compile(r"([-+=])([ugo](?![rwxXst])|[0-7]+|[rwxXst]*)")


def permissions(mode: int) -> str:
    """`0o4755` → `rwsr-xr-x`."""
    text = ["rwx"[i % 3] if mode & (0o400 >> i) else "-" for i in range(9)]
    for bit, place, small in ((0o4000, 2, "s"), (0o2000, 5, "s"), (0o1000, 8, "t")):
        if mode & bit:
            text[place] = small if text[place] == "x" else small.upper()
    return "".join(text)


def mode_text(kind: FileKind, mode: int) -> str:
    """The first column of `ls -l`."""
    return TYPE_LETTER[kind] + permissions(mode)


def kind_text(found: FileStat) -> str:
    """What `stat` and `rm` call a file."""
    if found.kind == "file":
        return "regular file" if found.size else "regular empty file"
    return {"directory": "directory", "symlink": "symbolic link", "fifo": "fifo"}[found.kind]


def is_mode(text: str) -> bool:
    """Whether `chmod` can read `text`."""
    if re.match(r"[0-7]+\Z", text):
        return int(text, 8) <= 0o7777
    return bool(text) and all(_CLAUSE.match(clause) for clause in text.split(","))


def apply_mode(text: str, old: int, *, directory: bool, umask: int = UMASK) -> int:
    """`old` after `chmod text`. `text` is one that `is_mode` accepts.

    As in GNU: a directory keeps set-user-ID and set-group-ID unless they are named.
    """
    if text[0] in "01234567":
        mode = int(text, 8)
        keep = 0o6000 if directory and len(text) < 5 else 0
        return mode | (old & keep)
    mode = old
    for clause in text.split(","):
        who = clause[: len(clause) - len(clause.lstrip("ugoa"))]
        for operator, what in _ACTION.findall(clause[len(who) :]):
            mode = _apply_clause(mode, who, operator, what, directory, umask)
    return mode


def _apply_clause(
    mode: int, who: str, operator: str, what: str, directory: bool, umask: int
) -> int:
    affected = 0
    for letter in who or "a":
        affected |= _WHO[letter]
    mentioned = affected
    if what[:1].isdigit():
        value, affected, mentioned = int(what, 8), 0o7777, 0o7777
    else:
        value = _value(what, mode, directory, bool(re.search("[ugoa]", who)))
    if not who and not what[:1].isdigit():
        value &= ~(umask & 0o777)
    value &= affected
    if operator == "+":
        return mode | value
    if operator == "-":
        return mode & ~value
    keep = 0o6000 if directory else 0
    if "s" in what or what[:1].isdigit():
        keep = 0 if not who or what[:1].isdigit() else keep & ~mentioned
    if not who and not what[:1].isdigit():
        mentioned &= 0o7777
    kept = (mode & ~mentioned) | (mode & keep)
    return kept | value


def _value(what: str, mode: int, directory: bool, named: bool) -> int:
    if what in ("u", "g", "o"):
        three = (mode >> {"u": 6, "g": 3, "o": 0}[what]) & 7
        return three * 0o111
    value = 0
    for letter in what:
        if letter == "X":
            value |= 0o111 if directory or mode & 0o111 else 0
        elif letter == "s":
            value |= 0o6000
        elif letter == "t":
            value |= 0o1000
        else:
            value |= _PERMISSION[letter]
    return value
