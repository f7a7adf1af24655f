"""One server's entry, wrapped: which spans of the text are replaced by what.

Wrapping changes as little as it can: the command's own text moves to the end of the shim's arguments,
header names become names of variables where they stand, and what cannot be seen from the result is said in
`AGENTWORLD_WRAPPED`. So unwrapping is exact without the original at hand.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from agentworld_mcp_shim._environment import URL_VARIABLE, header_variable
from agentworld_mcp_shim.wrapping._clients import Client
from agentworld_mcp_shim.wrapping._entry import (
    BEARER,
    FORWARDED,
    MARK,
    CannotWrap,
    Change,
    Plan,
    is_words,
    renamed,
    require_plain,
)
from agentworld_mcp_shim.wrapping._nodes import (
    Document,
    Edit,
    Member,
    Node,
    prepended_items,
    prepended_members,
    quoted,
)
from agentworld_mcp_shim.wrapping._secrets import placeholders, url_holds_secret


def wrapped_entry(document: Document, entry: Member, client: Client, plan: Plan) -> Change:
    """The edits that put the shim in front of a server.

    Raises:
        CannotWrap: with the reason, and what to do.
    """
    node = entry.node
    require_plain(node, client)
    urls = [member for key in client.urls if (member := node.member(key)) is not None]
    command = node.member(client.command)
    if command is not None and urls:
        raise CannotWrap(
            f"it has both {client.command!r} and {urls[0].key!r}; take one of them out"
        )
    if command is not None:
        return _wrapped_command(document, node, command, client, plan)
    if len(urls) > 1:
        raise CannotWrap(f"it has both {urls[0].key!r} and {urls[1].key!r}; take one of them out")
    if urls:
        return _wrapped_url(document, node, urls[0], client, plan)
    kind = node.value.get("type")
    if client.format == "yaml" and isinstance(kind, str):
        raise CannotWrap(f"it is of type {kind!r}, which {client.title} runs within itself")
    raise CannotWrap(f"it has neither {client.command!r} nor {client.urls[0]!r}")


def _wrapped_command(
    document: Document, node: Node, command: Member, client: Client, plan: Plan
) -> Change:
    args = node.member("args")
    if args is not None and not is_words(args.node):
        raise CannotWrap("its 'args' is not a list of strings")
    literal, said = _movable(document, command.node)
    start = [*(quoted(word) for word in plan.start), literal]
    mark = ["stdio", *said]
    edits = [Edit(command.node.start, command.node.end, quoted(plan.interpreter))]
    added = ""
    if args is None:
        mark.append("no-args")
        added = _added_args(document, node, command, start)
    else:
        edits += prepended_items(document, args.node, start)
    env = node.member(client.env)
    variables = _variables(plan, env, mark, absent=env is None)
    if env is not None:
        edits += prepended_members(document, env.node, variables)
    elif args is not None and args.node.flow:
        more = _added_env(document, node, args, client.env, variables)
        edits.append(Edit(args.end, args.end, more))
    else:
        # After a list of lines there is no place that is sure to be before a comment.
        added += _added_env(document, node, command, client.env, variables)
    if added:
        edits.append(Edit(command.end, command.end, added))
    return Change(edits=edits)


def _wrapped_url(document: Document, node: Node, url: Member, client: Client, plan: Plan) -> Change:
    _require_http(node, url, client)
    mark = ["http", f"url={url.key}"]
    literal, said = _movable(document, url.node)
    mark += said
    if node.member("args") is not None:
        raise CannotWrap(f"it has both {url.key!r} and 'args'; take one of them out")
    hidden = url_holds_secret(url.node.value)
    start = [quoted(word) for word in plan.start]
    if hidden:
        start.pop()
    else:
        start.append(literal)
    edits = [
        renamed(document, url, url.key, client.command),
        Edit(url.node.start, url.node.end, quoted(plan.interpreter)),
    ]
    kind = node.member("type")
    if kind is not None:
        mark.append(f"type={document.source(kind.node)}")
        edits.append(Edit(kind.node.start, kind.node.end, quoted("stdio")))
    first: list[tuple[str, str]] = [(URL_VARIABLE, literal)] if hidden else []
    notes: list[str] = []
    bearer = node.member(BEARER) if client.name == "codex" else None
    if bearer is not None:
        # Codex gives a server only the variables it names, and does not fill them in.
        edits.append(renamed(document, bearer, BEARER, FORWARDED))
        source = document.source(bearer.node)
        edits.append(Edit(bearer.node.start, bearer.end, f"[{source}]"))
        token = quoted(f"Bearer ${{{bearer.node.value}}}")
        first.append((header_variable("Authorization") or "", token))
        mark.append("bearer")
    headers, env = node.member(client.headers), node.member(client.env)
    added = _added_args(document, node, url, start)
    if headers is not None:
        if bearer is not None and headers.node.member("Authorization"):
            raise CannotWrap(f"it has both {BEARER!r} and a header 'Authorization'")
        edits_of, named = _moved_headers(document, headers, env, client)
        edits += edits_of
        first += named
        mark.append(f"headers={client.headers}" if env is None else "headers-kept")
        notes += _unfilled(headers.node, client)
    variables = _variables(plan, env, mark, absent=env is None and headers is None, first=first)
    holder = env or headers
    if holder is None:
        added += _added_env(document, node, url, client.env, variables)
    else:
        edits += prepended_members(document, holder.node, variables)
    edits.append(Edit(url.end, url.end, added))
    if hidden:
        notes.append(f"its URL may hold a secret and is handed over in {URL_VARIABLE}")
    return Change(edits=edits, notes=notes)


def _moved_headers(
    document: Document, headers: Member, env: Member | None, client: Client
) -> tuple[list[Edit], list[tuple[str, str]]]:
    """Headers as variables: renamed where they stand, or copied if there is an `env` already."""
    edits: list[Edit] = []
    named: list[tuple[str, str]] = []
    for member in headers.node.members:
        variable = header_variable(member.key)
        if variable is None or not isinstance(member.node.value, str):
            raise CannotWrap(
                f"its header {member.key!r} cannot be handed over as a variable; write the entry by"
                " hand, with AGENTWORLD_UPSTREAM_HEADERS in its environment"
            )
        if env is None:
            edits.append(renamed(document, member, member.key, variable))
        else:
            named.append((variable, quoted(member.node.value)))
    if env is None:
        edits.append(renamed(document, headers, client.headers, client.env))
    return edits, named


def _variables(
    plan: Plan,
    env: Member | None,
    mark: list[str],
    *,
    absent: bool,
    first: Sequence[tuple[str, str]] = (),
) -> list[tuple[str, str]]:
    """The variables to add, and `AGENTWORLD_WRAPPED`; one that the entry sets itself stays."""
    own = [] if env is None else [name for name in plan.variables if env.node.member(name)]
    if env is not None and any(env.node.member(name) for name, _ in (*first, (MARK, ""))):
        raise CannotWrap("its environment sets variables of the shim itself")
    if absent:
        mark.append("no-env")
    if own:
        mark.append(f"own={','.join(own)}")
    chosen = [(name, quoted(value)) for name, value in plan.variables.items() if name not in own]
    return [*first, *chosen, (MARK, quoted(shlex.join(mark)))]


def _added_args(document: Document, node: Node, anchor: Member, literals: Sequence[str]) -> str:
    gap = document.gap(anchor.start, flow=node.flow)
    if node.flow or document.inline_tables:
        listed = document.assigned("args", f"[{', '.join(literals)}]")
        return f",{gap}{listed}" if node.flow else f"{gap}{listed}"
    return f"{gap}args:" + "".join(f"{gap}  - {literal}" for literal in literals)


def _added_env(
    document: Document,
    node: Node,
    anchor: Member,
    key: str,
    variables: Sequence[tuple[str, str]],
) -> str:
    gap = document.gap(anchor.start, flow=node.flow)
    if node.flow or document.inline_tables:
        added = document.assigned(key, document.inline(variables))
        return f",{gap}{added}" if node.flow else f"{gap}{added}"
    lines = (f"{gap}  {document.assigned(name, literal)}" for name, literal in variables)
    return f"{gap}{key}:" + "".join(lines)


def _movable(document: Document, node: Node) -> tuple[str, list[str]]:
    """A literal as it can stand elsewhere, and words for the mark if it had to change."""
    literal = document.source(node)
    if "\n" in literal:
        raise CannotWrap("its command or URL is written over several lines")
    # A plain YAML word may hold signs that end it inside brackets.
    if literal[:1] not in ("'", '"') and any(sign in literal for sign in ",[]{}?"):
        return quoted(node.value), [f"was={literal}"]
    return literal, []


def _require_http(node: Node, url: Member, client: Client) -> None:
    kind = str(node.value.get("type", "")).lower()
    address: str = url.node.value
    path = address.partition("?")[0].rstrip("/")
    if kind == "sse" or path.endswith("/sse") or (not kind and url.key in client.sse_urls):
        raise CannotWrap(
            "it speaks the older SSE transport, which the shim does not. Most such servers also offer"
            f" streamable HTTP: give that URL (often /mcp) as {client.urls[0]!r}"
        )
    if kind == "ws" or address.startswith(("ws://", "wss://")):
        raise CannotWrap("it speaks over a WebSocket, which the shim does not")
    if not address.startswith(("http://", "https://")) and not placeholders(address):
        raise CannotWrap(f"its {url.key!r} is no http(s) URL")
    for name in ("oauth", "headersHelper", "authProviderType", "auth", "env_http_headers"):
        if node.member(name) is not None:
            raise CannotWrap(
                f"it gets its credentials by {name!r}, which the shim cannot do; give it a header"
            )


def _unfilled(headers: Node, client: Client) -> list[str]:
    if client.fills_env:
        return []
    texts: list[str] = [one.node.value for one in headers.members]
    found = [name for text in texts for name in placeholders(text)]
    if not found:
        return []
    return [
        f"{client.title} does not fill in {', '.join(found)} in {client.env!r}; the shim does, from its"
        + " own environment"
    ]
