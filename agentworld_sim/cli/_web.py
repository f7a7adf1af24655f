"""`agentworld web`: the sites of a world, for real browsers and programs."""

from __future__ import annotations

import asyncio
import signal
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from agentworld_sim.cli.command_options import ModelChoice, asynchronous, named_world
from agentworld_sim.errors import UsageError


@click.command()
@click.argument("scenario", required=False)
@click.option(
    "--world",
    "world_id",
    metavar="ID",
    envvar="AGENTWORLD_WORLD",
    help="Keep what changes in this world; it is made if it does not exist.",
)
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the random source.")
@click.option("--https", is_flag=True, help="HTTPS too, with certificates for this run alone.")
@click.option("--port", type=click.IntRange(0, 65535), default=8788, show_default=True)
@asynchronous
async def web(
    scenario: str | None, world_id: str | None, seed: int | None, https: bool, port: int
) -> None:
    """Serve the internet of a world to real browsers and programs, and stay until Ctrl-C.

    SCENARIO is a file, or the name of a shipped one. Prints how a browser, Playwright's MCP server, curl and Python are
    led through a proxy on this host. What changes the world is a turn of it. Nothing leaves: hosts that the world does
    not have do not exist.

    \b
      agentworld web forum.yaml --https
      agentworld web --world ID
    """
    from agentworld_sim.assembly import internet_of
    from agentworld_sim.web_proxy import HostCertificates, WorldInternet, ready_lines, web_proxy

    # What ends a process in the background removes the certificates, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    async with AsyncExitStack() as stack:
        world = await named_world(world_id, scenario, None, seed, ModelChoice())
        stack.push_async_callback(world.close)
        internet = internet_of(world.scenario)
        if internet is None:
            raise UsageError(
                f"the scenario {world.scenario.name!r} has no internet. Name one with `sites:`,"
                " `pages:` or `fiction:`."
            )
        site = WorldInternet(world, internet)
        hosts = await site.hosts()
        certificates = None
        if https:
            folder = stack.enter_context(TemporaryDirectory(prefix="agentworld-web-"))
            certificates = HostCertificates(hosts, Path(folder))
        url = await stack.enter_async_context(
            web_proxy(
                site.answer,
                port=port,
                secure_hosts=frozenset(hosts) if https else (),
                context=certificates and certificates.context,
            )
        )
        click.echo(url)
        for line in ready_lines(url, hosts, certificates):
            click.echo(line, err=True)
        await asyncio.Event().wait()
