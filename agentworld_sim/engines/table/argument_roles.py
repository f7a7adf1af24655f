"""What each argument of a tool is for, and what a tool writes or compares beside its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentworld_sim.engines.table.describing import (
    PROJECTIONS,
    is_event,
    is_ignored,
    is_no_field,
    keys_of,
    names_itself,
    records_argument,
)
from agentworld_sim.engines.table.json_schemas import enum_of, kind_of
from agentworld_sim.engines.table.operation import Argument, Compare
from agentworld_sim.engines.table.reading import Reading
from agentworld_sim.engines.table.tool_groups import ToolGroup, where_words
from agentworld_sim.engines.table.words import ACTIONS, STATES, singulars, snake

_TEXT = frozenset(
    "query q search search_query search_term search_text term terms keyword keywords text needle"
    " search_string".split()
)
_LIMIT = frozenset(
    "limit per_page page_size size max_results count top first max results_per_page num_results"
    " maximum_results max_items max_records maximum_records".split()
)
_OFFSET = frozenset("offset skip start_index start_at start_from".split())
_PAGE = frozenset("page page_number page_num page_index".split())
_CURSOR = frozenset(
    "cursor page_token next_cursor next_page_token after start_cursor starting_after"
    " continuation_token next_token".split()
)
_SORT = frozenset("sort sort_by order_by sort_field sort_key order".split())
_DIRECTION = frozenset("direction order sort_order sort_direction order_direction sort".split())
_DIRECTIONS = {"asc", "desc", "ascending", "descending"}
_PROJECTION = frozenset("fields select columns return_fields include_fields".split())
_SYNTAX = (
    *("syntax", "qualifier", "jql", "lucene", "query language", "expression", "regex"),
    "semantic",
)
"""Words in a description of a search text that is more than a text."""

_LOOSE = ("contain", "partial", "substring", "case-insensitive", "fuzzy", "matching")
"""Words in a description of a filter that also matches parts."""

_SHOWN = frozenset("time_zone timezone tz".split())
"""Arguments of a list that change how times are shown."""

_BOUNDS: Mapping[str, Compare] = {
    "min": "at_least",
    "minimum": "at_least",
    "max": "at_most",
    "maximum": "at_most",
}
"""Words of a bound of a number, to how the field compares."""

_ENDS: Mapping[str, Compare] = {
    "after": "after",
    "before": "before",
    **dict.fromkeys(("since", "from", "start"), "at_least"),
    **dict.fromkeys(("until", "to", "end", "till"), "at_most"),
}
"""Words of an end of a span of time, to how the field compares."""

_MOMENTS = ("at", "date", "time", "on", "timestamp")
"""Last words of the names of fields that hold a moment."""

UNKNOWN = Argument("unknown")


def roles(read: Reading, group: ToolGroup) -> dict[str, Argument]:
    """The role of every argument; `unknown` where it cannot be told."""
    keys = dict(keys_of(read, group))
    whole = records_argument(read, group)
    return {
        argument: Argument("records") if argument == whole else _role(read, group, argument, keys)
        for argument in read.arguments
    }


def _role(read: Reading, group: ToolGroup, argument: str, keys: Mapping[str, str]) -> Argument:
    shape, field = read.arguments[argument], group.field_named(argument) or argument
    if snake(argument) in PROJECTIONS:
        return Argument("projection")
    if field in group.scope and argument not in keys:
        goes = read.verb in ("move", "transfer") or argument not in read.required
        # Of an update it may say where the record goes, not where it is.
        return Argument("field" if goes and read.does == "update" else "scope", field)
    if argument in keys and read.does in ("read", "update", "delete"):
        return Argument("key", keys[argument])
    if read.does in ("create", "upsert"):
        return _written_argument(read, group, argument, keys)
    if read.does == "update":
        return _changed_argument(read, group, argument)
    if read.does in ("list", "search", "count"):
        return _query_argument(read, group, argument)
    if is_ignored(group, argument):
        return Argument("ignored")
    if snake(argument) in _PROJECTION and kind_of(shape) == "array":
        return Argument("projection")
    return UNKNOWN


def _written_argument(
    read: Reading, group: ToolGroup, argument: str, keys: Mapping[str, str]
) -> Argument:
    own = group.field_named(argument)
    if names_itself(group, argument):
        return Argument("key", group.key[0])
    if keys.get(argument) in group.key:
        return Argument("key", keys[argument])
    if is_ignored(group, argument):
        return Argument("ignored")
    if own is None or {kind_of(read.arguments[argument]), kind_of(group.fields[own])} == {
        "array",
        "object",
    }:
        # A list beside an object holds several records' values.
        return UNKNOWN
    return Argument("field", own)


def _changed_argument(read: Reading, group: ToolGroup, argument: str) -> Argument:
    if is_no_field(read, argument) and argument not in group.fields:
        shape = read.arguments[argument]
        return (_event(group, shape) if is_event(read, argument) else None) or UNKNOWN
    own = group.field_named(argument) or group.field_named(snake(argument).removeprefix("new_"))
    if own is not None:
        return Argument("field", own)
    return Argument("ignored") if is_ignored(group, argument) else UNKNOWN


def _query_argument(read: Reading, group: ToolGroup, argument: str) -> Argument:
    word, shape = snake(argument), read.arguments[argument]
    own = group.field_named(argument)
    if word in _SHOWN:
        return UNKNOWN
    if word in _TEXT:
        said = str(shape.get("description", "")).lower() + read.tool.description.lower()
        return UNKNOWN if any(sign in said for sign in _SYNTAX) else Argument("text")
    if own is None or word != snake(own):
        cursor = group.answers[read.name].output.cursor or ""
        shaping = _shaping(word, shape, cursor=snake(cursor.rpartition(".")[2]))
        if shaping is not None:
            return shaping
    if own is not None:
        return _filter(own, shape, group)
    return _range(group, argument, shape) or (
        Argument("ignored") if is_ignored(group, argument) else UNKNOWN
    )


def _shaping(word: str, shape: dict[str, Any], *, cursor: str) -> Argument | None:
    """What shapes a list: `cursor` is what its output calls the next page."""
    kind = kind_of(shape)
    if word in _LIMIT:
        return Argument("limit")
    if word in _OFFSET and kind in ("integer", "number", ""):
        return Argument("offset")
    if word in _PAGE:
        return Argument("page", first=int(0 not in (shape.get("minimum"), shape.get("default"))))
    if word == cursor or word in _CURSOR:
        return Argument("cursor")
    values = {value.lower() for value in enum_of(shape) if isinstance(value, str)}
    if word in _DIRECTION and values and values <= _DIRECTIONS:
        return Argument("direction")
    if word in _SORT and kind in ("string", ""):
        return Argument("sort")
    return Argument("projection") if word in _PROJECTION else None


def _filter(own: str, shape: dict[str, Any], group: ToolGroup) -> Argument:
    held, asked = kind_of(group.fields[own]), kind_of(shape)
    if (
        held
        and asked
        and ((asked == "boolean") != (held == "boolean") or (held, asked) == ("object", "array"))
    ):
        return UNKNOWN
    known = enum_of(group.fields[own])
    values = {one: None for one in enum_of(shape) if one in ("all", "any") and one not in known}
    if asked == "array" and held not in ("array", ""):
        return Argument("field", own, "one_of", values=values)
    said = str(shape.get("description", "")).lower()
    if asked == "string" and not enum_of(shape) and any(sign in said for sign in _LOOSE):
        return Argument("field", own, "contains", values=values)
    return Argument("field", own, values=values)


def _event(group: ToolGroup, shape: dict[str, Any]) -> Argument | None:
    """What asks for an action, and writes a state: `state_event: close`."""
    for name, field in group.fields.items():
        known = [value for value in enum_of(field) if isinstance(value, str)]
        values: dict[str, Any] = {}
        for event in enum_of(shape):
            wanted = ACTIONS.get(snake(str(event)), ())
            found = [value for one in wanted for value in known if snake(value) == one]
            if found:
                values[event] = found[0]
        if snake(name) in STATES and len(values) == len(enum_of(shape)):
            return Argument("field", name, values=values)
    return None


def _range(group: ToolGroup, argument: str, shape: dict[str, Any]) -> Argument | None:
    """`min_price`, `created_after`, `since`: an end of a range of a field."""
    parts = list(singulars(argument))
    if parts in (["time", "min"], ["time", "max"]):
        # What lasts is found when any of it lies between the two.
        edge = "end" if parts[1] == "min" else "start"
        own = next((one for one in group.fields if singulars(one)[:1] == (edge,)), None)
        if own is not None:
            return Argument("field", own, "after" if edge == "end" else "before")
    for word, rest in ((parts[0], parts[1:]), (parts[-1], parts[:-1])) if parts else ():
        for one in group.fields:
            if word in _BOUNDS and kind_of(shape) != "string" and list(singulars(one)) == rest:
                return Argument("field", one, _BOUNDS[word])
        if word in _ENDS and (own := _moment_field(group, rest)) is not None:
            return Argument("field", own, _ENDS[word])
    return None


def _moment_field(group: ToolGroup, parts: list[str]) -> str | None:
    """The date that words are about: `created` is `created_at`; nothing, or `date`, the only one."""
    dates = [
        one
        for one, shape in group.fields.items()
        if not enum_of(shape)
        and kind_of(shape) in ("string", "")
        and (singulars(one)[-1:] or ("",))[0] in _MOMENTS
    ]
    if parts in ([], ["date"], ["time"]):
        return dates[0] if len(dates) == 1 else None
    return next(
        (
            one
            for one in dates
            if list(singulars(one)) == parts or list(singulars(one)[:-1]) == parts
        ),
        None,
    )


def fixed_values(read: Reading, group: ToolGroup) -> dict[str, Any] | str:
    """What a tool writes beside its arguments, or why that cannot be told."""
    if read.does == "update" and (read.verb in ACTIONS or read.states):
        wanted = ACTIONS.get(read.verb) or _states_of("_".join(read.states))
        found = _state(wanted, group) or _flag(wanted, group)
        what = "_".join(read.states) if read.verb == "mark" else read.verb
        return found or f"no field of {group.name} has a value that means {what!r}"
    leading = _leading(read, group)
    return f"nothing says which {group.name} are {' '.join(leading)!r}" if leading else {}


def _states_of(state: str) -> tuple[str, ...]:
    """What a state may be called: `complete` and `done` are one."""
    return (state, *next((own for verb, own in ACTIONS.items() if state in (verb, *own)), ()))


def _state(wanted: tuple[str, ...], group: ToolGroup) -> dict[str, Any]:
    for name, shape in group.fields.items():
        values = enum_of(shape) if snake(name) in STATES else ()
        for one in wanted:
            for value in values:
                if isinstance(value, str) and snake(value) == one:
                    return {name: value}
    return {}


def _flag(wanted: tuple[str, ...], group: ToolGroup) -> dict[str, Any]:
    """The yes-or-no field of one of these names: `done`, `is_archived`."""
    names = [form for one in wanted for form in (one, f"is_{one}")]
    for name, shape in group.fields.items():
        if kind_of(shape) == "boolean" and snake(name) in names:
            return {name: True}
    return {}


def _leading(read: Reading, group: ToolGroup) -> tuple[str, ...]:
    """Words before the noun that say which records, and are no name of an argument."""
    extra = read.noun[: len(read.noun) - len(group.noun)]
    if not extra or read.noun[len(extra) :] != group.noun:
        return ()
    taken = where_words(read, read.noun)
    return tuple(word for word in extra if word not in taken)
