"""What a scenario says of tables of records, and of the tools that work on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    JsonValue,
    WithJsonSchema,
    model_validator,
)

from agentworld_sim.engines.table.operation import SAID, Compare, Does, Role
from agentworld_sim.errors import nearest
from agentworld_sim.scenario._sections import JsonSchema
from agentworld_sim.scenario._types import (
    KeyedProblems,
    Matching,
    Natural,
    Problems,
    Strict,
    mismatch,
)

if TYPE_CHECKING:
    from agentworld_sim.engines.table import Argument, Operation, Output, Table

_TABLE = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}"
TableName = Annotated[
    str, Matching(_TABLE, "a table's name of letters, digits and _ - ., such as 'issues'")
]
DescribedTable = Annotated[
    str,
    Matching(
        rf"({_TABLE}|\*)",
        "a table's name of letters, digits and _ - ., such as 'issues', or '*' for all tables",
    ),
]
Text = Annotated[str, Field(min_length=1)]


def _names(value: Any) -> Any:
    """One name stands for a list of one."""
    return [value] if isinstance(value, str) else value


_NAMES_SCHEMA = WithJsonSchema(
    {
        "anyOf": [
            {"type": "string", "minLength": 1},
            {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1},
        ]
    }
)
Names = Annotated[tuple[Text, ...], Field(strict=False), BeforeValidator(_names), _NAMES_SCHEMA]


def _expression(text: str) -> str:
    from agentworld_sim.engines.table.expressions import parse_expression
    from agentworld_sim.errors import UsageError

    try:
        parse_expression(text)
    except UsageError as error:
        raise mismatch(f"an arithmetic expression; {error}") from None
    return text


Expression = Annotated[str, AfterValidator(_expression)]


class TableSpec(Strict):
    """A table of records. What is not said is inferred from the tools."""

    key: Annotated[Names, Field(min_length=1)] | None = None
    """The field that names a record within its scope, or several."""
    scope: Annotated[Names, Field(min_length=1)] | None = None
    """The fields that say to what a record belongs."""
    fields: Mapping[Text, JsonSchema] = Field(default_factory=dict[str, dict[str, Any]])
    """Fields with their JSON Schemas."""
    required: Annotated[tuple[Text, ...], Field(strict=False)] = ()
    """Fields that every record has."""
    parents: Mapping[Text, Text] = Field(default_factory=dict[str, str])
    """Scope field to the `table.field` that it names: `ticket_id: tickets.id`."""
    generated_key: bool | None = None
    """Whether the world gives new records their key; otherwise the caller names them."""
    records: Annotated[tuple[dict[str, JsonValue], ...], Field(strict=False)] = ()
    """The records at the start."""
    generate: Natural | None = None
    """How many records are made up at the start, beside those."""

    @model_validator(mode="after")
    def _check_records(self) -> TableSpec:
        KeyedProblems.raise_for(self._record_problems())
        return self

    def _record_problems(self) -> Problems:
        problems: Problems = []
        seen: dict[str, int] = {}
        for number, record in enumerate(self.records):
            for name in self.required:
                if name not in record:
                    message = f"it has no {name!r}, which `required` lists. Add it."
                    problems.append((("records", number), message))
            problems += self._field_problems(number, record)
            first = seen.setdefault(self._name_of(number, record), number)
            if first != number:
                shown = ", ".join(f"{name} = {record.get(name)!r}" for name in self._key_fields)
                message = f"{shown} names record {first} as well. Give each its own key."
                problems.append((("records", number), message))
        return problems

    def _field_problems(self, number: int, record: Mapping[str, Any]) -> Problems:
        from agentworld_sim.schema.validate import schema_problem

        problems: Problems = []
        for name, value in record.items():
            if name in self.fields:
                problem = schema_problem(self.fields[name], value)
                if problem is not None:
                    problems.append((("records", number, name), f"{problem}."))
            elif self.fields and name not in (*(self.key or ()), *(self.scope or ())):
                known = ", ".join(self.fields)
                message = f"no such field.{nearest(name, self.fields)} The fields are: {known}."
                problems.append((("records", number, name), message))
        return problems

    @property
    def _key_fields(self) -> tuple[str, ...]:
        return (*(self.scope or ()), *(self.key or ("id",)))

    def _name_of(self, number: int, record: Mapping[str, Any]) -> str:
        from agentworld_sim.types.json import canonical_json

        if self.key is None and "id" not in record:
            # What names a record is inferred later.
            return f"record {number}"
        if self.key is not None and any(name not in record for name in self.key):
            # A key that is not given is made up.
            return f"record {number}"
        return canonical_json([record.get(name) for name in self._key_fields])

    def to_table(self, name: str) -> Table:
        """The value that the table engine takes."""
        from agentworld_sim.engines.table import Table
        from agentworld_sim.relational.layout import DEFAULT_KEY

        key = DEFAULT_KEY if self.key is None else self.key
        said: dict[str, Any] = {
            **dict(self),
            "name": name,
            "key": key,
            "scope": self.scope or (),
            "generated_key": self.generated_key is not False,
        }
        return Table(**said)


def _argument_form(value: Any) -> Any:
    """A role alone stands for an argument that has it."""
    return {"role": value} if isinstance(value, str) else value


class ArgumentSpec(Strict):
    """What one argument of a tool is for."""

    role: Role
    """`key`, `scope`, `field`, `text`, `limit`, `records`, …"""
    field: str | None = None
    """The record's field, for `key`, `scope` and `field`; the argument's own name by default, and for
    `key` the table's only key where its records have no field of that name."""
    compare: Compare = "equal"
    """How list, search and count compare the field with it."""
    first: Literal[0, 1] | None = None
    """The number of the first page, for `page`; 1 by default."""
    values: Mapping[str, JsonValue] = Field(default_factory=dict[str, Any])
    """What a value stands for, where it is not itself; nothing for no filter."""
    fields: Mapping[str, Text] = Field(default_factory=dict[str, str])
    """For `records`: property of an item to the record's field, where the names differ."""

    @model_validator(mode="after")
    def _check_field(self) -> ArgumentSpec:
        if self.field is not None and self.role not in ("key", "scope", "field"):
            message = f"an argument of the role {self.role!r} has no field. Remove it."
            raise KeyedProblems([(("field",), message)])
        return self

    def to_argument(self, name: str) -> Argument:
        """The value that the table engine takes."""
        from agentworld_sim.engines.table import Argument

        about = self.role in ("key", "scope", "field")
        first = self.first if self.first is not None else 1 if self.role == "page" else 0
        field = (self.field or name) if about else ""
        said: dict[str, Any] = {**dict(self), "field": field, "first": first}
        return Argument(**said)


