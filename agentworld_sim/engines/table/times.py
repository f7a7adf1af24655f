"""Moments as records write them: ISO 8601 texts, dates, seconds or milliseconds since the epoch."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from agentworld_sim.engines.table.words import snake

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?\Z")
_MILLISECONDS = 10**11
"""Numbers from this on are milliseconds: as seconds they would be the year 5138."""

MADE = frozenset(
    "created created_at created_on created_time creation_date creation_time date_created create_time"
    " inserted_at added_at opened_at submitted_at posted_at published_at registered_at sent_at"
    " created_date timestamp created_timestamp date_added".split()
)
"""Fields that say when a record was made, in snake case."""

CHANGED = frozenset(
    "updated updated_at updated_on updated_time update_time last_updated last_updated_at date_updated"
    " modified modified_at modified_on last_modified last_modified_at date_modified last_edited"
    " last_updated_time last_update_time last_updated_on last_modified_on updated_date modified_date"
    " edited_at last_edited_time last_modified_time updated_timestamp".split()
)
"""Fields that say when it was last changed."""


def is_moment(name: str) -> bool:
    """Whether a field of this name says when something was."""
    words = snake(name).split("_")
    if words[-1] in ("at", "on", "ts", "timestamp") and len(words) > 1:
        return True
    return snake(name) in MADE | CHANGED or words[-1] in ("date", "time", "datetime", "timestamp")


def format_moment(
    moment_us: int, name: str, schema: Mapping[str, Any], example: Any = None
) -> str | int | float:
    """A moment in the form that the schema, another record's value or the field's name asks for."""
    kind = schema.get("type")
    kinds = {kind} if isinstance(kind, str) else set[str](kind or ())
    seconds = moment_us // 1_000_000
    shown = 0.0
    if isinstance(example, int | float) and not isinstance(example, bool):
        shown = float(example)
    if shown or (example is None and kinds & {"integer", "number"} and "string" not in kinds):
        if abs(shown) >= _MILLISECONDS or snake(name).rpartition("_")[2] in ("ms", "millis"):
            return moment_us // 1000
        return moment_us / 1e6 if isinstance(example, float) else seconds
    moment = _EPOCH + timedelta(seconds=seconds)
    if schema.get("format") == "time":
        return moment.strftime("%H:%M:%SZ")
    text = example if isinstance(example, str) and _TIME.match(example) else ""
    if schema.get("format") == "date" or (text and len(text) == 10):
        return moment.date().isoformat()
    if not text and "format" not in schema and snake(name).rpartition("_")[2] == "date":
        return moment.date().isoformat()
    between = " " if text[10:11] == " " else "T"
    fraction = re.search(r"\.(\d+)", text)
    digits = "" if fraction is None else f".{moment_us % 1_000_000:06d}"[: len(fraction[1]) + 1]
    zone = re.search(r"[+-]\d\d:?\d\d\Z", text[10:])
    ending = "+00:00" if zone else "" if text and not text.endswith("Z") else "Z"
    return moment.strftime(f"%Y-%m-%d{between}%H:%M:%S") + digits + ending


def parse_moment(value: Any) -> int | None:
    """The moment an ISO 8601 text names, in microseconds since the epoch; UTC where it names no zone."""
    if not isinstance(value, str) or not _TIME.match(value):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(microseconds=1)
