"""`agentworld proxy`: between an agent and its model."""

from __future__ import annotations

from pathlib import Path

import click

from agentworld_sim.errors import UsageError


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
def proxy(upstream: str, faults: Path | None, port: int) -> None:
    """Stand between an agent and its model, on this host, and let faults strike its calls.

    Give the agent the URL that is printed as its base URL. All else goes through as it is: paths, keys, streams. Ends
    with Ctrl-C, and says which faults struck.

    \b
      agentworld proxy --upstream http://127.0.0.1:8000/v1 --faults faults.yaml
    """
    import socket

    import uvicorn

    from agentworld_sim.proxy import FaultHandler, FaultSchedule, ModelProxy

    schedule = None if faults is None else FaultSchedule.load(faults)
    app = ModelProxy(upstream, [] if schedule is None else [FaultHandler(schedule)])
    try:
        listening = socket.create_server(("127.0.0.1", port))
    except OSError as error:
        raise UsageError(
            f"--port {port} cannot be listened on: {error.strerror}. 0 takes a free one."
        ) from None
    # What comes in pieces is sent in pieces.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    click.echo(f"http://127.0.0.1:{listening.getsockname()[1]}{app.path}")
    # Requests are not logged, and a reply that is cut on purpose is no news.
    config = uvicorn.Config(
        app, log_level="critical", access_log=False, server_header=False, date_header=False
    )
    try:
        uvicorn.Server(config).run(sockets=[listening])
    finally:
        for name, count in schedule.struck.items() if schedule is not None else ():
            click.echo(f"{name}: {f'struck {count}' if count else 'never struck'}", err=True)
