"""Schemas from plain data: the families that ship, and what a person or a model wrote."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from datetime import date
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard, get_args

from agentworld_sim.errors import UsageError, nearest
from agentworld_sim.extras import require
from agentworld_sim.fiction.fiction_draft import create_tables
from agentworld_sim.fiction.fiction_schema import Column, FictionSchema, Table
from agentworld_sim.fiction.makes import (
    After,
    Between,
    Make,
    Name,
    OneOf,
    Pattern,
    Pick,
    Sql,
    Times,
)
from agentworld_sim.fiction.name_grammar import name_kinds

if TYPE_CHECKING:
    from pydantic import TypeAdapter

FAMILIES = resources.files(__name__.rpartition(".")[0]) / "families"
_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]*")
_KINDS = {next(iter(make.__annotations__)): make.__name__ for make in get_args(Make)}
"""What tells which of the makes a mapping is: its first key."""
_MAKES_OF_TYPE = {
    "date": Between | After | OneOf | Sql,
    "boolean": OneOf | Sql,
    "integer": Between | After | Times | OneOf | Sql,
    "number": Between | After | Times | OneOf | Sql,
    "text": OneOf | Pattern | Name | Sql,
}
_CHANGING = set("random randomblob current_date current_time current_timestamp".split())
"""Functions of SQL that say something else each time."""
_COMPARISONS = ("equal", "at_least", "at_most")


def family_names() -> list[str]:
    """The families that ship."""
    return sorted(
        one.name.removesuffix(".yaml") for one in FAMILIES.iterdir() if one.name.endswith(".yaml")
    )


def family_text(name: str) -> str:
    """The YAML of a family: of one that ships, by its name, or of a file, by its path, which ends in `.yaml`.

    Raises:
        UsageError: there is none.
    """
    known = family_names()
    if name in known:
        return (FAMILIES / f"{name}.yaml").read_text(encoding="utf-8")
    try:
        if name.endswith(".yaml"):
            return Path(name).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(f"the family {name!r} cannot be read: {error}.") from None
    raise UsageError(
        f"there is no family {name!r} of fictional worlds.{nearest(name, known)} There are: {', '.join(known)}; or"
        " name a file: world.yaml."
    )


def family_data(name: str) -> dict[str, Any]:
    """A family as plain data. Raises `UsageError` where there is none, or its file holds something else."""
    import yaml

    try:
        data: object = yaml.load(family_text(name), yaml.CSafeLoader)
    except yaml.YAMLError as error:
        raise UsageError(f"the family {name!r} is no YAML: {error}.") from None
    if not isinstance(data, dict):
        raise UsageError(f"the family {name!r} is no mapping with `about` and `tables`.")
    # Through JSON: keys that YAML takes for numbers, dates or nothing are texts.
    return {"name": Path(name).stem} | json.loads(json.dumps(data, default=str))


def read_family(name: str) -> FictionSchema:
    """The schema of a family, by its name or its file's path.

    Raises:
        UsageError: there is none, or it cannot be used.
    """
    return _read(name, family_text(name))


@lru_cache(maxsize=32)
def _read(name: str, text: str) -> FictionSchema:
    del text  # a file may change
    return read_schema(family_data(name))


def read_schema(data: Mapping[str, Any]) -> FictionSchema:
    """A schema of plain data, such as YAML and JSON hold.

    Raises:
        UsageError: the data is no schema; it names every problem.
    """
    from pydantic import ValidationError

    try:
        # Through JSON, in which lists are tuples and nothing else is taken for what it is not.
        text = json.dumps(data, default=str, allow_nan=False)
        schema = _adapter().validate_json(text, strict=True)
    except ValidationError as error:
        problems = list(_type_problems(error, data))
    except ValueError as error:
        problems = [str(error)]
    else:
        problems = list(_problems(schema)) or list(_sql_problems(schema))
        if not problems:
            return schema
    lines = "\n  ".join(dict.fromkeys(problems))
    raise UsageError(f"the schema {data.get('name')!r} cannot be used:\n  {lines}")


@cache
def _adapter() -> TypeAdapter[FictionSchema]:
    from pydantic import TypeAdapter

    return TypeAdapter(FictionSchema)


def _type_problems(error: Any, data: Any) -> Iterator[str]:
    for one in error.errors(include_url=False):
        words: list[str] = []
        at, place = data, list(one["loc"])
        while place and words[-1:] != ["make"]:
            part = place.pop(0)
            at = _item(at, part)
            words.append(
                str(_item(at, "name") if isinstance(part, int) and _item(at, "name") else part)
            )
        missing = one["type"] == "missing"
        message = "it is missing" if missing else f"{one['msg']}, not {one['input']!r}"
        if place:
            # Pydantic says what is wrong with it as each of the makes.
            kinds = [kind for key, kind in _KINDS.items() if isinstance(at, Mapping) and key in at]
            if len(kinds) != 1:
                message = f"it needs exactly one of {', '.join(_KINDS)}"
            elif place[0] == kinds[0]:
                words += [str(part) for part in place[1:2]]
            else:
                continue
        yield f"{'.'.join(words)}: {message}."


def _item(of: Any, part: str | int) -> Any:
    try:
        return of[part]
    except (LookupError, TypeError):
        return None


Tables = Mapping[str, Mapping[str, Column]]
"""Columns by table and name, as far as they stand before the place that is looked at."""


def _problems(schema: FictionSchema) -> Iterator[str]:
    """What is wrong beside the types of values."""
    if not _fits(schema.today, "date"):
        yield f"today: {schema.today!r} is no date YYYY-MM-DD."
    tables: dict[str, dict[str, Column]] = {}
    for table in schema.tables:
        where = f"tables.{table.name}"
        if table.name in tables:
            yield f"{where}: there are two tables of this name."
        columns = tables[table.name] = {}
        for column in table.columns:
            if column.name in columns or column.name == table.key:
                yield f"{where}.{column.name}: there are two columns of this name."
            for problem in _column_problems(table.name, column, tables):
                yield f"{where}.{column.name}: {problem}"
            columns[column.name] = column
        yield from (f"{where}.{problem}" for problem in _row_problems(table, schema))
        for name in (column for group in table.unique for column in group):
            if name not in columns:
                yield f"{where}.unique: {_no('column', name, columns)}"
        if table.title:
            title = columns.get(table.title)
            if not (title and title.unique and title.type == "text" and not title.nullable):
                yield f"{where}.title: {table.title!r} is no column of unique texts."
        if not (table.share > 0 and table.least > 0):
            yield f"{where}: share and least are more than 0."
    for rule in schema.rules:
        if rule.table and rule.table not in tables:
            yield f"rules.{rule.says}: {_no('table', rule.table, tables)}"


def _no(kind: str, name: str, known: Iterable[str]) -> str:
    return f"there is no {kind} {name!r}.{nearest(name, known)} There are: {', '.join(known)}."


def _column_problems(table: str, column: Column, tables: Tables) -> Iterator[str]:
    make = column.make
    yield from filter(None, map(_template_problem, (*column.says, *column.asks.values())))
    for comparison in column.asks:
        if comparison not in _COMPARISONS:
            yield f"asks: {_no('comparison', comparison, _COMPARISONS)}"
    if make and make.null and (not column.nullable or isinstance(make, Name | Sql)):
        yield "it is empty at times, and not nullable, or a name, or computed."
    if column.references:
        if column.references not in tables:
            yield f"references: {_no('table', column.references, tables)} A table stands after those it refers to."
            return
        if column.references == table and not column.nullable:
            yield "it refers to its own table, and is not nullable: the first row would have none."
        if column.type != "integer" or not isinstance(make, Pick | Sql | None):
            yield "it refers to a table: its type is integer, and its make is a pick."
    elif make and not isinstance(make, _MAKES_OF_TYPE[column.type]):
        yield f"{type(make).__name__} makes no {column.type}."
    paths: list[str] = []
    literals: list[Any] = []
    match make:
        case Name() if make.name not in name_kinds():
            yield _no("kind of name", make.name, name_kinds())
        case OneOf():
            literals = list(make.one_of)
            if not literals:
                yield "one_of: it has no values."
        case Between():
            paths = [one for one in make.between if _is_path(one)]
            literals = [one for one in make.between if not _is_path(one)]
            low = make.between[0]
            if make.shape == "log" and not (isinstance(low, int | float) and low > 0):
                yield "shape: orders of magnitude begin at a number above 0."
        case After() | Times():
            paths = [make.after if isinstance(make, After) else make.times]
            if make.by[0] > make.by[1]:
                yield f"by: nothing is between {make.by[0]} and {make.by[1]}."
        case Pick():
            paths = [*make.like.values(), *filter(None, [make.other_than])]
            for name in make.like:
                if column.references and name not in (known := tables[column.references]):
                    yield f"like: {_no('column', name, known)}"
        case _:
            pass
    if isinstance(make, Between | After | Times):
        least = 1e-6 if column.type == "number" else 1
        if make.step < least:
            yield f"step: it is {least} or more."
    if wrong := [one for one in literals if not _fits(one, column.type)]:
        yield f"{wrong} are not of the type {column.type}."
    elif isinstance(make, Between) and len(literals) == 2 and literals[0] > literals[1]:
        yield f"nothing is between {literals[0]} and {literals[1]}."
    for path in paths:
        if path != "today":
            yield from _path_problems(path, column, table, tables)


def _row_problems(table: Table, schema: FictionSchema) -> Iterator[str]:
    """What is wrong with rows that somebody wrote, beside what SQL refuses."""
    if table.rows and table.given:
        yield "rows: they follow from a query, `given`."
    columns = {column.name: column for column in table.columns}
    for number, row in enumerate(table.rows, 1):
        for name, value in row.items():
            where, column = f"rows.{number}.{name}", columns.get(name)
            if column is None:
                yield f"{where}: {_no('column', name, columns)}"
            elif isinstance(column.make, Sql):
                yield f"{where}: it is computed. Leave it out."
            elif value is None:
                continue
            elif column.references:
                titles = [
                    one.get(other.title)
                    for other in schema.tables
                    if other.name == column.references
                    for one in (other.rows[: number - 1] if other is table else other.rows)
                ]
                if value not in titles:
                    yield f"{where}: no row of {column.references!r} before it has the title {value!r}; these have one: {titles}."
            elif not (_fits(value, column.type) and isinstance(value, str) == (column.type in ("text", "date"))):  # fmt: skip
                yield f"{where}: {value!r} is not of the type {column.type}."
            elif isinstance(column.make, OneOf) and str(value) not in map(str, column.make.one_of):
                yield f"{where}: {value!r} is none of {list(column.make.one_of)}."


@cache
def _template_problem(text: str) -> str:
    jinja = require("jinja2", extra="fiction")
    try:
        jinja.Environment().parse(text)
    except jinja.TemplateError as error:
        return f"{error}, in: {text!r}."
    return ""


def _fits(value: object, type: str) -> bool:
    """Whether a value of a schema can stand in a column. The keys of a mapping are texts, also those of numbers."""
    try:
        if type == "date":
            return date.fromisoformat(str(value)).isoformat() == value
        if type != "text":
            (float if type == "number" else int)(str(value))
            return True
    except ValueError:
        return False
    return isinstance(value, str)


def _is_path(bound: object) -> TypeGuard[str]:
    return isinstance(bound, str) and not bound[:1].isdigit()


def _path_problems(path: str, of: Column, table: str, tables: Tables) -> Iterator[str]:
    names = path.split(".")
    for number, name in enumerate(names, 1):
        column = tables[table].get(name)
        if column is None:
            yield f"the path {path!r}: {_no('column', name, tables[table])} A path takes columns that stand before."
            return
        if isinstance(column.make, Sql):
            yield f"the path {path!r}: {name!r} is computed after the drawing, and nothing is drawn from it."
        if number < len(names):
            table = column.references
            if table not in tables:
                yield f"the path {path!r}: {name!r} refers to no table."
                return
        elif (column.type == "date") != (of.type == "date") or (
            column.type == "text" and not of.references
        ):
            yield f"the path {path!r} leads to a {column.type}, and the column is a {of.type}."


def _authorise(action: int, _table: str | None, name: str | None, *_: str | None) -> int:
    changing = action == sqlite3.SQLITE_FUNCTION and name in _CHANGING
    return sqlite3.SQLITE_DENY if changing else sqlite3.SQLITE_OK


def _sql_problems(schema: FictionSchema) -> Iterator[str]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.set_authorizer(_authorise)

        def problems(where: str, statement: str) -> Iterator[str]:
            try:
                connection.execute(statement)
            except (sqlite3.Error, sqlite3.Warning) as error:
                yield f"{where}: {error}, in: {statement}."
            if "'now'" in statement.lower():
                yield f"{where}: 'now' is another day each time; the schema's `today` is {schema.today}."

        for table in schema.tables:
            for name in (table.name, table.key, *(column.name for column in table.columns)):
                if not _IDENTIFIER.fullmatch(name):
                    yield f"tables.{table.name}: {name!r} is no name of small letters, digits and _."
                else:
                    # Which a word of SQL cannot be.
                    yield from problems(f"tables.{table.name}", f"select 1 as {name}")
        try:
            create_tables(connection, schema)
        except (sqlite3.Error, sqlite3.Warning) as error:
            yield f"tables: {error}."
            return
        for table in schema.tables:
            where = f"tables.{table.name}"
            given: set[str] = set()
            if table.given:
                # As a part of another query it cannot be anything but a query.
                query = f"select * from ({table.given}) limit 0"
                yield from (wrong := list(problems(f"{where}.given", query)))
                given = (
                    set() if wrong else {one[0] for one in connection.execute(query).description}
                )
            without = {column.name for column in table.columns if not column.make}
            if given != without:
                yield f"{where}: {sorted(given ^ without)}: a column has a make, or is given, and not both."
            for column in table.columns:
                if isinstance(column.make, Sql):
                    query = f"explain select ({column.make.sql}) from {table.name}"
                    yield from problems(f"{where}.{column.name}", query)
        for rule in schema.rules:
            yield from problems(f"rules.{rule.says}", f"explain select * from ({rule.none})")
