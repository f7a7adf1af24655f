"""A whole file's text: every server in it wrapped or unwrapped, the rest left to the byte."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Literal, cast

from agentworld_mcp_shim._environment import SERVER_VARIABLE, server_name
from agentworld_mcp_shim.wrapping._clients import (
    Client,
    Servers,
    client_named,
    client_of,
    format_of,
    servers_of,
)
from agentworld_mcp_shim.wrapping._entry import (
    CannotWrap,
    Change,
    Plan,
    starts_shim,
    switched_off,
)
from agentworld_mcp_shim.wrapping._nodes import Document, Edit, Member, edited
from agentworld_mcp_shim.wrapping._unwrapped import unwrapped_entry
from agentworld_mcp_shim.wrapping._wrapped import wrapped_entry
from agentworld_sim.errors import AgentworldError, UsageError, nearest

BOM = "\ufeff"

Fate = Literal["wrapped", "unwrapped", "already", "left"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What happened to one server's entry."""

    server: str
    path: tuple[str, ...]
    """The keys that lead to its list."""
    fate: Fate
    reason: str = ""
    """Why it was left alone."""
    notes: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    """What the client starts from now on."""
    variables: tuple[str, ...] = ()
    """Names of the variables it is given."""
    off: bool = False
    """Whether the entry is switched off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewritten:
    """A file's new text."""

    text: str
    client: Client
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WrapChoice:
    """How servers are to be wrapped."""

    interpreter: str
    world: str | None = None
    """One world for all; by default one per list of servers, named after the file."""
    world_per_server: bool = False
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    """More variables, such as the model's URL."""


def wrap_text(
    text: str,
    path: Path,
    choice: WrapChoice,
    *,
    client: str | None = None,
    servers: Sequence[str] = (),
) -> Rewritten:
    """Puts the shim in front of the servers of a configuration file.

    Args:
        text: What the file holds.
        path: Where it is; it tells the client, and names the world.
        choice: How.
        client: The client's name, instead of finding out.
        servers: Only these; all by default.

    Raises:
        UsageError: the text is malformed or of no known shape, or a server does not exist.
    """
    document, found = _read(text, path, client)

    def wrapped(entry: Member, servers: Servers) -> Change:
        world = choice.world or _world(path, servers.path)
        if choice.world_per_server:
            variables = {"AGENTWORLD_WORLD": f"{world}-{_slug(entry.key)}"}
        else:
            variables = {"AGENTWORLD_WORLD": world, SERVER_VARIABLE: server_name(entry.key)}
        plan = Plan(interpreter=choice.interpreter, variables={**variables, **choice.variables})
        return wrapped_entry(document, entry, found, plan)

    mark = BOM if text.startswith(BOM) else ""
    return _rewritten(document, found, servers, wrapped, mark, wrapping=True)


def unwrap_text(
    text: str, path: Path, *, client: str | None = None, servers: Sequence[str] = ()
) -> Rewritten:
    """Takes the shim away from the servers of a configuration file.

    Args:
        text: What the file holds.
        path: Where it is; it tells the client.
        client: The client's name, instead of finding out.
        servers: Only these; all by default.

    Raises:
        UsageError: the text is malformed or of no known shape, or a server does not exist.
    """
    document, found = _read(text, path, client)

    def unwrapped(entry: Member, _: Servers) -> Change:
        return unwrapped_entry(document, entry, found)

    mark = BOM if text.startswith(BOM) else ""
    return _rewritten(document, found, servers, unwrapped, mark, wrapping=False)


def parse(text: str, format: str) -> Document:
    """Reads a text of a format, without its byte order mark.

    Raises:
        UsageError: it is malformed.
    """
    if format == "toml":
        from agentworld_mcp_shim.wrapping._toml import read_toml as read
    elif format == "yaml":
        from agentworld_mcp_shim.wrapping._yaml import read_yaml as read
    else:
        from agentworld_mcp_shim.wrapping._jsonc import read_jsonc as read
    return read(text)


def _read(text: str, path: Path, name: str | None) -> tuple[Document, Client]:
    chosen = None if name is None else client_named(name)
    format = format_of(path, chosen)
    try:
        document = parse(text.removeprefix(BOM), format)
        if chosen is None:
            return document, client_of(PurePath(path.absolute()), document, format)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    if not servers_of(document, chosen):
        wanted = " or ".join(repr(".".join(keys)) for keys in chosen.paths)
        raise UsageError(
            f"{path}: {chosen.title} keeps its servers in {wanted}, and there is nothing there."
        )
    return document, chosen


