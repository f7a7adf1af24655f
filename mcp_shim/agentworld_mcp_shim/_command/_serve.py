"""`agentworld mcp serve`, which is also `agentworld mcp` alone: mirror servers and answer from a world."""

from __future__ import annotations

import dataclasses
import gc
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from agentworld_mcp_shim._command._serve_options import (
    check_cassette_options,
    http_options,
    cassette_options,
)
from agentworld_mcp_shim._command._upstream_options import (
    log_to_stderr,
    start_upstreams,
    upstream_options,
)
from agentworld_mcp_shim._stdio_lines import MAX_REQUEST_BYTES
from agentworld_sim.cli.options import ModelChoice, model_options, store_option
from agentworld_sim.errors import UsageError

if TYPE_CHECKING:
    from agentworld_mcp_shim._settings import HttpSettings, ShimSettings
    from agentworld_mcp_shim._upstream import Upstream


# What follows the upstream's command is the upstream's, with or without `--`.
@click.command(name="serve", context_settings={"allow_interspersed_args": False})
@click.option(
    "--world",
    "world_id",
    metavar="ID",
    envvar="AGENTWORLD_WORLD",
    help="Answer from this world; it is made if it does not exist. A fresh one by default.",
)
@upstream_options
@click.option(
    "--pinned",
    is_flag=True,
    help="Refuse to start when an upstream's tools have changed, instead of a warning.",
)
@click.option(
    "--seed-from",
    metavar="CASSETTE",
    type=click.Path(path_type=Path),
    help="A new world begins with the records that this recorded traffic shows.",
)
@click.option(
    "--empty",
    is_flag=True,
    help="The tables of a new world begin without made-up records, but for those a scenario asks for.",
)
@store_option
@click.option("--memory", is_flag=True, help="Keep the world in memory: gone with the process.")
@click.option(
    "--answer-within",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    default=50.0,
    show_default=True,
    help="Say after so long that there is no answer. Many clients give up after 60 s.",
)
@click.option(
    "--control-tools",
    is_flag=True,
    help="Offer clients tools that tell, reset, fork and choose their world.",
)
@cassette_options
@http_options
@click.option(
    "--max-request-bytes",
    type=click.IntRange(min=1),
    default=MAX_REQUEST_BYTES,
    show_default=True,
    help="Size of one request, over HTTP or on standard input.",
)
@model_options
@click.option("-v", "--verbose", is_flag=True, help="Log more, to standard error.")
def serve_command(
    settings: ShimSettings,
    world_id: str | None,
    pinned: bool,
    seed_from: Path | None,
    empty: bool,
    store: str | None,
    memory: bool,
    answer_within: float,
    control_tools: bool,
    record: Path | None,
    replay: Path | None,
    volatile: tuple[str, ...],
    http: HttpSettings | None,
    max_request_bytes: int,
    model_choice: ModelChoice,
    verbose: bool,
) -> None:
    """Stand in front of the MCP server UPSTREAM and answer its tools from a world.

    UPSTREAM is the command that starts it, or its http(s) URL. It is asked what it offers and closed
    again: no call reaches it but those of tools that are set to real by their whole name. Tools that
    bind to what a world can compute are answered there; with a language world model (--model-url) the
    others are imagined, and without one they are refused and the log says why. Without UPSTREAM the
    world's own tools are served. A URL may also stand in AGENTWORLD_UPSTREAM_URL, and headers for it in
    AGENTWORLD_UPSTREAM_HEADERS as JSON, out of sight of other users.

    \b
      agentworld mcp --scenario failing-test
      agentworld mcp -- mcp-server-git --repository .
      agentworld mcp --world lab --bind run=terminal/bash -- uvx some-shell-server
      agentworld mcp -- http://localhost:8000/mcp
      agentworld mcp --snapshot git.json
      agentworld mcp --upstream git=mcp-server-git --upstream time=mcp-server-time
      agentworld mcp --http 8765 --snapshot git.json
      agentworld mcp --access git_log=real --record git.yaml -- mcp-server-git
      agentworld mcp --replay git.yaml --snapshot git.json

    Exit codes: 0 when the client leaves, 2 when the upstream, a binding or an option is wrong, 4 when
    the store fails, 130 and 143 when ended by Ctrl-C or SIGTERM.
    """
    from agentworld_mcp_shim._upstream import close_all
    from agentworld_mcp_shim._worlds import check_choice

    if settings.binds and not settings.targets:
        raise UsageError(
            "--bind is for an upstream's tools. Name the upstream's command after `--`."
        )
    settings = dataclasses.replace(
        settings,
        worlds=dataclasses.replace(
            settings.worlds,
            world_id=world_id,
            store=store,
            memory=memory,
            model=model_choice,
            empty=empty,
            seed_from=seed_from,
            replay=replay,
            volatile=volatile,
        ),
        record=record,
        volatile=volatile,
        pinned=pinned,
        answer_seconds=answer_within,
        control_tools=control_tools,
        max_request_bytes=max_request_bytes,
        http=http and dataclasses.replace(http, max_request_bytes=max_request_bytes),
    )
    check_cassette_options(settings)
    check_choice(settings.worlds)
    log_to_stderr(verbose)
    started: dict[str, Upstream] = {}
    # An eighth of the time of the imports is spent looking for garbage that is not there.
    gc.disable()
    try:
        start_upstreams(settings.targets, started, beside_snapshot=True)
        from agentworld_mcp_shim._sdk import require_sdk

        require_sdk()
        if http is not None:
            _serve_http(started, settings)
        import asyncio

        from agentworld_mcp_shim._stdio import serve

        asyncio.run(serve(started, settings))
    finally:
        gc.enable()
        close_all(started)


def _serve_http(started: Mapping[str, Upstream], settings: ShimSettings) -> NoReturn:
    import os
    import sys

    from agentworld_mcp_shim._http._main import serve_http
    from agentworld_mcp_shim._upstream import close_all

    code = serve_http(started, settings)
    close_all(started)
    sys.stderr.flush()
    # Threads that work for nobody any more must not hold up the end.
    os._exit(code)
