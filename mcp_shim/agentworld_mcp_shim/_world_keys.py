"""Which world a request is about.

The first of these that the request has: `_meta["agentworld/world"]`, the header `Agentworld-World`, a
world in the URL (`/worlds/NAME/mcp` or `?world=NAME`), the session of an older protocol, the
authenticated principal, and what this process was started with.

Names of clients belong to their principal: in the store they stand behind a hash of it, so that no name
a client can think of leads to another's world. A world of a session is called by 128 bits that nobody
outside this run of the shim can work out.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    principal: str | None = None
    fresh: bool = False
    """Whether it is hardly in the store before its first request."""


def world_key(context: ServerRequestContext[Any], run: Run) -> WorldKey:
    """The world of a request. Raises `MCPError` when it names one that cannot be, or that is not its own to name."""
    request = context.request
    named: object = context.meta.get(META) if context.meta else None
    if named is not None and not isinstance(named, str):
        raise MCPError(INVALID_PARAMS, f'_meta["{META}"] must be a string, the name of a world.')
    if request is None:
        return WorldKey(id=run.world if named is None else _check_name(named))
    caller: Caller = request.scope.get(CALLER) or Caller()
    principal = caller.principal
    for name in (
        named,
        request.headers.get(HEADER),
        caller.world or request.query_params.get(QUERY),
    ):
        if name is not None:
            return WorldKey(id=store_id(name, principal), principal=principal)
    if caller.session is not None:
        text = f"world\0{principal or ''}\0{caller.session}".encode()
        drawn = hmac.new(run.secret, text, hashlib.sha256).hexdigest()[:32]
        return WorldKey(id=store_id(drawn, principal), principal=principal, fresh=True)
    if principal is not None:
        return WorldKey(id=store_id(OWN_WORLD, principal), principal=principal)
    return WorldKey(id=run.world)


def owner_prefix(principal: str | None) -> str:
    """What the ids of a principal's worlds begin with."""
    if principal is None:
        return ""
    return hashlib.sha256(f"principal\0{principal}".encode()).hexdigest()[:32] + "."


def is_owned(world_id: str) -> bool:
    """Whether a world belongs to a principal."""
    return _OWNED.fullmatch(world_id) is not None


def store_id(name: str, principal: str | None) -> str:
    """The id in the store of a world that a client over HTTP calls `name`, or by the id it was told.

    Raises:
        MCPError: no world of this client can be called so. What others have makes no difference.
    """
    owner = owner_prefix(principal)
    name = _check_name(_check_name(name).removeprefix(owner))
    if is_owned(name):
        raise MCPError(INVALID_PARAMS, f"there is no world {name!r}.")
    if owner and len(name) > MAX_NAME:
        raise MCPError(
            INVALID_PARAMS, f"a world's name has at most {MAX_NAME} characters, this {len(name)}."
        )
    return owner + name


def _check_name(name: str) -> str:
    """`name`; raises `MCPError` when it cannot be a world's."""
    try:
        check_world_id(name)
    except UsageError as error:
        raise MCPError(INVALID_PARAMS, str(error)) from None
    return name
