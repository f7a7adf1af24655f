"""`--server`, for the commands that have it."""

from __future__ import annotations

import click

from agentworld_mcp_shim._environment import SERVER_VARIABLE

server_option = click.option(
    "--server",
    metavar="NAME",
    envvar=SERVER_VARIABLE,
    help="The name of UPSTREAM among servers that share the world: its tables are its own, and a scenario"
    " calls its tools NAME__tool.",
)
