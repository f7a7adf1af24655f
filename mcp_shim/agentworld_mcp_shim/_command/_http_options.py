"""Options of `agentworld mcp` that are about serving over HTTP."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from agentworld_mcp_shim._stdio_lines import MAX_REQUEST_BYTES
from agentworld_sim.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])

TOKEN_VARIABLES = ("AGENTWORLD_MCP_TOKEN", "AGENTWORLD_MCP_TOKENS")
"""One token, and principals with their tokens as a JSON object."""


def http_options(command: F) -> F:
    """`--http` and what belongs to it; the command gets them as `http`, `None` for standard input, and
    `max_request_bytes`."""

    @wraps(command)
    def chosen(
        *arguments: Any,
        http_address: str | None,
        workers: int | None,
        allow_hosts: tuple[str, ...],
        allow_origins: tuple[str, ...],
        token_file: Path | None,
        world_ttl: str | None,
        max_worlds: int | None,
        max_concurrent: int | None,
        max_request_bytes: int,
        **others: Any,
    ) -> Any:
        given: dict[str, Any] = {
            "workers": workers,
            "allowed_hosts": allow_hosts or None,
            "allowed_origins": allow_origins or None,
            "world_seconds": None if world_ttl is None else parsed_seconds(world_ttl),
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
            for name in TOKEN_VARIABLES:
                # Not for the processes that we start.
                os.environ.pop(name, None)
            return command(*arguments, http=None, max_request_bytes=max_request_bytes, **others)
        from agentworld_mcp_shim._http._address import parsed_address
        from agentworld_mcp_shim._http._tokens import found_tokens
        from agentworld_mcp_shim._settings import HttpSettings

        host, port = parsed_address(http_address)
        tokens = found_tokens(token_file, os.environ)
        http = HttpSettings(
            host=host, port=port, tokens=tokens, max_request_bytes=max_request_bytes, **given
        )
        return command(*arguments, http=http, max_request_bytes=max_request_bytes, **others)

    options = (
        click.option(
            "--http",
            "http_address",
            metavar="[HOST:]PORT",
            help="Serve over streamable HTTP at /mcp instead of standard input; on 127.0.0.1 unless HOST"
            " says otherwise, which needs tokens.",
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
            help="Who may use it: lines of PRINCIPAL TOKEN, readable by you alone. Or"
            " AGENTWORLD_MCP_TOKEN, or AGENTWORLD_MCP_TOKENS as a JSON object.",
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
        click.option(
            "--max-request-bytes",
            type=click.IntRange(min=1),
            default=MAX_REQUEST_BYTES,
            show_default=True,
            help="Size of one request, over HTTP or on standard input.",
        ),
    )
    wrapped: Any = chosen
    for option in reversed(options):
        wrapped = option(wrapped)
    return wrapped


def parsed_seconds(text: str) -> float:
    """`90s`, `30m`, `24h`, `7d` or a number of seconds.

    Raises:
        UsageError: it is none of these.
    """
    units = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
    number, unit = (text[:-1], text[-1:]) if text[-1:] in units else (text, "s")
    if not (number.isascii() and number.isdigit()):
        raise UsageError(
            f"--world-ttl {text!r} is no time. Write 90s, 30m, 24h, 7d, or 0 for ever."
        )
    return float(number) * units[unit]
