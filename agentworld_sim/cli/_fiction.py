"""`agentworld fiction`: fictional worlds in numbers, with questions whose answers are proved."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agentworld_sim.cli.command_options import (
    ModelChoice,
    asynchronous,
    json_option,
    model_options,
)
from agentworld_sim.cli.terminal_output import print_table, progress_bar
from agentworld_sim.errors import UsageError
from agentworld_sim.whole_file import write_file

if TYPE_CHECKING:
    from agentworld_sim.fiction.model_author import ModelAuthor
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
      agentworld fiction design lights.yaml --about "Lighthouses and their keepers"
      agentworld fiction build worlds --worlds 1000
      agentworld fiction questions worlds --count 10
      agentworld fiction check worlds
      agentworld fiction solve worlds
      agentworld fiction export worlds dataset

    Each step goes on where it was interrupted.
    """


def _new_file(context: click.Context, parameter: click.Parameter, file: Path) -> Path:
    if file.suffix != ".yaml" or (file.exists() and str(file) != context.params.get("family")):
        raise UsageError(f"{file} exists, or is no .yaml file. Name a new one: {file.stem}-2.yaml.")
    return file


file_argument = click.argument("file", type=click.Path(path_type=Path), callback=_new_file)


@fiction.command()
@file_argument
@click.option("--about", required=True, metavar="TEXT", help="What its worlds are about.")
@model_options
@asynchronous
async def design(file: Path, about: str, model_choice: ModelChoice) -> None:
    """Have a model design a family and write rows of its things: FILE.yaml, for `--family` and scenarios.

    The family is tried before it is kept: every rule holds in its worlds, and questions can be asked.
    """
    from agentworld_sim.fiction.world_design import design_family

    async with _author(model_choice, "tables") as (author, done):
        data, refused = await design_family(file.stem, about, author, done)
    _write_family(file, data)
    for problem in refused:
        click.echo(f"left out: {problem}", err=True)
    rows = sum(len(table.get("rows", ())) for table in data["tables"])
    click.echo(f"{file}: {len(data['tables'])} tables, {rows} rows written by the model")


@fiction.command()
@folder_argument
@click.option(
    "--family", "families", multiple=True, metavar="NAME|FILE", help="One of them; all by default."
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

    families = [str(Path(one).resolve()) if one.endswith(".yaml") else one for one in families]
    for family in families:
        read_family(family)
    recipes = recipes_of(families or family_names(), worlds, seed, **fields)
    _run(WorldSet.begin(folder, recipes), "build", {}, jobs, as_json)


@fiction.command()
@click.argument("family", is_eager=True)
@file_argument
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Its world.")
@click.option(
    "--rows", type=click.IntRange(50, 50_000), default=400, show_default=True, help="Of the world."
)
@model_options
@asynchronous
async def write(family: str, file: Path, seed: int, rows: int, model_choice: ModelChoice) -> None:
    """Have a model write the pages of one world of FAMILY, a name or a file: FILE.yaml is the family with the texts.

    A text is kept if its numbers, dates, names and links are those of the page.
    """
    from agentworld_sim.fiction.fiction import Fiction
    from agentworld_sim.fiction.page_author import KINDS, write_texts
    from agentworld_sim.fiction.pages import fiction_pages
    from agentworld_sim.fiction.recipe import FictionRecipe
    from agentworld_sim.fiction.schema_files import family_data, read_schema

    data = family_data(family)
    texts = data.pop("texts", {})
    recipe = FictionRecipe(family=family, seed=seed, rows=rows)
    fiction = Fiction.generate(recipe, read_schema(data))
    pages = [page for page in fiction_pages(fiction) if page.kind in KINDS]
    async with _author(model_choice, "pages", len(pages)) as (author, done):
        found, left = await write_texts(fiction, pages, author, done)
    merged = {url: {**texts.get(url, {}), **some} for url, some in found.items()}
    _write_family(file, {**data, "texts": {**texts, **merged}})
    count = sum(map(len, found.values()))
    click.echo(f"{file}: {count:,} sentences of {len(pages):,} pages; {left:,} stay as they were")


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


@asynccontextmanager
async def _author(
    model_choice: ModelChoice, what: str, total: int | None = None
) -> AsyncGenerator[tuple[ModelAuthor, Callable[[], None]]]:
    """A model that writes, and what shows its progress."""
    from agentworld_sim.fiction.model_author import ModelAuthor

    model = model_choice.require()
    try:
        with progress_bar(what, total) as count:
            yield ModelAuthor(model), count
    finally:
        await model.close()


def _write_family(file: Path, data: Mapping[str, Any]) -> None:
    import yaml

    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120)
    write_file(file, text)


def _run(
    worlds: WorldSet, step: Step, options: Mapping[str, Any], jobs: int, as_json: bool
) -> None:
    from agentworld_sim.synthesis.datasheet import problems_of, sums_of

    with progress_bar("worlds", len(worlds.recipes)) as count:
        found = worlds.run(step, options, jobs, count)
    sums, problems = sums_of(found), problems_of(found)
    if as_json:
        click.echo(json.dumps({"by_family": sums, "problems": problems}))
    else:
        columns = list(dict.fromkeys(name for line in sums.values() for name in line))
        print_table(
            ["family", *columns],
            ([name, *(f"{line.get(one, 0):,}" for one in columns)] for name, line in sums.items()),
        )
        for problem in problems:
            click.echo(problem, err=True)
    if problems:
        sys.exit(FOUND_PROBLEMS)
