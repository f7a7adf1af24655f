"""Writes `docs/reference/recipes.md` from the schema.

python -m tests.docs.recipes_page > docs/reference/recipes.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args, get_origin

from annotated_types import Ge, Gt, Le
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from agentworld_sim.toml import toml_literal
from agentworld_trainers.recipes import load_recipe, schema, shipped_recipes

_HEAD = """# Recipes

A recipe is one TOML file that says how one model is trained: [the guide](../guides/training.md) shows it at
work. It is named by its path, by the folder of a run's stage, or by the name of a shipped one. This page is
written by `python -m tests.docs.recipes_page`; a test holds it to the code.

`key=value` on the command line changes a recipe: `rl.learning_rate=1e-5 model.lora.rank=8`. A value is TOML;
a bare word is text; an empty value (`model.lora=`) takes the key or table out, so that its default holds.
Unknown keys and wrong types are refused, all in one message. Relative paths are relative to the current
directory. What a stage was told is kept in `RUN/STAGE/recipe.toml`, with every default written out.

## Shipped recipes
"""

PARTS: tuple[tuple[str, type[BaseModel]], ...] = (
    ("Top level", schema.Recipe),
    ("`[model]`", schema.ModelPart),
    ("`[model.lora]`", schema.Lora),
    ("`[data]`", schema.DataPart),
    ("`[data.masking]`", schema.MaskSettings),
    ("Every stage", schema.Optimiser),
    ("`[cpt]` and `[sft]`", schema.SupervisedPart),
    ("`[sft]`", schema.Sft),
    ("`[rl]` and `[agent]`", schema.Gspo),
    ("`[agent]`", schema.AgentPart),
    ("`[rl.rollouts]` and `[agent.rollouts]`", schema.Rollouts),
    ("`[rl.reward]` and `[agent.reward]`", schema.RewardPart),
    ("`[rl.reward.judge]`", schema.Judge),
    ("`[hardware]`", schema.Hardware),
)

_NAMES: dict[Any, str] = {str: "text", bool: "true or false", int: "whole number", float: "number"}


def page() -> str:
    """The page."""
    return "\n".join([_HEAD, *_shipped(), *(line for part in PARTS for line in _table(*part))])


def _shipped() -> Iterator[str]:
    yield "| name | what it is |"
    yield "|---|---|"
    for name in shipped_recipes():
        yield f"| `{name}` | {load_recipe(name).description} |"


def _table(title: str, part: type[BaseModel]) -> Iterator[str]:
    yield f"\n## {title}\n"
    yield f"{_line(part.__doc__ or '')}\n"
    yield "| key | value | default | meaning |"
    yield "|---|---|---|---|"
    # A table shows what it adds to, or changes in, the one it builds on.
    for name in part.__annotations__:
        field = part.model_fields.get(name)
        if field is not None:
            default = _default(field)
            yield f"| `{name}` | {_value(field)} | {default} | {_line(field.description or '')} |"


def _line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _value(field: FieldInfo) -> str:
    limits = [*field.metadata]
    words = _kind(field.annotation, limits)
    for limit in [inner for item in limits for inner in getattr(item, "metadata", [item])]:
        match limit:
            case Gt(gt=low):
                words += f", more than {low}"
            case Ge(ge=low):
                words += f", {low} or more"
            case Le(le=high):
                words += f", {high} or less"
            case _:
                pass
    return words


def _kind(annotation: Any, limits: list[Any]) -> str:
    if get_origin(annotation) is Literal:
        return " or ".join(f'`"{word}"`' for word in get_args(annotation))
    if get_origin(annotation) is tuple:
        return "list of text"
    if get_origin(annotation) in (dict, Mapping) or (
        isinstance(annotation, type) and issubclass(annotation, BaseModel)
    ):
        return "table"
    arms = [arm for arm in get_args(annotation) if arm is not type(None)]
    for arm in arms:
        limits += getattr(arm, "__metadata__", ())
        return _kind(getattr(arm, "__origin__", arm), limits)
    return _NAMES[annotation]


def _default(field: FieldInfo) -> str:
    default = field.get_default(call_default_factory=True)
    if default is PydanticUndefined:
        return "required"
    if default is None:
        return "none"
    return "" if isinstance(default, BaseModel) else f"`{toml_literal(default)}`"


if __name__ == "__main__":
    sys.stdout.write(page() + "\n")
