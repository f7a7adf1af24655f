"""How right a fine-tuned model's answers are, on both held-out sides.

    python -m experiments.fine_tuning.measure bfcl.jsonl --url http://127.0.0.1:8000/v1 --output runs/fine-tuned.jsonl

Asked are the calls of the experiment `experiments.imagined`, so figures stand beside those of its rungs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import click

from agentworld_sim.bench.run import figures_of, run, settings_of
from agentworld_sim.bench.transitions import TransitionSet
from agentworld_sim.imagination import WorldModel
from experiments.fine_tuning.rows import CONTEXT, settings_for
from experiments.imagined.__main__ import draws


@click.command()
@click.argument("recordings", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--url", required=True, help="Of the server.")
@click.option("--model", default="", help="The name it is served by.")
@click.option("--output", required=True, type=click.Path(path_type=Path), help="Answers.")
@click.option("--context", default=CONTEXT, show_default=True, help="As the rows were made with.")
def main(recordings: Sequence[Path], url: str, model: str, output: Path, context: int) -> None:
    """Asks, and prints the figures of both sides."""
    asked = [
        one for some in draws(TransitionSet.load(recordings).transitions()).values() for one in some
    ]
    world_model = WorldModel(settings_for(url, model=model, context=context))
    rows = asyncio.run(
        run(asked, world_model.imaginer(), output, settings=settings_of(world_model))
    )
    for side in ("known", "unseen"):
        click.echo(side)
        for name, figure in figures_of([row for row in rows if row.side == side]).items():
            click.echo(f"  {name}: {figure}")


if __name__ == "__main__":
    main()
