"""`agentworld mcp serve`, which is also `agentworld mcp` alone: mirror servers and answer from a world."""

from __future__ import annotations

import dataclasses
import gc
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from agentworld_mcp_shim._command._upstream_options import (
    log_to_stderr,
    option_group,
    require_sdk,
    start_upstreams,
    upstream_options,
)
from agentworld_mcp_shim._stdio_lines import MAX_REQUEST_BYTES
from agentworld_sim.cli.command_options import ModelChoice, model_options, store_option
from agentworld_sim.errors import UsageError

if TYPE_CHECKING:
    from agentworld_mcp_shim._settings import HttpSettings, ShimSettings
    from agentworld_mcp_shim._upstream import Upstream


def _http_settings(
    http_address: str | None,
    token_file: Path | None,
    operator_token_file: Path | None,
    **options: Any,
) -> HttpSettings | None:
    from agentworld_mcp_shim._settings import TOKEN_VARIABLES, HttpSettings

    given = {name: value for name, value in options.items() if value not in (None, ())}
    if http_address is None:
        if given or token_file is not None or operator_token_file is not None:
            raise UsageError(
                "--workers, --allow-host, --allow-origin, --token-file, --operator-token-file,"
                " --world-ttl, --max-worlds and --max-concurrent are about serving over HTTP. Say where"
                " with --http PORT."
            )
        for name in TOKEN_VARIABLES:
            # Not for the processes that we start.
            os.environ.pop(name, None)
        return None
    from agentworld_mcp_shim._http._address import parsed_address
    from agentworld_mcp_shim._http._tokens import found_tokens

    host, port = parsed_address(http_address)
    tokens = found_tokens(token_file, os.environ)
    operators = found_tokens(operator_token_file, {})
    if tokens.keys() & operators.keys():
        raise UsageError(
            "an operator has the same token as a client, so that an agent could switch its own controls."
            " Give one of them another."
        )
    return HttpSettings(host=host, port=port, tokens=tokens, operators=operators, **given)


def _parse_seconds(_: click.Context, __: click.Parameter, text: str | None) -> float | None:
    """`90s`, `30m`, `24h`, `7d` or a number of seconds."""
    if text is None:
        return None
    units = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
    number, unit = (text[:-1], text[-1:]) if text[-1:] in units else (text, "s")
    if not (number.isascii() and number.isdigit()):
        raise UsageError(
            f"--world-ttl {text!r} is no time. Write 90s, 30m, 24h, 7d, or 0 for ever."
        )
    return float(number) * units[unit]


_http_options = option_group(
    "http",
    _http_settings,
    click.option(
        "--http",
        "http_address",
        metavar="[HOST:]PORT",
        help="Serve over streamable HTTP at /mcp instead of standard input; on 127.0.0.1 unless HOST says"
        " otherwise, which needs tokens.",
    ),
    click.option(
        "--workers",
        type=click.IntRange(min=1, max=64),
        help="Processes that answer over HTTP, on one store. [default: 1]",
    ),
    click.option(
        "--token-file",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="Who may use it: lines of PRINCIPAL TOKEN, readable by you alone. Or AGENTWORLD_MCP_TOKEN,"
        " or AGENTWORLD_MCP_TOKENS as a JSON object.",
    ),
    click.option(
        "--operator-token-file",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="Let those with a token in FILE switch controls at /operator/worlds; written as for"
        " --token-file. No client may.",
    ),
    click.option(
        "--allow-host",
        "allowed_hosts",
        metavar="HOST",
        multiple=True,
        help="A name under which clients may reach it, beside its address. May be repeated.",
    ),
    click.option(
        "--allow-origin",
        "allowed_origins",
        metavar="URL",
        multiple=True,
        help="A web page's origin that may use it, such as https://example.com. May be repeated.",
    ),
    click.option(
        "--world-ttl",
        "world_seconds",
        metavar="TIME",
        callback=_parse_seconds,
        help="How long a client's world is kept after its last use: 90s, 30m, 24h, 7d; 0 for ever."
        " [default: 24h]",
    ),
    click.option(
        "--max-worlds",
        type=click.IntRange(min=1),
        help="Worlds that one client may have. [default: 10000]",
    ),
    click.option(
        "--max-concurrent",
        type=click.IntRange(min=1),
        help="Requests that one process answers at a time. [default: 1024]",
    ),
)


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
    "answer_seconds",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    default=50.0,
    show_default=True,
    help="Say after so long that there is no answer. Many clients give up after 60 s.",
)
@click.option(
    "--control-tools",
    is_flag=True,
    help="Offer clients tools that tell, reset and fork their world.",
)
@click.option(
    "--controls",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Switch on the controls that FILE lists under `controls`, as a scenario does, in every world"
    " that does not have them.",
)
@click.option(
    "--record",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Append real calls and their answers to this cassette, without secrets.",
)
@click.option(
    "--replay",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Answer every call from this cassette; what was not recorded is an error.",
)
@click.option(
    "--volatile",
    metavar="TOOL.FIELD",
    multiple=True,
    help="A field whose value differs each time, such as *.created_at; it makes no difference"
    " between calls. May be repeated.",
)
@_http_options
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
    http: HttpSettings | None,
    max_request_bytes: int,
    volatile: tuple[str, ...],
    model_choice: ModelChoice,
    verbose: bool,
    **options: Any,
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
      agentworld mcp --controls outage.yaml -- mcp-server-git
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
    of_world = ("world_id", "store", "memory", "empty", "seed_from", "replay", "controls")
    worlds = {name: options.pop(name) for name in of_world}
    settings = dataclasses.replace(
        settings,
        worlds=dataclasses.replace(
            settings.worlds, model=model_choice, volatile=volatile, **worlds
        ),
        volatile=volatile,
        max_request_bytes=max_request_bytes,
        http=http and dataclasses.replace(http, max_request_bytes=max_request_bytes),
        **options,
    )
    _check_cassette_options(settings)
    check_choice(settings.worlds)
    log_to_stderr(verbose)
    started: dict[str, Upstream] = {}
    # An eighth of the time of the imports is spent looking for garbage that is not there.
    gc.disable()
    try:
        start_upstreams(settings.targets, started, beside_snapshot=True)
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


def _check_cassette_options(settings: ShimSettings) -> None:
    """Raises `UsageError` when the options about a cassette contradict others."""
    record, replay, worlds = settings.record, settings.worlds.replay, settings.worlds
    real = [rule for rule, value in settings.access.items() if value == "real"]
    if record is not None and replay is not None:
        raise UsageError(
            "--record writes down what real servers say, and --replay asks none. Give one of them."
        )
    if record is not None and not real:
        raise UsageError(
            "--record writes down real calls, and no tool is set to real. Name those that may be"
            " called, each in full: --access NAME=real."
        )
    if settings.volatile and record is None and replay is None:
        raise UsageError("--volatile is about a cassette: give --record or --replay.")
    for field in settings.volatile:
        if not all(field.partition(".")[::2]):
            raise UsageError(
                f"--volatile {field!r} is not of the form TOOL.FIELD, for example '*.created_at'."
            )
    if replay is not None and not settings.targets:
        raise UsageError(
            "--replay answers the tools of a server: name its command after `--`, or what was written"
            " down of it with --snapshot FILE."
        )
    others = {
        **{f"--access {rule}=real": True for rule in real},
        "--bind": settings.binds,
        "--model-url": worlds.model.url,
        "--seed-from": worlds.seed_from,
    }
    for option, given in others.items():
        if replay is not None and given:
            raise UsageError(
                f"--replay answers every call from its cassette, and {option} names another source."
                " Give one of them."
            )
