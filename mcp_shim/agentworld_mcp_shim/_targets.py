"""Which upstreams the command line names, a client's file, and the environment.

An upstream's URL and headers stand in the environment, and not among the arguments, because every user of
the host can read those.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from agentworld_mcp_shim._settings import UpstreamTarget
from agentworld_sim.errors import UsageError

if TYPE_CHECKING:
    from agentworld_mcp_shim.wrapping import Client

URL_VARIABLE = "AGENTWORLD_UPSTREAM_URL"
ORIGINAL_VARIABLE = "AGENTWORLD_WRAPPED"
"""The source of the entry that `agentworld mcp wrap` replaced."""
SERVER_VARIABLE = "AGENTWORLD_SERVER"
"""The name of the server among those that share its world."""
HEADERS_VARIABLE = "AGENTWORLD_UPSTREAM_HEADERS"
"""All headers, as a JSON object."""
_PLACEHOLDER = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_LEFT = re.compile(r"\$\{[^}]*\}")

# Neither `__` in it nor `_` at its end: the first `__` of a tool's name ends its upstream's.
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]|_(?!_|$))*")
_NAME_RULE = "A name has letters, digits, '.', '-' and single '_'"


def targets_of(
    command: Sequence[str] = (),
    *,
    upstreams: Sequence[str] = (),
    servers: Path | None = None,
    snapshots: Sequence[str] = (),
    server: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> tuple[UpstreamTarget, ...]:
    """The upstreams of a command line.

    Args:
        command: What stands after `--`: one command, or its URL. The others are values of options.
        server: The name of the one upstream among others, behind other shims, that share its world.
        environ: Where placeholders and headers come from; this process's environment by default.

    Raises:
        UsageError: they contradict each other, or one cannot be understood.
    """
    variables = os.environ if environ is None else environ
    if command and (upstreams or servers is not None):
        raise UsageError(
            "one upstream stands after `--`, and others are named by --upstream or --servers. Give each"
            f" a name: --upstream NAME={shlex.quote(shlex.join(command))}."
        )
    if not (command or upstreams or servers or snapshots):
        url = upstream_url(variables)
        command = () if url is None else (url,)
    targets: dict[str, UpstreamTarget] = {}
    if command:
        targets[""] = UpstreamTarget(command=tuple(command))
    for target in (
        *(_parse_upstream(value) for value in upstreams),
        *(() if servers is None else read_servers(servers, variables)),
    ):
        if target.name in targets:
            raise UsageError(
                f"two upstreams are named {target.name!r}. Each has a name of its own."
            )
        targets[target.name] = target
    alone = len(snapshots) == 1 and len(targets) < 2
    for value in snapshots:
        _add_snapshot(targets, value, alone=alone)
    found = tuple(targets.values())
    if len(found) > 1 and "" in targets:
        raise UsageError(
            "of several upstreams each needs a name: --upstream NAME=COMMAND, --snapshot NAME=FILE."
        )
    if server is not None:
        found = (_name_single(found, server),)
    elif len(found) == 1:
        # It has the world to itself, and its tools keep their names.
        found = (replace(found[0], name=""),)
    return _with_headers(found, variables)


def _name_single(found: Sequence[UpstreamTarget], server: str) -> UpstreamTarget:
    if not _NAME.fullmatch(server):
        raise UsageError(f"--server {server!r}: {_NAME_RULE}, for example --server git.")
    if len(found) != 1:
        raise UsageError(
            f"--server {server!r} names one upstream, and {len(found) or 'none'} "
            f"{'are' if found else 'is'} given. Of several, --upstream and --servers give each its name."
        )
    return replace(found[0], name=server)


def read_servers(path: Path, environ: Mapping[str, str]) -> list[UpstreamTarget]:
    """The servers of a client's configuration file, with its placeholders filled."""
    from agentworld_mcp_shim.wrapping._clients import server_lists
    from agentworld_mcp_shim.wrapping._config_files import read_file
    from agentworld_mcp_shim.wrapping._config_rewrite import read_client_config

    config, client = read_client_config(read_file(path).text, path, None)
    return [
        _server(name, entry, client, environ)
        for servers in server_lists(config, client)
        for name, entry in config.at(servers).items()
    ]


def _server(name: str, entry: object, client: Client, environ: Mapping[str, str]) -> UpstreamTarget:
    from agentworld_mcp_shim.wrapping._entry_rewrite import (
        CannotWrap,
        entry_command,
        entry_environment,
        entry_headers,
        require_plain,
    )

    def fill(value: object) -> str:
        return _fill_placeholders(str(value), environ, f"the server {name!r}")

    try:
        fields = require_plain(entry, client)
        headers = entry_headers(fields, client)
    except CannotWrap as error:
        raise UsageError(f"the server {name!r} cannot be used: {error}.") from None
    urls = [fields[key] for key in client.urls if fields.get(key)]
    words = urls[:1] or entry_command(fields, client)
    if not words:
        raise UsageError(
            f"the server {name!r} has neither a {client.command!r} nor a {client.urls[0]!r}."
        )
    return UpstreamTarget(
        name=server_name(name),
        command=tuple(fill(word) for word in words),
        env={key: fill(value) for key, value in entry_environment(fields, client).items()},
        headers={key: fill(value) for key, value in headers.items()} if urls else {},
    )


