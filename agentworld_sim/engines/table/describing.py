"""What the records of a table look like: their fields, what names one, and what one belongs to."""

from __future__ import annotations

import re
from typing import Any

from agentworld_sim.engines.table.json_schemas import (
    enum_of,
    is_object,
    is_records,
    item_of,
    kind_of,
    properties,
    required_properties,
)
from agentworld_sim.engines.table.outputs import WRAPPERS
from agentworld_sim.engines.table.reading import Reading
from agentworld_sim.engines.table.tool_groups import STRONG, WEAK, ToolGroup, key_arguments
from agentworld_sim.engines.table.words import ACTIONS, BEGINNINGS, STATES, plural, singulars, snake

PROJECTIONS = frozenset(
    "opt_fields return_fields include_fields response_fields output_fields".split()
)
"""Arguments of any tool that say which fields its answer shall have."""

TRIALS = frozenset("dry_run validate_only preview simulate".split())
"""Arguments with which nothing is done at all."""

OPTIONS = frozenset("include return expand skip do apply convert overwrite full".split())
"""Yes-or-no arguments that begin with one of these say how something is done; they are no fields."""

ADDED = frozenset("add added remove removed append appended clear unset delete".split())
"""Arguments of an update that begin with one of these change a part of a field."""

_JSON = re.compile(
    r"json[ -](?:string|object|array|list|format|encoded)|\b(?:as|in|valid|of) json\b",
    re.IGNORECASE,
)


def is_event(read: Reading, argument: str) -> bool:
    """Whether the values of an argument are actions: `state_event: close | reopen`."""
    values = enum_of(read.arguments[argument])
    return bool(values) and all(snake(str(value)) in ACTIONS for value in values)


def is_no_field(read: Reading, argument: str) -> bool:
    """Whether an argument of create or update is none of the record's fields, though it is stored
    nowhere else: records written as text, options, parts that are added to a field."""
    shape, parts = read.arguments[argument], singulars(argument) or ("",)
    if snake(argument) in PROJECTIONS | TRIALS or is_event(read, argument):
        return True
    if read.does == "update" and (parts[0] in ADDED or parts[-1] == "scope") and len(parts) > 1:
        return True
    if kind_of(shape) == "boolean":
        return len(parts) > 1 and parts[0] in OPTIONS
    if kind_of(shape) == "object":
        return snake(argument) in CHANGES
    return kind_of(shape) == "string" and bool(_JSON.search(str(shape.get("description", ""))))


CHANGES = frozenset("update updates changes change patch".split())
"""What holds all that changes, whatever it is."""

IGNORED = frozenset(
    "verbose pretty format response_format output_format detail_level include_details debug confirm"
    " confirmed force permanent permanently hard reason_for_call notify send_notification"
    " send_notifications send_updates request_id idempotency_key client_request_id timeout locale"
    " language_code".split()
)
"""Arguments that change nothing that is stored."""

_LIMITS = ("pattern", "format", "minLength", "maxLength", "minimum", "maximum")

PAYLOADS = WRAPPERS | CHANGES | frozenset("body payload input attributes properties fields".split())


def is_ignored(group: ToolGroup, argument: str) -> bool:
    """Whether an argument changes nothing that is stored: `request_id`, where there are no requests."""
    return snake(argument) in IGNORED and singulars(argument)[:-1] not in group.things


def describe(group: ToolGroup) -> None:
    """Fills in what the group's tools say of its records."""
    shown = {
        snake(name)
        for read in group.select("read", "list", "search")
        for name in properties(group.answers[read.name].record)
    }
    for does in ("read", "list", "search", "create", "upsert", "update"):
        for read in group.select(does):
            record = group.answers[read.name].record
            given = {snake(name) for name in properties(record)}
            if does in ("create", "upsert", "update") and shown and given and not shown & given:
                problem = f"its output shows nothing of what {group.name} are"
                group.answers[read.name].problem = problem
            elif record is not None:
                group.described = group.described or len(given) > 1
                group.add_fields(record)
                if does in ("read", "list", "search"):
                    for name in required_properties(record):
                        _require(group, name)
    _choose_key(group)
    _choose_scope(group)
    for read in sorted(group.select("create", "upsert"), key=lambda one: one.several):
        _take_input(group, read)
    for read in group.select("update"):
        if read.verb in ("update", "edit", "modify", "patch", "change", "set"):
            _take_input(group, read)
    for read in group.select("list", "search", "count"):
        _take_filters(group, read)
    if not group.described:
        _give_states(group)
    for name in (*group.key, *group.scope):
        shapes = [item_of(one) if kind_of(one) == "array" else one for one in _shapes(group, name)]
        known = group.fields.setdefault(name, shapes[0] if shapes else {})
        # What tools demand of a key that they are given, and an output schema does not say.
        for shape in shapes if name in group.key else ():
            if kind_of(shape) == kind_of(known):
                limits = {limit: shape[limit] for limit in _LIMITS if limit in shape}
                group.fields[name] = {**limits, **group.fields[name]}
        _require(group, name)


