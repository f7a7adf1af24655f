"""Arguments of create and update that are no fields of the record: options, and fields as text."""

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
    record_shape,
    records_argument,
)
from agentworld_sim.engines.table.json_schemas import enum_of, kind_of, properties
from agentworld_sim.engines.table.operation import Argument
from agentworld_sim.engines.table.reading import Reading
from agentworld_sim.engines.table.tool_groups import ToolGroup, where_words
from agentworld_sim.engines.table.verbs import ACTIONS, EXECUTED, STATES, UNDOES
from agentworld_sim.engines.table.words import singulars, snake

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
_SORT = frozenset("sort sort_by order_by sort_field sort_key".split())
_DIRECTION = frozenset("direction order sort_order sort_direction order_direction".split())
_PROJECTION = frozenset("fields select columns return_fields include_fields".split())
_SYNTAX = (
    "syntax",
    "qualifier",
    "jql",
    "lucene",
    "query language",
    "expression",
    "regex",
    "semantic",
)
"""Words in a description of a search text that is more than a text."""

_SHOWN = frozenset("time_zone timezone tz".split())
"""Arguments of a list that change how times are shown."""

_LEAST = frozenset("min minimum".split())
_MOST = frozenset("max maximum".split())
_AFTER = frozenset("after since from start".split())
_BEFORE = frozenset("before until to end till".split())
_MOMENTS = ("at", "date", "time", "on", "")
_PERIODS = {
    frozenset(("start", "date")),
    frozenset(("start", "time")),
    frozenset(("date", "from")),
    frozenset(("from", "date")),
    frozenset(("time", "min")),
}

UNKNOWN = Argument("unknown")


def roles(read: Reading, group: ToolGroup) -> dict[str, Argument]:
    """The role of every argument; `unknown` where it cannot be told."""
    found: dict[str, Argument] = {}
    keys = dict(keys_of(read, group))
    whole = records_argument(read, group)
    for argument, shape in read.arguments.items():
        if argument == whole and read.does in ("create", "update", "upsert", "delete"):
            found[argument] = Argument("records", fields=_rename_values(group, shape))
            continue
        found[argument] = _role(read, group, argument, shape, keys, whole)
    return found


def _role(
    read: Reading,
    group: ToolGroup,
    argument: str,
    shape: dict[str, Any],
    keys: Mapping[str, str],
    whole: str | None,
) -> Argument:
    own = group.field_named(argument)
    if snake(argument) in PROJECTIONS:
        return Argument("projection")
    if (own or argument) in group.scope and argument not in keys:
        goes = read.verb in ("move", "transfer") or argument not in read.required
        if goes and keys and read.does == "update":
            # Where it goes, not where it is.
            return Argument("field", own or argument)
        return Argument("scope", own or argument)
    if argument in keys and read.does in ("read", "update", "delete"):
        return Argument("key", keys[argument])
    if read.does in ("create", "upsert"):
        return _written_argument(read, group, argument, keys, whole)
    if read.does == "update":
        return _changed_argument(read, group, argument)
    if read.does in ("list", "search", "count"):
        return _query_argument(read, group, argument, shape)
    if is_ignored(group, argument):
        return Argument("ignored")
    if read.does == "read" and snake(argument) in _PROJECTION and kind_of(shape) == "array":
        return Argument("projection")
    return UNKNOWN


def _written_argument(
    read: Reading, group: ToolGroup, argument: str, keys: Mapping[str, str], whole: str | None
) -> Argument:
    own = group.field_named(argument)
    if is_no_field(read, argument) and argument not in group.fields:
        return UNKNOWN
    if names_itself(read, group, argument):
        return Argument("key", group.key[0])
    if argument in keys and keys[argument] in group.key:
        return Argument("key", keys[argument])
    if own in group.key:
        return Argument("key", own)
    if is_ignored(group, argument):
        return Argument("ignored")
    if own is not None and _differs(read.arguments[argument], group.fields[own]):
        return UNKNOWN
    if own is None or set(singulars(argument)) & EXECUTED or whole is not None:
        return UNKNOWN if own is None or whole is None else Argument("field", own)
    return Argument("field", own)


