"""Builds the pocket world model again: all stages for some seeds, their scores, and the model of one seed.

    python -m experiments.pocket.rebuild             # all seeds, from the root of a clone
    python -m experiments.pocket.rebuild --seed 0    # the committed model only

The data are made once: a seed is one of first weights, order and sampling. A run that was killed is taken
up where it was, and several processes may do different seeds.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tomllib
from pathlib import Path
from typing import Any, Final

import click

from agentworld_sim.types.json import canonical_json
from agentworld_trainers.recipes import load_recipe
from experiments.pocket import WORLD_RECIPE
from experiments.pocket.scores import (
    continued,
    draw,
    fresh_samples,
    measured,
    table,
)

CARD: Final = "README.md"
SCORES: Final = "scores.json"
PLOT: Final = "scores.png"
WEIGHTS: Final = "model.safetensors"
KEPT: Final = ("config.json", "generation_config.json", WEIGHTS, "tokenizer.json")
BEGIN, END = "<!-- scores -->", "<!-- end of scores -->"


@click.command()
@click.option("--seed", "seeds", type=int, multiple=True, help="Only these; 0 to 4 by default.")
@click.option("--keep", default=0, show_default=True, help="The seed whose model is kept.")
@click.option("--runs", type=click.Path(path_type=Path), default=Path("runs/pocket-world"))
@click.option(
    "--into",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("fixtures") / "pocket-world",
    show_default=True,
)
def main(seeds: tuple[int, ...], keep: int, runs: Path, into: Path) -> None:
    """Trains, measures, and puts model, scores and plot into the folder of the pocket model."""
    from agentworld_trainers.stages import Run, make_data

    recipe = load_recipe(WORLD_RECIPE, overrides=[f"output={runs}"])
    data = make_data(recipe, Run(recipe))
    for seed in seeds or range(5):
        folder = runs / f"seed-{seed}"
        built(seed, folder, data)
        if seed == keep:
            before = digest_of(into / WEIGHTS)
            kept(folder, into)
            now = digest_of(into / WEIGHTS)
            click.echo(f"{into / WEIGHTS}: {'the same bytes' if now == before else 'other bytes'}")
    done = {
        path.parent.name.removeprefix("seed-"): json.loads(path.read_text("utf-8"))
        for path in sorted(runs.glob(f"seed-*/{SCORES}"))
    }
    scores: dict[str, Any] = {
        "recipe": said_by_recipe(),
        "kept": {"seed": keep, "sha256": digest_of(into / WEIGHTS)},
        "seeds": done,
    }
    if set(done) < set(recorded(into / SCORES, scores)):
        click.echo("the scores in the card are of more seeds, and stay as they are")
        return
    write(into / SCORES, json.dumps(scores, indent=1) + "\n")
    draw(scores, into / PLOT)
    card = into / CARD
    if card.exists():
        write(card, with_table(card.read_text("utf-8"), table(scores)))
    click.echo(table(scores))


def recorded(path: Path, now: dict[str, Any]) -> list[str]:
    """The seeds whose scores are in the card's folder, if they are of the same recipe and model."""
    if not path.exists():
        return []
    before = json.loads(path.read_text("utf-8"))
    same = all(before.get(name) == now[name] for name in ("recipe", "kept"))
    return list(before["seeds"]) if same else []


def built(seed: int, folder: Path, data: Path) -> None:
    """Runs all stages of one seed, measures after each and writes that down."""
    from agentworld_trainers.stages import Run, threads, train_cpt, train_rl, train_sft

    recipe = load_recipe(WORLD_RECIPE, overrides=[f"seed={seed}", f"output={folder}"])
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "data").exists():
        (folder / "data").symlink_to(data.resolve())
    run = Run(recipe)
    seconds: dict[str, float] = {}
    for name, stage in (("cpt", train_cpt), ("sft", train_sft), ("rl", train_rl)):
        click.echo(f"seed {seed}: {name}")
        stage(recipe, run)
        lines = (folder / name / "metrics.jsonl").read_text("utf-8").splitlines()
        seconds[name] = json.loads(lines[-1])["seconds"]
    if (folder / SCORES).exists():
        return
    click.echo(f"seed {seed}: scores")
    held_out, unseen = fresh_samples(Path(recipe.data.prompts), trained=data)
    finals = {name: folder / name / "final" for name in ("cpt", "sft", "rl")}
    with threads(1):
        measures = {"cpt-continued": continued(finals["cpt"], held_out, unseen)}
        # It was never shown how to think.
        measures["cpt"] = measured(finals["cpt"], held_out, unseen, thinking=False)
        measures["sft"] = measured(finals["sft"], held_out, unseen)
        measures["rl"] = measured(finals["rl"], held_out, unseen)
    write(folder / SCORES, json.dumps({"seconds": seconds, "measures": measures}) + "\n")


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
    """SHA-256 of a file; nothing if it is not there."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""


def said_by_recipe() -> str:
    """SHA-256 of what the recipe says. Defaults are not in it: keys may be added to the schema."""
    told = tomllib.loads(WORLD_RECIPE.read_text("utf-8"))
    return hashlib.sha256(canonical_json(told).encode()).hexdigest()


def write(path: Path, text: str) -> None:
    """Writes a file, all or nothing."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


if __name__ == "__main__":
    main()
