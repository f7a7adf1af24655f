"""Schemas from plain data: the families that ship, and what a person or a model wrote."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import date
from functools import cache
from importlib import resources
from typing import Any

from agentworld_sim.errors import UsageError, nearest
from agentworld_sim.fiction.fiction_draft import create_tables
from agentworld_sim.fiction.makes import After, Between, Make, Name, OneOf, Pick, Sql, Times
from agentworld_sim.fiction.name_grammar import name_kinds
from agentworld_sim.fiction.schema import Column, FictionSchema, Table

_FAMILIES = resources.files(__package__) / "families"
_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]*")
_TYPES = {
    "date": ("Between", "After", "OneOf", "Sql"),
    "boolean": ("OneOf", "Between", "Sql"),
    "integer": ("Between", "After", "Times", "OneOf", "Sql"),
    "number": ("Between", "After", "Times", "OneOf", "Sql"),
    "text": ("OneOf", "Pattern", "Name", "Form", "Sql"),
}
"""What can make the values of a type, beside `Pick` for those that refer to a table."""


def family_names() -> list[str]:
    """The families that ship."""
    return sorted(
        one.name.removesuffix(".yaml") for one in _FAMILIES.iterdir() if one.name.endswith(".yaml")
    )


@cache
def read_family(name: str) -> FictionSchema:
    """The schema of a family that ships.

    Raises:
        UsageError: there is none of this name.
    """
    import yaml

    known = family_names()
    if name not in known:
        raise UsageError(
            f"there is no family {name!r} of fictional worlds.{nearest(name, known)} There are: {', '.join(known)}."
        )
    text = (_FAMILIES / f"{name}.yaml").read_text(encoding="utf-8")
    return read_schema({"name": name} | yaml.load(text, yaml.CSafeLoader))


def read_schema(data: Mapping[str, Any]) -> FictionSchema:
    """A schema of plain data, such as YAML and JSON hold.

    Raises:
        UsageError: the data is no schema; it names every problem.
    """
    from pydantic import TypeAdapter, ValidationError

    name = data.get("name")
    try:
        # Through JSON, in which lists are tuples and nothing else is taken for what it is not.
        schema = TypeAdapter(FictionSchema).validate_json(
            json.dumps(data, default=str), strict=True
        )
    except ValidationError as error:
        raise _error(name, [*_type_problems(error, data)]) from None
    problems = [*_problems(schema)] or [*_sql_problems(schema)]
    if problems:
        raise _error(name, problems)
    return schema


def _error(name: object, problems: list[str]) -> UsageError:
    return UsageError(
        f"the schema {name!r} cannot be used:\n  " + "\n  ".join(dict.fromkeys(problems))
    )


_KINDS = {
    "between": "Between",
    "after": "After",
    "times": "Times",
    "one_of": "OneOf",
    "pattern": "Pattern",
    "name": "Name",
    "form": "Form",
    "pick": "Pick",
    "sql": "Sql",
}
"""What tells which of the makes a mapping is."""


def _type_problems(error: Any, data: Any) -> Iterator[str]:
    for one in error.errors(include_url=False):
        words: list[str] = []
        at, place = data, list(one["loc"])
        while place:
            part = place.pop(0)
            found = _item(at, part)
            words.append(
                str(found.get("name", part))
                if isinstance(part, int) and isinstance(found, Mapping)
                else str(part)
            )
            at = found
            if part == "make":
                break
        message = (
            f"{one['msg']}, not {one['input']!r}" if one["type"] != "missing" else "is missing"
        )
        if place:
            # Pydantic says what is wrong with it as each of the makes.
            kinds = [kind for key, kind in _KINDS.items() if isinstance(at, Mapping) and key in at]
            if len(kinds) == 1:
                if place[0] != kinds[0]:
                    continue
                words += [str(part) for part in place[1:2]]
            else:
                message = f"it needs exactly one of {', '.join(_KINDS)}"
        yield f"{'.'.join(words)}: {message}."


def _item(of: Any, part: str | int) -> Any:
    try:
        return of[part]
    except (KeyError, IndexError, TypeError):
        return None


def _problems(schema: FictionSchema) -> Iterator[str]:
    """What is wrong beside the types of values."""
    tables: dict[str, Table] = {}
    for table in schema.tables:
        if table.name in tables:
            yield f"tables.{table.name}: there are two tables of this name."
        columns: dict[str, Column] = {}
        for column in table.columns:
            where = f"tables.{table.name}.{column.name}"
            if column.name in columns or column.name == table.key:
                yield f"{where}: there are two columns of this name."
            for problem in _column_problems(table, column, tables | {table.name: table}, columns):
                yield f"{where}: {problem}"
            columns[column.name] = column
        for name in (column for group in table.unique for column in group):
            if name not in columns:
                yield f"tables.{table.name}.unique: {_no('column', name, columns)}"
        title = columns.get(table.title)
        if table.title and not (
            title and title.unique and title.type == "text" and not title.nullable
        ):
            yield f"tables.{table.name}.title: {table.title!r} is no column of unique texts."
        if not table.share > 0:
            yield f"tables.{table.name}.share: it is more than 0."
        tables[table.name] = table
    for rule in schema.rules:
        if rule.table and rule.table not in tables:
            yield f"rules.{rule.says}: {_no('table', rule.table, tables)}"


def _no(kind: str, name: str, known: Mapping[str, object]) -> str:
    return f"there is no {kind} {name!r}.{nearest(name, known)} There are: {', '.join(known)}."


def _column_problems(
    table: Table, column: Column, tables: Mapping[str, Table], before: Mapping[str, Column]
) -> Iterator[str]:
    make = column.make
    if make and make.null and (not column.nullable or isinstance(make, Name | Sql)):
        yield "it is empty at times, and not nullable, or a name, or computed."
    if column.references:
        if column.references not in tables:
            yield f"it refers to a table that does not stand before: {_no('table', column.references, tables)}"
            return
        if column.references == table.name and not column.nullable:
            yield "it refers to its own table, and is not nullable: the first row would have none."
        if column.type != "integer" or not isinstance(make, Pick | Sql | None):
            yield "it refers to a table: its type is integer, and its make is a pick."
    elif make and type(make).__name__ not in _TYPES[column.type]:
        yield f"{type(make).__name__} makes no {column.type}."
    if isinstance(make, Name) and make.name not in name_kinds():
        yield f"there is no kind of name {make.name!r}. There are: {', '.join(name_kinds())}."
    if isinstance(make, OneOf):
        wrong = [one for one in make.one_of if not _fits(one, column.type)]
        if wrong or not make.one_of:
            yield f"one_of: {wrong} are of another type than {column.type}."
    if isinstance(make, Between):
        low, high = make.between
        literal = [one for one in make.between if not _is_path(one)]
        if not all(_fits(one, column.type) for one in literal):
            yield f"between: {literal} are of another type than {column.type}."
        elif len(literal) == 2 and not low <= high:  # pyright: ignore[reportOperatorIssue]
            yield f"nothing is between {low} and {high}."
        elif make.shape == "log" and (
            column.type == "date" or not isinstance(low, int | float) or low <= 0
        ):
            yield "shape: the orders of magnitude begin with a number above 0."
    for path in _paths(make):
        yield from _path_problems(path, column, tables, before)
    if isinstance(make, Pick):
        for name in make.like:
            if column.references and name not in (
                one.name for one in tables[column.references].columns
            ):
                yield f"like: the table {column.references!r} has no column {name!r}."


def _fits(value: object, type: str) -> bool:
    """Whether a value of a schema can stand in a column. The keys of a mapping are texts, also those of numbers."""
    try:
        match type:
            case "date":
                return isinstance(value, str) and bool(date.fromisoformat(value))
            case "integer" | "boolean":
                return not isinstance(value, float) and isinstance(int(str(value)), int)
            case "number":
                return isinstance(float(str(value)), float)
            case _:
                return isinstance(value, str)
    except ValueError:
        return False


def _is_path(bound: object) -> bool:
    return isinstance(bound, str) and not bound[:1].isdigit()


def _paths(make: Make | None) -> list[str]:
    match make:
        case Between():
            return [str(one) for one in make.between if _is_path(one) and one != "today"]
        case After():
            return [make.after]
        case Times():
            return [make.times]
        case Pick():
            return [*make.like.values(), *filter(None, [make.other_than])]
        case _:
            return []


def _path_problems(
    path: str, of: Column, tables: Mapping[str, Table], columns: Mapping[str, Column]
) -> Iterator[str]:
    for last, name in enumerate(path.split("."), 1 - len(path.split("."))):
        column = columns.get(name)
        if column is None:
            yield f"the path {path!r}: {_no('column', name, columns)} A path takes columns that stand before."
            return
        if isinstance(column.make, Sql):
            yield f"the path {path!r}: {name!r} is computed when all rows are drawn, and cannot be drawn from."
        if last and column.references not in tables:
            yield f"the path {path!r}: {name!r} refers to no table."
            return
        if not last and (column.type == "date") != (of.type == "date") and not of.references:
            yield f"the path {path!r} leads to a {column.type}, and the column is a {of.type}."
        if last:
            columns = {one.name: one for one in tables[column.references].columns}


def _sql_problems(schema: FictionSchema) -> Iterator[str]:
    with closing(sqlite3.connect(":memory:")) as connection:

        def problem(where: str, statement: str) -> Iterator[str]:
            try:
                connection.execute(statement)
            except (sqlite3.Error, sqlite3.Warning) as error:
                yield f"{where}: {error}, in: {statement}"

        for table in schema.tables:
            for name in (table.name, table.key, *(column.name for column in table.columns)):
                if not _IDENTIFIER.fullmatch(name):
                    yield f"tables.{table.name}: {name!r} is no name of small letters, digits and _."
                else:
                    yield from problem(
                        f"tables.{table.name}: {name!r} is a word of SQL", f"select 1 as {name}"
                    )
        try:
            create_tables(connection, schema)
        except (sqlite3.Error, sqlite3.Warning) as error:
            yield f"tables: {error}."
            return
        for table in schema.tables:
            where = f"tables.{table.name}"
            if table.given:
                # As a part of another query it cannot be anything but a query.
                yield from problem(f"{where}.given", f"select * from ({table.given}) limit 0")
            for column in table.columns:
                if isinstance(column.make, Sql):
                    statement = f"explain select ({column.make.sql}) from {table.name}"
                    yield from problem(f"{where}.{column.name}", statement)
        for rule in schema.rules:
            yield from problem(f"rules.{rule.says}", f"explain select * from ({rule.none})")