def _changed_argument(read: Reading, group: ToolGroup, argument: str) -> Argument:
    own = group.field_named(argument)
    word = snake(argument)
    if is_no_field(read, argument) and argument not in group.fields:
        event = _event(group, read.arguments[argument]) if is_event(read, argument) else None
        return event or UNKNOWN
    if own is not None and _differs(read.arguments[argument], group.fields[own]):
        return UNKNOWN
    if own is not None:
        return Argument("field", own)
    if word.startswith("new_"):
        new = group.field_named(word[4:])
        if new is not None:
            return Argument("field", new)
    if is_ignored(group, argument):
        return Argument("ignored")
    if read.verb in ("assign", "reassign"):
        people = [one for one in group.fields if singulars(one)[0] in ("assignee", "assigned")]
        if len(people) == 1 and singulars(argument)[0] in (
            "user",
            "agent",
            "person",
            "member",
            "to",
        ):
            return Argument("field", people[0])
    return UNKNOWN


def _query_argument(
    read: Reading, group: ToolGroup, argument: str, shape: dict[str, Any]
) -> Argument:
    word, kind = snake(argument), kind_of(shape)
    number, text = kind in ("integer", "number", ""), kind in ("string", "")
    own = group.field_named(argument)
    if word in _SHOWN:
        return UNKNOWN
    if word in _TEXT and text and (own is None or read.does == "search"):
        said = str(shape.get("description", "")).lower() + read.tool.description.lower()
        return UNKNOWN if any(sign in said for sign in _SYNTAX) else Argument("text")
    if own is None or word not in {snake(own)}:
        shaping = _shaping(
            word,
            shape,
            number=number,
            text=text,
            group=group,
            cursor=group.answers[read.name].output.cursor,
        )
        if shaping is not None:
            return shaping
    if own is not None:
        return _filter(own, shape, group)
    return _range(group, argument, shape) or (
        Argument("ignored") if is_ignored(group, argument) else UNKNOWN
    )


def _shaping(
    word: str,
    shape: dict[str, Any],
    *,
    number: bool,
    text: bool,
    group: ToolGroup,
    cursor: str | None,
) -> Argument | None:
    if word in _LIMIT and number:
        return Argument("limit")
    if word in _OFFSET and number:
        return Argument("offset")
    if word in _PAGE and number:
        zero = shape.get("minimum") == 0 or shape.get("default") == 0 or "index" in word
        return Argument("page", first=0 if zero else 1)
    told = snake((cursor or "").rpartition(".")[2])
    if word == told and text:
        return Argument("cursor")
    if word in _CURSOR and text and shape.get("format") is None:
        return Argument("cursor")
    values = [value for value in enum_of(shape) if isinstance(value, str)]
    directions = {"asc", "desc", "ascending", "descending"}
    if word in _DIRECTION | _SORT and {value.lower() for value in values} <= directions and values:
        return Argument("direction")
    if word in _SORT | {"order"} and text:
        return _sorting(values, group)
    if word in _PROJECTION and not number:
        return Argument("projection")
    return None


def _sorting(values: list[str], group: ToolGroup) -> Argument:
    if not values:
        return Argument("sort")
    stands = {
        value: own
        for value in values
        if (own := _field_for_sort(value, group)) is not None and own != value
    }
    return Argument("sort", values=stands)


def _field_for_sort(value: str, group: ToolGroup) -> str | None:
    bare = value.lstrip("+-")
    own = group.field_named(bare)
    if own is None:
        own = next(
            (
                name
                for name in group.fields
                if singulars(name)[:1] == singulars(bare)[:1]
                and singulars(name)[1:] in (("at",), ("date",), ("on",), ("time",))
            ),
            None,
        )
    return own and value[: len(value) - len(bare)].replace("+", "") + own


def _filter(own: str, shape: dict[str, Any], group: ToolGroup) -> Argument:
    field = group.fields.get(own, {})
    if not _comparable(kind_of(shape), kind_of(field)):
        return UNKNOWN
    known = enum_of(field)
    none = {
        value: None for value in enum_of(shape) if value in ("all", "any") and value not in known
    }
    if kind_of(shape) == "array" and kind_of(field) not in ("array", ""):
        return Argument("field", own, "one_of", values=none)
    said = str(shape.get("description", "")).lower()
    loose = ("contain", "partial", "substring", "case-insensitive", "fuzzy", "matching")
    if kind_of(shape) == "string" and not enum_of(shape) and any(sign in said for sign in loose):
        return Argument("field", own, "contains", values=none)
    return Argument("field", own, values=none)


