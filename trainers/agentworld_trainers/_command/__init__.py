"""`agentworld train`."""

from __future__ import annotations

import click


@click.group()
def train() -> None:
    """Train world models and agents."""
