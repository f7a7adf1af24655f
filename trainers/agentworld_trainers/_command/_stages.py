"""`agentworld train data|cpt|sft|rl|agent|all`."""

from __future__ import annotations

import os
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from agentworld_sim.errors import UsageError
from agentworld_sim.extras import require
from agentworld_trainers._command._errors import boundary

if TYPE_CHECKING:
    from agentworld_trainers.recipes import Recipe

FUNCTIONS = {
    "data": "make_data",
    "cpt": "train_cpt",
    "sft": "train_sft",
    "rl": "train_rl",
    "agent": "train_agent",
}
"""Of `agentworld_trainers.stages`, in the order in which stages follow each other."""

_HELP = {
    "data": "Make a recipe's data: samples, filters, masks, tokenizer.",
    "cpt": "Continue pre-training on whole trajectories, with turn-level loss masking.",
    "sft": "Fine-tune on single predictions (or demonstrations), with thinking.",
    "rl": "Train predictions with GSPO.",
    "agent": "Train an agent in worlds with GSPO.",
    "all": "Run all stages of a recipe, in order.",
}

_MORE = """
\b
RECIPE is a TOML file or the name of a shipped recipe (`agentworld train recipes`).
CHANGES are key=value with dotted keys: rl.learning_rate=1e-5 model.lora.rank=8. A value is TOML, a bare
word is text, and an empty one (model.lora=) takes the key out.
"""


def _stage_command(name: str) -> click.Command:
    @click.command(name, help=_HELP[name] + "\n" + _MORE, short_help=_HELP[name])
    @click.argument("recipe")
    @click.argument("changes", nargs=-1, metavar="[KEY=VALUE]...")
    @click.option("--output", metavar="DIR", help="Folder of all results; `runs/NAME` by default.")
    @click.option(
        "--fresh",
        is_flag=True,
        help="Begin anew. What is there is kept under another name; without this, it is taken up.",
    )
    @click.option(
        "--dry-run", is_flag=True, help="Print memory and token budgets; loads no weights."
    )
    def command(
        recipe: str, changes: tuple[str, ...], output: str | None, fresh: bool, dry_run: bool
    ) -> None:
        from agentworld_trainers.recipes import load_recipe

        loaded = load_recipe(recipe, changes)
        if output is not None:
            loaded = loaded.model_copy(update={"output": output})
        stages = _stages(loaded, name)
        if dry_run:
            _print_plan(loaded, stages)
        else:
            _run(loaded, stages, fresh=fresh)

    return command


STAGE_COMMANDS = [_stage_command(name) for name in (*FUNCTIONS, "all")]


def _stages(recipe: Recipe, asked: str) -> list[str]:
    there = ["data", *(name for name in FUNCTIONS if getattr(recipe, name) and name != "data")]
    if asked == "all":
        return there
    if asked not in there:
        raise UsageError(
            f"the recipe {recipe.name!r} has no table [{asked}]. It has: {', '.join(there)}."
        )
    return [asked]


def _print_plan(recipe: Recipe, stages: list[str]) -> None:
    require("torch", extra="train")
    with boundary(recipe):
        from agentworld_trainers.stages._dry_run import dry_run
        from agentworld_trainers.stages._plan import report

        # The data stage builds no model: what it makes is for all that follow.
        plan = dry_run(recipe, None if stages == ["data"] else stages)
        for line in report(plan):
            click.echo(line)


def _run(recipe: Recipe, stages: list[str], *, fresh: bool) -> None:
    if stages != ["data"]:
        # Said before the data are made, not after.
        require("torch", extra="train")
    with boundary(recipe), warnings.catch_warnings():
        # TRL 1.16 uses names that transformers 5.23 calls deprecated; nobody who trains can do anything.
        warnings.filterwarnings("ignore", r"`(is_)?gradient_checkpointing", FutureWarning)
        from agentworld_trainers.stages import Run

        run = Run(recipe, fresh=fresh)
        for name in stages:
            function: Any = getattr(import_module("agentworld_trainers.stages"), FUNCTIONS[name])
            function(recipe, run)
            # Of several processes of one training run, the first one speaks.
            if os.environ.get("RANK", "0") == "0":
                click.echo(f"{name}: done, in {run.folder / name}", err=True)