def _comparable(asked: str, held: str) -> bool:
    """Whether a filter of one type says something of a field of another."""
    if not asked or not held:
        return True
    if held == "object":
        return asked in ("string", "integer", "number", "object")
    return (asked == "boolean") == (held == "boolean") and (asked != "object" or held == "array")


def _differs(given: dict[str, Any], held: dict[str, Any]) -> bool:
    """Whether one is a list and the other an object: then it holds several records' values."""
    return {kind_of(given), kind_of(held)} == {"array", "object"}


def _event(group: ToolGroup, shape: dict[str, Any]) -> Argument | None:
    """What asks for an action, and writes a state: `state_event: close`."""
    for name, field in group.fields.items():
        known = [value for value in enum_of(field) if isinstance(value, str)]
        stands: dict[str, Any] = {}
        for event in enum_of(shape):
            wanted = ACTIONS.get(snake(str(event)), ())
            found = [value for one in wanted for value in known if snake(value) == one]
            if found:
                stands[event] = found[0]
        if snake(name) in STATES and len(stands) == len(enum_of(shape)):
            return Argument("field", name, values=stands)
    return None


def _range(group: ToolGroup, argument: str, shape: dict[str, Any]) -> Argument | None:
    """`min_price`, `created_after`, `since`: an end of a range of a field."""
    parts = list(singulars(argument))
    if not parts:
        return None
    if parts in (["time", "min"], ["time", "max"]):
        # What lasts is found when any of it lies between the two.
        edge = "end" if parts[1] == "min" else "start"
        own = next((one for one in group.fields if singulars(one)[:1] == (edge,)), None)
        if own is not None:
            return Argument("field", own, "after" if edge == "end" else "before")
    for least, words in ((True, _LEAST), (False, _MOST)):
        for end in (0, -1):
            rest = parts[1:] if end == 0 else parts[:-1]
            if parts[end] in words and rest:
                own = _one_field(group, rest) or _moment_field(group, rest)
                if own is not None and kind_of(shape) in ("integer", "number", ""):
                    return Argument("field", own, "at_least" if least else "at_most")
    for after, words in ((True, _AFTER), (False, _BEFORE)):
        compare = "after" if after else "before"
        for end in (-1, 0):
            if parts[end] not in words or kind_of(shape) not in ("string", "integer", ""):
                continue
            rest = parts[:-1] if end == -1 else parts[1:]
            own = _moment_field(group, rest) if rest else None
            if own is None and rest in ([], ["date"], ["time"]):
                own = _only_moment(group, parts[end])
            if own is not None:
                inclusive = "at_least" if after else "at_most"
                closed = parts[end] in ("since", "until", "till", "from", "to", "start", "end")
                return Argument("field", own, inclusive if closed else compare)
    return None


def _one_field(group: ToolGroup, parts: list[str]) -> str | None:
    return next((one for one in group.fields if list(singulars(one)) == parts), None)


def _moment_field(group: ToolGroup, parts: list[str]) -> str | None:
    """The date that words are about: `created` is `created_at`, `due` is `due_date`."""
    for end in _MOMENTS:
        wanted = [*parts, end] if end else parts
        for one in group.fields:
            if list(singulars(one)) == wanted and _is_moment(group.fields[one], one):
                return one
    wanted = ["date", *parts]
    return next((one for one in group.fields if list(singulars(one)) == wanted), None)


def _only_moment(group: ToolGroup, word: str) -> str | None:
    """The one date of a record that a bare `since`, `from` or `to` can be about."""
    dates = [one for one, shape in group.fields.items() if _is_moment(shape, one)]
    if word in ("since", "after", "before", "until"):
        updated = [one for one in dates if singulars(one)[0] in ("updated", "modified")]
        if word == "since" and len(updated) == 1:
            return updated[0]
    own = [
        one
        for one in dates
        if singulars(one)[0] not in ("created", "updated", "modified", "deleted")
    ]
    if len(own) == 1:
        return own[0]
    return dates[0] if len(dates) == 1 else None


