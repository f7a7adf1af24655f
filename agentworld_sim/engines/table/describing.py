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
from agentworld_sim.engines.table.verbs import ACTIONS, BEGINNINGS, STATES
from agentworld_sim.engines.table.words import plural, singulars, snake

PROJECTIONS = frozenset(
    "opt_fields return_fields include_fields response_fields output_fields".split()
)
"""Arguments of any tool that say which fields its answer shall have."""

OPTIONS = frozenset("include return expand skip do apply convert overwrite full".split())
"""Yes-or-no arguments that begin with one of these say how something is done; they are no fields."""

ADDED = frozenset("add added remove removed append appended clear unset delete".split())
"""Arguments of an update that begin with one of these change a part of a field."""

ENCODED = frozenset(
    "fields properties attributes payload update updates changes change patch records items".split()
)
"""Texts and open objects of these names hold fields; they are none."""

_JSON = re.compile(
    r"json[ -](?:string|object|array|list|format|encoded)|\b(?:as|in|valid|of) json\b",
    re.IGNORECASE,
)

CHANGES = frozenset("update updates changes change patch edits".split())
"""What holds all that changes, whatever it is."""


def is_event(read: Reading, argument: str) -> bool:
    """Whether the values of an argument are actions: `state_event: close | reopen`."""
    values = enum_of(read.arguments[argument])
    named = singulars(argument)[-1:] in (("event",), ("action",), ("transition",))
    return named and all(snake(str(value)) in ACTIONS for value in values) and bool(values)


def is_no_field(read: Reading, argument: str) -> bool:
    """Whether an argument of create or update is none of the record's fields, though it is stored
    nowhere else: records written as text, options, parts that are added to a field."""
    shape, word, parts = read.arguments[argument], snake(argument), singulars(argument)
    kind = kind_of(shape)
    if word in PROJECTIONS or (read.does == "update" and is_event(read, argument)):
        return True
    if read.does == "update" and len(parts) > 1 and parts[-1] == "scope":
        return True
    if kind == "boolean" and len(parts) > 1 and parts[0] in OPTIONS:
        return True
    if read.does == "update" and len(parts) > 1 and parts[0] in ADDED:
        return True
    whole = read.several and parts[-len(read.noun) :] == read.noun
    if kind == "string" and not enum_of(shape):
        said = str(shape.get("description", ""))
        return word in ENCODED or whole or _JSON.search(said) is not None
    return kind == "object" and not properties(shape) and read.does == "update" and word in CHANGES


IGNORED = frozenset(
    "verbose pretty format response_format output_format detail_level include_details debug confirm"
    " confirmed force permanent permanently hard reason_for_call notify send_notification"
    " send_notifications send_updates request_id idempotency_key client_request_id timeout locale"
    " language_code".split()
)
"""Arguments that change nothing that is stored."""

_LIMITS = ("pattern", "format", "minLength", "maxLength", "minimum", "maximum")

TRIALS = frozenset("dry_run validate_only preview simulate".split())
"""Arguments with which nothing is done at all."""

PAYLOADS = frozenset(
    "body payload input attributes properties fields update updates changes patch".split()
)

_NO_SCOPE = frozenset(
    "title name body content contents description text message subject query summary note comment"
    " amount price quantity total value start end date due due_date start_time end_time".split()
)


def is_ignored(group: ToolGroup, argument: str) -> bool:
    """Whether an argument changes nothing that is stored: `request_id`, where there are no requests."""
    parts = singulars(argument)
    names = parts[-1:] == ("id",) and parts[:-1] in group.things
    return snake(argument) in IGNORED and not names


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
                continue
            if record is not None:
                group.described = group.described or len(properties(record)) > 1
                group.add_fields(record)
                for name in (
                    required_properties(record) if does in ("read", "list", "search") else ()
                ):
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
        if name not in group.fields:
            group.fields[name] = _argument_shape(group, name)
        elif name in group.key:
            group.fields[name] = {**_key_limits(group, name), **group.fields[name]}
        _require(group, name)


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
    for argument, shape in read.arguments.items():
        word, last = snake(argument), singulars(argument)
        named = last[-len(group.noun) :] == group.noun or last == read.noun
        if is_records(shape) and (named or (word in WRAPPERS and _is_all(read, group, argument))):
            return argument
        alone = sum(is_object(one) for one in read.arguments.values()) == 1
        if is_object(shape) and alone and (named or word in WRAPPERS | PAYLOADS):
            return argument
    return None


def _is_all(read: Reading, group: ToolGroup, argument: str) -> bool:
    """Whether a list holds the records, and is no field of one: the items of an order."""
    if group.field_named(argument) is not None:
        return False
    return all(
        name == argument or name in group.scope or snake(name) in IGNORED for name in read.arguments
    )


