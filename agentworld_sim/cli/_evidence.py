"""`agentworld evidence`: an endpoint measured into one file."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from agentworld_sim.cli.command_options import COUNT, EXISTING_FILE, EXISTING_FOLDER, FILE


@click.command()
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
    type=EXISTING_FILE,
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
    "--official-prompts",
    type=EXISTING_FOLDER,
    help="The released model's templates, for their rung.",
)
def evidence(
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
    """Measure an endpoint into one file: the doctor, the ladder, every answer.

    The key is taken from AGENTWORLD_API_KEY. `agentworld bench compare` shows such files side by side.
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
    click.echo(f"{output}: `agentworld bench compare {output} --output page.html` shows it.")
