"""`agentworld mcp explain`: who would answer each tool of a server, and why."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agentworld_mcp_shim._command._server_option import server_option
from agentworld_sim.cli.options import ModelChoice, model_options
from agentworld_sim.errors import nearest

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from agentworld_mcp_shim._explaining import Explanation, ToolAnswer
    from agentworld_mcp_shim._settings import ShimSettings
    from agentworld_mcp_shim._upstream import Upstream
    from agentworld_sim.types.tools import ToolSpec
    from agentworld_sim.world import World

WIDE = 100
"""Columns from which on tools, answers and reasons stand side by side."""


# What follows the upstream's command is the upstream's, with or without `--`.
@click.command(name="explain", context_settings={"allow_interspersed_args": False})
@click.option(
    "--scenario",
    metavar="FILE",
    help="The world begins with this scenario: a file, or the name of a shipped one.",
)
@click.option(
    "--bind",
    "binds",
    metavar="NAME=TOOLKIT/TOOL",
    multiple=True,
    help="Answer the upstream's tool NAME as this known tool. May be repeated.",
)
@click.option(
    "--access",
    metavar="RULE=ACCESS",
    multiple=True,
    help="Who answers, as for `agentworld mcp serve`. May be repeated.",
)
@click.option(
    "--snapshot",
    "snapshots",
    metavar="[NAME=]FILE",
    multiple=True,
    help="What `agentworld mcp snapshot` wrote down; no upstream is started. May be repeated.",
)
@click.option(
    "--upstream",
    "upstreams",
    metavar="NAME=COMMAND|URL",
    multiple=True,
    help="One of several upstreams. May be repeated.",
)
@click.option(
    "--servers",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Take the upstreams from a client's configuration file.",
)
@server_option
@click.option(
    "--upstream-timeout",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    help="How long the upstream may take to start and list its tools.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
@click.option(
    "--stub",
    "as_stub",
    is_flag=True,
    help="Print the `operations:` of a scenario for the tools that are not wholly clear, to correct.",
)
@model_options
@click.option("-v", "--verbose", is_flag=True, help="Show what every argument is taken for.")
@click.argument("upstream", nargs=-1, type=click.UNPROCESSED)
def explain_command(
    scenario: str | None,
    binds: tuple[str, ...],
    access: tuple[str, ...],
    snapshots: tuple[str, ...],
    upstreams: tuple[str, ...],
    servers: Path | None,
    server: str | None,
    upstream_timeout: float,
    as_json: bool,
    as_stub: bool,
    verbose: bool,
    upstream: tuple[str, ...],
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
    from agentworld_mcp_shim._command._serve import log_to_stderr, parsed_access, parsed_binds
    from agentworld_mcp_shim._sdk import require_sdk
    from agentworld_mcp_shim._settings import ShimSettings
    from agentworld_mcp_shim._targets import targets_of
    from agentworld_mcp_shim._upstream import close_all, start_upstream
    from agentworld_mcp_shim._worlds import WorldChoice
    from agentworld_sim.errors import UsageError

    if as_json and as_stub:
        raise UsageError("--json and --stub print different things. Give one of them.")
    targets = targets_of(
        upstream, upstreams=upstreams, servers=servers, snapshots=snapshots, server=server
    )
    settings = ShimSettings(
        targets=targets,
        worlds=WorldChoice(scenario=scenario, memory=True, model=model_choice),
        binds=parsed_binds(binds),
        access=parsed_access(access),
        upstream_seconds=upstream_timeout,
    )
    log_to_stderr(False)
    started: dict[str, Upstream] = {}
    try:
        for target in targets:
            if target.command and target.snapshot is None:
                started[target.name] = start_upstream(
                    target.command, name=target.name, env=target.env, headers=target.headers
                )
        require_sdk()
        import asyncio

        explanation, specs = asyncio.run(_explained(settings, started))
    finally:
        close_all(started)
    if as_json:
        click.echo(json.dumps(explanation.to_json(), indent=2, ensure_ascii=False))
    elif as_stub:
        from agentworld_mcp_shim._explaining import stub

        click.echo(stub(explanation, specs), nl=False)
    else:
        _show(explanation, verbose)


async def _explained(
    settings: ShimSettings, started: dict[str, Upstream]
) -> tuple[Explanation, dict[str, ToolSpec]]:
    from agentworld_mcp_shim._explaining import explained
    from agentworld_mcp_shim._mirrors import mirrors_of
    from agentworld_mcp_shim._seating import with_tools

    mirrors = await mirrors_of(settings, started)
    opening = _world(settings)
    if "" not in mirrors:
        async with await opening as world:
            return explained(world, list(world.tools), {}), dict(world.tools)
    mirror = mirrors[""]
    specs = mirror.specs(settings.binds)
    async with await with_tools(opening, mirror, specs) as world:
        problems = {
            tool.world_name: tool.problem
            for tool in mirror.tools.values()
            if tool.problem is not None
        }
        names = [tool.world_name for tool in mirror.tools.values()]
        return explained(world, names, problems), {spec.name: spec for spec in specs}


async def _world(settings: ShimSettings) -> World:
    import asyncio

    from agentworld_sim.scenario import Scenario
    from agentworld_sim.world import World

    chosen = settings.worlds.scenario
    scenario = None if chosen is None else Scenario.load(chosen)
    model = await asyncio.to_thread(settings.worlds.model.find)
    return await World.create(scenario, model=model, access=settings.access)


def _show(explanation: Explanation, verbose: bool) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, markup=False, soft_wrap=False)
    if explanation.tables:
        tables = Table("table", "key", "belongs to", "records", box=None, pad_edge=False)
        for shown in explanation.tables:
            tables.add_row(
                _plain(shown.table.name),
                _plain(", ".join(shown.table.key)),
                _plain(", ".join(shown.table.scope)) or "-",
                str(shown.records),
            )
        console.print(tables)
        console.print()
    # What can be checked first, then what is left.
    tools = sorted(explanation.tools, key=lambda tool: tool.by == "nobody")
    if console.width < WIDE:
        _show_below(console, tools, verbose)
    else:
        rows = Table(box=None, pad_edge=False)
        rows.add_column("tool", overflow="fold", max_width=48)
        rows.add_column("answered by", overflow="fold", max_width=36)
        rows.add_column("why", overflow="fold")
        for tool in tools:
            why = _why(tool, verbose)
            rows.add_row(
                _plain(tool.name), _by(tool), _plain("\n".join(why) if verbose else "; ".join(why))
            )
        console.print(rows)
    _show_end(console, explanation)


def _show_below(console: Console, tools: Sequence[ToolAnswer], verbose: bool) -> None:
    """Each tool on a line of its own and the reasons below it: three columns of a narrow terminal
    would take three times the lines."""
    wide = min(max((len(tool.name) for tool in tools), default=0), console.width // 2)
    for tool in tools:
        console.print(_plain(tool.name).ljust(wide) + "  ", _by(tool), sep="", overflow="fold")
        why = _why(tool, verbose)
        for line in why if verbose else ["; ".join(why)]:
            for part in textwrap.wrap(_plain(line), console.width - 4):
                console.print(f"    {part}", style="dim")


def _by(tool: ToolAnswer) -> Text:
    from rich.text import Text

    styles = {"table": "green", "toolkit": "green", "model": "yellow", "real": "cyan"}
    by = f"{tool.by}: {tool.what}" if tool.what else f"{tool.by}: refused"
    return Text(_plain(by), style=styles.get(tool.by, "red"))


def _why(tool: ToolAnswer, verbose: bool) -> list[str]:
    if not verbose or tool.operation is None:
        return list(tool.why if verbose else tool.why[:2])
    return [
        *tool.why,
        *(
            f"{name}: {argument.role} {argument.field}".rstrip()
            + (f" ({argument.compare})" if argument.compare != "equal" else "")
            for name, argument in tool.operation.arguments.items()
        ),
    ]


def _show_end(console: Console, explanation: Explanation) -> None:
    counts = {
        by: sum(tool.by == by for tool in explanation.tools)
        for by in ("table", "toolkit", "model", "real", "nobody")
    }
    shown = ", ".join(f"{number} by {by}" for by, number in counts.items() if number)
    console.print()
    console.print(f"{len(explanation.tools)} tools: {shown or 'none'}.")
    for name in explanation.unasked:
        console.print(f"The scenario's `operations` name {_plain(name)}, which is not there.")
    for remark in (*_remarks(explanation), *explanation.doubts):
        console.print(_plain(remark))
    if counts["nobody"] or counts["model"]:
        console.print(
            "What a tool does is corrected in a scenario; --stub prints its `operations:`."
        )


def _remarks(explanation: Explanation) -> Iterator[str]:
    """What looks misspelt in a scenario: a world takes it as it stands."""
    tables = {shown.table.name: shown for shown in explanation.tables}
    for name, shown in tables.items():
        others = [other for other in tables if other != name and tables[other].table.fields]
        close = nearest(name, others)
        if not shown.tools:
            yield f"No tool works on the scenario's table {name!r}.{close}"
        elif not shown.table.fields and close:
            yield f"{shown.tools[0]!r} works on a table {name!r} that has no fields.{close}"


def _plain(text: str) -> str:
    """Without signs that would drive a terminal: a server chooses the names of its tools."""
    return "".join(sign if sign.isprintable() or sign == "\n" else "�" for sign in text)
