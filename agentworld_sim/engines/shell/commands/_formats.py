"""Dates, times, sizes and permission bits as GNU tools print them, time zones, and modes as `chmod` reads them."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from io import BytesIO
from zoneinfo import ZoneInfo

from agentworld_sim.engines.shell._command import CommandCall
from agentworld_sim.engines.shell.image import zone_files
from agentworld_sim.engines.shell.live_files import FileKind, FileStat

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip

_DIRECTIVE = re.compile(r"%([-_0^#+]*)(\d*)([EO]?)(:{0,3}[a-zA-Z%+])")

_WIDTHS = {
    "C": 2, "d": 2, "e": 2, "G": 4, "g": 2, "H": 2, "I": 2, "j": 3, "k": 2, "l": 2, "M": 2, "m": 2,
    "S": 2, "U": 2, "u": 1, "V": 2, "W": 2, "w": 1, "Y": 4, "y": 2,
}  # fmt: skip
"""Directives that print a number, and its digits at least."""

_Number = tuple[int, int, str]
"""value, width, padding"""


def strftime(template: str, moment: datetime, nanoseconds: int = 0) -> str:
    """Formats an aware moment. Unknown directives stay as they are."""

    def directive(match: re.Match[str]) -> str:
        flags, width, _, letter = match.groups()
        made = _directive(letter, moment, nanoseconds)
        if made is None:
            return match[0]
        return _pad(made, flags, width, letter)

    return _DIRECTIVE.sub(directive, template)


def _pad(made: str | _Number, flags: str, width: str, letter: str) -> str:
    padding = next((flag for flag in reversed(flags) if flag in "-_0+"), "")
    if letter == "N" and not isinstance(made, str):
        digits = f"{made[0]:09d}"[: int(width) if width and int(width) < 9 else 9]
        return digits.rstrip("0") or "0" if padding == "-" else digits
    if isinstance(made, str):
        text = made.rjust(int(width or 0), "0" if padding == "0" else " ")
    else:
        value, least, fill = made
        fill = {"-": "", "_": " ", "0": "0", "+": "0"}.get(padding, fill)
        size = int(width) if width else least
        digits = str(abs(value))
        if fill:
            digits = digits.rjust(size - (value < 0), fill)
        text = f"-{digits}" if value < 0 else digits
    if "^" in flags:
        text = text.upper()
    if "#" in flags:
        text = text.lower() if letter in ("Z", "p") else text.upper()
    return text


def _directive(letter: str, when: datetime, nanoseconds: int) -> str | _Number | None:
    if letter == "N":
        return nanoseconds, 9, "0"
    if letter == "s":
        return seconds_of(when), 1, "0"
    if letter == "q":
        return (when.month + 2) // 3, 1, "0"
    if letter in _WIDTHS:
        return int(when.strftime(f"%{letter}")), _WIDTHS[letter], " " if letter in "ekl" else "0"
    return _text(letter, when)


_COMPOSED = {
    "c": "%a %b %e %H:%M:%S %Y",
    "D": "%m/%d/%y",
    "F": "%Y-%m-%d",
    "h": "%b",
    "R": "%H:%M",
    "r": "%I:%M:%S %p",
    "T": "%H:%M:%S",
    "X": "%H:%M:%S",
    "x": "%m/%d/%y",
    "+": "%a %b %e %H:%M:%S %Z %Y",
}


def _text(letter: str, when: datetime) -> str | None:
    if letter in _COMPOSED and letter != "+":
        return strftime(_COMPOSED[letter], when)
    names = {
        "%": "%",
        "n": "\n",
        "t": "\t",
        "A": _DAYS[when.weekday()],
        "a": _DAYS[when.weekday()][:3],
        "B": _MONTHS[when.month - 1],
        "b": _MONTHS[when.month - 1][:3],
        "P": "am" if when.hour < 12 else "pm",
        "p": "AM" if when.hour < 12 else "PM",
        "Z": zone_name(when),
    }
    if letter in names:
        return names[letter]
    if letter.endswith("z"):
        return offset(when, letter.count(":"))
    return None


def zone_name(when: datetime) -> str:
    name = when.tzname() or "UTC"
    return name.removeprefix("UTC") if name.startswith(("UTC+", "UTC-")) else name


def offset(when: datetime, colons: int) -> str:
    """`+hhmm`, `+hh:mm`, `+hh:mm:ss` or the shortest exact form, by the number of colons."""
    total = int((when.utcoffset() or timedelta()).total_seconds())
    sign, total = ("-" if total < 0 else "+"), abs(total)
    hours, minutes, seconds = total // 3600, total // 60 % 60, total % 60
    if colons == 0:
        return f"{sign}{hours:02}{minutes:02}"
    if colons == 1:
        return f"{sign}{hours:02}:{minutes:02}"
    text = f"{sign}{hours:02}"
    text += f":{minutes:02}" if minutes or seconds or colons == 2 else ""
    return text + (f":{seconds:02}" if seconds or colons == 2 else "")


ABBREVIATIONS = {
    "utc": 0, "gmt": 0, "ut": 0, "z": 0, "wet": 0, "west": 60, "bst": 60, "cet": 60, "met": 60,
    "cest": 120, "eet": 120, "eest": 180, "msk": 180, "ist": 330, "sgt": 480, "jst": 540,
    "est": -300, "edt": -240, "cst": -360, "cdt": -300, "mst": -420, "mdt": -360, "pst": -480,
    "pdt": -420, "nst": -210, "ndt": -150, "ast": -240, "adt": -180, "nzst": 720, "nzdt": 780,
}  # fmt: skip
"""Minutes east of Greenwich."""

_POSIX = re.compile(r"^<?([A-Za-z+\-0-9]{3,}?)>?([+-]?\d{1,2})(?::(\d\d))?(?:[A-Za-z,<].*)?$")


def zone_of(call: CommandCall) -> tzinfo:
    """The zone in which a command shows times."""
    name = call.env.get("TZ")
    if name is None:
        name = _system_zone(call)
    return zone_named(name)


def _system_zone(call: CommandCall) -> str:
    try:
        target = call.files.readlink("/etc/localtime")
    except OSError:
        return "UTC"
    return target.partition("zoneinfo/")[2] or "UTC"


@lru_cache(maxsize=64)
def zone_named(name: str) -> tzinfo:
    """The zone that `TZ=name` means. An unknown name means UTC, as in the C library."""
    name = name.removeprefix(":")
    if name in ("", "UTC", "UTC0", "Etc/UTC", "Universal", "Zulu"):
        return UTC
    with suppress(ValueError, OSError, LookupError):
        # The host's own zones may be older or fewer.
        known = zone_files()
        return ZoneInfo.from_file(BytesIO(known[name]), name) if known else ZoneInfo(name)
    match = _POSIX.match(name)
    if match:
        hours = int(match[2])
        minutes = abs(hours) * 60 + int(match[3] or 0)
        # POSIX counts west of Greenwich.
        return timezone(timedelta(minutes=minutes if match[2].startswith("-") else -minutes),
                        match[1])  # fmt: skip
    return timezone(timedelta(0), re.sub(r"[^A-Za-z].*", "", name)[:6] or "UTC")


def at(seconds: int, zone: tzinfo) -> datetime:
    """A moment in a zone, without the limits of the host's C library."""
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)).astimezone(zone)


def seconds_of(moment: datetime) -> int:
    """Seconds since the epoch of an aware moment."""
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)


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
        value = _value(what, mode, directory)
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


def _value(what: str, mode: int, directory: bool) -> int:
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
