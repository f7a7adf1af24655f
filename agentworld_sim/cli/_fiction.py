"""`agentworld fiction`: fictional worlds in numbers, with questions whose answers are proved."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agentworld_sim.cli.command_options import json_option

if TYPE_CHECKING:
    from agentworld_sim.synthesis.world_set import Step, WorldSet

FOUND_PROBLEMS = 4

folder_argument = click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
jobs_option = click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=lambda: os.cpu_count() or 1,
    show_default="one for each processor",
    help="Processes.",
)


@click.group()
def fiction() -> None:
    """Build fictional worlds, and questions about them with their proofs.

    \b
      agentworld fiction build worlds --worlds 1000
      agentworld fiction questions worlds --count 10
      agentworld fiction check worlds
      agentworld fiction solve worlds
      agentworld fiction export worlds dataset

    Each step goes on where it was interrupted.
    """


@fiction.command()
@folder_argument
@click.option(
    "--family", "families", multiple=True, metavar="NAME", help="One of them; all by default."
)
@click.option(
    "--worlds", type=click.IntRange(min=1), default=10, show_default=True, help="How many."
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Of the first of a family.",
)
@click.option(
    "--rows", type=click.IntRange(50, 50_000), default=400, show_default=True, help="Of each world."
)
@click.option(
    "--names",
    type=click.Choice(["invented", "real"]),
    default="invented",
    show_default=True,
    help="Whether things have names that an agent may know.",
)
@click.option(
    "--inconsistency",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    help="The chance of a fact that one page says otherwise.",
)
@jobs_option
@json_option
def build(
    folder: Path,
    families: Sequence[str],
    worlds: int,
    seed: int,
    jobs: int,
    as_json: bool,
    **fields: Any,
) -> None:
    """Make worlds: their facts, checked against every rule, and their pages."""
    from agentworld_sim.fiction.schema_files import family_names, read_family
    from agentworld_sim.synthesis.world_set import WorldSet, recipes_of

    for family in families:
        read_family(family)
    recipes = recipes_of(families or family_names(), worlds, seed, **fields)
    _run(WorldSet.begin(folder, recipes), "build", {}, jobs, as_json)


@fiction.command()
@folder_argument
@click.option(
    "--count", type=click.IntRange(1, 1000), default=10, show_default=True, help="For each world."
)
@jobs_option
@json_option
def questions(folder: Path, count: int, jobs: int, as_json: bool) -> None:
    """Draw questions, with their answers."""
    from agentworld_sim.synthesis.world_set import WorldSet

    _run(WorldSet.open(folder), "questions", {"count": count}, jobs, as_json)


@fiction.command()
@folder_argument
@jobs_option
@json_option
def check(folder: Path, jobs: int, as_json: bool) -> None:
    """Hold worlds against their rules, answers against a second way to find them, and results against leaks."""
    from agentworld_sim.synthesis.world_set import WorldSet

    _run(WorldSet.open(folder), "check", {}, jobs, as_json)


@fiction.command()
@folder_argument
@jobs_option
@json_option
def solve(folder: Path, jobs: int, as_json: bool) -> None:
    """Have a scripted searcher answer the questions with the tools; what it cannot answer is not exported."""
    from agentworld_sim.synthesis.world_set import WorldSet

    _run(WorldSet.open(folder), "solve", {}, jobs, as_json)


@fiction.command()
@folder_argument
@click.argument("output", type=click.Path(path_type=Path, file_okay=False))
def export(folder: Path, output: Path) -> None:
    """Write what was solved: OUTPUT/scenarios, and rows for trainers that `datasets.load_dataset(OUTPUT)` reads.

    OUTPUT/README.md is the datasheet.
    """
    from agentworld_sim.synthesis.export import write_export
    from agentworld_sim.synthesis.world_set import WorldSet

    click.echo(f"{output}: {write_export(WorldSet.open(folder), output):,} questions")


def _run(
    worlds: WorldSet, step: Step, options: Mapping[str, Any], jobs: int, as_json: bool
) -> None:
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table

    from agentworld_sim.synthesis.datasheet import problems_of, sums_of

    with Progress(console=Console(stderr=True)) as progress:
        bar = progress.add_task("worlds", total=len(worlds.recipes))
        found = worlds.run(step, options, jobs, lambda: progress.advance(bar))
    sums, problems = sums_of(found), problems_of(found)
    if as_json:
        click.echo(json.dumps({"by_family": sums, "problems": problems}))
    else:
        columns = list(dict.fromkeys(name for line in sums.values() for name in line))
        table = Table("family", *columns)
        for family, line in sums.items():
            table.add_row(family, *(f"{line.get(name, 0):,}" for name in columns))
        Console().print(table)
        for problem in problems:
            click.echo(problem, err=True)
    if problems:
        sys.exit(FOUND_PROBLEMS)