def _is_moment(shape: dict[str, Any], name: str) -> bool:
    if shape.get("format") in ("date", "date-time"):
        return True
    last = singulars(name)[-1:] if singulars(name) else ()
    return (
        kind_of(shape) in ("string", "")
        and not enum_of(shape)
        and last
        in (
            ("at",),
            ("date",),
            ("time",),
            ("on",),
            ("timestamp",),
        )
    )


def _rename_values(group: ToolGroup, shape: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in properties(record_shape(shape)):
        own = group.field_named(name)
        if own is not None and own != name:
            found[name] = own
    return found


_OPPOSITES = {
    "unread": ("read",),
    "incomplete": ("completed", "complete", "done"),
    "uncompleted": ("completed", "complete", "done"),
    "undone": ("done", "completed", "complete"),
    "unpaid": ("paid",),
}


def fixed_values(read: Reading, group: ToolGroup) -> dict[str, Any] | str:
    """What a tool writes or compares beside its arguments, or why that cannot be told."""
    if read.does == "update":
        return _values_to_write(read, group)
    leading = _leading(read, group)
    if not leading:
        return {}
    if read.does in ("list", "search", "count") and len(leading) == 1:
        found = _state(leading, group)
        if found is not None:
            return found
        if (flag := _flag(leading, group)) is not None:
            return {flag: True}
    return f"nothing says which {group.name} are {' '.join(leading)!r}"


def _values_to_write(read: Reading, group: ToolGroup) -> dict[str, Any] | str:
    if read.verb in ACTIONS:
        said: tuple[str, ...] = (*ACTIONS[read.verb],)
    elif read.verb == "mark" and read.states:
        joined = "_".join(read.states)
        near = next((values for verb, values in ACTIONS.items() if joined in (verb, *values)), ())
        said = (joined, *near)
    elif read.verb == "unassign":
        people = [
            one for one in group.fields if singulars(one)[:1] in (("assignee",), ("assigned",))
        ]
        if len(people) == 1:
            return {people[0]: None}
        return f"no field of {group.name} says to whom one is assigned"
    else:
        leading = _leading(read, group)
        return f"nothing says which {group.name} are {' '.join(leading)!r}" if leading else {}
    found = _state(said, group)
    if found is not None:
        return found
    flag = _flag(said, group)
    if flag is not None:
        return {flag: True}
    undone = UNDOES.get(read.verb)
    flag = None if undone is None else _flag(ACTIONS.get(undone, ()), group)
    if flag is not None:
        return {flag: False}
    opposite = _OPPOSITES.get("_".join(read.states))
    if opposite is not None and (flag := _flag(opposite, group)) is not None:
        return {flag: False}
    what = read.verb if read.verb != "mark" else "_".join(read.states)
    return f"no field of {group.name} has a value that means {what!r}"


def has_state(group: ToolGroup) -> bool:
    """Whether records have a field that says where they stand."""
    return any(_is_state(one, group) for one in group.fields)


def _is_state(name: str, group: ToolGroup) -> bool:
    parts = singulars(name)
    return snake(name) in STATES or (parts[:-1] == group.noun and parts[-1] in STATES)


def _state(said: tuple[str, ...], group: ToolGroup) -> dict[str, Any] | None:
    for name, shape in group.fields.items():
        if not _is_state(name, group):
            continue
        for wanted in said:
            for value in enum_of(shape):
                if isinstance(value, str) and snake(value) == wanted:
                    return {name: value}
    return None


def _flag(said: tuple[str, ...], group: ToolGroup) -> str | None:
    """The yes-or-no field of one of these names: `done`, `is_archived`."""
    for wanted in said:
        for name, shape in group.fields.items():
            if kind_of(shape) == "boolean" and snake(name) in (wanted, f"is_{wanted}"):
                return name
    return None


def _leading(read: Reading, group: ToolGroup) -> tuple[str, ...]:
    """Words before the noun that say which records, and are no name of an argument."""
    extra = read.noun[: len(read.noun) - len(group.noun)]
    if not extra or read.noun[len(extra) :] != group.noun:
        return ()
    taken = where_words(read, read.noun)
    return tuple(word for word in extra if word not in taken)
