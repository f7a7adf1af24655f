"""Options of `agentworld mcp serve`: recording and replaying, and serving over HTTP."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agentworld_mcp_shim._command._upstream_options import F, option_group
from agentworld_sim.errors import UsageError

if TYPE_CHECKING:
    from agentworld_mcp_shim._settings import HttpSettings, ShimSettings


def cassette_options(command: F) -> F:
    """`--record`, `--replay` and `--volatile`."""
    record = click.option(
        "--record",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="Append real calls and their answers to this cassette, without secrets.",
    )
    replay = click.option(
        "--replay",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="Answer every call from this cassette; what was not recorded is an error.",
    )
    volatile = click.option(
        "--volatile",
        metavar="TOOL.FIELD",
        multiple=True,
        help="A field whose value differs each time, such as *.created_at; it makes no difference"
        " between calls. May be repeated.",
    )
    return record(replay(volatile(command)))


def check_cassette_options(settings: ShimSettings) -> None:
    """Raises `UsageError` when the options about a cassette contradict others."""
    record, replay = settings.record, settings.worlds.replay
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
    if replay is None:
        return
    if not settings.targets:
        raise UsageError(
            "--replay answers the tools of a server: name its command after `--`, or what was written"
            " down of it with --snapshot FILE."
        )
    for given, what in (
        (real, f"--access {real[0] if real else ''}=real"),
        (settings.binds, "--bind"),
        (settings.worlds.model.url, "--model-url"),
        (settings.worlds.seed_from, "--seed-from"),
    ):
        if given:
            raise UsageError(
                f"--replay answers every call from its cassette, and {what} names another source."
                " Give one of them."
            )


def _http_settings(
    http_address: str | None,
    workers: int | None,
    allow_hosts: tuple[str, ...],
    allow_origins: tuple[str, ...],
    token_file: Path | None,
    world_ttl: str | None,
    max_worlds: int | None,
    max_concurrent: int | None,
) -> HttpSettings | None:
    given: dict[str, Any] = {
        "workers": workers,
        "allowed_hosts": allow_hosts or None,
        "allowed_origins": allow_origins or None,
        "world_seconds": None if world_ttl is None else parse_seconds(world_ttl),
        "max_worlds": max_worlds,
        "max_concurrent": max_concurrent,
    }
    given = {name: value for name, value in given.items() if value is not None}
    if http_address is None:
        if given or token_file is not None:
            raise UsageError(
                "--workers, --allow-host, --allow-origin, --token-file, --world-ttl, --max-worlds"
                " and --max-concurrent are about serving over HTTP. Say where with --http PORT."
            )
        from agentworld_mcp_shim._settings import TOKEN_VARIABLES

        for name in TOKEN_VARIABLES:
            # Not for the processes that we start.
            os.environ.pop(name, None)
        return None
    from agentworld_mcp_shim._http._address import parsed_address
    from agentworld_mcp_shim._http._tokens import found_tokens
    from agentworld_mcp_shim._settings import HttpSettings

    host, port = parsed_address(http_address)
    return HttpSettings(host=host, port=port, tokens=found_tokens(token_file, os.environ), **given)


http_options = option_group(
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
        "--allow-host",
        "allow_hosts",
        metavar="HOST",
        multiple=True,
        help="A name under which clients may reach it, beside its address. May be repeated.",
    ),
    click.option(
        "--allow-origin",
        "allow_origins",
        metavar="URL",
        multiple=True,
        help="A web page's origin that may use it, such as https://example.com. May be repeated.",
    ),
    click.option(
        "--world-ttl",
        metavar="TIME",
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


def parse_seconds(text: str) -> float:
    """`90s`, `30m`, `24h`, `7d` or a number of seconds."""
    units = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
    number, unit = (text[:-1], text[-1:]) if text[-1:] in units else (text, "s")
    if not (number.isascii() and number.isdigit()):
        raise UsageError(
            f"--world-ttl {text!r} is no time. Write 90s, 30m, 24h, 7d, or 0 for ever."
        )
    return float(number) * units[unit]
