"""Dates as GNU `date -d` reads them: calendar dates, times, zones and relative items, in any order.

Source: the date input formats chapter of the GNU coreutils manual. Left out: `TZ="…"` prefixes with
rules and years beyond 9999.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone, tzinfo

from agentworld_sim.engines.shell.commands._formats import ABBREVIATIONS, at, seconds_of, zone_named

_MONTHS = {
    name.lower(): number
    for names in (calendar.month_name, calendar.month_abbr)
    for number, name in enumerate(names)
    if name
} | {"sept": 9}
_DAYS = {
    name.lower(): number
    for names in (calendar.day_name, calendar.day_abbr)
    for number, name in enumerate(names)
} | {"tues": 1, "wednes": 2, "thur": 3, "thurs": 3}

_UNITS = {
    "year": "years", "month": "months", "fortnight": "days14", "week": "days7", "day": "days",
    "hour": "hours", "hr": "hours", "minute": "minutes", "min": "minutes", "second": "seconds",
    "sec": "seconds",
}  # fmt: skip
_UNIT = r"(year|month|fortnight|week|day|hour|hr|minute|min|second|sec)s?\b(\s+ago\b)?"
_ORDINALS = {"last": -1, "this": 0, "next": 1, "": 0}

_PATTERNS = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        ("space", r"[\s,]+|\([^)]*\)"),
        ("epoch", r"@(-?\d+)(?:[.,](\d+))?"),
        ("date", r"(?P<y>\d{2}|\d{4,})-(?P<m>\d{1,2})-(?P<d>\d{1,2})(?:T(?=\d))?"),
        ("date", r"(?P<y>\d{4})/(?P<m>\d{1,2})/(?P<d>\d{1,2})"),
        ("date", r"(?P<m>\d{1,2})/(?P<d>\d{1,2})(?:/(?P<y>\d{1,4}))?"),
        ("date", (r"(?P<d>\d{1,2})[ -]?(?P<name>[a-z]{3,9})\.?(?:[ ,-]+(?P<y>\d{2,4})(?![\d:]))?"
                  r"(?![a-z])")),
        ("time", r"T?(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?\s*([ap]\.?m\.?(?![a-z]))?"),
        ("noon", r"(\d{1,2})\s*([ap])\.?m\.?(?![a-z])"),
        ("offset", r"(?:utc|gmt)?([+-])(\d{1,2})(?::?(\d{2}))?(?![\d:-])(?!\s*[a-z])"),
        ("relative", r"([+-]\s*)?(\d+)?\s*" + _UNIT),
        ("ordinal", r"(last|this|next)()\s+" + _UNIT),
        ("weekday", (r"(?:(last|this|next)\s+)?(mon|tue|tues|wed|wednes|thu|thur|thurs|fri|sat|sun"
                    r"|monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b\.?")),
        ("date", (r"(?P<name>[a-z]{3,9})\.?[ -]*(?P<d>\d{1,2})(?:st|nd|rd|th)?(?![\d:])"
                  r"(?:[ ,-]+(?P<y>\d{4})(?![\d:]))?")),
        ("name", r"(now|today|yesterday|tomorrow|ago)\b"),
        ("zone", r"([a-z]{1,5})\b"),
        ("date", r"(?P<y>\d{4})(?P<m>\d{2})(?P<d>\d{2})(?=T|\b)"),
        ("number", r"(\d{1,4})\b"),
    )
)  # fmt: skip


class InvalidDate(ValueError):
    """The text is no date."""


@dataclass(slots=True)
class _DateParts:
    """What was found so far."""

    now: datetime
    zone: tzinfo
    date: tuple[int, int, int] | None = None
    time: tuple[int, int, int, int] | None = None
    epoch: tuple[int, int] | None = None
    weekday: tuple[int, int] | None = None
    shift: dict[str, int] = field(default_factory=dict[str, int])


def parse_date(text: str, now_us: int, zone: tzinfo) -> tuple[int, int]:
    """Seconds since the epoch and nanoseconds for `text`.

    Raises:
        InvalidDate: it is no date.
    """
    match = re.match(r'\s*TZ="([^"]*)"\s*', text)
    if match:
        zone, text = zone_named(match[1]), text[match.end() :]
    reading = _DateParts(at(now_us // 1_000_000, zone), zone)
    rest = text.strip().lower()
    if not rest:
        reading.time = (0, 0, 0, 0)
    while rest:
        rest = rest[_take(rest, reading) :]
    try:
        return _resolve(reading, now_us % 1_000_000 * 1000)
    except (ValueError, OverflowError) as error:
        raise InvalidDate(text) from error


def _take(rest: str, reading: _DateParts) -> int:
    for kind, pattern in _PATTERNS:
        match = pattern.match(rest)
        if match and match.end() and _apply_match(kind, match, reading):
            return match.end()
    raise InvalidDate(rest)


def _apply_match(kind: str, m: re.Match[str], r: _DateParts) -> bool:
    match kind:
        case "space":
            return True
        case "epoch":
            r.epoch = (int(m[1]), int((m[2] or "0")[:9].ljust(9, "0")))
            return True
        case "date":
            return _set_date(m.groupdict(), r)
        case "time" | "noon":
            return _set_time(kind, m, r)
        case "offset":
            minutes = int(m[2]) * 60 + int(m[3] or 0)
            r.zone = timezone(timedelta(minutes=-minutes if m[1] == "-" else minutes))
            return r.time is not None
        case "relative" | "ordinal":
            return _add_shift(kind, m, r)
        case "weekday":
            r.weekday = (_DAYS[m[2]], _ORDINALS[m[1] or ""])
            return True
        case "name":
            return _apply_word(m[1], r)
        case "zone":
            if m[1] not in ABBREVIATIONS:
                return False
            minutes = ABBREVIATIONS[m[1]]
            r.zone = UTC if not minutes else timezone(timedelta(minutes=minutes))
            return True
        case _:
            return _lone_number(m[1], r)


def _full_year(text: str) -> int:
    if len(text) > 2:
        return int(text)
    return int(text) + (2000 if int(text) < 69 else 1900)


def _set_date(given: Mapping[str, str | None], r: _DateParts) -> bool:
    name, year = given.get("name"), given.get("y")
    month = int(given["m"] or 0) if name is None else _MONTHS.get(name)
    if month is None:
        return False
    if r.date is not None:
        raise InvalidDate
    r.date = (_full_year(year) if year else r.now.year, month, int(given["d"] or 0))
    return True


def _set_time(kind: str, m: re.Match[str], r: _DateParts) -> bool:
    if r.time is not None:
        raise InvalidDate
    half = ((m[5] if kind == "time" else m[2]) or "")[:1]
    hour = int(m[1])
    minute, second, fraction = 0, 0, "0"
    if kind == "time":
        minute, second, fraction = int(m[2]), int(m[3] or 0), m[4] or "0"
    if half:
        if not 1 <= hour <= 12:
            raise InvalidDate
        hour = hour % 12 + (12 if half == "p" else 0)
    if hour > 23 or minute > 59 or second > 59:
        raise InvalidDate
    r.time = (hour, minute, second, int(fraction[:9].ljust(9, "0")))
    return True


def _add_shift(kind: str, m: re.Match[str], r: _DateParts) -> bool:
    sign = -1 if (m[1] or "").strip() == "-" else 1
    count = _ORDINALS[m[1]] if kind == "ordinal" else sign * int(m[2] or 1)
    key, ago = _UNITS[m[3]], m[4]
    if key.startswith("days"):
        count *= int(key.removeprefix("days") or 1)
        key = "days"
    if ago:
        count = -count
    r.shift[key] = r.shift.get(key, 0) + count
    return True


def _apply_word(word: str, r: _DateParts) -> bool:
    if word == "ago":
        r.shift = {key: -count for key, count in r.shift.items()}
        return bool(r.shift)
    days = {"yesterday": -1, "tomorrow": 1}.get(word, 0)
    r.shift["days"] = r.shift.get("days", 0) + days
    return True


def _lone_number(digits: str, r: _DateParts) -> bool:
    if r.date is not None and r.time is not None and len(digits) == 4:
        r.date = (int(digits), *r.date[1:])
        return True
    if len(digits) <= 2:
        return _set_clock(r, int(digits), 0)
    return _set_clock(r, int(digits[:-2]), int(digits[-2:]))


def _set_clock(r: _DateParts, hour: int, minute: int) -> bool:
    if r.time is not None or hour > 23 or minute > 59:
        raise InvalidDate
    r.time = (hour, minute, 0, 0)
    return True


def _resolve(r: _DateParts, now_ns: int) -> tuple[int, int]:
    if r.epoch is not None:
        start, nanoseconds = at(r.epoch[0], UTC), r.epoch[1]
    else:
        local = at(seconds_of(r.now), r.zone)
        year, month, day = r.date or (local.year, local.month, local.day)
        if r.time is not None:
            hour, minute, second, nanoseconds = r.time
        elif r.date is not None or r.weekday is not None:
            hour = minute = second = nanoseconds = 0
        else:
            hour, minute, second, nanoseconds = local.hour, local.minute, local.second, now_ns
        start = datetime(year, month, day, hour, minute, second, tzinfo=r.zone)
    start = _months_later(start, r.shift.get("years", 0) * 12 + r.shift.get("months", 0))
    start += timedelta(days=r.shift.get("days", 0))
    if r.weekday is not None and r.date is None:
        wanted, ordinal = r.weekday
        ahead = (wanted - start.weekday()) % 7
        # "next" is the one after today; "last" the one before.
        if ordinal > 0 and ahead == 0:
            ahead = 7
        start += timedelta(days=ahead - (7 if ordinal < 0 else 0))
    if r.epoch is None and r.date is None and r.time is None and r.weekday is None:
        # A moment that only moves keeps the summer time of now.
        seconds = seconds_of(start.replace(tzinfo=UTC)) - _offset(r.now)
    else:
        seconds = seconds_of(start)
        if r.epoch is None and at(seconds, r.zone).replace(tzinfo=None) != start.replace(
            tzinfo=None
        ):
            raise InvalidDate
    seconds += r.shift.get("hours", 0) * 3600 + r.shift.get("minutes", 0) * 60
    return seconds + r.shift.get("seconds", 0), nanoseconds


def _offset(moment: datetime) -> int:
    return int((moment.utcoffset() or timedelta()).total_seconds())


def _months_later(start: datetime, months: int) -> datetime:
    if not months:
        return start
    year, month = divmod(start.year * 12 + start.month - 1 + months, 12)
    # A day that the month lacks runs over into the next one.
    first = start.replace(year=year, month=month + 1, day=1)
    return first + timedelta(days=start.day - 1)
