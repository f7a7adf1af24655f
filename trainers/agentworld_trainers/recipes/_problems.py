"""What is wrong with a recipe: where, what was found, what is allowed, what next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from agentworld_sim.errors import UsageError, nearest

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError
    from pydantic_core import ErrorDetails

    from agentworld_trainers.recipes._toml import Document, Key, Place


class RecipeError(UsageError):
    """A recipe is missing, unreadable or invalid."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a recipe."""

    place: Place
    key: Key
    message: str


_ALLOWED = {
    "string_type": "text. Put it in double quotes",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a table of keys and values",
    "model_type": "a table of keys and values",
    "model_attributes_type": "a table of keys and values",
    "greater_than_equal": "{ge:g} or more",
    "greater_than": "more than {gt:g}",
    "less_than_equal": "{le:g} or less",
    "literal_error": "{expected}",
    "string_pattern_mismatch": "text that matches {pattern}",
}


def key_path(key: Iterable[str | int]) -> str:
    """`("rl", "rollouts", "url")` → `rl.rollouts.url`; a list's item is `files[0]`."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in key]
    return "".join(parts).removeprefix(".")


def recipe_error(document: Document, problems: Iterable[Problem]) -> RecipeError:
    """One error for all of them: those of the file in its order, then those of the overrides."""
    lines = [
        f"{document.written(problem.place)}: "
        + (f"{key_path(problem.key)}: " if problem.key else "")
        + problem.message
        for problem in sorted(problems, key=lambda problem: (problem.place.override, problem.place))
    ]
    if len(lines) == 1:
        return RecipeError(lines[0])
    return RecipeError(f"{document.source}: {len(lines)} problems:\n  " + "\n  ".join(lines))


def problems_of(
    error: ValidationError, document: Document, top: type[BaseModel]
) -> Iterator[Problem]:
    """The problems that `error` tells of, placed in `document`."""
    for details in error.errors(include_url=False):
        yield _problem(details, document, top)


def _problem(details: ErrorDetails, document: Document, top: type[BaseModel]) -> Problem:
    key = details["loc"]
    context: dict[str, Any] = details.get("ctx") or {}
    kind = details["type"]
    if kind == "missing":
        message = f"required, but not there. Add `{key[-1]} = …`."
    elif kind == "extra_forbidden":
        message = _unknown(key, top)
    elif kind == "value_error":
        message = f"{context['error']}."
    else:
        message = f"found {shown(details['input'])}; allowed: {_allowed(details, context)}"
    return Problem(document.place(key), key, message)


def _allowed(details: ErrorDetails, context: dict[str, Any]) -> str:
    kind = details["type"]
    text = _ALLOWED.get(kind, details["msg"]).format(**context).rstrip(".") + "."
    if kind == "literal_error" and isinstance(details["input"], str):
        known = [word.strip("',") for word in str(context["expected"]).split() if word != "or"]
        text += nearest(details["input"], known)
    return text


def _unknown(key: Key, top: type[BaseModel]) -> str:
    tables = dict(tables_of(top))
    name = str(key[-1])
    known = list(tables[key[:-1]].model_fields)
    hint = nearest(name, known)
    # A right key in the wrong table is as common as a misspelt one.
    elsewhere = [key_path(table) for table, part in tables.items() if name in part.model_fields]
    if not hint and elsewhere:
        hint = f" It belongs in {' or '.join(f'[{table}]' for table in elsewhere if table)}."
    return f"unknown key.{hint} Known keys: {', '.join(known)}."


def tables_of(
    part: type[BaseModel], key: tuple[str, ...] = ()
) -> Iterator[tuple[Key, type[BaseModel]]]:
    """Every table that a recipe can have, with what it may hold."""
    from pydantic import BaseModel

    yield key, part
    for name, field in part.model_fields.items():
        arms = (field.annotation, *getattr(field.annotation, "__args__", ()))
        for arm in arms:
            if isinstance(arm, type) and issubclass(arm, BaseModel):
                yield from tables_of(arm, (*key, name))


def shown(value: object) -> str:
    """A value as a message shows it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        keys = [str(key) for key in cast("dict[object, object]", value)]
        return f"a table with the keys {', '.join(keys[:5])}" if keys else "an empty table"
    if isinstance(value, list | tuple):
        return "a list"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…" + text[0]
