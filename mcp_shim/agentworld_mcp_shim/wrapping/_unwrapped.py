"""One server's entry, unwrapped: the exact inverse of `_wrapped`."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from agentworld_mcp_shim._environment import HEADER_PREFIX, URL_VARIABLE, variable_header
from agentworld_mcp_shim.wrapping._clients import Client
from agentworld_mcp_shim.wrapping._entry import (
    BEARER,
    FORWARDED,
    MARK,
    OURS,
    CannotWrap,
    Change,
    arguments_of,
    renamed,
    require_plain,
)
from agentworld_mcp_shim.wrapping._nodes import (
    Document,
    Edit,
    Member,
    Node,
    without_items,
    without_members,
)


def unwrapped_entry(document: Document, entry: Member, client: Client) -> Change:
    """The edits that take the shim away again.

    Raises:
        CannotWrap: it starts the shim in a way that does not tell what was there before.
    """
    node = entry.node
    require_plain(node, client)
    command, args, env = node.member(client.command), node.member("args"), node.member(client.env)
    assert command is not None
    mark = _mark(env, args)
    words = arguments_of(args)
    if "--" not in words and URL_VARIABLE not in (env.node.value if env else {}):
        raise CannotWrap("its arguments have no `--`, so what it was before cannot be told")
    if "http" in mark:
        return _unwrapped_url(document, node, command, args, env, client, mark)
    assert args is not None
    count = words.index("--") + 2
    if count > len(words):
        raise CannotWrap("there is no command after `--` in its arguments")
    literal = mark.get("was") or document.source(args.node.items[count - 1])
    edits = [Edit(command.node.start, command.end, literal)]
    gone: list[Member] = []
    if "no-args" in mark and count == len(words):
        gone.append(args)
    else:
        edits += without_items(document, args.node, count)
    if env is not None:
        edits += _unwrapped_env(env, gone, mark, "no-env" in mark)
    return Change(edits=edits + without_members(node, gone, appended=True))


def _unwrapped_url(
    document: Document,
    node: Node,
    command: Member,
    args: Member | None,
    env: Member | None,
    client: Client,
    mark: Mapping[str, str],
) -> Change:
    words = arguments_of(args)
    held = env.node.member(URL_VARIABLE) if env is not None else None
    url = held.node if held is not None else None
    if url is None:
        assert args is not None
        count = words.index("--") + 2
        if count > len(words):
            raise CannotWrap("there is no URL after `--` in its arguments")
        url = args.node.items[count - 1]
    key = mark.get("url") or client.urls[0]
    edits = [
        renamed(document, command, client.command, key),
        Edit(command.node.start, command.end, mark.get("was") or document.source(url)),
    ]
    gone = [] if args is None else [args]
    kind = node.member("type")
    if kind is not None and "type" in mark:
        edits.append(Edit(kind.node.start, kind.end, mark["type"]))
    forwarded = node.member(FORWARDED) if "bearer" in mark else None
    if forwarded is not None and forwarded.node.items:
        edits.append(renamed(document, forwarded, FORWARDED, BEARER))
        source = document.source(forwarded.node.items[0])
        edits.append(Edit(forwarded.node.start, forwarded.end, source))
    if env is not None:
        edits += _unwrapped_env(env, gone, mark, "no-env" in mark)
        if "headers" in mark:
            edits += _headers_back(document, env, client, mark)
    return Change(edits=edits + without_members(node, gone, appended=True))


def _headers_back(
    document: Document, env: Member, client: Client, mark: Mapping[str, str]
) -> list[Edit]:
    edits = [renamed(document, env, client.env, client.headers)]
    for member in env.node.members:
        header = variable_header(member.key)
        if header is not None and not ("bearer" in mark and _is_bearer(member)):
            edits.append(renamed(document, member, member.key, header))
    return edits


def _unwrapped_env(
    env: Member, gone: list[Member], mark: Mapping[str, str], absent: bool
) -> list[Edit]:
    """Takes our variables out of `env`, and puts it with what goes if there was none before."""
    taken = [member for member in env.node.members if _is_added(member, mark)]
    if absent and len(taken) == len(env.node.members):
        gone.append(env)
        return []
    return without_members(env.node, taken, appended=False)


def _is_added(member: Member, mark: Mapping[str, str]) -> bool:
    """Whether wrapping put a variable there; renamed headers were there before."""
    if member.key in mark.get("own", "").split(","):
        return False
    if member.key.startswith(HEADER_PREFIX):
        return "headers" not in mark or ("bearer" in mark and _is_bearer(member))
    return member.key in OURS


def _is_bearer(member: Member) -> bool:
    return variable_header(member.key) == "Authorization"


def _mark(env: Member | None, args: Member | None) -> dict[str, str]:
    """What `AGENTWORLD_WRAPPED` says; guessed for an entry that was wrapped by hand."""
    said = env.node.value.get(MARK) if env is not None else None
    if isinstance(said, str):
        try:
            words = shlex.split(said)
        except ValueError:
            words = []
        return {name: value for name, _, value in (word.partition("=") for word in words)}
    words = arguments_of(args)
    after = words[words.index("--") + 1 :] if "--" in words else []
    http = not after or (len(after) == 1 and after[0].startswith(("http://", "https://")))
    return {"http" if http else "stdio": ""}
