"""What wrapping and unwrapping an entry share: telling the shim, and refusing what is not understood."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from agentworld_mcp_shim._environment import SERVER_VARIABLE, URL_VARIABLE
from agentworld_mcp_shim.wrapping._clients import Client
from agentworld_mcp_shim.wrapping._nodes import Document, Edit, Member, Node

MODULE = "agentworld_mcp_shim"
MARK = "AGENTWORLD_WRAPPED"
"""Variable that says how the entry was before."""

OURS = (
    MARK,
    URL_VARIABLE,
    SERVER_VARIABLE,
    "AGENTWORLD_WORLD",
    "AGENTWORLD_MODEL_URL",
    "AGENTWORLD_MODEL",
)
"""Variables that wrapping may add, beside headers."""

BEARER = "bearer_token_env_var"
"""Codex names the variable of a token with it."""
FORWARDED = "env_vars"
"""Codex names with it the variables that a command is given."""


class CannotWrap(Exception):
    """Why an entry is left as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the shim is to be started with."""

    interpreter: str
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of the entry's environment: the world and, where one is named, the model."""

    @property
    def start(self) -> tuple[str, ...]:
        """The arguments before the original command.

        The flags keep the folder that the client starts it in, and variables meant for the original
        server, from deciding which Python code is the shim.
        """
        return ("-E", "-P", "-m", MODULE, "--")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What wrapping or unwrapping one entry does."""

    edits: list[Edit]
    notes: list[str] = field(default_factory=list[str])
    """For the person who asked."""


def starts_shim(node: Node, client: Client) -> bool:
    """Whether an entry starts the shim already, wrapped by this command or by hand."""
    command, args = node.at(client.command), node.at("args")
    if command is None or not isinstance(command.value, str):
        return False
    words = arguments_of(args)
    own = words[: words.index("--")] if "--" in words else words
    if any(pair == ("-m", MODULE) for pair in itertools.pairwise(own)):
        return True
    name = command.value.replace("\\", "/").rpartition("/")[2].removesuffix(".exe")
    return name == "agentworld-mcp" or (name == "agentworld" and words[:1] == ["mcp"])


def switched_off(node: Node) -> bool:
    """Whether the client does not start the entry."""
    return node.value.get("disabled") is True or node.value.get("enabled") is False


def require_plain(node: Node, client: Client) -> None:
    if node.kind != "map":
        raise CannotWrap(f"it is a {node.kind} and not a map of keys")
    if _shares(node):
        raise CannotWrap("YAML aliases share parts of it; write them out")
    keys = {member.key for member in node.members}
    if len(keys) != len(node.members):
        raise CannotWrap("a key stands twice in it")
    for name in (client.command, *client.urls):
        value = node.value.get(name, "")
        if not isinstance(value, str):
            raise CannotWrap(f"its {name!r} is not a string")
    for name in (client.env, client.headers):
        held = node.member(name)
        if held is not None and held.node.kind != "map":
            raise CannotWrap(f"its {name!r} is not a map of names and values")


def _shares(node: Node) -> bool:
    inner = (*(member.node for member in node.members), *node.items)
    return node.shared or any(_shares(part) for part in inner)


def renamed(document: Document, member: Member, old: str, new: str) -> Edit:
    literal = document.text[member.start : member.key_end]
    if old not in literal:
        raise CannotWrap(f"its key {old!r} is written with escapes")
    return Edit(member.start, member.key_end, literal.replace(old, new, 1))


def is_words(node: Node) -> bool:
    return node.kind == "list" and all(isinstance(item.value, str) for item in node.items)


def arguments_of(args: Node | Member | None) -> list[str]:
    node = args.node if isinstance(args, Member) else args
    if node is None or node.kind != "list":
        return []
    return [str(item) for item in cast("list[Any]", node.value)]
