"""`agentworld web`: the sites of a world, for real browsers and programs."""

from __future__ import annotations

import asyncio
import signal
from contextlib import AsyncExitStack
from pathlib import Path
from shlex import quote
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from agentworld_sim.cli.command_options import ModelChoice, asynchronous, named_world
from agentworld_sim.errors import UsageError

if TYPE_CHECKING:
    from agentworld_sim.web_proxy import HostCertificates


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
    from agentworld_sim.web_proxy import HostCertificates, WorldInternet, web_proxy

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


_SHOWN = 8


def ready_lines(url: str, hosts: list[str], certificates: HostCertificates | None) -> list[str]:
    """How clients are led through the proxy at `url`."""
    more = f" and {len(hosts) - _SHOWN} more" * (len(hosts) > _SHOWN)
    browser = f'chromium --user-data-dir="$(mktemp -d)" --proxy-server={url}'
    playwright = f"npx @playwright/mcp@latest --proxy-server {url}"
    variables = {name: url for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")}
    variables |= {"no_proxy": "", "NO_PROXY": "", "NODE_USE_ENV_PROXY": "1"}
    scheme = "http"
    if certificates is not None:
        scheme = "https"
        browser += f" --ignore-certificate-errors-spki-list={certificates.key_hash}"
        playwright += " --ignore-https-errors"
        trusting = "CURL_CA_BUNDLE SSL_CERT_FILE REQUESTS_CA_BUNDLE NODE_EXTRA_CA_CERTS"
        variables |= dict.fromkeys(trusting.split(), str(certificates.authority))
    exports = " ".join(f"{name}={quote(value)}" for name, value in variables.items())
    return [
        f"hosts: {', '.join(hosts[:_SHOWN])}{more}",
        f"a browser:       {browser} {scheme}://{hosts[0]}/",
        f"Playwright MCP:  {playwright}",
        f"curl, Python, Node:  export {exports}",
    ]
