"""The page about recipes is the schema's, and the guide names what exists."""

from __future__ import annotations

import re
from importlib.metadata import entry_points
from pathlib import Path

from agentworld_trainers.recipes import load_recipe, shipped_recipes
from tests.docs.recipes_page import page

DOCS = Path(__file__).resolve().parents[2] / "docs"
GUIDE = (DOCS / "guides" / "training.md").read_text(encoding="utf-8")


def test_the_page_is_written_from_the_schema() -> None:
    command = "python -m tests.docs.recipes_page > docs/reference/recipes.md"
    written = (DOCS / "reference" / "recipes.md").read_text(encoding="utf-8")
    assert written == page() + "\n", f"run: {command}"


def test_every_command_of_the_guide_exists_and_its_changes_load() -> None:
    (train,) = entry_points(group="agentworld.commands", name="train")
    commands = re.findall(r"^agentworld train (\S+)(.*?)(?:  +#.*)?$", GUIDE, re.MULTILINE)
    assert {name for name, _ in commands} == set(train.load().commands)
    for name, rest in commands:
        words = [word.strip("'") for word in rest.split()]
        recipe = next((word for word in words if word in shipped_recipes()), None)
        if name in ("data", "cpt", "sft", "rl", "agent", "all") and recipe:
            load_recipe(recipe, [word for word in words if "=" in word and word[0] != "-"])


def test_recipes_of_the_guide_load(tmp_path: Path) -> None:
    texts = re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL)
    assert texts
    for text in texts:
        path = tmp_path / "recipe.toml"
        path.write_text(text, encoding="utf-8")
        assert load_recipe(path).name
