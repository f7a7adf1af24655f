"""A recipe is loaded: by path or shipped name, with changes from the command line.

What is wrong with it is told all at once: where, what was found, what is allowed, what next.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from pathlib import Path
from typing import Any, NamedTuple, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from agentworld_sim.errors import UsageError, nearest
from agentworld_sim.plain_text import key_path
from agentworld_sim.toml import KeyPath, TomlDocument, TomlError, read_toml, toml_text
from agentworld_sim.types.json import canonical_json
from agentworld_trainers.recipes.schema import Recipe, StageName

SHIPPED = Path(__file__).parent / "shipped"
FILE = "recipe.toml"
"""What a run's folder keeps its recipe in."""

STAGES: tuple[StageName, ...] = ("cpt", "sft", "rl", "agent")
"""In the order in which they follow each other."""

_NO_MATTER = ("name", "description", "output", "hardware")
_NO_MATTER_IN_A_STAGE = ("save_every", "log_every", "threads")

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
"""What pydantic's kinds of errors mean for who writes TOML."""


class RecipeError(UsageError):
    """A recipe is missing, unreadable or invalid."""


class _Problem(NamedTuple):
    """One thing wrong, in the order in which problems are told: the file's, then the overrides'."""

    override: int
    """Which one, from 1; 0 for what stands in the file."""
    line: int
    column: int
    key: KeyPath
    message: str


def shipped_recipes() -> dict[str, Path]:
    """The recipes that come with the package, by name."""
    return {path.stem: path for path in sorted(SHIPPED.glob("*.toml"))}