class OutputSpec(Strict):
    """Where an answer carries what was computed, as dotted paths; an empty one is the whole."""

    record: str = ""
    """The record, for create, read, update, upsert and delete."""
    records: str = ""
    """The list of records."""
    total: str | None = None
    """How many records there are before limits."""
    count: str | None = None
    """How many are in this answer."""
    cursor: str | None = None
    """What fetches the next page."""
    more: str | None = None
    """Whether there is a next page."""
    values: str = ""
    """The field whose values the list holds, where its items are no records."""
    fixed: Mapping[str, JsonValue] = Field(default_factory=dict[str, Any])
    """Path to what always stands there when it went well."""
    arguments: Mapping[str, str] = Field(default_factory=dict[str, str])
    """Path to the argument whose value stands there."""
    message: str | None = None
    """A sentence for people about what was done."""

    def to_output(self) -> Output:
        """The value that the table engine takes."""
        from agentworld_sim.engines.table import Output

        return Output(**dict(self))


class OperationSpec(Strict):
    """What one tool does to the records of one table."""

    does: Does
    """What it does."""
    table: TableName
    """To which table, in the plural."""
    arguments: Mapping[
        str,
        Annotated[
            ArgumentSpec,
            BeforeValidator(_argument_form),
        ],
    ] = Field(default_factory=dict[str, ArgumentSpec])
    """What its arguments are for, as a role or a mapping; the others are inferred."""
    output: OutputSpec | None = None
    """Where its answer carries what was computed; inferred from its output schema by default."""
    changes: Mapping[Text, Expression] = Field(default_factory=dict[str, str])
    """For update: field to an expression, for example `balance: balance + amount`."""
    requires: Mapping[Expression, Text] = Field(default_factory=dict[str, str])
    """Expression that must hold, to the text of the error when it does not."""
    fixed: Mapping[Text, JsonValue] = Field(default_factory=dict[str, Any])
    """Values that the tool itself writes or compares."""

    @model_validator(mode="after")
    def _check_changes(self) -> OperationSpec:
        if self.changes and self.does not in ("update", "upsert"):
            message = f"only an update changes fields by expressions, and this does {self.does!r}."
            raise KeyedProblems([(("changes",), message)])
        return self

    def to_operation(self, tool: str) -> Operation:
        """The value that the table engine takes."""
        from agentworld_sim.engines.table import Operation, Output

        read: dict[str, Any] = {
            "arguments": {name: one.to_argument(name) for name, one in self.arguments.items()},
            "output": Output() if self.output is None else self.output.to_output(),
        }
        return Operation(tool=tool, **{**dict(self), **read}, reasons=(SAID,))


__all__ = [
    "ArgumentSpec",
    "DescribedTable",
    "OperationSpec",
    "OutputSpec",
    "TableName",
    "TableSpec",
]
