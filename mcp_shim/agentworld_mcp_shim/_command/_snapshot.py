"""`agentworld mcp snapshot`: write down what an MCP server offers."""

from __future__ import annotations

from pathlib import Path

import click

from agentworld_mcp_shim._command._upstream_options import (
    log_to_stderr,
    require_sdk,
    timeout_option,
)


# What follows the upstream's command is the upstream's, with or without `--`.
@click.command(name="snapshot", context_settings={"allow_interspersed_args": False})
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to this file, whole or not at all. Standard output by default.",
)
@click.option(
    "--contents/--no-contents",
    default=True,
    show_default=True,
    help="Also read its resources (up to 1 MiB each), and get prompts that need no arguments.",
)
@timeout_option(60.0)
@click.option("-v", "--verbose", is_flag=True, help="Log more, to standard error.")
@click.argument("upstream", nargs=-1, type=click.UNPROCESSED, required=True)
def snapshot_command(
    output: Path | None,
    contents: bool,
    upstream_timeout: float,
    verbose: bool,
    upstream: tuple[str, ...],
) -> None:
    """Write down what the MCP server UPSTREAM offers, to serve it later without starting it.

    UPSTREAM is the command that starts it, or its http(s) URL. None of its tools is called. What it
    lists is trusted from now on: `agentworld mcp` warns when the tools change.

    \b
      agentworld mcp snapshot -o git.json -- mcp-server-git --repository .
      agentworld mcp --snapshot git.json

    Exit codes: 0, or 2 when the server cannot be asked or the file not be written.
    """
    import asyncio

    from agentworld_mcp_shim._targets import targets_of
    from agentworld_mcp_shim._upstream import close_all, list_upstream, start_upstream

    log_to_stderr(verbose)
    (target,) = targets_of(upstream)
    started = start_upstream(target)
    try:
        require_sdk()
        listing = asyncio.run(list_upstream(started, seconds=upstream_timeout, contents=contents))
    finally:
        close_all({"": started})

    from agentworld_mcp_shim._mirrors import field_hashes, trust_tools
    from agentworld_mcp_shim._snapshot_file import save_snapshot, snapshot_text

    secrets = target.secrets()
    if output is None:
        click.echo(snapshot_text(listing, secrets=secrets), nl=False)
    else:
        save_snapshot(output, listing, secrets=secrets)
    trust_tools(target.command, field_hashes(listing))