def _parse_upstream(value: str) -> UpstreamTarget:
    name, _, rest = value.partition("=")
    if not rest.strip() or not _NAME.fullmatch(name):
        raise UsageError(
            f"--upstream {value!r} is not of the form NAME=COMMAND or NAME=URL. {_NAME_RULE}, for"
            " example --upstream 'git=mcp-server-git'."
        )
    try:
        words = shlex.split(rest)
    except ValueError as error:
        raise UsageError(f"--upstream {value!r}: {error} in the command.") from error
    return UpstreamTarget(name=name, command=tuple(words))


def _add_snapshot(targets: dict[str, UpstreamTarget], value: str, *, alone: bool) -> None:
    name, sign, rest = value.partition("=")
    if not (sign and _NAME.fullmatch(name)) or Path(value).exists():
        if not alone:
            raise UsageError(
                f"of several upstreams, name the one that a snapshot is of: --snapshot NAME={value}."
            )
        # One alone belongs to the only upstream there is, or it is one of its own.
        name, rest = next(iter(targets), ""), value
    known = targets.get(name, UpstreamTarget(name=name))
    if known.snapshot is not None:
        raise UsageError(f"two snapshots are given of the upstream {name!r}.")
    targets[name] = replace(known, snapshot=Path(rest).expanduser())


def _with_headers(
    targets: tuple[UpstreamTarget, ...], environ: Mapping[str, str]
) -> tuple[UpstreamTarget, ...]:
    """The headers of the environment go to the one upstream that is behind a URL."""
    behind = [target for target in targets if target.command[:1] and _is_url(target.command[0])]
    headers = upstream_headers(environ) if behind else {}
    if headers and len(behind) > 1:
        raise UsageError(
            f"{HEADERS_VARIABLE} is for one upstream, and {len(behind)} are behind a URL. Put the"
            " headers of each into a file for --servers, so that none is sent another's."
        )
    return tuple(
        replace(one, headers={**headers, **one.headers}) if one in behind else one
        for one in targets
    )


def _is_url(word: str) -> bool:
    return word.startswith(("http://", "https://"))


def server_name(name: str) -> str:
    """A server's name as it can stand before a tool's, and in a URL."""
    return re.sub("__+", "_", re.sub("[^A-Za-z0-9_.-]+", "-", name)).strip("-_.") or "server"


def upstream_url(environment: Mapping[str, str]) -> str | None:
    """The upstream's URL, where the environment names one."""
    given = environment.get(URL_VARIABLE)
    if not given:
        return None
    url = _fill_placeholders(given, environment, URL_VARIABLE)
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"{URL_VARIABLE} is no http(s) URL.")
    return url


def upstream_headers(environment: Mapping[str, str]) -> dict[str, str]:
    """Headers for requests to the upstream; what the client left unfilled is filled from the same variables."""
    form = 'a JSON object of strings, such as {"Authorization": "Bearer ${TOKEN}"}'
    try:
        parsed: object = json.loads(environment.get(HEADERS_VARIABLE) or "{}")
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict):
        raise UsageError(f"{HEADERS_VARIABLE} is not {form}.")
    headers: dict[str, str] = {}
    for header, value in cast("dict[str, object]", parsed).items():
        if not isinstance(value, str):
            raise UsageError(f"{HEADERS_VARIABLE} is not {form}: {header!r} is no string.")
        headers[header] = _fill_placeholders(value, environment, HEADERS_VARIABLE)
        if not headers[header].isprintable():
            raise UsageError(
                f"the header {header!r} for the upstream has a line break or the like."
            )
    return headers


def _fill_placeholders(text: str, environ: Mapping[str, str], where: str) -> str:
    """`text` with `${VAR}`, `${env:VAR}` and `${VAR:-default}` filled in, or a `UsageError` without values."""

    def value(found: re.Match[str]) -> str:
        name, default = found.group(1), found.group(2)
        content = environ.get(name)
        if not content and default is not None:
            return default
        if content is None:
            raise UsageError(
                f"{where} needs the environment variable {name!r}, which is not set. Set it where the"
                " client starts, or in the entry's environment."
            )
        return content

    # Looked for before anything is filled in: a value may look like a placeholder.
    for left in _LEFT.findall(text):
        if _PLACEHOLDER.fullmatch(left) is None:
            raise UsageError(
                f"{where} still has the placeholder {left!r}, which only its client can fill. Write"
                " ${env:NAME} instead, and set that variable."
            )
    return _PLACEHOLDER.sub(value, text)
