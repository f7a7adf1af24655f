"""Builds the pocket world model again: all stages for some seeds, their scores, and the model of one seed.

python -m agentworld_trainers.pocket.rebuild                 # all seeds, from the root of a clone
python -m agentworld_trainers.pocket.rebuild --seed 0        # the committed model only
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any, Final

import click

from agentworld_trainers.data._rows import PredictionSample, read_rows
from agentworld_trainers.pocket._scores import continued, draw, measured, table, unseen_samples
from agentworld_trainers.recipes import load_recipe, recipe_digest

RECIPE: Final = "pocket-world"
CARD: Final = "README.md"
SCORES: Final = "scores.json"
PLOT: Final = "scores.png"
KEPT: Final = ("config.json", "generation_config.json", "model.safetensors", "tokenizer.json")
BEGIN, END = "<!-- scores -->", "<!-- end of scores -->"


@click.command()
@click.option("--seed", "seeds", type=int, multiple=True, help="Only these; 0 to 4 by default.")
@click.option("--keep", default=0, show_default=True, help="The seed whose model is kept.")
@click.option("--runs", type=click.Path(path_type=Path), default=Path("runs/pocket-world"))
@click.option(
    "--into",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("fixtures") / RECIPE,
    show_default=True,
)
def main(seeds: tuple[int, ...], keep: int, runs: Path, into: Path) -> None:
    """Trains, measures, and puts model, scores and plot into the folder of the pocket model."""
    path = into / SCORES
    scores: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    digest = recipe_digest(load_recipe(RECIPE))
    if scores.get("recipe") != digest:
        scores = {"recipe": digest, "seeds": {}}
    for seed in seeds or range(5):
        scores["seeds"][str(seed)] = built(seed, runs / f"seed-{seed}")
        scores["seeds"] = dict(sorted(scores["seeds"].items(), key=lambda one: int(one[0])))
        if seed == keep:
            kept(runs / f"seed-{seed}", into)
            scores["kept"] = {"seed": seed, "sha256": digest_of(into / "model.safetensors")}
        write(path, json.dumps(scores, indent=1) + "\n")
    draw(scores, into / PLOT)
    card = into / CARD
    if card.exists():
        write(card, with_table(card.read_text("utf-8"), table(scores)))
    click.echo(table(scores))


def built(seed: int, folder: Path) -> dict[str, Any]:
    """Runs all stages of one seed and measures after each."""
    from agentworld_trainers.stages import Run, make_data, train_cpt, train_rl, train_sft
    from agentworld_trainers.stages._threads import threads

    recipe = load_recipe(RECIPE, overrides=[f"seed={seed}", f"output={folder}"])
    run = Run(recipe)
    seconds: dict[str, float] = {}
    for name, stage in (
        ("data", make_data),
        ("cpt", train_cpt),
        ("sft", train_sft),
        ("rl", train_rl),
    ):
        click.echo(f"seed {seed}: {name}")
        stage(recipe, run)
        lines = folder / name / "metrics.jsonl"
        if lines.exists():
            last = json.loads(lines.read_text("utf-8").splitlines()[-1])
            seconds[name] = last["seconds"]
    held_out = list(read_rows(run.data("eval.jsonl"), PredictionSample))
    unseen = unseen_samples(seed, Path(recipe.data.prompts))
    finals = {name: folder / name / "final" for name in ("cpt", "sft", "rl")}
    with threads(1):
        measures = {"cpt-continued": continued(finals["cpt"], held_out, unseen)}
        # It was never shown how to think.
        measures["cpt"] = measured(finals["cpt"], held_out, unseen, thinking=False)
        measures["sft"] = measured(finals["sft"], held_out, unseen)
        measures["rl"] = measured(finals["rl"], held_out, unseen)
    return {"seconds": seconds, "measures": measures}


def kept(folder: Path, into: Path) -> None:
    """Copies the model of a run, and nothing that only training needs."""
    into.mkdir(parents=True, exist_ok=True)
    final = folder / "rl" / "final"
    for one in sorted(final.iterdir()):
        if one.name in KEPT or one.name.startswith(("tokenizer", "chat_template")):
            partial = into / f"{one.name}.partial"
            shutil.copyfile(one, partial)
            partial.replace(into / one.name)


def with_table(card: str, scores: str) -> str:
    """A card with its table of scores made anew."""
    before, _, rest = card.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{scores}\n{END}{after}"


def digest_of(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write(path: Path, text: str) -> None:
    """Writes a file, all or nothing."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


if __name__ == "__main__":
    main()
