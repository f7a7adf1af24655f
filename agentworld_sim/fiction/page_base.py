"""The pages of a fictional world as base data: built once on a machine, shared by all worlds that name it."""

from __future__ import annotations

import hashlib
import sqlite3
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from agentworld_sim.fiction.recipe import FictionRecipe
from agentworld_sim.types.json import canonical_json

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from agentworld_sim.relational.base_data import BaseData


def fiction_base(recipe: FictionRecipe, content: str = "") -> BaseData:
    """The pages of the world of a recipe with their index, from the cache or built now.

    Args:
        recipe: The world.
        content: The hash that the pages must have; empty for any.

    Raises:
        UsageError: there is no such family, or its world cannot be made.
        StoreError: the cache cannot be written, or this release makes other pages of the recipe.
    """
    from agentworld_sim.relational.base_data import open_base_data

    def build(connection: sqlite3.Connection) -> None:
        from agentworld_sim.engines.search.page_index import PageIndex
        from agentworld_sim.fiction.fiction import Fiction
        from agentworld_sim.fiction.pages import fiction_pages

        PageIndex(connection).write(fiction_pages(Fiction.generate(recipe)))

    key = canonical_json({**asdict(recipe), "builder": _builder()})
    return open_base_data(key, build, content=content)


@cache
def _builder() -> str:
    """A hash of all that makes pages out of a recipe, so that a changed family or template is never answered from
    a cache that an earlier release filled."""
    digest = hashlib.sha256()
    for package in ("agentworld_sim.fiction", "agentworld_sim.engines.search"):
        _add(files(package), digest)
    return digest.hexdigest()


def _add(folder: Traversable, digest: hashlib._Hash) -> None:
    for one in sorted(folder.iterdir(), key=lambda one: one.name):
        if one.is_dir() and one.name != "__pycache__":
            _add(one, digest)
        elif one.is_file():
            digest.update(one.name.encode() + b"\0" + one.read_bytes())
