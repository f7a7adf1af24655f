"""`agentworld mcp explain`: who would answer each tool of a server, and why."""

from __future__ import annotations

import dataclasses
import json
import textwrap
from typing import TYPE_CHECKING

import click

from agentworld_mcp_shim._command._upstream_options import (
    log_to_stderr,
    require_sdk,
    start_upstreams,
    upstream_options,
)
from agentworld_sim.cli.command_options import ModelChoice, model_options

if TYPE_CHECKING:
    from rich.console import Console

    from agentworld_mcp_shim._explanation import Explanation, ToolAnswer
    from agentworld_mcp_shim._settings import ShimSettings
    from agentworld_mcp_shim._upstream import Upstream


# What follows the upstream's command is the upstream's, with or without `--`.
@click.command(name="explain", context_settings={"allow_interspersed_args": False})
@upstream_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
@click.option(
    "--stub",
    "as_stub",
    is_flag=True,
    help="Print the `operations:` of a scenario for the tools that are not wholly clear, to correct.",
)
@model_options
@click.option("-v", "--verbose", is_flag=True, help="Show what every argument is taken for.")
def explain_command(
    settings: ShimSettings,
    as_json: bool,
    as_stub: bool,
    verbose: bool,
    model_choice: ModelChoice,
) -> None:
    """Show who would answer each tool of the MCP server UPSTREAM, and why.

    Nothing is called, and no world is kept. A tool is answered by a toolkit that knows it, by a table
    of records, by the language world model, or by nobody. What is understood wrongly is corrected in a
    scenario: --stub prints what to begin with.

    \b
      agentworld mcp explain -- mcp-server-git
      agentworld mcp explain --snapshot tracker.json -v
      agentworld mcp explain --snapshot tracker.json --stub >> scenario.yaml

    Exit codes: 0, or 2 when the upstream, a binding or an option is wrong.
    """
    from agentworld_mcp_shim._upstream import close_all
    from agentworld_sim.errors import UsageError

    if as_json and as_stub:
        raise UsageError("--json and --stub print different things. Give one of them.")
    worlds = dataclasses.replace(settings.worlds, memory=True, model=model_choice)
    settings = dataclasses.replace(settings, worlds=worlds)
    log_to_stderr(False)
    started: dict[str, Upstream] = {}
    try:
        start_upstreams(settings.targets, started, beside_snapshot=False)
        require_sdk()
        import asyncio

        from agentworld_mcp_shim._explanation import explain_tools, operations_stub

        explanation = asyncio.run(explain_tools(settings, started))
    finally:
        close_all(started)
    if as_json:
        click.echo(json.dumps(explanation.to_json(), indent=2, ensure_ascii=False))
    elif as_stub:
        click.echo(operations_stub(explanation), nl=False)
    else:
        _print(explanation, verbose)


def _print(explanation: Explanation, verbose: bool) -> None:
    from rich.console import Console
    from rich.table import Table

    from agentworld_mcp_shim._explanation import printable

    console = Console(highlight=False, markup=False, soft_wrap=False)
    if explanation.tables:
        tables = Table("table", "key", "belongs to", "records", box=None, pad_edge=False)
        for table, records, _ in explanation.tables:
            shown = (table.name, ", ".join(table.key), ", ".join(table.scope) or "-", str(records))
            tables.add_row(*map(printable, shown))
        console.print(tables, end="\n\n")
    # What can be checked first, then what is left.
    tools = sorted(explanation.tools, key=lambda tool: tool.by == "nobody")
    wide = min(max((len(tool.name) for tool in tools), default=0), console.width // 2)
    for tool in tools:
        _print_tool(console, tool, wide, verbose)
    counts = explanation.counts()
    total = ", ".join(f"{number} by {by}" for by, number in counts.items() if number)
    console.print()
    console.print(f"{len(tools)} tools: {total or 'none'}.")
    for name in explanation.missing:
        console.print(f"The scenario's `operations` name {printable(name)}, which is not there.")
    for doubt in explanation.doubts:
        console.print(printable(doubt))
    if counts["nobody"] or counts["model"]:
        console.print(
            "What a tool does is corrected in a scenario; --stub prints its `operations:`."
        )


def _print_tool(console: Console, tool: ToolAnswer, wide: int, verbose: bool) -> None:
    """The tool and who answers it on a line, the reasons below: columns would break them up."""
    from rich.text import Text

    from agentworld_mcp_shim._explanation import printable

    name = printable(tool.name).ljust(wide) + "  "
    styles = {"table": "green", "toolkit": "green", "model": "yellow", "real": "cyan"}
    answerer = printable(f"{tool.by}: {tool.what or 'refused'}")
    shown = Text(name) + Text(answerer, style=styles.get(tool.by, "red"))
    console.print(shown, overflow="fold")
    reasons = list(tool.why) if verbose else ["; ".join(tool.why[:2])]
    if verbose and tool.operation is not None:
        for argument, role in tool.operation.arguments.items():
            compare = f" ({role.compare})" if role.compare != "equal" else ""
            reasons.append(f"{argument}: {role.role} {role.field}".rstrip() + compare)
    for reason in reasons:
        for line in textwrap.wrap(printable(reason), console.width - 4):
            console.print(f"    {line}", style="dim")
