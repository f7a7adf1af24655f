"""`python -m agentworld_mcp_shim` and `agentworld-mcp`: the same as `agentworld mcp`."""

from __future__ import annotations

import sys

from agentworld_sim.cli import main as agentworld


def main() -> None:
    """Runs `agentworld mcp` with this process's arguments, and exits."""
    agentworld(["mcp", *sys.argv[1:]])


if __name__ == "__main__":
    main()
