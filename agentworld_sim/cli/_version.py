"""`agentworld version`."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed

import click

from agentworld_sim import __version__


@click.command()
def version() -> None:
    """Print the versions that matter in a bug report."""
    click.echo(f"agentworld-sim {__version__}")
    click.echo(f"python {platform.python_version()}")
    for package in ("bashkit", "langgraph", "langchain-core", "mcp"):
        try:
            click.echo(f"{package} {installed(package)}")
        except PackageNotFoundError:
            click.echo(f"{package} not installed")
