"""Keys of new records: as the schema wants them, or as those before look."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from agentworld_sim.engines.table import plausible
from agentworld_sim.engines.table.generate import fitting_text, text_for
from agentworld_sim.engines.table.json_schemas import Schema, not_null, types_of
from agentworld_sim.engines.table.plausible import SeededRandom
from agentworld_sim.engines.table.query import texts
from agentworld_sim.engines.table.words import snake
from agentworld_sim.relational.layout import Table, split_number
from agentworld_sim.schema.limits import pattern_fits

_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_HEX = re.compile(r"(?=.*\d)(?=.*[a-f])[0-9a-f]{6,64}")
_NAMES = ("title", "name", "subject", "summary", "label", "display_name", "text")
_SLUGS = frozenset(("slug", "handle", "name", "path", "permalink", "login", "username"))


def next_key(
    path: str,
    schema: Schema,
    record: Mapping[str, Any],
    *,
    table: str,
    highest: int,
    like: Any,
    draw: SeededRandom,
    taken: Callable[[Any], bool],
) -> Any:
    """A key that no record of the scope has: above the `highest` number of a key there, and in its look
    `like` another one, if there is any."""
    kinds = types_of(schema)
    wants_number = bool({"integer", "number"} & set(kinds)) and "string" not in kinds
    if wants_number or (not kinds and (like is None or isinstance(like, int))):
        least = schema.get("minimum", 1)
        number = max(highest + 1, least if isinstance(least, int) else 1)
        while taken(number):
            number += 1
        return number
    for attempt in range(1000):
        number = highest + 1 + attempt
        key = _text_key(path, schema, record, table, number, like, draw.derive(attempt), attempt)
        key = _short(key, schema)
        if not taken(key):
            return key
    return draw.uuid("last")


def record_key(
    table: Table,
    path: str,
    record: Mapping[str, Any],
    *,
    highest: int,
    like: Any,
    seed: int,
    taken: Callable[[Any], bool],
) -> Any:
    """Implements `MakeKey`: a record that SQL makes gets the key that a tool's would."""
    return next_key(
        path,
        not_null(table.fields.get(path, {})),
        record,
        table=table.name,
        highest=highest,
        like=like,
        draw=SeededRandom(seed, "key", path),
        taken=taken,
    )


def _short(key: str, schema: Schema) -> str:
    """A key that is not too long; what tells it from others stays."""
    most = schema.get("maxLength")
    if not isinstance(most, int) or len(key) <= most:
        return key
    before, number = split_number(key) or (key, "")
    return (before[: max(most - len(number), 0)] + number)[-most:]


def _text_key(
    path: str,
    schema: Schema,
    record: Mapping[str, Any],
    table: str,
    number: int,
    like: Any,
    draw: SeededRandom,
    attempt: int,
) -> str:
    style = schema.get("format")
    # Cut at its end, a key would lose its number: `_short` keeps it.
    limits = {limit: one for limit, one in schema.items() if limit != "maxLength"}
    like = like if isinstance(like, str) else ""
    field = snake(path.rpartition(".")[2])
    if style == "uuid" or _UUID.fullmatch(like) or field in ("uuid", "guid"):
        return draw.uuid()
    if field in _SLUGS or (like and _is_slug(like)):
        named = _record_name(record, path)
        if named:
            slug = plausible.slug(named) or _one_word(table)
            return fitting_text(slug if not attempt else f"{slug}-{attempt + 1}", limits, draw)
    parts = split_number(like)
    project = project_of(field, record)
    if project and (parts is None or parts[0] != f"{project}-"):
        return fitting_text(f"{project}-{number}", limits, draw)
    if parts is not None:
        return fitting_text(parts[0] + str(number).zfill(len(parts[1])), limits, draw)
    pattern = schema.get("pattern")
    if isinstance(pattern, str):
        # A pattern of digits is a number, and numbers are given out one after another.
        if pattern_fits(pattern, str(number)) and not pattern_fits(pattern, "a"):
            return str(number)
        most = schema.get("maxLength")
        made = text_for(
            pattern,
            draw,
            least=int(schema.get("minLength", 0)),
            most=most if isinstance(most, int) else None,
        )
        if made is not None:
            return made
    if _HEX.fullmatch(like):
        return draw.hex(len(like))
    return fitting_text(f"{_one_word(table)}-{number}", limits, draw)


def project_of(field: str, record: Mapping[str, Any]) -> str:
    """What the keys of a project's records begin with: the project's own key, such as `ENG`."""
    if field != "key":
        return ""
    for name, value in record.items():
        if snake(name) in ("project", "project_key") and isinstance(value, str):
            return value if re.fullmatch(r"[A-Z][A-Z0-9]{1,9}", value) else ""
    return ""


def _is_slug(text: str) -> bool:
    return re.fullmatch(r"[a-z]+(?:-[a-z0-9]+)*-[a-z]+(?:-\d+)?", text) is not None


def _record_name(record: Mapping[str, Any], path: str) -> str:
    """The name or title of a record, for a key that is made from it."""
    for name in _NAMES:
        value = record.get(name)
        if name != path and isinstance(value, str) and value.strip():
            return value
    return next((text for text in texts(dict(record)) if text.strip()), "")


def _one_word(table: str) -> str:
    from agentworld_sim.engines.table.table_errors import singular_table

    return singular_table(table).replace(" ", "-").lower() or "record"
