"""`agentworld mcp serve`, which is also `agentworld mcp` alone: mirror servers and answer from a world."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from agentworld_mcp_shim._command._http_options import http_options
from agentworld_mcp_shim._command._server_option import server_option
from agentworld_mcp_shim._command._tape_options import TapeChoice, check_tape, tape_options
from agentworld_sim.cli.model_options import ModelChoice, model_options
from agentworld_sim.cli.store_option import store_option
from agentworld_sim.errors import UsageError
from agentworld_sim.runtime.access import checked_access
from agentworld_sim.types.tools import Access

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
@click.option(
    "--scenario",
    metavar="FILE",
    help="A new world begins with this scenario: a file, or the name of a shipped one.",
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
    help="Who answers: simulate, refuse, or real, which goes to the upstream. RULE is a tool's name, a"
    " pattern or an annotation such as @destructive; `real` takes whole names only. May be repeated.",
)
@click.option(
    "--snapshot",
    "snapshots",
    metavar="[NAME=]FILE",
    multiple=True,
    help="Show what `agentworld mcp snapshot` wrote down, and start no upstream. Beside a command the two"
    " are compared. May be repeated.",
)
@click.option(
    "--upstream",
    "upstreams",
    metavar="NAME=COMMAND|URL",
    multiple=True,
    help="One of several upstreams; its tools are shown as NAME__tool. May be repeated.",
)
@click.option(
    "--servers",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Take the upstreams from a client's configuration file (mcpServers, or servers).",
)
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
@server_option
@click.option(
    "--upstream-timeout",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    help="How long the upstream may take to start and list its tools.",
)
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
@tape_options
@http_options
@model_options
@click.option("-v", "--verbose", is_flag=True, help="Log more, to standard error.")
@click.argument("upstream", nargs=-1, type=click.UNPROCESSED)
def serve_command(
    world_id: str | None,
    scenario: str | None,
    binds: tuple[str, ...],
    access: tuple[str, ...],
    snapshots: tuple[str, ...],
    upstreams: tuple[str, ...],
    servers: Path | None,
    server: str | None,
    pinned: bool,
    seed_from: Path | None,
    empty: bool,
    store: str | None,
    memory: bool,
    upstream_timeout: float,
    answer_within: float,
    control_tools: bool,
    verbose: bool,
    upstream: tuple[str, ...],
    model_choice: ModelChoice,
    http: HttpSettings | None,
    max_request_bytes: int,
    tape: TapeChoice,
) -> None:
    """Stand in front of the MCP server UPSTREAM and answer its tools from a world.

    UPSTREAM is the command that starts it, or its http(s) URL. It is asked what it offers and closed
    again: no call reaches it but those of tools that are set to real by their whole name. Tools that bind to what a world can compute are answered there; with
    a language world model (--model-url) the others are imagined, and without one they return an error
    that says why. Without UPSTREAM the world's own tools are served. A URL may also stand in
    AGENTWORLD_UPSTREAM_URL, and headers for it in AGENTWORLD_UPSTREAM_HEADERS as JSON, out of sight of
    other users.

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
    from agentworld_mcp_shim._settings import ShimSettings
    from agentworld_mcp_shim._targets import targets_of
    from agentworld_mcp_shim._upstream import close_all, start_upstream
    from agentworld_mcp_shim._worlds import WorldChoice, check_choice

    chosen = parsed_binds(binds)
    targets = targets_of(
        upstream, upstreams=upstreams, servers=servers, snapshots=snapshots, server=server
    )
    if chosen and not targets:
        raise UsageError(
            "--bind is for an upstream's tools. Name the upstream's command after `--`."
        )
    rules = parsed_access(access)
    check_tape(
        tape,
        access=rules,
        bound=bool(chosen),
        mirrored=bool(targets),
        model=model_choice.url is not None,
        seeded=seed_from is not None,
    )
    choice = WorldChoice(
        world_id=world_id,
        scenario=scenario,
        store=store,
        memory=memory,
        model=model_choice,
        empty=empty,
        seed_from=seed_from,
        replay=tape.replay,
        volatile=tape.volatile,
    )
    check_choice(choice)
    log_to_stderr(verbose)
    started: dict[str, Upstream] = {}
    # An eighth of the time of the imports is spent looking for garbage that is not there.
    gc.disable()
    try:
        # Before the imports: they come up while we load.
        for target in targets:
            if target.command:
                started[target.name] = start_upstream(
                    target.command, name=target.name, env=target.env, headers=target.headers
                )
        from agentworld_mcp_shim._sdk import require_sdk

        require_sdk()
        settings = ShimSettings(
            targets=targets,
            worlds=choice,
            binds=chosen,
            access=rules,
            record=tape.record,
            volatile=tape.volatile,
            pinned=pinned,
            upstream_seconds=upstream_timeout,
            answer_seconds=answer_within,
            control_tools=control_tools,
            max_request_bytes=max_request_bytes,
            http=http,
        )
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


def parsed_binds(binds: tuple[str, ...]) -> dict[str, str]:
    """The values of `--bind` by tool name.

    Raises:
        UsageError: one is not of the form `NAME=TOOLKIT/TOOL`, or a name is given twice.
    """
    chosen: dict[str, str] = {}
    for bind in binds:
        # From the right: a binding's name has no `=`, a tool's may, and so may what is said of arguments.
        said, bracket, arguments = bind.partition("(")
        name, _, binding = said.rpartition("=")
        binding += bracket + arguments
        toolkit, _, tool = binding.partition("/")
        if not (name and toolkit and tool):
            raise UsageError(
                f"--bind {bind!r} is not of the form NAME=TOOLKIT/TOOL, for example"
                " run_command=terminal/bash."
            )
        if name in chosen:
            raise UsageError(f"--bind names {name!r} twice: {chosen[name]} and {binding}.")
        chosen[name] = binding
    return chosen


def parsed_access(rules: tuple[str, ...]) -> dict[str, Access]:
    """The values of `--access` by rule.

    Raises:
        UsageError: one is not of the form `RULE=ACCESS`, may not stand, or is given twice.
    """
    chosen: dict[str, str] = {}
    for rule in rules:
        name, _, access = rule.rpartition("=")
        if not name:
            raise UsageError(
                f"--access {rule!r} is not of the form RULE=ACCESS, for example create_issue=refuse."
            )
        if name in chosen:
            raise UsageError(f"--access names {name!r} twice: {chosen[name]} and {access}.")
        chosen[name] = access
    return checked_access(chosen)


def log_to_stderr(verbose: bool) -> None:
    """Logs to standard error, as the `agentworld` command speaks."""
    import logging
    import sys

    logging.basicConfig(
        stream=sys.stderr,
        level=logging.INFO if verbose else logging.WARNING,
        format="agentworld: %(message)s",
    )