def record_shape(shape: dict[str, Any]) -> dict[str, Any]:
    """The shape of one record in an argument that holds records."""
    return item_of(shape) if kind_of(shape) == "array" else shape


def _require(group: ToolGroup, name: str) -> None:
    known = group.field_named(name) or name
    if known not in group.required:
        group.required.append(known)


def key_field(group: ToolGroup, argument: str, kind: str) -> str:
    """The field that an argument naming a record is about."""
    exact = next((one for one in group.fields if snake(one) == snake(argument)), None)
    if exact is not None:
        return exact
    if not kind:
        taken = {
            snake(name) for read in group.select("create", "upsert") for name in read.arguments
        }
        if snake(argument) in taken:
            return argument
        options = ("id", "key", "slug", "name", "number")
        return next((one for one in options if one in group.fields or one in taken), "id")
    found = next((one for one in group.fields if snake(one) == kind), None)
    if found is not None:
        return found
    named = (*group.noun, kind)
    owned = next(
        (one for one in group.fields if singulars(one) in (named, (group.noun[-1], kind))), None
    )
    if owned is not None:
        return owned
    if group.described and kind in STRONG:
        strong = [one for one in group.fields if snake(one) in STRONG]
        if len(strong) == 1:
            return strong[0]
    creators = group.select("create", "upsert")
    for read in creators:
        for one in read.arguments:
            if singulars(one) == singulars(argument):
                return one
    return kind


def keys_of(read: Reading, group: ToolGroup) -> list[tuple[str, str]]:
    """The arguments of a tool that name records, each with its field; the surest kind only."""
    found = list(key_arguments(read, group.noun))
    sure = [(argument, kind) for argument, kind, certain in found if certain]
    own = [
        (argument, kind)
        for argument, kind in sure
        if len(singulars(argument)) > 1 or len(sure) == 1
    ]
    if sure:
        chosen = own or sure
        if read.does in ("update", "delete"):
            # What may be left out is what changes, or says more.
            chosen = [one for one in chosen if one[0] in read.required] or chosen
        if read.does == "read":
            # Any of several ways to name one: `get_user(id?, email?)`.
            chosen = sure + [
                (argument, kind)
                for argument, kind, certain in found
                if not certain and argument not in read.required and kind
            ]
    else:
        weak = [(argument, kind) for argument, kind, _ in found if argument in read.required]
        nouns = [one for one in weak if one[1] == "" or len(singulars(one[0])) > 1]
        chosen = nouns[:1] or weak[:1]
        if read.does == "read" and not chosen:
            chosen = [(argument, kind) for argument, kind, _ in found if kind]
    pairs = [(argument, key_field(group, argument, kind)) for argument, kind in chosen]
    if not pairs and read.by and read.does in ("read", "delete", "update"):
        named = read.argument_named("_".join(read.by))
        if named is not None and group.field_named(named) is not None:
            pairs = [(named, group.field_named(named) or named)]
    return pairs


def names_itself(read: Reading, group: ToolGroup, argument: str) -> bool:
    """Whether what is made is named by a word for it: `create_branch(branch)`, where others take
    `branch_name`."""
    bare = singulars(argument) in (group.noun, group.noun[-1:])
    named = group.key[0] in WEAK and read.argument_named(group.key[0]) is None
    return bare and named and kind_of(read.arguments[argument]) in ("string", "")


def _choose_key(group: ToolGroup) -> None:
    votes: dict[str, list[int]] = {}
    for read in group.select("read", "update", "delete", "upsert"):
        for argument, name in keys_of(read, group):
            tally = votes.setdefault(name, [0, 0])
            tally[0] += argument in read.required
            tally[1] += 1
    order = (*STRONG, *WEAK)
    if votes:
        name = min(
            votes,
            key=lambda one: (
                [-count for count in votes[one]],
                order.index(_kind(one, group)) if _kind(one, group) in order else len(order),
                one,
            ),
        )
        group.key = (name,)
    else:
        group.key = _key_of_fields(group)
    makers = group.select("create", "upsert")
    given = [read for read in makers if _gives_key(read, group)]
    group.generated_key = not (makers and len(given) == len(makers))


def _kind(name: str, group: ToolGroup) -> str:
    parts = singulars(name)
    return parts[-1] if parts[:-1] in ((), group.noun, group.noun[-1:]) and parts else ""


def _key_of_fields(group: ToolGroup) -> tuple[str, ...]:
    """The key where no tool takes one."""
    for kind in STRONG:
        for name in group.fields:
            if _kind(name, group) == kind:
                return (name,)
    for read in group.select("delete", "create", "upsert"):
        argument = records_argument(read, group)
        if argument is not None:
            record = record_shape(read.arguments[argument])
            for name in properties(record):
                if _kind(name, group) in (*STRONG, "name"):
                    return (name,)
            if read.does == "delete":
                return tuple(required_properties(record)) or tuple(properties(record))
    return ("id",)


