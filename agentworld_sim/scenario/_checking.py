"""What pydantic found becomes problems with a place in the file and a next step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from agentworld_sim.errors import nearest
from agentworld_sim.scenario._content import FILE_FORMS, GOAL_FORMS, form_hint
from agentworld_sim.scenario._document import Document, Key, Problem
from agentworld_sim.scenario._sections import ToolObject
from agentworld_sim.scenario._types import KeyedProblems

FORMS: dict[str, type[BaseModel]] = {
    **{f"<{form}>": model for form, model in FILE_FORMS.items()},
    "<plain>": FILE_FORMS["text"],
    "<toolkit>": ToolObject,
    "<tool>": ToolObject,
    **GOAL_FORMS,
}
"""pydantic puts the chosen arm of a union into a location; nobody wrote it in the file."""

_ALLOWED = {
    "string_type": "text. Put it in double quotes",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping of keys to values",
    "mapping_type": "a mapping of keys to values",
    "model_type": "a mapping of keys to values",
    "model_attributes_type": "a mapping of keys to values",
    "greater_than_equal": "{ge} or more",
    "greater_than": "more than {gt}",
    "less_than_equal": "{le} or less",
    "literal_error": "{expected}",
    "string_too_short": "text that is not empty",
    "too_short": "at least {min_length} of them",
}


def problems_of(
    error: ValidationError, document: Document, model: type[BaseModel]
) -> list[Problem]:
    """The problems that `error` tells of, placed in `document`."""
    found: list[Problem] = []
    for details in error.errors(include_url=False):
        found.extend(_problems(details, document, model))
    return found


def _problems(details: ErrorDetails, document: Document, top: type[BaseModel]) -> Iterator[Problem]:
    loc = details["loc"]
    about_key = bool(loc) and loc[-1] == "[key]"
    key: Key = tuple(part for part in loc if part not in FORMS and part != "[key]")
    context: dict[str, Any] = details.get("ctx") or {}
    inner = context.get("error")
    if isinstance(inner, KeyedProblems):
        for below, message in inner.problems:
            yield Problem(document.place(key + below), key + below, message)
    elif details["type"] == "missing":
        yield Problem(document.place(key[:-1]), key, f"required, but not there. Add `{key[-1]}:`.")
    elif details["type"] == "extra_forbidden":
        known = sorted(_keys(_model_at(loc[:-1], top)))
        hint = nearest(str(key[-1]), known) or " Remove it or correct its name."
        message = f"unknown key.{hint} Known keys: {', '.join(known)}."
        yield Problem(document.place(key, of_key=True), key, message)
    else:
        value = key[-1] if about_key else details["input"]
        allowed = _expectation(details, value, context).rstrip(".")
        ending = "" if allowed.endswith("?") else "."
        message = f"found {_describe(value)}; allowed: {allowed}{ending}"
        yield Problem(document.place(key, of_key=about_key), key, message)


def _expectation(details: ErrorDetails, value: object, context: dict[str, Any]) -> str:
    kind = details["type"]
    if kind == "allowed":
        return str(context["text"])
    if kind in ("file_form", "goal_form"):
        return form_hint(kind, value)
    if context.get("expected") == "True":
        return "true"
    if kind in _ALLOWED:
        hint = ""
        if kind == "literal_error" and isinstance(value, str):
            hint = nearest(value, [word.strip("',") for word in str(context["expected"]).split()])
        return _ALLOWED[kind].format(**context) + (f".{hint}" if hint else "")
    return details["msg"]


def _model_at(loc: tuple[str | int, ...], model: type[BaseModel]) -> type[BaseModel]:
    """The innermost model around a location, in which pydantic also names the arms of unions."""
    for part in loc:
        if part in FORMS:
            model = FORMS[cast("str", part)]
        else:
            fields = {field.alias or name: field for name, field in model.model_fields.items()}
            if part in fields:
                model = next(_models_in(fields[cast("str", part)].annotation), model)
    return model


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


def _keys(model: type[BaseModel]) -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield field.alias or name


def _describe(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        keys = [str(key) for key in cast("dict[object, object]", value)]
        return f"a mapping with the keys {', '.join(keys[:5])}" if keys else "an empty mapping"
    if isinstance(value, list | tuple):
        return "a list" if value else "an empty list"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…" + text[0]