def _shapes(group: ToolGroup, name: str) -> list[dict[str, Any]]:
    """What the tools say of arguments that are about the field `name`, those that name records first."""
    own = [
        read.arguments[argument]
        for read in group.readings
        for argument, field in keys_of(read, group)
        if field == name
    ]
    others = ((read, read.argument_named(snake(name))) for read in group.readings)
    return own or [read.arguments[one] for read, one in others if one is not None]


def _give_states(group: ToolGroup) -> None:
    """Every record stands somewhere, and a new one where records begin: an issue is open."""
    for name, shape in group.fields.items():
        if snake(name) not in STATES or not enum_of(shape):
            continue
        _require(group, name)
        first = next((value for value in enum_of(shape) if snake(str(value)) in BEGINNINGS), None)
        if first is not None and "default" not in shape:
            group.fields[name] = {**shape, "default": first}


def records_argument(read: Reading, group: ToolGroup) -> str | None:
    """The argument that holds whole records, or all that changes in one."""
    if read.does not in ("create", "update", "upsert", "delete"):
        return None
    for argument, shape in read.arguments.items():
        named = singulars(argument)[-len(group.noun) :] == group.noun
        payload = named or snake(argument) in PAYLOADS
        if (is_records(shape) and named) or (is_object(shape) and payload):
            return argument
    return None


def record_shape(shape: dict[str, Any]) -> dict[str, Any]:
    """The shape of one record in an argument that holds records."""
    return item_of(shape) if kind_of(shape) == "array" else shape


def _require(group: ToolGroup, name: str) -> None:
    known = group.field_named(name) or name
    if known not in group.required:
        group.required.append(known)


def key_field(group: ToolGroup, argument: str, kind: str) -> str:
    """The field that an argument naming a record is about."""
    forms = [singulars(argument)]
    if kind:
        forms += [(kind,), (*group.noun, kind), (group.noun[-1], kind)]
    else:
        forms += [(one,) for one in ("id", "key", "slug", "name", "number")]
    given = [name for read in group.select("create", "upsert") for name in read.arguments]
    for names in (group.fields, given):
        for form in forms:
            for name in names:
                if singulars(name) == form:
                    return name
    return kind or "id"


def keys_of(read: Reading, group: ToolGroup) -> list[tuple[str, str]]:
    """The arguments of a tool that name records, each with its field; the surest kind only."""
    found = list(key_arguments(read, group.noun))
    needed = [(argument, kind) for argument, kind, _ in found if argument in read.required]
    chosen = [(argument, kind) for argument, kind, certain in found if certain]
    if chosen:
        chosen = [one for one in chosen if len(singulars(one[0])) > 1] or chosen
        if read.does in ("update", "delete"):
            # What may be left out is what changes, or says more.
            chosen = [one for one in chosen if one in needed] or chosen
    else:
        chosen = needed[:1]
    return [(argument, key_field(group, argument, kind)) for argument, kind in chosen]


def names_itself(group: ToolGroup, argument: str) -> bool:
    """Whether what is made is named by a word for it: `create_branch(branch)`, where others take
    `branch_name`."""
    return group.key[0] in WEAK and singulars(argument) in (group.noun, group.noun[-1:])


