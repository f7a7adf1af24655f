"""`agentworld proxy`: between an agent and its model."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import click

from agentworld_sim.cli.command_options import asynchronous


@click.command()
@click.option(
    "--upstream",
    required=True,
    metavar="URL",
    help="Base URL of the model's OpenAI-compatible API.",
)
@click.option(
    "--faults",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Strike model calls with the faults that FILE lists.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=8787, show_default=True)
@asynchronous
async def proxy(upstream: str, faults: Path | None, port: int) -> None:
    """Stand between an agent and its model, on this host, and let faults strike its calls.

    Give the agent the URL that is printed as its base URL. All else goes through as it is: paths, keys, streams. Ends
    with Ctrl-C, and says which faults struck.

    \b
      agentworld proxy --upstream http://127.0.0.1:8000/v1 --faults faults.yaml
    """
    from agentworld_sim.proxy import FaultSchedule, model_proxy

    # What ends a process in the background says which faults struck, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    schedule = None if faults is None else FaultSchedule.load(faults)
    async with model_proxy(upstream, schedule, port=port) as url:
        click.echo(url)
        try:
            await asyncio.Event().wait()
        finally:
            for name, count in schedule.struck.items() if schedule is not None else ():
                click.echo(f"{name}: {f'struck {count}' if count else 'never struck'}", err=True)
