"""A recipe is loaded: by path or shipped name, with changes from the command line."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from agentworld_sim.errors import nearest
from agentworld_sim.types.json import canonical_json
from agentworld_trainers.recipes._problems import (
    Problem,
    RecipeError,
    key_path,
    problems_of,
    recipe_error,
    shown,
    tables_of,
)
from agentworld_trainers.recipes._schema import Recipe, StageName
from agentworld_trainers.recipes._toml import Document, Key, Place, read_toml, write_toml

SHIPPED = Path(__file__).parent / "shipped"
FILE = "recipe.toml"
"""What a run's folder keeps its recipe in."""

STAGES: tuple[StageName, ...] = ("cpt", "sft", "rl", "agent")
"""In the order in which they follow each other."""

_NO_MATTER = ("name", "description", "output", "hardware")
_NO_MATTER_IN_A_STAGE = ("save_every", "log_every", "threads")


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
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        raise RecipeError(f"the recipe {str(path)!r} cannot be read: {why}.") from None
    document = read_toml(text, str(path))
    document.overrides = tuple(overrides)
    problems = [
        problem
        for number, override in enumerate(overrides, 1)
        for problem in _override(document, number, override)
    ]
    return _checked(document, problems)


def canonical_toml(recipe: Recipe) -> str:
    """The whole recipe with every default written out. Loading it gives an equal recipe."""
    return write_toml(recipe.model_dump(mode="json"))


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


def _override(document: Document, number: int, text: str) -> list[Problem]:
    """Puts one `key=value` into the document."""
    place = Place(0, 0, number)
    dotted, equals, written = text.partition("=")
    names = tuple(dotted.strip().split("."))
    if not equals or not all(names):
        return [Problem(place, (), "not of the form `key=value` or `table.key=value`.")]
    try:
        value = _written_value(written.strip())
    except tomllib.TOMLDecodeError as error:
        return [Problem(place, (), f"the value is not valid TOML: {error}.")]
    table = document.value
    for depth, name in enumerate(names[:-1], 1):
        below = table.setdefault(name, {})
        if not isinstance(below, dict):
            why = f"{key_path(names[:depth])!r} is no table, but {shown(below)}."
            return [Problem(place, names, why)]
        document.places.setdefault(names[:depth], place)
        table = cast("dict[str, Any]", below)
    for known in [known for known in document.places if known[: len(names)] == names]:
        del document.places[known]
    document.places[names] = place
    if value is None:
        if names[-1] not in table:
            return _nothing_to_take_out(place, names)
        del table[names[-1]]
    else:
        table[names[-1]] = value
    return []


def _nothing_to_take_out(place: Place, names: tuple[str, ...]) -> list[Problem]:
    part = dict(tables_of(Recipe)).get(names[:-1])
    if part is None or names[-1] in part.model_fields:
        return []
    hint = nearest(names[-1], part.model_fields)
    return [Problem(place, names, f"unknown key.{hint}")]


def _written_value(text: str) -> Any:
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


def _checked(document: Document, problems: list[Problem]) -> Recipe:
    problems += [
        Problem(document.place(key), key, f"found the date {value}; dates have to be text.")
        for key, value in _dates(document.value, ())
    ]
    try:
        # JSON's types are told apart as TOML's are, and a list may become a tuple.
        text = json.dumps(document.value, default=str)
        recipe = Recipe.model_validate_json(text, strict=True)
    except ValidationError as error:
        problems += problems_of(error, document, Recipe)
    else:
        if not problems:
            return recipe
    raise recipe_error(document, problems)


def _dates(value: Any, key: Key) -> list[tuple[Key, datetime | date | time]]:
    if isinstance(value, date | time):
        return [(key, value)]
    if isinstance(value, dict):
        items = list(cast("dict[str, Any]", value).items())
    else:
        items = list(enumerate(cast("list[Any]", value))) if isinstance(value, list) else []
    return [found for name, item in items for found in _dates(item, (*key, name))]
