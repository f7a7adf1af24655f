"""Has a model design a family of fictional worlds, and write rows of its things."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from agentworld_sim.engines.call_question import closed_object
from agentworld_sim.errors import UnusableReply, UsageError
from agentworld_sim.fiction.fiction import Fiction
from agentworld_sim.fiction.fiction_draft import row_counts
from agentworld_sim.fiction.fiction_questions import questions_of
from agentworld_sim.fiction.fiction_schema import Column, FictionSchema, Table
from agentworld_sim.fiction.makes import OneOf, Sql
from agentworld_sim.fiction.model_author import ModelAuthor
from agentworld_sim.fiction.name_grammar import name_kinds
from agentworld_sim.fiction.pages import fiction_pages
from agentworld_sim.fiction.recipe import FictionRecipe
from agentworld_sim.fiction.schema_files import family_data, read_schema
from agentworld_sim.ports.blocking import off_loop
from agentworld_sim.schema.validate import schema_problem

EXAMPLE = "products"
"""The family that a designer is shown."""

ROWS = 12
"""Rows that are asked of a model for each kind of thing; the rest is drawn."""

TRIAL_ROWS = 100
"""The size of the worlds in which rows are tried."""

QUESTIONS = 3
"""About a world of a family that can be used there are so many questions."""

_JSON_TYPES = {"text": "string", "date": "string", "integer": "integer", "boolean": "integer"}

DESIGN = f"""You design families of fictional worlds: databases of invented facts from which an internet is made.
You are given what a family shall be about, and a family about something else as an example of the form. Reply with JSON of
the same form: 3 to 7 tables, each after those that it refers to, at least two of them with a title and at least one of
events without. Every fact has `says` (sentences with title and value, always about one fact) and `asks`. All is invented:
no real person, firm, place or work. Kinds of names: {", ".join(name_kinds())}; other texts come from `one_of` or `pattern`.
Rules are SQLite queries that give the rows that break them; give them the `table` whose rows are drawn again. No recursive
queries, and nothing that depends on the time at which it is run."""

POPULATE = """You write rows of one table of a fictional world. You are given the family, the table, and how many rows to write.
All names are invented: nothing that exists. Reply with JSON: {"rows": [{column: value, …}, …]}. A date is YYYY-MM-DD, a
boolean 0 or 1; a column that refers to a table takes a title of one of its rows that are written. Rows keep to the checks
and rules of the family, together with each other. If some are refused, write those again and no others."""


async def design_family(
    name: str, about: str, author: ModelAuthor, done: Callable[[], None]
) -> tuple[dict[str, Any], list[str]]:
    """A family as plain data, with rows that the model wrote, and those of its rows that were refused to the end.

    Args:
        done: Called after the schema, and after the rows of each table.

    Raises:
        UnusableReply: no schema, or no row of a table, could be used.
        ModelFailure: the server does not answer, or refuses.
    """

    def read(data: Any) -> tuple[Any, list[str]]:
        if problem := schema_problem(_design_schema(), data):
            return None, [problem]
        data = {**data, "name": name}
        if "recursive" in json.dumps(data).lower():
            return None, ["there is a recursive query, which may never end."]
        problem = _problem(data, FictionRecipe(family=name), questions=QUESTIONS)
        return (None, [problem]) if problem else (data, [])

    example = {key: one for key, one in family_data(EXAMPLE).items() if key != "name"}
    given = {"about": about, "an example, about something else": example}
    data, problems = await author.write(DESIGN, given, _design_schema(), read)
    if data is None:
        raise _unusable(f"family about {about!r}", problems)
    done()
    refused: list[str] = []
    for place, table in enumerate(read_schema(data).tables):
        if table.title and not table.given:
            rows, problems = await _write_rows(data, place, author)
            if not rows:
                raise _unusable(f"rows of the table {table.name!r}", problems)
            data, refused = _with_rows(data, place, rows), refused + problems
        done()
    problem = await off_loop(
        lambda: _problem(data, FictionRecipe(family=name), QUESTIONS), brief=False
    )
    if problem:
        raise _unusable(f"family about {about!r} and rows", [problem])
    return data, refused


async def _write_rows(
    data: Mapping[str, Any], place: int, author: ModelAuthor
) -> tuple[list[Any], list[str]]:
    schema = read_schema(data)
    table = schema.tables[place]
    wanted = min(ROWS, row_counts(schema, FictionRecipe(family=schema.name).rows)[table.name])
    rows: list[Any] = []
    one_row = _row_schema(table, schema)

    def read(reply: Any) -> tuple[Any, list[str]]:
        if problem := schema_problem(_rows_schema({}), reply):
            return rows or None, [problem]
        problems: list[str] = []
        recipe = FictionRecipe(family=schema.name, rows=TRIAL_ROWS)
        for row in reply["rows"][: wanted - len(rows)]:
            problem = schema_problem(one_row, row)
            problem = problem or _problem(_with_rows(data, place, [*rows, row]), recipe)
            if problem:
                problems.append(f"{json.dumps(row, ensure_ascii=False)}: {problem}")
            else:
                rows.append(row)
        return rows or None, problems

    given = {"family": data, "table": table.name, "rows": wanted}
    written, problems = await author.write(POPULATE, given, _rows_schema(one_row), read)
    return written or [], problems


def _problem(data: Mapping[str, Any], recipe: FictionRecipe, questions: int = 0) -> str:
    """Why there is no world of a family, or none that can be asked about; empty where there is one."""
    from jinja2 import TemplateError

    try:
        fiction = Fiction.generate(recipe, read_schema(data))
        if questions:
            questions_of(fiction, questions, pages=fiction_pages(fiction))
    except (UsageError, TemplateError) as error:
        return str(error)
    return ""


def _with_rows(data: Mapping[str, Any], place: int, rows: list[Any]) -> dict[str, Any]:
    tables = list(data["tables"])
    tables[place] = {**tables[place], "rows": rows}
    return {**data, "tables": tables}


def _unusable(what: str, problems: list[str]) -> UnusableReply:
    return UnusableReply(
        f"the model wrote no {what} that can be used. The last was refused: {'; '.join(problems)}. Nothing was"
        " written. Say more of what the worlds are about, or name another model."
    )


@cache
def _design_schema() -> Mapping[str, Any]:
    """What a reply must fit: a schema without what a designer does not write."""
    from pydantic import TypeAdapter

    schema = TypeAdapter(FictionSchema).json_schema()
    for one, names in ((schema, ("name", "texts")), (schema["$defs"]["Table"], ("rows",))):
        for name in names:
            del one["properties"][name]
        one["required"] = [name for name in one["required"] if name not in names]
    return schema


def _rows_schema(row: Mapping[str, Any]) -> Mapping[str, Any]:
    return closed_object(rows={"type": "array", "minItems": 1, "items": row})


def _row_schema(table: Table, schema: FictionSchema) -> Mapping[str, Any]:
    """What a row has: all but what is computed, or refers to rows that nobody wrote."""
    columns = [
        one
        for one in table.columns
        if not isinstance(one.make, Sql)
        and (one.references in ("", table.name) or schema.table(one.references).rows)
    ]
    return closed_object(**{column.name: _value_schema(column) for column in columns})


def _value_schema(column: Column) -> Mapping[str, Any]:
    kind = "string" if column.references else _JSON_TYPES.get(column.type, "number")
    of: dict[str, Any] = {"type": kind}
    if isinstance(column.make, OneOf) and column.type == "text":
        of["enum"] = list(column.make.one_of)
    return {"anyOf": [of, {"type": "null"}]} if column.nullable else of
