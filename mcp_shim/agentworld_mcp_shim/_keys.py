"""Which world a request is about.

The first of these that the request has: `_meta["agentworld/world"]`, the header `Agentworld-World`, a
world in the URL (`/worlds/NAME/mcp` or `?world=NAME`), the session of an older protocol, the
authenticated principal, and what this process was started with.

Names of clients belong to their principal: in the store they stand behind a hash of it, so that no name
a client can think of leads to another's world. A world of a session is called by 128 bits that nobody
outside this run of the shim can work out.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mcp.types import INVALID_PARAMS

from agentworld_sim.errors import UsageError
from agentworld_sim.runtime.world_history import check_world_id, new_world_id
from mcp import MCPError

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

META = "agentworld/world"
HEADER = "agentworld-world"
QUERY = "world"
CALLER = "agentworld.caller"
"""Where the HTTP face leaves the `Caller` in a request's scope."""

OWN_WORLD = "main"
"""A principal's world when nothing names one."""

MAX_NAME = 95
"""A client's name and the hash in front of it must make an id that a store takes."""

_OWNED = re.compile(r"[0-9a-f]{32}\..+")
"""The form of a world that belongs to a principal."""

Source = Literal["_meta", "header", "url", "session", "principal", "process"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """What the HTTP face has found out about a request, and checked."""

    principal: str | None = None
    """Who it is; `None` where nobody is asked."""
    world: str | None = None
    """The world in the URL's path."""
    session: str | None = field(default=None, repr=False)
    """The session of an older protocol."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What all processes of one run of the shim share."""

    world: str = field(default_factory=new_world_id)
    """The world of requests that nothing else gives one."""
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    """Makes the names of sessions and their worlds."""
    folder: Path | None = None
    """Where processes leave what the others must know; `None` when there is only one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldKey:
    """The answer."""

    id: str
    """The world's id in the store."""
    source: Source
    """What decided."""
    principal: str | None = None
    over_http: bool = False

    @property
    def fresh(self) -> bool:
        """Whether it is hardly in the store before its first request."""
        return self.source == "session"

    @property
    def redirectable(self) -> str | None:
        """Names what can be moved to another world: a session, or a client on standard input.

        `None` where every request says or implies its world by itself.
        """
        if self.source == "session":
            return f"session {self.id}"
        return "process" if self.source == "process" and not self.over_http else None


class Keys:
    """Finds the world of each request."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._of_session: dict[tuple[str | None, str], str] = {}

    def of(self, context: ServerRequestContext[Any]) -> WorldKey:
        """The world of a request.

        Raises:
            MCPError: it names one that cannot be, or that is not its own to name.
        """
        request = context.request
        if request is None:
            wanted = _named(context.meta)
            if wanted is None:
                return WorldKey(id=self._run.world, source="process")
            return WorldKey(id=checked_name(wanted), source="_meta")
        caller: Caller = request.scope.get(CALLER) or Caller()
        principal, session = caller.principal, caller.session

        def key(world_id: str, source: Source) -> WorldKey:
            return WorldKey(id=world_id, source=source, principal=principal, over_http=True)

        named: tuple[tuple[Source, str | None], ...] = (
            ("_meta", _named(context.meta)),
            ("header", request.headers.get(HEADER)),
            ("url", caller.world or request.query_params.get(QUERY)),
        )
        for source, name in named:
            if name is not None:
                return key(owned_id(name, principal), source)
        if session is not None:
            return key(self._session_world(session, principal), "session")
        if principal is not None:
            return key(owned_id(OWN_WORLD, principal), "principal")
        return key(self._run.world, "process")

    def _session_world(self, session: str, principal: str | None) -> str:
        key = principal, session
        found = self._of_session.get(key)
        if found is None:
            text = f"world\0{principal or ''}\0{session}".encode()
            drawn = hmac.new(self._run.secret, text, hashlib.sha256).hexdigest()[:32]
            if len(self._of_session) >= 10_000:
                self._of_session.clear()
            self._of_session[key] = found = owned_id(drawn, principal)
        return found


class SessionRedirects:
    """Which world a session is in, if it is no longer its own; known to all processes of a run."""

    def __init__(self, folder: Path | None = None) -> None:
        """
        Args:
            folder: Where the processes tell each other; `None` when there is one only.
        """
        self._folder = folder
        self._worlds: dict[str, str] = {}

    async def resolve(self, key: WorldKey) -> WorldKey:
        """The key of the world in which the session of `key` is now."""
        assert key.redirectable is not None
        if self._folder is None:
            world_id = self._worlds.get(key.redirectable)
        else:
            world_id = await asyncio.to_thread(
                _read_redirect, self._file(self._folder, key.redirectable)
            )
        return key if world_id is None else replace(key, id=world_id)

    async def redirect(self, key: WorldKey, world_id: str) -> None:
        """Moves the session of `key` to another world."""
        assert key.redirectable is not None
        if self._folder is None:
            self._worlds[key.redirectable] = world_id
        else:
            file = self._file(self._folder, key.redirectable)
            await asyncio.to_thread(_write_redirect, file, world_id)

    def _file(self, folder: Path, session: str) -> Path:
        return folder / f"redirect-{hashlib.sha256(session.encode()).hexdigest()}"


def owner_of(principal: str) -> str:
    """What the ids of a principal's worlds begin with."""
    return hashlib.sha256(f"principal\0{principal}".encode()).hexdigest()[:32] + "."


def is_owned(world_id: str) -> bool:
    """Whether a world belongs to a principal."""
    return _OWNED.fullmatch(world_id) is not None


def owned_id(name: str, principal: str | None) -> str:
    """The id in the store of a world that a client over HTTP calls `name`.

    Args:
        name: The client's name for it, or the id that an answer told it.
        principal: Who it is.

    Raises:
        MCPError: no world of this client can be called so. What others have makes no difference.
    """
    checked_name(name)
    if principal is None:
        if _OWNED.fullmatch(name):
            raise _no_world(name)
        return name
    owner = owner_of(principal)
    if name.startswith(owner):
        name = name.removeprefix(owner)
        checked_name(name)
    if _OWNED.fullmatch(name):
        raise _no_world(name)
    if len(name) > MAX_NAME:
        raise MCPError(
            INVALID_PARAMS, f"a world's name has at most {MAX_NAME} characters, this {len(name)}."
        )
    return owner + name


def checked_name(name: str) -> str:
    """`name` if it can be a world's.

    Raises:
        MCPError: it cannot.
    """
    try:
        check_world_id(name)
    except UsageError as error:
        raise MCPError(INVALID_PARAMS, str(error)) from None
    return name


def _named(meta: Mapping[str, Any] | None) -> str | None:
    name: object = meta.get(META) if meta else None
    if name is not None and not isinstance(name, str):
        raise MCPError(INVALID_PARAMS, f'_meta["{META}"] must be a string, the name of a world.')
    return name


def _no_world(name: str) -> MCPError:
    return MCPError(INVALID_PARAMS, f"there is no world {name!r}.")


def _read_redirect(file: Path) -> str | None:
    try:
        return file.read_text(encoding="ascii")
    except FileNotFoundError:
        return None


def _write_redirect(file: Path, world_id: str) -> None:
    beside = file.with_suffix(f".{os.getpid()}")
    beside.write_text(world_id, encoding="ascii")
    beside.replace(file)
