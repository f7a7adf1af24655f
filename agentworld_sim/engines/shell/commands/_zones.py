"""Time zones as `TZ` and `/etc/localtime` name them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

from agentworld_sim.engines.shell._command import CommandCall

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
