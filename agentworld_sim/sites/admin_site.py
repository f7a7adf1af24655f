"""The admin site: every table as pages to list, filter, add, change and delete. It is a site as any other, made from
what the tables declare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from agentworld_sim.engines.table.json_schemas import not_null, nullable, types_of
from agentworld_sim.relational.columns import columns_of, quote
from agentworld_sim.relational.layout import Table
from agentworld_sim.scenario.site_file import ADMIN, Site

HOSTS = ("admin.test",)
PAGE_SIZE = 50

_PAGES = Path(__file__).parent / "admin_pages"
_LONG = 200
"""A text that may have more characters is typed into several lines."""
_INPUTS = {"date": "date", "email": "email", "uri": "url"}


def admin_site(tables: Iterable[Table], hosts: tuple[str, ...] | None = None) -> Site:
    """A site that shows and changes these tables."""
    known = [table for table in tables if columns_of(table)]
    listed = [{"name": table.name, "title": _title(table.name)} for table in known]
    counts = " UNION ALL ".join(
        f"SELECT '{table.name}' AS name, count(*) AS count FROM {quote(table.name)}"
        for table in known
    )
    front = {"get": "/", "page": "front.html", "rows": {"counts": counts or "SELECT 1 WHERE 0"}}
    routes = [front | {"data": {"tables": listed}}]
    for table in known:
        routes += _routes(table, listed)
    return Site.model_validate(
        {
            "site": ADMIN,
            "title": "Administration",
            "hosts": hosts or HOSTS,
            "routes": routes,
            "templates": _texts(".html"),
            "static": {f"/{name}": text for name, text in _texts(".css").items()},
        }
    )


@cache
def _texts(suffix: str) -> dict[str, str]:
    return {
        file.name: file.read_text("utf-8")
        for file in sorted(_PAGES.iterdir())
        if file.suffix == suffix
    }


def _routes(table: Table, tables: list[dict[str, str]]) -> list[dict[str, Any]]:
    columns = columns_of(table)
    key = [*table.scope, *table.key]
    named, root = quote(table.name), f"/{table.name}"
    fields = [_field(table, name) for name in columns]
    about = {
        "tables": tables,
        "table": {"name": table.name, "title": _title(table.name)},
        "fields": fields,
        "key": [f"c_{columns.index(name)}" for name in key],
    }
    selected = ", ".join(f"{quote(name)} AS c_{place}" for place, name in enumerate(columns))
    filters = [one for one in fields if one["choices"]]
    order = ", ".join(
        f"CASE WHEN :o = '{field['name']}' THEN {quote(field['field'])} END,"
        f" CASE WHEN :o = '-{field['name']}' THEN {quote(field['field'])} END DESC"
        for field in fields
    )
    searched = " OR ".join(
        f"instr(lower(CAST({quote(name)} AS TEXT)), lower(:q))" for name in columns
    )
    kept = "".join(
        f" AND (:{one['name']} = '' OR CAST({quote(one['field'])} AS TEXT) = :{one['name']})"
        for one in filters
    )
    listing: dict[str, Any] = {
        "get": f"{root}/",
        "query": {"q": "", "o": "", **{one["name"]: "" for one in filters}},
        "rows": {
            "records": f"SELECT {selected} FROM {named} WHERE (:q = '' OR {searched}){kept} ORDER BY {order}, rowid"
        },
        "pages": {"records": PAGE_SIZE},
        "data": {**about, "filters": filters},
        "page": "list.html",
    }
    if not key:
        return [listing]
    place = f"{root}/" + "/".join(f"{{k_{number}}}" for number in range(len(key)))
    where = " AND ".join(
        f"CAST({quote(name)} AS TEXT) = :k_{number}" for number, name in enumerate(key)
    )
    record = {"record": f"SELECT {selected} FROM {named} WHERE {where}"}
    form = {one["name"]: _rule(one) for one in fields}
    values = [_value(one) for one in fields]
    named_columns = ", ".join(map(quote, columns))
    pairs = ", ".join(
        f"{quote(one['field'])} = {value}" for one, value in zip(fields, values, strict=True)
    )
    changing = {**about, "title": "Change", "adding": False}
    return [
        listing,
        {
            "get": f"{root}/add",
            "data": {**about, "title": "Add", "adding": True, "record": {}},
            "page": "change.html",
        },
        {
            "post": f"{root}/add",
            "form": form,
            "do": f"INSERT INTO {named} ({named_columns}) VALUES ({', '.join(values)})",
            "flash": "The record was added.",
            "go": f"{root}/",
        },
        {"get": f"{place}/change", "row": record, "data": changing, "page": "change.html"},
        {
            "post": f"{place}/change",
            "row": record,
            "form": form,
            "do": f"UPDATE {named} SET {pairs} WHERE {where}",
            "flash": "The record was changed.",
            "go": f"{root}/",
        },
        {"get": f"{place}/delete", "row": record, "data": about, "page": "delete.html"},
        {
            "post": f"{place}/delete",
            "row": record,
            "do": f"DELETE FROM {named} WHERE {where}",
            "flash": "The record was deleted.",
            "go": f"{root}/",
        },
    ]


def _title(name: str) -> str:
    return name.replace("__", " ").replace("_", " ").capitalize()


def _field(table: Table, name: str) -> dict[str, Any]:
    """What the pages know of a column."""
    declared = table.fields.get(name, {})
    schema = not_null(declared)
    kinds = {*types_of(schema)} - {"null"}
    choices = [str(one) for one in schema.get("enum", ()) if one is not None]
    widget = "text"
    if kinds == {"boolean"}:
        widget, choices = "checkbox", ["0", "1"]
    elif choices:
        widget = "select"
    elif kinds and kinds <= {"integer", "number"}:
        widget = "number"
    elif kinds & {"object", "array"}:
        widget = "json"
    elif schema.get("maxLength", 0) > _LONG or name in ("body", "text", "description", "content"):
        widget = "textarea"
    else:
        widget = _INPUTS.get(str(schema.get("format")), widget)
    is_made = name in table.key and table.generated_key
    return {
        "name": f"c_{columns_of(table).index(name)}",
        "field": name,
        "title": _title(name),
        "widget": widget,
        "choices": choices,
        "required": widget != "checkbox"
        and not is_made
        and (name in (*table.required, *table.key, *table.scope)),
        "empty_is_null": is_made
        or nullable(declared)
        or (bool(kinds) and "string" not in kinds)
        or bool(choices),
        "max": schema.get("maxLength"),
        "whole": kinds == {"integer"},
    }


def _rule(field: Mapping[str, Any]) -> dict[str, Any]:
    rule: dict[str, Any] = {
        "required": field["required"],
        "name": field["name"],
    }
    if field["widget"] == "number":
        rule["number"] = True
    if field["widget"] == "select":
        rule["choices"] = tuple(field["choices"])
    return rule | ({"max": field["max"]} if field["max"] else {})


def _value(field: Mapping[str, Any]) -> str:
    """The expression that is written of what was typed."""
    parameter = f":{field['name']}"
    if field["widget"] == "checkbox":
        return f"({parameter} = '1')"
    return f"nullif({parameter}, '')" if field["empty_is_null"] else parameter