def load_recipe(recipe: str | Path, overrides: Sequence[str] = ()) -> Recipe:
    """Loads a recipe.

    Args:
        recipe: A TOML file, the folder of a run, or the name of a shipped recipe.
        overrides: `key=value` with a dotted key. A value is TOML; a bare word is text; an empty one
            takes the key (or table) out, so that its default holds.

    Raises:
        RecipeError: there is none, or something in it is wrong. The message has every problem, each with
            its line or the number of its override.
    """
    path = _find(recipe)
    try:
        document = read_toml(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        raise RecipeError(f"the recipe {str(path)!r} cannot be read: {why}.") from None
    except TomlError as error:
        place = f":{error.line}:{error.column}" if error.line else ""
        raise RecipeError(f"{path}{place}: not valid TOML: {error.problem}.") from None
    return _Loading(str(path), document, tuple(overrides)).recipe()


def canonical_toml(recipe: Recipe) -> str:
    """The whole recipe with every default written out. Loading it gives an equal recipe."""
    return toml_text(recipe.model_dump(mode="json"))


def recipe_digest(recipe: Recipe) -> str:
    """A hash of what decides on the results.

    Left out is what changes no weight: names, folders, hardware, how often something is saved or logged,
    the number of threads.
    """
    value = recipe.model_dump(mode="json", exclude=set(_NO_MATTER))
    for name in STAGES:
        for key in _NO_MATTER_IN_A_STAGE:
            (value.get(name) or {}).pop(key, None)
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def tables_of(
    part: type[BaseModel] = Recipe, key: KeyPath = ()
) -> Iterator[tuple[KeyPath, type[BaseModel]]]:
    """Every table that a recipe can have, with what it may hold."""
    yield key, part
    for name, info in part.model_fields.items():
        for arm in (info.annotation, *getattr(info.annotation, "__args__", ())):
            if isinstance(arm, type) and issubclass(arm, BaseModel):
                yield from tables_of(arm, (*key, name))


def _find(recipe: str | Path) -> Path:
    path = Path(recipe)
    if path.is_file():
        return path
    if (path / FILE).is_file():
        return path / FILE
    known = shipped_recipes()
    if str(recipe) in known:
        return known[str(recipe)]
    if path.is_dir():
        within = sorted(str(one.parent) for one in path.glob(f"*/{FILE}"))
        hint = f" The stages in it keep theirs: {', '.join(within)}." if within else ""
        raise RecipeError(f"the folder {str(recipe)!r} holds no {FILE!r}.{hint}")
    what = "no such file" if "/" in str(recipe) or path.suffix else "no shipped recipe"
    beside = [one.name for one in path.parent.glob("*.toml")] if path.suffix else []
    hint = nearest(path.name, beside) or nearest(path.stem, known)
    raise RecipeError(
        f"no recipe {str(recipe)!r}: {what}.{hint} Shipped are: {', '.join(known)};"
        " a file of your own is named by its path."
    )


@dataclass(slots=True)
class _Loading:
    """A parsed file on its way to a recipe."""

    source: str
    document: TomlDocument
    overrides: tuple[str, ...]
    changed: dict[KeyPath, int] = field(default_factory=dict[KeyPath, int])
    """Keys that an override set, with its number; the file's places of such keys are forgotten."""

    def recipe(self) -> Recipe:
        value = self.document.value
        problems: list[_Problem] = []
        for number, override in enumerate(self.overrides, 1):
            problem = self._override(value, number, override)
            problems += [_Problem(number, 0, 0, *problem)] if problem else []
        found = [
            (key, f"found the date {day}; dates have to be text.") for key, day in _dates(value)
        ]
        try:
            # JSON's types are told apart as TOML's are, and a list may become a tuple.
            recipe = Recipe.model_validate_json(json.dumps(value, default=str), strict=True)
        except ValidationError as error:
            found += [(one["loc"], _message(one)) for one in error.errors(include_url=False)]
        else:
            if not problems and not found:
                return recipe
        problems += [self._problem_at(key, message) for key, message in found]
        raise self._error(problems)

    def _override(
        self, table: dict[str, Any], number: int, text: str
    ) -> tuple[KeyPath, str] | None:
        """Puts one `key=value` into the recipe's table, and says what is wrong with it."""
        dotted, equals, written = text.partition("=")
        names = tuple(dotted.strip().split("."))
        if not equals or not all(names):
            return (), "not of the form `key=value` or `table.key=value`."
        try:
            value = _parse_value(written.strip())
        except tomllib.TOMLDecodeError as error:
            return (), f"the value is not valid TOML: {error}."
        for depth, name in enumerate(names[:-1], 1):
            below = table.setdefault(name, {})
            if not isinstance(below, dict):
                return names, f"{key_path(names[:depth])!r} is no table, but {_display(below)}."
            if names[:depth] not in self.document.spans:
                self.changed.setdefault(names[:depth], number)
            table = cast("dict[str, Any]", below)
        for places in (self.document.spans, self.changed):
            for known in [known for known in places if known[: len(names)] == names]:
                del places[known]
        self.changed[names] = number
        if value is not None:
            table[names[-1]] = value
            return None
        if names[-1] in table:
            del table[names[-1]]
            return None
        part = dict(tables_of()).get(names[:-1])
        if part is None or names[-1] in part.model_fields:
            return None
        return names, f"unknown key.{nearest(names[-1], part.model_fields)}"

    def _problem_at(self, key: KeyPath, message: str) -> _Problem:
        around = key
        while around and around not in self.changed and around not in self.document.spans:
            around = around[:-1]
        if around in self.changed:
            return _Problem(self.changed[around], 0, 0, key, message)
        return _Problem(0, *self.document.position(around), key, message)

    def _error(self, problems: Iterable[_Problem]) -> RecipeError:
        lines: list[str] = []
        for problem in sorted(problems, key=lambda one: one[:3]):
            number = problem.override
            place = f"{self.source}:{problem.line}:{problem.column}"
            if number:
                place = f"override {number} ({self.overrides[number - 1]})"
            key = f"{key_path(problem.key)}: " if problem.key else ""
            lines.append(f"{place}: {key}{problem.message}")
        if len(lines) > 1:
            lines[:0] = [f"{self.source}: {len(lines)} problems:"]
        return RecipeError("\n  ".join(lines))


def _parse_value(text: str) -> Any:
    """The value that `text` stands for; `None` for an empty one."""
    if not text:
        return None
    try:
        value = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        if text[0] in "\"'[{":
            raise
        return text
    # A text of several lines could hold several keys; a date is a word here.
    if list(value) != ["value"] or isinstance(value["value"], date | time):
        return text
    return value["value"]


def _dates(value: Any, key: KeyPath = ()) -> list[tuple[KeyPath, datetime | date | time]]:
    if isinstance(value, date | time):
        return [(key, value)]
    if isinstance(value, dict):
        items = list(cast("dict[str, Any]", value).items())
    else:
        items = list(enumerate(cast("list[Any]", value))) if isinstance(value, list) else []
    return [found for name, item in items for found in _dates(item, (*key, name))]


def _message(details: ErrorDetails) -> str:
    """What pydantic found, in words."""
    key, kind = details["loc"], details["type"]
    context: dict[str, Any] = details.get("ctx") or {}
    if kind == "missing":
        return f"required, but not there. Add `{key[-1]} = …`."
    if kind == "extra_forbidden":
        return _unknown(key)
    if kind == "value_error":
        return f"{context['error']}."
    text = _ALLOWED.get(kind, details["msg"]).format(**context).rstrip(".") + "."
    if kind == "literal_error" and isinstance(details["input"], str):
        known = [word.strip("',") for word in str(context["expected"]).split() if word != "or"]
        text += nearest(details["input"], known)
    return f"found {_display(details['input'])}; allowed: {text}"


def _unknown(key: KeyPath) -> str:
    tables = dict(tables_of())
    name = str(key[-1])
    known = list(tables[key[:-1]].model_fields)
    hint = nearest(name, known)
    # A right key in the wrong table is as common as a misspelt one.
    elsewhere = [key_path(table) for table, part in tables.items() if name in part.model_fields]
    if not hint and elsewhere:
        hint = f" It belongs in {' or '.join(f'[{table}]' for table in elsewhere if table)}."
    return f"unknown key.{hint} Known keys: {', '.join(known)}."


def _display(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        keys = [str(key) for key in cast("dict[object, object]", value)]
        return f"a table with the keys {', '.join(keys[:5])}" if keys else "an empty table"
    if isinstance(value, list | tuple):
        return "a list"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…" + text[0]
