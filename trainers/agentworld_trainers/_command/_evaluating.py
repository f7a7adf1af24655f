"""`agentworld train eval`."""

from __future__ import annotations

import click


@click.command("eval")
@click.argument("checkpoint")
@click.argument("what", required=False, metavar="[RECIPE|SAMPLES]")
@click.option("--url", help="Ask this OpenAI-compatible server instead of loading the checkpoint.")
def evaluate(checkpoint: str, what: str | None, url: str | None) -> None:
    """Measure a checkpoint on held-out samples: exact, form valid, length.

    SAMPLES is a file of samples (JSON Lines); by default that of the run the checkpoint is in.
    """
    raise NotImplementedError
