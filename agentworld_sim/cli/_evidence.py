"""`agentworld evidence`: an endpoint measured into one file, and such files compared."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

FILE = click.Path(path_type=Path, dir_okay=False)
WRITTEN = click.Path(path_type=Path, dir_okay=False, exists=True)
FOLDER = click.Path(path_type=Path, file_okay=False, exists=True)
COUNT = click.IntRange(min=1)


class _MeasuresByDefault(click.Group):
    """What is no subcommand is the command line of `measure`: `agentworld evidence URL`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, "--help", "-h"):
            args = ["measure", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_MeasuresByDefault)
def evidence() -> None:
    """Measure an endpoint into one file, and compare several on a page.

    `agentworld evidence URL` is short for `agentworld evidence measure URL`, which has the options.

    \b
      agentworld evidence http://127.0.0.1:8000/v1
      agentworld evidence https://api.example.com/v1 --model NAME --output hosted.json
      agentworld evidence compare evidence.json hosted.json --output page.html
    """


@evidence.command()
@click.argument("url")
@click.option("--model", metavar="NAME", help="The model's name as served.")
@click.option(
    "--output",
    type=FILE,
    default=Path("evidence.json"),
    show_default=True,
    help="The file; what is there is gone on with.",
)
@click.option(
    "--transitions",
    "recordings",
    multiple=True,
    type=WRITTEN,
    metavar="FILE",
    help="A recording of `agentworld bench make`, beside the set that is built in.",
)
@click.option("--most", type=COUNT, default=60, show_default=True, help="Most calls of a side.")
@click.option("--seeds", type=COUNT, default=1, show_default=True, help="How often they are drawn.")
@click.option("--rung", "names", multiple=True, metavar="NAME", help="Ask on this rung only.")
@click.option(
    "--thinking-tokens",
    multiple=True,
    type=click.IntRange(min=0),
    help="One more rung with this limit of thinking; several make a curve.",
)
@click.option("--max-tokens", type=COUNT, help="Most tokens of one reply.")
@click.option(
    "--official-prompts", type=FOLDER, help="The released model's templates, for their rung."
)
def measure(
    url: str,
    output: Path,
    recordings: Sequence[Path],
    names: Sequence[str],
    thinking_tokens: Sequence[int],
    most: int,
    seeds: int,
    official_prompts: Path | None,
    **asked: Any,
) -> None:
    """Look at an endpoint, have it climb the ladder, and write all of that into one file.

    The key is taken from AGENTWORLD_API_KEY.
    """
    from rich.console import Console
    from rich.progress import Progress

    from agentworld_sim.bench import computed_worlds
    from agentworld_sim.bench.endpoint_evidence import collect, rungs_of
    from agentworld_sim.bench.transitions import TransitionSet
    from agentworld_sim.llm.settings import ModelSettings, require_url

    require_url(url)
    rungs = rungs_of(names, thinking_tokens)
    settings = ModelSettings.find(url=url, **asked)
    assert settings is not None
    found = TransitionSet(
        [*computed_worlds.record().sessions, *TransitionSet.load(recordings).sessions]
    )
    with Progress(console=Console(stderr=True)) as progress:
        bar = progress.add_task("calls", total=None)
        collecting = collect(
            found,
            settings,
            output,
            most=most,
            seeds=seeds,
            rungs=rungs,
            official_prompts=official_prompts,
            on_answers=lambda count, total: progress.update(bar, completed=count, total=total),
        )
        asyncio.run(collecting)
    click.echo(f"{output}: `agentworld evidence compare {output} --output page.html` shows it.")


@evidence.command()
@click.argument("files", nargs=-1, required=True, type=WRITTEN, metavar="FILE...")
@click.option("--output", "-o", required=True, type=FILE, help="The page to write.")
def compare(files: Sequence[Path], output: Path) -> None:
    """Write a page that shows files side by side; it fetches nothing and runs nothing."""
    from agentworld_sim.bench.endpoint_evidence import read_evidence
    from agentworld_sim.report.evidence_page import differences, evidence_page

    read = {str(path): read_evidence(path) for path in files}
    for problem in differences(read):
        click.echo(f"warning: {problem}", err=True)
    output.write_text(evidence_page(read), encoding="utf-8")
    click.echo(output)