def _choose_key(group: ToolGroup) -> None:
    votes: dict[str, list[int]] = {}
    for read in group.select("read", "update", "delete", "upsert"):
        for argument, name in keys_of(read, group):
            tally = votes.setdefault(name, [0, 0])
            tally[0] -= argument in read.required
            tally[1] -= 1
    order = (*STRONG, *WEAK)
    if votes:
        kinds = {name: (singulars(name) or ("",))[-1] for name in votes}
        place = {name: order.index(kind) if kind in order else 99 for name, kind in kinds.items()}
        group.key = (min(votes, key=lambda one: (votes[one], place[one], one)),)
    else:
        forms = [form for kind in STRONG for form in ((kind,), (*group.noun, kind))]
        found = [name for form in forms for name in group.fields if singulars(name) == form]
        group.key = (found[0] if found else "id",)
    makers = group.select("create", "upsert")
    group.generated_key = not (makers and all(_gives_key(read, group) for read in makers))


def _gives_key(read: Reading, group: ToolGroup) -> bool:
    given = {snake(name) for name in read.required}
    given |= {snake(field) for name, field in keys_of(read, group) if name in read.required}
    itself = any(names_itself(group, name) for name in read.required)
    return itself or snake(group.key[0]) in given


def _choose_scope(group: ToolGroup) -> None:
    makers, others = (
        group.select("create", "upsert"),
        [read for read in group.readings if read.does not in ("create", "upsert")],
    )
    first, rest = (makers, others) if makers else (group.select("list"), group.select("read"))
    scope: list[str] = []
    for read in first:
        for argument, shape in read.arguments.items():
            name = group.field_named(argument) or argument
            if name in scope or not _may_scope(group, read, argument, shape):
                continue
            given = [(one, own) for one in rest if (own := one.argument_named(snake(argument)))]
            needed = any(own in one.required for one, own in given if one.does != "update")
            everywhere = bool(rest) and len(given) == len(rest)
            # What an update may leave out is what it changes.
            changed = not everywhere and any(
                own not in one.required for one, own in given if one.does == "update"
            )
            named = argument in read.required and needed
            if (named or (everywhere and _names_other(argument))) and not changed:
                scope.append(name)
    group.scope = tuple(sorted(scope))


def _names_other(argument: str) -> bool:
    parts = singulars(argument)
    return bool(parts) and (
        parts[-1] in STRONG or parts[-1] in ("owner", "repo", "repository", "project", "workspace")
    )


def _may_scope(group: ToolGroup, read: Reading, argument: str, shape: dict[str, Any]) -> bool:
    own = {name for name, _ in keys_of(read, group)}
    if argument in own or (group.field_named(argument) in group.key) or argument in group.key:
        return False
    return kind_of(shape) in ("string", "integer", "number", "") and not enum_of(shape)


def _take_input(group: ToolGroup, read: Reading) -> None:
    """Fields from what create and update take."""
    whole = records_argument(read, group)
    if whole is not None:
        record = record_shape(read.arguments[whole])
        for name, one in properties(record).items():
            if not is_ignored(group, name):
                _take_field(group, name, one)
        for name in required_properties(record) if read.does == "create" else ():
            _require(group, name)
    named = {name for name, _ in keys_of(read, group)} if read.does != "create" else set[str]()
    for name, one in read.arguments.items():
        if name == whole or name in named or is_ignored(group, name):
            continue
        if whole is not None and group.field_named(name) is None:
            continue
        if is_no_field(read, name) or names_itself(group, name):
            continue
        kept = _take_field(group, name.removeprefix("new_") if read.does == "update" else name, one)
        if read.does == "create" and name in read.required:
            _require(group, kept)


def _take_field(group: ToolGroup, name: str, shape: dict[str, Any]) -> str:
    return group.add_field(group.field_named(name) or name, shape)


def _take_filters(group: ToolGroup, read: Reading) -> None:
    """A filter of states shows a field where no output schema shows the fields."""
    for name, one in read.arguments.items():
        if snake(name) in STATES and kind_of(one) == "string" and group.field_named(name) is None:
            values = [value for value in enum_of(one) if value not in ("all", "any")]
            if len(values) > 1:
                group.add_field(name, {**one, "enum": values})


def table_name_of(argument: str) -> str:
    """The table that an argument such as `ticket_id` would name: `tickets`."""
    parts = singulars(argument)
    if len(parts) > 1 and parts[-1] in (*STRONG, *WEAK):
        parts = parts[:-1]
    return "_".join((*parts[:-1], plural(parts[-1]))) if parts else ""
