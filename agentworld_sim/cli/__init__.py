"""The one command: `agentworld`."""

from agentworld_sim.cli._main import cli, main

__all__ = ["cli", "main"]
