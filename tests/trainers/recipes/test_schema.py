"""The schema and the code agree: what can be written is read somewhere, and is described."""

from __future__ import annotations

import re
from pathlib import Path

import agentworld_trainers
from agentworld_trainers.recipes import Recipe
from agentworld_trainers.recipes.loading import tables_of
from tests.docs.recipes_page import PARTS

SOURCES = Path(agentworld_trainers.__file__).parent

NOT_READ = {"description", "name"}
"""For people, and by the commands that list recipes."""


def test_every_field_is_read_by_a_stage() -> None:
    elsewhere = "\n".join(
        path.read_text(encoding="utf-8")
        for path in SOURCES.rglob("*.py")
        if path.parent.name != "recipes"
    )
    fields = {name for _, part in tables_of(Recipe) for name in part.model_fields}
    dead = {name for name in fields if not re.search(rf"\.{name}\b", elsewhere)}
    assert dead - NOT_READ == set()


def test_every_field_is_described_and_every_table_is_on_the_page() -> None:
    parts = {part for _, part in tables_of(Recipe)}
    assert parts <= {part for _, part in PARTS}
    undescribed = {
        f"{part.__name__}.{name}"
        for part in parts
        for name, field in part.model_fields.items()
        if not field.description
    }
    assert undescribed == set()
