"""The pages of a fictional world as base data: built once on a machine, shared by all worlds that name it."""

from __future__ import annotations

import hashlib
import sqlite3
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from agentworld_sim.fiction.recipe import FictionRecipe
from agentworld_sim.types.json import canonical_json

if TYPE_CHECKING:
    from agentworld_sim.relational.base_data import BaseData


def fiction_base(recipe: FictionRecipe, content: str = "") -> BaseData:
    """The pages of the world of a recipe with their index, from the cache or built now.

    Args:
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

    key = canonical_json({**asdict(recipe), "builder": builder_hash(recipe.family)})
    return open_base_data(key, build, content=content)


def builder_hash(family: str) -> str:
    """A hash of all that makes pages out of a recipe and searches them, so that a changed family or template is never
    answered from what was kept before. Raises `UsageError` where there is no such family."""
    from agentworld_sim.fiction.schema_files import family_text

    return hashlib.sha256((code_hash() + family_text(family)).encode()).hexdigest()


@cache
def code_hash() -> str:
    """A hash of the code of worlds and searches, and of the families that ship."""
    digest = hashlib.sha256()
    fiction = Path(__file__).parent
    for folder in (fiction, fiction.parent / "engines" / "search"):
        for file in sorted(folder.rglob("*.*")):
            if "__pycache__" not in file.parts:
                digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()
