"""What a client's configuration tells the shim through its environment: an upstream's URL and headers.

They stand there and not among the arguments because every user of the host can read those.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import cast

from agentworld_sim.errors import UsageError

URL_VARIABLE = "AGENTWORLD_UPSTREAM_URL"
ORIGINAL_VARIABLE = "AGENTWORLD_WRAPPED"
"""The source of the entry that `agentworld mcp wrap` replaced."""
SERVER_VARIABLE = "AGENTWORLD_SERVER"
"""The name of the server among those that share its world."""
HEADERS_VARIABLE = "AGENTWORLD_UPSTREAM_HEADERS"
"""All headers, as a JSON object."""
_PLACEHOLDER = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_LEFT = re.compile(r"\$\{[^}]*\}")


def server_name(name: str) -> str:
    """A server's name as it can stand before a tool's, and in a URL."""
    return re.sub("__+", "_", re.sub("[^A-Za-z0-9_.-]+", "-", name)).strip("-_.") or "server"


def upstream_url(environment: Mapping[str, str]) -> str | None:
    """The upstream's URL, where the environment names one.

    Raises:
        UsageError: a placeholder in it has no value, or it is no http(s) URL.
    """
    given = environment.get(URL_VARIABLE)
    if not given:
        return None
    url = _fill(given, environment, URL_VARIABLE)
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"{URL_VARIABLE} is no http(s) URL.")
    return url


def upstream_headers(environment: Mapping[str, str]) -> dict[str, str]:
    """Headers for requests to the upstream.

    Placeholders that the client left (`${VAR}`, `${env:VAR}`, `${VAR:-default}`) are filled in from the
    same environment.

    Raises:
        UsageError: a placeholder has no value, or the JSON is no object of strings. Values are not
            quoted in the message.
    """
    for variable in environment:
        if variable.startswith("AGENTWORLD_UPSTREAM_HEADER_"):
            raise UsageError(
                f"{variable} is gone. Write all headers into {HEADERS_VARIABLE}, as JSON."
            )
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
        headers[header] = _fill(value, environment, HEADERS_VARIABLE)
        if not headers[header].isprintable():
            raise UsageError(
                f"the header {header!r} for the upstream has a line break or the like."
            )
    return headers


def _fill(text: str, environment: Mapping[str, str], where: str) -> str:
    return fill_placeholders(
        text,
        environment,
        missing=f"{where} refers to the variable %r, and the client gives the shim none of that name."
        " Set it where the client starts, or in the entry's environment.",
        foreign=f"{where} still has %r, which the client should have filled in.",
    )


def fill_placeholders(
    text: str, environment: Mapping[str, str], *, missing: str, foreign: str
) -> str:
    """`text` with `${VAR}`, `${env:VAR}` and `${VAR:-default}` filled in.

    Raises:
        UsageError: `missing` of a variable that is not set, `foreign` of another kind of placeholder;
            `%r` in them stands for its name.
    """

    def value(found: re.Match[str]) -> str:
        name, default = found.group(1), found.group(2)
        content = environment.get(name)
        if not content and default is not None:
            return default
        if content is None:
            raise UsageError(missing.replace("%r", repr(name)))
        return content

    # Looked for before anything is filled in: a value may look like a placeholder.
    for left in _LEFT.findall(text):
        if _PLACEHOLDER.fullmatch(left) is None:
            raise UsageError(foreign.replace("%r", repr(left)))
    return _PLACEHOLDER.sub(value, text)
