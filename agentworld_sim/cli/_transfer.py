"""`agentworld bench transfer`: does what succeeds in a world succeed in the real thing, and does it rank agents alike?"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path

import click

from agentworld_sim.cli.command_options import (
    EXISTING_FILE,
    FILE,
    ModelChoice,
    asynchronous,
    json_option,
    model_options,
)
from agentworld_sim.cli.terminal_output import print_table, progress_bar
from agentworld_sim.errors import UsageError, nearest


@click.command()
@click.option(
    "--output", required=True, type=FILE, help="Trials; an unfinished file is gone on with."
)
@click.option("--only", default="", metavar="NAME", help="shell, mcp, web, a family or a task.")
@click.option("--tasks", "own", type=EXISTING_FILE, help="Tasks of your own for --server.")
@click.option(
    "--server",
    metavar="COMMAND",
    help="Your MCP server; it is given a SQLite file with the tables of the tasks last.",
)
@click.option(
    "--engine",
    "engines",
    multiple=True,
    type=click.Choice(["computed", "text", "imagined"]),
    help="What answers inside; all by default, `imagined` (tasks for tools) with --model-url.",
)
@click.option(
    "--agent",
    "agents",
    multiple=True,
    metavar="NAME",
    help="One of the scripted agents; all by default.",
)
@click.option(
    "--agent-url", metavar="URL", help="A model served here is one more agent (AGENTWORLD_API_KEY)."
)
@click.option("--agent-model", metavar="NAME", help="Its name as served.")
@click.option(
    "--page", type=FILE, help="A page with every task that went otherwise, to write as well."
)
@json_option
@model_options
@asynchronous
async def transfer(
    output: Path,
    only: str,
    own: Path | None,
    server: str | None,
    engines: Sequence[str],
    agents: Sequence[str],
    agent_url: str | None,
    agent_model: str | None,
    page: Path | None,
    as_json: bool,
    model_choice: ModelChoice,
) -> None:
    """Let agents do tasks inside worlds, and replay what they did in the real thing.

    Shells run in namespaces of their own, calls of tools at a real MCP server, browser calls in Chromium.

    \b
      agentworld bench transfer --output transfer.jsonl --page transfer.html
      agentworld bench transfer --output shell.jsonl --only shell --engine computed
      agentworld bench transfer --output model.jsonl --agent-url http://127.0.0.1:8000/v1
      agentworld bench transfer --output imagined.jsonl --only mcp --model-url http://127.0.0.1:8000/v1
      agentworld bench transfer --output own.jsonl --tasks tasks.yaml --server 'python server.py'
    """  # fmt: skip
    from agentworld_sim.bench.transfer.places import ENGINES, ImaginedPlace
    from agentworld_sim.bench.transfer.scripted_agents import WEAKNESS
    from agentworld_sim.bench.transfer.task_list import own_tasks, shipped_tasks
    from agentworld_sim.bench.transfer.transfer_figures import transfer_figures
    from agentworld_sim.bench.transfer.transfer_run import run_transfer
    from agentworld_sim.llm.client import ChatClient
    from agentworld_sim.llm.settings import ModelSettings
    from agentworld_sim.report.transfer_page import HEADS, lines_of, ranks_of, transfer_page
    from agentworld_sim.whole_file import write_file

    for name in agents:
        if name not in WEAKNESS:
            raise UsageError(
                f"there is no agent {name!r}.{nearest(name, WEAKNESS)} Known: {', '.join(WEAKNESS)}."
            )
    if agent_model and not agent_url:
        raise UsageError(
            "--agent-model names a model, and --agent-url does not say where it is served."
        )
    model = None
    if agent_url:
        settings = ModelSettings.find(url=agent_url, model=agent_model)
        assert settings is not None
        model = ChatClient(settings)
    if (own is None) != (server is None) or (own and only):
        raise UsageError(
            "--tasks and --server belong together, and --only chooses of shipped tasks."
        )
    tasks = own_tasks(own) if own else shipped_tasks(only)
    imagined = [ImaginedPlace.name] * (model_choice.url is not None)
    engines, agents = engines or [*ENGINES, *imagined], agents or list(WEAKNESS)
    world_model = model_choice.require() if ImaginedPlace.name in engines else None
    total = len(tasks) * len(engines) * (len(agents) + (model is not None))
    with progress_bar("trials", total) as count:
        trials = await run_transfer(
            tasks,
            output,
            engines=engines,
            agents=agents,
            model=model,
            world_model=world_model,
            server=shlex.split(server or ""),
            on_trial=count,
        )
    for one in (model, world_model):
        if one:
            await one.close()
    figures = transfer_figures(trials)
    if page is not None:
        write_file(page, transfer_page(figures, trials))
    if as_json:
        click.echo(json.dumps(figures))
        return
    for engine, found in figures.items():
        print_table([engine, *HEADS], lines_of(found), f"{ranks_of(found)}\n")
