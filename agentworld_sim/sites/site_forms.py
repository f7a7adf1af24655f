"""What a form sends: its fields as parameters of statements, and what is wrong with them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from agentworld_sim.engines.web.requests import WebRequest
from agentworld_sim.relational.columns import quote
from agentworld_sim.scenario.site_file import FieldRule, Route
from agentworld_sim.schema.limits import pattern_fits
from agentworld_sim.sites.site_records import SiteTransaction
from agentworld_sim.sites.site_routes import filled_json

MAX_FIELDS = 1_000


def parameter_name(field: str, rule: FieldRule) -> str:
    """The name of a field in statements: of `submission[title]` it is `title`."""
    if rule.name is not None:
        return rule.name
    last = re.findall(r"[A-Za-z0-9_]+", re.sub(r"\{[^}]*\}", "", field))
    return last[-1] if last else "value"


def sent_fields(request: WebRequest) -> list[tuple[str, str]]:
    """The fields in a request's body, with plain line breaks; of a file, its name. A JSON object's fields count too.

    Raises:
        ValueError: the body cannot be read, or has too many fields.
    """
    if (request.header("content-type") or "").startswith("application/json"):
        value = json.loads(request.body.decode("utf-8", "replace") or "{}")
        if not isinstance(value, dict):
            raise ValueError("the body is no JSON object")
        fields = [
            (name, one if isinstance(one, str) else json.dumps(one))
            for name, one in cast("dict[str, Any]", value).items()
            if one is not None
        ]
    else:
        if request.body.count(b"&") > MAX_FIELDS or request.body.count(b"\n--") > MAX_FIELDS:
            raise ValueError(f"more than {MAX_FIELDS:,} fields")
        fields = [
            (name, value if isinstance(value, str) else value.filename)
            for name, value in request.form()
        ]
    if len(fields) > MAX_FIELDS:
        raise ValueError(f"more than {MAX_FIELDS:,} fields")
    plain = ((name, text.replace("\r\n", "\n").replace("\r", "\n")) for name, text in fields)
    return [(_storable(name), _storable(text)) for name, text in plain]


def _storable(text: str) -> str:
    """Without lone surrogates and NULs, which neither UTF-8 nor SQLite's texts have."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def form_rules(route: Route, names: Mapping[str, str]) -> dict[str, FieldRule]:
    """The rules by the names of fields, with `{id}` in a name for what it stands for in the path."""
    return {str(filled_json(field, names)): rule for field, rule in route.form.items()}


def form_errors(
    route: Route,
    rules: Mapping[str, FieldRule],
    values: Mapping[str, str],
    parameters: Mapping[str, Any],
    records: SiteTransaction,
) -> dict[str, str]:
    """What is wrong with a form: field to message, and under the empty name what is wrong with the whole."""
    found: dict[str, str] = {}
    for name, rule in rules.items():
        problem = next(_problems(rule, values[name], values, parameters, records), None)
        if problem is not None:
            found[name] = rule.message or problem
    if not found:
        for message, sql in route.refuse.items():
            if records.rows(sql, parameters):
                return {"": message}
    return found


def _problems(
    rule: FieldRule,
    value: str,
    values: Mapping[str, str],
    parameters: Mapping[str, Any],
    records: SiteTransaction,
) -> Iterator[str]:
    if not value.strip():
        if rule.required:
            yield "This field is required."
        return
    if rule.max is not None and len(value) > rule.max:
        yield f"This text is too long. It has at most {rule.max} characters."
    if rule.pattern is not None and not pattern_fits(rule.pattern, value):
        yield "This is not in the right form."
    if rule.is_number:
        yield from _number_problems(rule, value)
    if isinstance(rule.choices, str):
        allowed = [next(iter(row.values())) for row in records.rows(rule.choices, parameters)]
        if value not in map(str, allowed):
            yield "This choice does not exist."
    elif rule.choices is not None and value not in rule.choices:
        yield "This choice does not exist."
    if rule.unique is not None:
        table, _, field = rule.unique.partition(".")
        sql = f"SELECT 1 FROM {quote(table)} WHERE lower({quote(field)}) = lower(:value) LIMIT 1"
        if records.rows(sql, {"value": value}):
            yield "This is used already."
    if rule.matches is not None and value != values.get(rule.matches):
        yield "The two do not match."


def _number_problems(rule: FieldRule, value: str) -> Iterator[str]:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        yield "This is not a number."
    elif rule.at_least is not None and number < rule.at_least:
        yield f"This must be {rule.at_least:g} or more."
    elif rule.at_most is not None and number > rule.at_most:
        yield f"This must be {rule.at_most:g} or less."
