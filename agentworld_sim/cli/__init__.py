"""The one command: `agentworld`."""

from agentworld_sim.cli._main import main

__all__ = ["main"]
