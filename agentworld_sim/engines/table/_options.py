"""Arguments of create and update that are no fields of the record: options, and fields as text."""

from __future__ import annotations

import re

from agentworld_sim.engines.table._verbs import ACTIONS
from agentworld_sim.engines.table.json_schemas import enum_of, kind_of, properties
from agentworld_sim.engines.table.reading import Reading
from agentworld_sim.engines.table.words import singulars, snake

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
