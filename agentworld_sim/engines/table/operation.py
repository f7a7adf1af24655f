"""What a tool does to records: the vocabulary that inference writes and execution reads."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agentworld_sim.relational.layout import Table

SAID = "the scenario says so"
"""Of operations that were not inferred."""

Does = Literal["create", "read", "list", "search", "count", "update", "upsert", "delete"]
"""What a tool does to the records of one table."""

Role = Literal[
    "key",
    "scope",
    "field",
    "text",
    "limit",
    "offset",
    "page",
    "cursor",
    "sort",
    "direction",
    "projection",
    "records",
    "ignored",
    "unknown",
]
"""What an argument is for.

* `key` names a record. A list of them names several.
* `scope` says to what the record belongs (an owner, a repository, a parent): kept in the record when it
  is created, and equal for every record that is found.
* `field` is a value of the record: written by create and update, compared by list, search and count.
* `text` is searched for in the record's texts.
* `limit`, `offset`, `page`, `cursor`, `sort`, `direction`, `projection` shape a list.
* `records` is a list of whole records (create, update, upsert) or of keys (delete); a single object
  counts as a list of one, and for update it holds what changes.
* `ignored` changes nothing that is computed, for example `verbose`.
* `unknown` cannot be computed: a call that gives it a value goes to the model.
"""


Compare = Literal["equal", "contains", "at_least", "at_most", "before", "after", "one_of"]


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a tool."""

    role: Role
    field: str = ""
    """The record's field, for `key`, `scope` and `field`; a dotted path inside the record."""
    compare: Compare = "equal"
    """How list, search and count compare the field with the argument."""
    first: int = 0
    """The number of the first page, for `page`."""
    values: Mapping[str, Any] = dataclasses.field(default_factory=dict[str, Any])
    """What a value of the argument stands for, where it is not itself: of a filter the value that is
    compared, or `None` for no filter (`state: all`); of `sort` the field (`created: created_at`)."""
    fields: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    """For `records`: property of an item to the record's field, where the names differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Where an answer carries what was computed. Paths are dotted; an empty one is the whole value."""

    record: str = ""
    """The record, for create, read, update, upsert and delete."""
    records: str = ""
    """The list of records."""
    total: str | None = None
    """How many records there are before limits."""
    count: str | None = None
    """How many are in this answer."""
    cursor: str | None = None
    """What fetches the next page; absent at the end."""
    more: str | None = None
    """Whether there is a next page."""
    values: str = ""
    """The field whose values the list holds, where its items are no records: `list_keys`."""
    fixed: Mapping[str, Any] = dataclasses.field(default_factory=dict[str, Any])
    """Path to what always stands there when it went well: `success: true`."""
    arguments: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    """Path to the argument whose value stands there: `query: q`."""
    message: str | None = None
    """A sentence for people about what was done."""
    schema: Mapping[str, Any] | None = None
    """The tool's output schema. Without one the answer is the JSON text of the value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """What one tool does to one table."""

    tool: str
    does: Does
    table: str
    """In the plural, in snake case: `issues`, `pull_requests`."""
    arguments: Mapping[str, Argument] = dataclasses.field(default_factory=dict[str, Argument])
    output: Output = Output()
    changes: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    """For update: field to an arithmetic expression over the record's fields and the call's
    arguments, for example `balance: balance + amount`. Only a scenario says so."""
    requires: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    """Expression that must hold, to the text of the error when it does not. Only a scenario says so."""
    fixed: Mapping[str, Any] = dataclasses.field(default_factory=dict[str, Any])
    """Values that the tool itself writes or compares: `close_issue` writes `state: closed`."""
    reasons: tuple[str, ...] = ()
    """Why it was understood so, for people."""


EVERY = "*"
"""Among the tables that a scenario describes: what it says of every table, which is `generate` alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the tools of a world do to which tables."""

    operations: Mapping[str, Operation] = dataclasses.field(default_factory=dict[str, Operation])
    """By tool name."""
    tables: Mapping[str, Table] = dataclasses.field(default_factory=dict[str, Table])
    unbound: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    """Tool to the reason why it has no operation, for people."""
