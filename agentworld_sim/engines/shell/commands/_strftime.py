"""`strftime` as GNU `date` writes it (flags, widths, `%N`, `%:z`, `%s`), and time zones as `TZ` and
`/etc/localtime` name them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

from agentworld_sim.engines.shell._command import CommandCall

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
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        pass
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
