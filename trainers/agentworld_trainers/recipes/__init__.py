"""Recipes: what is trained, from what, how, and where it goes."""

from agentworld_trainers.recipes.loading import (
    STAGES,
    RecipeError,
    canonical_toml,
    load_recipe,
    recipe_digest,
    shipped_recipes,
)
from agentworld_trainers.recipes.schema import Gspo, ModelPart, Recipe, StageName

__all__ = [
    "STAGES",
    "Gspo",
    "ModelPart",
    "Recipe",
    "RecipeError",
    "StageName",
    "canonical_toml",
    "load_recipe",
    "recipe_digest",
    "shipped_recipes",
]
