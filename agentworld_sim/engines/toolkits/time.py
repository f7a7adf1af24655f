"""The tools of `mcp-server-time`, release 2026.10, and the plain clock of many agents, on the world's clock.

The first are held against recordings of the real server. Time zones are those of the machine this runs on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from agentworld_sim.engines.toolkits.toolkit_engine import ServerTurn
from agentworld_sim.types.turns import Observation

_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()


class _BadArguments(ValueError):
    """What the server says of arguments that it cannot use."""


def _as_operation(
    operation: Callable[[ServerTurn, Mapping[str, Any]], Mapping[str, Any]],
) -> Callable[[ServerTurn, Mapping[str, Any]], Observation]:
    def run(turn: ServerTurn, arguments: Mapping[str, Any]) -> Observation:
        try:
            value = operation(turn, arguments)
        except _BadArguments as error:
            text = f"Error executing tool {operation.__name__}: {error}"
            return Observation(text=text, is_error=True)
        return Observation(text=json.dumps(value, indent=2, ensure_ascii=False), structured=value)

    return run


@_as_operation
def get_current_time(turn: ServerTurn, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    name = _require(arguments, "timezone")
    return _moment(name, _now(turn, _zone(name)))


@_as_operation
def convert_time(turn: ServerTurn, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    source = _require(arguments, "source_timezone")
    target = _require(arguments, "target_timezone")
    source_zone, target_zone = _zone(source), _zone(target)
    text: str = arguments["time"]
    try:
        clock = datetime.strptime(text, "%H:%M")
    except ValueError:
        raise _BadArguments("Invalid time format. Expected HH:MM [24-hour format]") from None
    today = _now(turn, source_zone)
    there = datetime(
        today.year, today.month, today.day, clock.hour, clock.minute, tzinfo=source_zone
    )
    again = datetime.fromtimestamp(there.timestamp(), source_zone)
    if again.replace(tzinfo=None) != there.replace(tzinfo=None):
        raise _BadArguments(
            f"Invalid time: {text} does not exist in {source} on {there.date().isoformat()}"
            " (skipped by a clock change)"
        )
    then = there.astimezone(target_zone)
    apart = (then.utcoffset() or timedelta()) - (there.utcoffset() or timedelta())
    return {
        "source": _moment(source, there),
        "target": _moment(target, then),
        "time_difference": _hours(apart / timedelta(hours=1)),
    }


def _require(arguments: Mapping[str, Any], name: str) -> str:
    if not arguments[name]:
        raise _BadArguments(f"Missing required argument: {name}")
    return arguments[name]


def _now(turn: ServerTurn, zone: ZoneInfo) -> datetime:
    return _clock(turn).astimezone(zone)


def _clock(turn: ServerTurn) -> datetime:
    return datetime.fromtimestamp(turn.clock_us // 1_000_000, UTC)


@cache
def _zone_names() -> frozenset[str]:
    return frozenset(available_timezones())


def _zone(name: str) -> ZoneInfo:
    try:
        found = ZoneInfo(name)
    except (ZoneInfoNotFoundError, OSError):
        # Of a directory, Python tells where this host keeps its time zones.
        found = None
    except ValueError as error:
        raise _BadArguments(f"Invalid timezone: {error}") from None
    if found is None or name not in _zone_names():
        raise _BadArguments(f"Invalid timezone: {f'No time zone found with key {name}'!r}")
    return found


def _moment(zone: str, moment: datetime) -> Mapping[str, Any]:
    return {
        "timezone": zone,
        "datetime": moment.isoformat(timespec="seconds"),
        "day_of_week": _DAYS[moment.weekday()],
        "is_dst": bool(moment.dst()),
    }


def _hours(hours: float) -> str:
    if hours.is_integer():
        return f"{hours:+.1f}h"
    return f"{hours:+.2f}".rstrip("0").rstrip(".") + "h"


def now(turn: ServerTurn, arguments: Mapping[str, Any]) -> Observation:
    return Observation(text=_clock(turn).isoformat())


def today(turn: ServerTurn, arguments: Mapping[str, Any]) -> Observation:
    return Observation(text=_clock(turn).date().isoformat())


def think(turn: ServerTurn, arguments: Mapping[str, Any]) -> Observation:
    return Observation(text="Thought recorded.")
