"""`agentworld mcp`: a command of its own, and the group of its subcommands, one file each."""

from __future__ import annotations

from importlib import import_module

import click

__all__ = ["mcp"]

COMMANDS = {
    "explain": ("_explain", "explain_command"),
    "serve": ("_serve", "serve_command"),
    "snapshot": ("_snapshot", "snapshot_command"),
    "unwrap": ("_wrap", "unwrap_command"),
    "wrap": ("_wrap", "wrap_command"),
}
"""Name to module and function; imported when it is asked for, because start-up is what users feel."""


class _ServesByDefault(click.Group):
    """What is no subcommand is the command line of `serve`: `agentworld mcp -- some-server`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0] not in COMMANDS and args[0] not in ("--help", "-h")):
            args = ["serve", *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, function = COMMANDS[cmd_name]
        return getattr(import_module(f"{__name__}.{module}"), function)


@click.group(cls=_ServesByDefault)
def mcp() -> None:
    """Mirror MCP servers and answer their tools from a world.

    `agentworld mcp -- COMMAND` is short for `agentworld mcp serve -- COMMAND`; an upstream that has the
    name of a subcommand stands after `--`. The options are those of `serve`:
    `agentworld mcp serve --help`.
    """
