"""A whole file's text: every server in it wrapped or unwrapped, the rest left to the byte."""

from __future__ import annotations

import copy
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Any, Literal

from agentworld_mcp_shim._targets import SERVER_VARIABLE, server_name
from agentworld_mcp_shim.wrapping._clients import (
    Client,
    client_named,
    client_of,
    format_of,
    server_lists,
)
from agentworld_mcp_shim.wrapping._config_text import ConfigText, Keys, read_config
from agentworld_mcp_shim.wrapping._entry_rewrite import (
    CannotWrap,
    entry_command,
    entry_environment,
    is_switched_off,
    later_changes,
    original_source,
    starts_shim,
    wrap_entry,
)
from agentworld_sim.errors import AgentworldError, UsageError, nearest

BOM = "\ufeff"
WORLD_VARIABLE = "AGENTWORLD_WORLD"

Fate = Literal["wrapped", "unwrapped", "already", "left"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryOutcome:
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
class RewrittenConfig:
    """A file's new text."""

    text: str
    client: Client
    outcomes: tuple[EntryOutcome, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WrapChoice:
    """How servers are to be wrapped."""

    interpreter: str
    world: str | None = None
    """One world for all; by default one per list of servers, named after the file."""
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    """More variables, such as the model's URL."""
    snapshots: Mapping[str, Path] = field(default_factory=dict[str, Path])
    """What stands for servers that are not to be started, by the server's name."""


def wrap_text(
    text: str,
    path: Path,
    choice: WrapChoice,
    *,
    client: str | None = None,
    servers: Sequence[str] = (),
) -> RewrittenConfig:
    """Puts the shim in front of the servers of a configuration file.

    Args:
        text: What the file holds.
        path: Where it is; it tells the client, and names the world.
        client: The client's name, instead of finding out.
        servers: Only these; all by default.

    Raises:
        UsageError: the text is malformed or of no known shape, a server does not exist, or two would
            share tables because their names are too much alike.
    """
    config, found = read_client_config(text, path, client)
    _require_known(choice.snapshots, config, found)

    def wrap(at: Keys, entry: Any) -> tuple[str, list[str]]:
        world = choice.world or _world_name(path, at[:-1])
        names = {WORLD_VARIABLE: world, SERVER_VARIABLE: server_name(at[-1])}
        start, end = config.spans[at]
        wrapped, notes = wrap_entry(
            entry,
            config.text[start:end],
            found,
            interpreter=choice.interpreter,
            variables={**names, **choice.variables},
            snapshot=choice.snapshots.get(at[-1]),
        )
        return config.source(at, wrapped), notes

    rewritten, after = _rewrite(config, found, servers, wrap, "wrapped")
    _require_tables_apart(rewritten, after)
    return replace(rewritten, text=text[: text.startswith(BOM)] + after.text)


def unwrap_text(
    text: str, path: Path, *, client: str | None = None, servers: Sequence[str] = ()
) -> RewrittenConfig:
    """Takes the shim away from the servers of a configuration file.

    Args:
        text: What the file holds.
        path: Where it is; it tells the client.
        client: The client's name, instead of finding out.
        servers: Only these; all by default.

    Raises:
        UsageError: the text is malformed or of no known shape, or a server does not exist.
    """
    config, found = read_client_config(text, path, client)

    def unwrap(_: Keys, entry: Any) -> tuple[str, list[str]]:
        return original_source(entry, found), []

    rewritten, after = _rewrite(config, found, servers, unwrap, "unwrapped")
    outcomes: list[EntryOutcome] = []
    for one in rewritten.outcomes:
        at = (*one.path, one.server)
        if one.fate == "unwrapped" and (gone := later_changes(config.at(at), after.at(at), found)):
            note = f"what was changed since it was wrapped is gone: {', '.join(gone)}"
            one = replace(one, notes=(note,))
        outcomes.append(one)
    new_text = text[: text.startswith(BOM)] + after.text
    return replace(rewritten, text=new_text, outcomes=tuple(outcomes))


def read_client_config(text: str, path: Path, client: str | None) -> tuple[ConfigText, Client]:
    """A configuration file's text, and whose it is."""
    chosen = None if client is None else client_named(client)
    try:
        config = read_config(text.removeprefix(BOM), format_of(path, chosen))
        if chosen is None:
            return config, client_of(PurePath(path.absolute()), config)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    if not server_lists(config, chosen):
        wanted = " or ".join(repr(".".join(keys)) for keys in chosen.paths)
        raise UsageError(
            f"{path}: {chosen.title} keeps its servers in {wanted}, and there is nothing there."
        )
    return config, chosen


def _rewrite(
    config: ConfigText,
    client: Client,
    only: Sequence[str],
    rewrite: Callable[[Keys, Any], tuple[str, list[str]]],
    fate: Literal["wrapped", "unwrapped"],
) -> tuple[RewrittenConfig, ConfigText]:
    """Rewrites entries: `rewrite` makes of an entry and its path its new source and notes."""
    _require_known(only, config, client)
    outcomes: list[EntryOutcome] = []
    sources: dict[Keys, str] = {}
    for at, entry in _entries(config, client):
        if only and at[-1] not in only:
            continue
        outcome = EntryOutcome(server=at[-1], path=at[:-1], fate=fate, off=is_switched_off(entry))
        try:
            if starts_shim(entry, client) == (fate == "wrapped"):
                outcome = replace(outcome, fate="already")
            elif at in config.problems:
                raise CannotWrap(config.problems[at])
            else:
                sources[at], notes = rewrite(at, entry)
                outcome = replace(outcome, notes=tuple(notes))
        except CannotWrap as error:
            outcome = replace(outcome, fate="left", reason=str(error))
        outcomes.append(outcome)
    after = _verify(config, sources, client, wrapped=fate == "wrapped")
    for number, outcome in enumerate(outcomes):
        entry = after.at((*outcome.path, outcome.server))
        if outcome.fate == fate:
            outcomes[number] = replace(
                outcome,
                command=tuple(entry_command(entry, client)),
                variables=tuple(entry_environment(entry, client)),
            )
    return RewrittenConfig(text=after.text, client=client, outcomes=tuple(outcomes)), after


def _entries(config: ConfigText, client: Client) -> Iterator[tuple[Keys, Any]]:
    for path in server_lists(config, client):
        for name, entry in config.at(path).items():
            yield (*path, name), entry


def _verify(
    config: ConfigText, sources: Mapping[tuple[str, ...], str], client: Client, *, wrapped: bool
) -> ConfigText:
    """The new text, read as the client will read it.

    Raises:
        AgentworldError: it is not what it should be; for example, because an entry that is put back
            was written for another indentation.
    """
    try:
        after = read_config(config.replace_entries(sources), config.format)
    except UsageError as error:
        raise AgentworldError(
            f"the new file would be malformed; nothing was done: {error}"
        ) from error
    # As text, because a value that is no number does not equal itself.
    if repr(_without(config, sources)) != repr(_without(after, sources)):
        raise AgentworldError(
            "rewriting would have changed more than the servers; nothing was done."
        )
    for at in sources:
        if starts_shim(after.at(at), client) != wrapped:
            raise AgentworldError(f"rewriting {at[-1]!r} failed; nothing was done.")
    return after


def _without(config: ConfigText, changed: Iterable[tuple[str, ...]]) -> Any:
    """The value but for the entries that were to change."""
    value = copy.deepcopy(config.value)
    for *keys, name in changed:
        servers = value
        for key in keys:
            servers = servers[key]
        servers[name] = None
    return value


def _require_known(names: Iterable[str], config: ConfigText, client: Client) -> None:
    known = sorted({at[-1] for at, _ in _entries(config, client)})
    for name in names:
        if name not in known:
            there = f" There are: {', '.join(known)}." if known else " There is none at all."
            raise UsageError(
                f"there is no server {name!r} in the file.{nearest(name, known)}{there}"
            )


def _require_tables_apart(rewritten: RewrittenConfig, config: ConfigText) -> None:
    """Raises `UsageError` when a wrapped server would have the tables of another one."""
    owners: dict[tuple[object, object], EntryOutcome] = {}
    for one in rewritten.outcomes:
        if one.fate not in ("wrapped", "already"):
            continue
        env = entry_environment(config.at((*one.path, one.server)), rewritten.client)
        world, server = env.get(WORLD_VARIABLE), env.get(SERVER_VARIABLE)
        other = owners.setdefault((world, server), one)
        if other.server != one.server and "wrapped" in (one.fate, other.fate):
            raise UsageError(
                f"the servers {other.server!r} and {one.server!r} would share their tables, because"
                f" both are {server or world!r} in their world. Rename one of them."
            )


def _world_name(path: Path, keys: Sequence[str]) -> str:
    """The world of one list of servers: the same each time for the same file, unlike any other's."""
    project = keys[1] if len(keys) == 3 and keys[0] == "projects" else ""
    place = str(path.absolute()) + (f"#{project}" if project else "")
    digest = hashlib.sha256(place.encode("utf-8", "surrogateescape")).hexdigest()[:6]
    folder = PurePath(project) if project else path.absolute().parent
    name = folder.parent.name if folder.name.startswith(".") and not project else folder.name
    if folder == Path.home():
        name = path.stem
    slug = re.sub(r"[^a-z0-9]+", "-", (name or path.stem).lower()).strip("-")[:40].strip("-")
    return f"{slug or 'world'}-{digest}"