def _gives_key(read: Reading, group: ToolGroup) -> bool:
    argument = records_argument(read, group)
    if argument is not None:
        needed = required_properties(record_shape(read.arguments[argument]))
        return set(group.key) <= set(needed)
    found = {snake(name) for name in read.required}
    taken = found | {field for name, field in keys_of(read, group) if name in read.required}
    taken |= {
        group.key[0]
        for name in read.required
        if name in read.arguments and names_itself(read, group, name)
    }
    return all(snake(name) in found or name in taken for name in group.key)


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
            matching = [(one, one.argument_named(snake(argument))) for one in rest]
            needed = any(
                own is not None and own in one.required
                for one, own in matching
                if one.does != "update"
            )
            everywhere = bool(rest) and all(own is not None for _, own in matching)
            named = (argument in read.required and needed) or (
                everywhere and _names_other(argument)
            )
            # What an update may leave out is what it changes.
            changed = any(
                own is not None and own not in one.required and not everywhere
                for one, own in matching
                if one.does == "update"
            )
            if named and not changed:
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
    if kind_of(shape) not in ("string", "integer", "number", "") or enum_of(shape):
        return False
    if kind_of(shape) == "number" and singulars(argument)[-1:] not in (("number",), ("id",)):
        return False
    if shape.get("format") in ("date", "date-time", "time", "email", "uri"):
        return False
    return snake(argument) not in _NO_SCOPE and not is_ignored(group, argument)


def _take_input(group: ToolGroup, read: Reading) -> None:
    """Fields from what create and update take."""
    argument = records_argument(read, group)
    if argument is not None:
        record = record_shape(read.arguments[argument])
        for name, one in properties(record).items():
            if snake(name) not in TRIALS and not is_ignored(group, name):
                _take_field(group, name, one)
        if read.does == "create":
            for name in required_properties(record):
                _require(group, name)
    named = {name for name, _ in keys_of(read, group)} if read.does != "create" else set[str]()
    for name, one in read.arguments.items():
        if name == argument or name in named or snake(name) in TRIALS or is_ignored(group, name):
            continue
        if argument is not None and group.field_named(name) is None:
            continue
        if is_no_field(read, name) and name not in group.fields:
            continue
        if names_itself(read, group, name):
            continue
        if read.does == "update" and snake(name).startswith("new_"):
            name = name.removeprefix("new_")
        if read.does == "update" and group.field_named(name) is None and _is_key_name(group, name):
            continue
        kept = _take_field(group, name, one)
        if read.does == "create" and name in read.required:
            _require(group, kept)


def _is_key_name(group: ToolGroup, name: str) -> bool:
    return singulars(name)[-1:] == ("id",) and singulars(name)[:-1] == group.noun


def _take_field(group: ToolGroup, name: str, shape: dict[str, Any]) -> str:
    known = group.field_named(name)
    return group.add_field(known or name, shape)


def _take_filters(group: ToolGroup, read: Reading) -> None:
    """Enumerated and yes-or-no filters show a field where no output schema shows the fields."""
    if group.described:
        for name, one in read.arguments.items():
            known = group.field_named(name)
            if known is not None and enum_of(one):
                group.add_field(known, one)
        return
    for name, one in read.arguments.items():
        if snake(name) in STATES and kind_of(one) == "string" and group.field_named(name) is None:
            values = [value for value in enum_of(one) if value not in ("all", "any")]
            if len(values) > 1:
                group.add_field(name, {**one, "enum": values})


def _key_limits(group: ToolGroup, name: str) -> dict[str, Any]:
    """What tools demand of a key that they are given, and an output schema does not say."""
    found: dict[str, Any] = {}
    for read in group.readings:
        for argument, own in keys_of(read, group):
            shape = read.arguments[argument]
            one = item_of(shape) if kind_of(shape) == "array" else shape
            if own == name and kind_of(one) == kind_of(group.fields[name]):
                found = {**{limit: one[limit] for limit in _LIMITS if limit in one}, **found}
    return found


def _argument_shape(group: ToolGroup, name: str) -> dict[str, Any]:
    for read in group.readings:
        for argument, own in keys_of(read, group):
            if own == name:
                shape = read.arguments[argument]
                return item_of(shape) if kind_of(shape) == "array" else shape
        found = read.argument_named(snake(name))
        if found is not None:
            return read.arguments[found]
    return {}


def table_name_of(argument: str) -> str:
    """The table that an argument such as `ticket_id` would name: `tickets`."""
    parts = singulars(argument)
    if len(parts) > 1 and parts[-1] in (*STRONG, *WEAK):
        parts = parts[:-1]
    return "_".join((*parts[:-1], plural(parts[-1]))) if parts else ""
