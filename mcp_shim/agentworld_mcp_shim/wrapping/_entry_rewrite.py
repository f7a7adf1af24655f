"""One server's entry as the client reads it, with the shim in front and away again.

The wrapped entry keeps the source of the one it replaces in `AGENTWORLD_WRAPPED`, in its environment and
so in the same file. To unwrap is to put that source back.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from agentworld_mcp_shim._targets import (
    HEADERS_VARIABLE,
    ORIGINAL_VARIABLE,
    SERVER_VARIABLE,
    URL_VARIABLE,
)
from agentworld_mcp_shim.wrapping._clients import Client
from agentworld_sim.redaction.records import Redaction, secret_kind

MODULE = "agentworld_mcp_shim"

_PLACEHOLDER = re.compile(
    r"\$\{[^}]*\}|\$[A-Za-z_]\w*|%[A-Za-z_]\w*%|\{\{[^}]*\}\}|\{(?:env|file):[^}]*\}"
)
"""What a client, or the shim, fills in: `${VAR}`, `${input:id}`, `$VAR`, `{env:VAR}`."""
_OPAQUE = 16
"""Letters and digits mixed in one word of this length are taken for a key."""
_BEARER = "bearer_token_env_var"
"""Codex names the variable of a token with it."""
_FORWARDED = "env_vars"
"""Codex names with it the variables that a command is given."""
_LOGINS = ("oauth", "headersHelper", "authProviderType", "auth", "env_http_headers")
_SETTINGS = (SERVER_VARIABLE, "AGENTWORLD_WORLD", "AGENTWORLD_MODEL_URL", "AGENTWORLD_MODEL")
"""Variables of a wrapped entry that people may change."""


class CannotWrap(Exception):
    """Why an entry is left as it is."""


def entry_command(entry: object, client: Client) -> list[str]:
    """The command that an entry starts, with its arguments; empty when it starts none."""
    if not isinstance(entry, dict):
        return []
    fields = cast("dict[str, Any]", entry)
    words: list[Any] = []
    for part in (fields.get(client.command), fields.get("args")):
        words += cast("list[Any]", part) if isinstance(part, list) else [part]
    return [str(word) for word in words if word is not None]


def entry_environment(entry: Mapping[str, Any], client: Client) -> dict[str, Any]:
    """The environment that an entry gives its command."""
    held = entry.get(client.env)
    return dict(cast("dict[str, Any]", held)) if isinstance(held, dict) else {}


def entry_headers(entry: Mapping[str, Any], client: Client) -> dict[str, object]:
    """The headers that an entry sends to its URL."""
    headers: dict[str, object] = dict(entry.get(client.headers, {}))
    if _BEARER in entry:
        if "Authorization" in headers:
            raise CannotWrap(f"it has both {_BEARER} and a header 'Authorization'")
        headers["Authorization"] = f"Bearer ${{{entry[_BEARER]}}}"
    return headers


def starts_shim(entry: object, client: Client) -> bool:
    """Whether an entry starts the shim already, wrapped by this command or by hand."""
    words = entry_command(entry, client)
    own = words[: words.index("--")] if "--" in words else words
    if any(pair == ("-m", MODULE) for pair in itertools.pairwise(own)):
        return True
    name = words[0].replace("\\", "/").rpartition("/")[2].removesuffix(".exe") if words else ""
    return name == "agentworld-mcp" or (name == "agentworld" and words[1:2] == ["mcp"])


def is_switched_off(entry: object) -> bool:
    """Whether the client does not start the entry."""
    fields = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
    return fields.get("disabled") is True or fields.get("enabled") is False


def wrap_entry(
    entry: object,
    source: str,
    client: Client,
    *,
    interpreter: str,
    variables: Mapping[str, str],
    snapshot: Path | None = None,
) -> tuple[dict[str, Any], list[str]]:
    """The entry that puts the shim in front of a server, and notes for the person who asked.

    `source` is how the entry is written, `variables` are the world and the model for its environment, and a
    `snapshot` stands for the server, which is not started then.
    """
    fields = require_plain(entry, client)
    notes: list[str] = []
    urls = [key for key in client.urls if key in fields]
    ours: dict[str, str] = {}
    forwarded: list[str] = []
    upstream: list[str] = []
    if client.command in fields:
        if urls:
            raise CannotWrap(
                f"it has both {client.command!r} and {urls[0]!r}; take one of them out"
            )
        upstream = entry_command(fields, client)
    elif urls:
        # Every user of the host can read arguments, and a URL may hold a key.
        ours[URL_VARIABLE] = _require_http(fields, urls, client)
        if headers := _require_headers(fields, client, notes):
            ours[HEADERS_VARIABLE] = json.dumps(headers, ensure_ascii=False)
        if _BEARER in fields:
            # Codex gives a server only the variables it names, and does not fill them in.
            forwarded = [str(fields[_BEARER])]
    else:
        kind = fields.get("type")
        if client.format == "yaml" and isinstance(kind, str):
            raise CannotWrap(f"it is of type {kind!r}, which {client.title} runs within itself")
        raise CannotWrap(f"it has neither {client.command!r} nor {client.urls[0]!r}")
    env = entry_environment(fields, client)
    ours[ORIGINAL_VARIABLE] = source
    if any(name in env for name in ours):
        raise CannotWrap("its environment sets variables of the shim itself")
    # The flags keep the folder that the client starts it in, and variables meant for the original
    # server, from deciding which Python code is the shim.
    command = [interpreter, "-E", "-P", "-m", MODULE]
    if snapshot is not None:
        command += ["--snapshot", str(snapshot)]
    elif upstream:
        command += ["--", *upstream]
    wrapped: dict[str, Any] = {}
    if "type" in fields:
        wrapped["type"] = client.stdio_type if urls else fields["type"]
    if client.command_list:
        wrapped[client.command] = command
    else:
        wrapped |= {client.command: command[0], "args": command[1:]}
    # A variable that the entry sets itself stays as it is.
    wrapped[client.env] = {**variables, **ours, **env}
    # What the wrapped entry says in another way.
    launch = {client.command, "args", client.env, *client.urls, client.headers, "type", _BEARER}
    wrapped |= {key: value for key, value in fields.items() if key not in launch}
    if forwarded:
        wrapped[_FORWARDED] = [*fields.get(_FORWARDED, []), *forwarded]
    return wrapped, notes


def original_source(entry: dict[str, Any], client: Client) -> str:
    """The source that a wrapped entry keeps."""
    kept = entry_environment(entry, client).get(ORIGINAL_VARIABLE)
    if not isinstance(kept, str):
        raise CannotWrap(
            f"it has no {ORIGINAL_VARIABLE}, so it was wrapped by hand and what it was before cannot be told"
        )
    return kept


def later_changes(wrapped: dict[str, Any], original: object, client: Client) -> list[str]:
    """The keys of a wrapped entry that were changed by hand, which unwrapping does not keep."""
    words, env = entry_command(wrapped, client), entry_environment(wrapped, client)
    own = words[: words.index("--")] if "--" in words else words
    snapshot = Path(own[-1]) if "--snapshot" in own else None
    try:
        expected, _ = wrap_entry(
            original,
            env[ORIGINAL_VARIABLE],
            client,
            interpreter=own[0],
            variables={name: env[name] for name in _SETTINGS if name in env},
            snapshot=snapshot,
        )
    except CannotWrap:
        return []
    return [key for key in {**wrapped, **expected} if wrapped.get(key) != expected.get(key)]


def require_plain(entry: object, client: Client) -> dict[str, Any]:
    """The fields of an entry, whose command, URLs, environment and headers have the right types."""
    if not isinstance(entry, dict):
        raise CannotWrap("it is no map of keys")
    fields = cast("dict[str, Any]", entry)
    lists = {"args", client.command} if client.command_list else {"args"}
    for name in ("args", client.command, *client.urls):
        value = fields.get(name, [] if name in lists else "")
        if not (_is_words(value) if name in lists else isinstance(value, str)):
            kind = "list of strings" if name in lists else "string"
            raise CannotWrap(f"its {name!r} is not a {kind}")
    for name in (client.env, client.headers):
        if not isinstance(fields.get(name, {}), dict):
            raise CannotWrap(f"its {name!r} is not a map of names and values")
    return fields


def _is_words(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(word, str) for word in cast("list[object]", value)
    )


def _require_http(fields: Mapping[str, Any], urls: Sequence[str], client: Client) -> str:
    if len(urls) > 1:
        raise CannotWrap(f"it has both {urls[0]!r} and {urls[1]!r}; take one of them out")
    (key,) = urls
    if "args" in fields:
        raise CannotWrap(f"it has both {key!r} and 'args'; take one of them out")
    kind, url = str(fields.get("type", "")).lower(), str(fields[key])
    path = url.partition("?")[0].rstrip("/")
    if kind == "sse" or path.endswith("/sse") or (not kind and key in client.sse_urls):
        raise CannotWrap(
            "it speaks the older SSE transport, which the shim does not. Most such servers also offer"
            f" streamable HTTP: give that URL (often /mcp) as {client.urls[0]!r}"
        )
    if kind == "ws" or url.startswith(("ws://", "wss://")):
        raise CannotWrap("it speaks over a WebSocket, which the shim does not")
    if not url.startswith(("http://", "https://")) and not _PLACEHOLDER.search(url):
        raise CannotWrap(f"its {key!r} is no http(s) URL")
    for name in _LOGINS:
        if fields.get(name):
            raise CannotWrap(
                f"it gets its credentials by {name!r}, which the shim cannot do; give it a header"
            )
    return url


def _require_headers(
    fields: Mapping[str, Any], client: Client, notes: list[str]
) -> dict[str, object]:
    headers = entry_headers(fields, client)
    if not all(isinstance(value, str) for value in headers.values()):
        raise CannotWrap(f"its {client.headers!r} are not all strings")
    given = fields.get(client.headers, {}).values()
    left = [name for value in given for name in _PLACEHOLDER.findall(str(value))]
    if left and not client.fills_env:
        notes.append(
            f"{client.title} does not fill in {', '.join(left)} in {client.env!r}; the shim does, from"
            " its own environment"
        )
    return headers


def hide_secrets(command: Sequence[str]) -> list[str]:
    """A command to show: values that look like secrets are replaced."""
    redaction = Redaction()
    words: list[str] = []
    for before, word in itertools.pairwise(["", *command]):
        name = before.lstrip("-") if before.startswith("-") and "=" not in before else ""
        named = secret_kind(name) and not word.startswith("-")
        words.append("***" if named or _is_opaque(word) else redaction.text(word))
    return words


def _is_opaque(word: str) -> bool:
    """Whether it looks like a key, or is a URL with what does."""
    if "://" in word:
        return any(map(_is_opaque, re.split(r"[/?&=:@]", word)))
    plain = re.sub(r"[-_=+.~]", "", word)
    mixed = any(sign.isdigit() for sign in plain) and any(sign.isalpha() for sign in plain)
    return mixed and len(plain) >= _OPAQUE and plain.isalnum()