def _rewritten(
    document: Document,
    client: Client,
    names: Sequence[str],
    change: Callable[[Member, Servers], Change],
    mark: str,
    *,
    wrapping: bool,
) -> Rewritten:
    lists = servers_of(document, client)
    _require_known(names, lists)
    edits: list[Edit] = []
    outcomes: list[Outcome] = []
    for servers in lists:
        for entry in servers.entries:
            if names and entry.key not in names:
                continue
            outcome, made = _changed(entry, servers, client, change, wrapping=wrapping)
            edits += made
            outcomes.append(outcome)
    text = edited(document.text, edits)
    shown = _shown(text, client, document, outcomes)
    return Rewritten(text=mark + text, client=client, outcomes=tuple(shown))


def _changed(
    entry: Member,
    servers: Servers,
    client: Client,
    change: Callable[[Member, Servers], Change],
    *,
    wrapping: bool,
) -> tuple[Outcome, list[Edit]]:
    node = entry.node
    started = node.kind == "map" and starts_shim(node, client)
    off = node.kind == "map" and switched_off(node)
    if started == wrapping:
        return Outcome(server=entry.key, path=servers.path, fate="already", off=off), []
    if [one.key for one in servers.entries].count(entry.key) > 1:
        reason = "its name stands twice in the file"
        return Outcome(server=entry.key, path=servers.path, fate="left", reason=reason, off=off), []
    try:
        made = change(entry, servers)
    except CannotWrap as error:
        return (
            Outcome(server=entry.key, path=servers.path, fate="left", reason=str(error), off=off),
            [],
        )
    fate: Fate = "wrapped" if wrapping else "unwrapped"
    return (
        Outcome(server=entry.key, path=servers.path, fate=fate, notes=tuple(made.notes), off=off),
        made.edits,
    )


def _shown(
    text: str, client: Client, before: Document, outcomes: Sequence[Outcome]
) -> list[Outcome]:
    """The outcomes with what is started now, read from the new text as the client will read it.

    Raises:
        AgentworldError: the new text is not what it should be; this is a defect of ours.
    """
    try:
        after = parse(text, client.format)
    except UsageError as error:
        raise AgentworldError(
            f"the new file would be malformed; nothing was done: {error}"
        ) from error
    # As text, because a value that is no number does not equal itself.
    if repr(_others(before, outcomes)) != repr(_others(after, outcomes)):
        raise AgentworldError(
            "rewriting would have changed more than the servers; nothing was done."
        )
    shown: list[Outcome] = []
    for outcome in outcomes:
        node = after.root.at(*outcome.path, outcome.server)
        assert node is not None
        if outcome.fate not in ("wrapped", "unwrapped"):
            shown.append(outcome)
            continue
        if starts_shim(node, client) != (outcome.fate == "wrapped"):
            raise AgentworldError(f"rewriting {outcome.server!r} failed; nothing was done.")
        value = node.value
        command = (value[client.command], *value.get("args", ())) if client.command in value else ()
        variables = tuple(value.get(client.env, {}))
        shown.append(replace(outcome, command=command, variables=variables))
    return shown


def _others(document: Document, outcomes: Sequence[Outcome]) -> object:
    """Everything but the entries that were to change."""
    changed = {(*one.path, one.server) for one in outcomes if one.fate in ("wrapped", "unwrapped")}

    def without(value: object, path: tuple[str, ...]) -> object:
        if path in changed:
            return "changed"
        if isinstance(value, dict) and any(one[: len(path)] == path for one in changed):
            held = cast("dict[str, object]", value)
            return {key: without(inner, (*path, key)) for key, inner in held.items()}
        return cast("object", value)

    return without(document.root.value, ())


def _require_known(names: Sequence[str], lists: Sequence[Servers]) -> None:
    known = sorted({entry.key for servers in lists for entry in servers.entries})
    for name in names:
        if name not in known:
            there = f" There are: {', '.join(known)}." if known else " There is none at all."
            raise UsageError(
                f"there is no server {name!r} in the file.{nearest(name, known)}{there}"
            )


def _world(path: Path, keys: Sequence[str]) -> str:
    """The world of one list of servers: the same each time for the same file, unlike any other's."""
    inner = [key for key in keys if key not in ("mcpServers", "projects", "mcp", "servers")]
    project = keys[1] if len(keys) == 3 and keys[0] == "projects" else ""
    place = str(path.absolute()) + (f"#{project}" if project else "")
    digest = hashlib.sha256(place.encode("utf-8", "surrogateescape")).hexdigest()[:6]
    folder = PurePath(project).name if inner and project else path.absolute().parent.name
    if folder.startswith("."):
        folder = path.absolute().parent.parent.name
    elif not project and path.absolute().parent == Path.home():
        folder = path.stem
    return f"{_slug(folder or path.stem)}-{digest}"


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40].strip("-") or "world"
