"""The open worlds of one process: opened or made when a request is about them, closed when long unused."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mcp.types import INVALID_REQUEST

from agentworld_mcp_shim._settings import HttpSettings, ShimSettings
from agentworld_mcp_shim._world_keys import Run, WorldKey, is_owned, owner_prefix, world_key
from agentworld_mcp_shim._worlds import WorldOpener
from agentworld_sim.errors import AgentworldError, UnknownWorldError
from agentworld_sim.runtime.world_history import is_switch
from mcp import MCPError

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from agentworld_mcp_shim._mirror import Mirror
    from agentworld_sim.store import WorldRecord, WorldStore
    from agentworld_sim.types.tools import ToolSpec
    from agentworld_sim.world import World

logger = logging.getLogger(__name__)

MAX_OPEN = 1024
"""Worlds that are held open; those used longest ago are closed when there are more. Opening one again
takes a few milliseconds."""

CLOSE_SECONDS = 5.0
"""How long the pool waits at its end for worlds that are still being opened."""


RECOUNT_SECONDS = 30.0
"""How long a count of a principal's worlds is believed: other processes make and remove some too."""

FULL_SECONDS = 1.0
"""The same for a principal that has as many as it may: each refusal would count all of them."""

RENEWALS = 10
"""A lease is renewed when a tenth of it has passed, not at every call."""


class _Entry:
    """One world, open or being opened."""

    bare: asyncio.Task[World]
    ready: asyncio.Task[World]
    """With the mirror's tools."""
    users = 0
    """Requests that were given the world and are not answered yet."""
    until = 0.0
    """When its lease ends, as far as this process knows; 0 for never."""


class WorldPool:
    """Gives the requests of any number of clients their worlds.

    A world is opened once, however many ask for it at a time, and an opening goes on when who asked has
    left. Use it on one event loop.
    """

    def __init__(
        self,
        settings: ShimSettings,
        *,
        run: Run | None = None,
        clock: Callable[[], float] = time.time,
        max_open: int = MAX_OPEN,
    ) -> None:
        choice = settings.worlds
        self.run = run or (Run(world=choice.world_id) if choice.world_id else Run())
        self._settings = settings
        self._opener = WorldOpener(choice, settings.access)
        http = settings.http
        self._quotas = _Quotas(
            seconds=http.world_seconds if http else 0.0,
            most=(http or HttpSettings()).max_worlds,
            clock=clock,
        )
        self._max_open = max_open
        self._entries: dict[str, _Entry] = {}
        self._mirror: asyncio.Future[Mirror | None] = asyncio.Future()
        self._specs: list[ToolSpec] = []
        self._sweeping: asyncio.Task[None] | None = None

    def show(self, mirror: Mirror | None) -> None:
        """Says whose tools the worlds are given; `None` for no more than their own."""
        if mirror is not None:
            self._specs = mirror.specs(self._settings.binds)
        self._mirror.set_result(mirror)

    def begin(self) -> asyncio.Task[World]:
        """Begins to open the world of this process, at first without the mirror's tools."""
        return self._entry(WorldKey(id=self.run.world)).bare

    def ready(self) -> asyncio.Task[World]:
        """The world of this process with the mirror's tools."""
        return self._entry(WorldKey(id=self.run.world)).ready

    def key(self, context: ServerRequestContext[Any]) -> WorldKey:
        """Which world a request is about. Raises `MCPError` when it names one that it may not use."""
        return world_key(context, self.run)

    async def world(self, context: ServerRequestContext[Any]) -> World:
        """The world that a request is about, with the mirror's tools, open until the task that asks ends.

        Raises:
            AgentworldError: it cannot be had.
            MCPError: the request names one that it may not use, or may make no more.
        """
        return await self.open(self.key(context))

    async def open(self, key: WorldKey) -> World:
        """The world of a key; as `world`."""
        entry = self._entry(key)
        task = asyncio.current_task()
        assert task is not None
        entry.users += 1

        def leave(_: object) -> None:
            entry.users -= 1

        task.add_done_callback(leave)
        world = await asyncio.shield(entry.ready)
        if self._quotas.is_due(entry.until):
            with suppress(UnknownWorldError):
                entry.until = await self._quotas.renew(world.store, world.id)
        return world

    async def fork(self, world: World, world_id: str, key: WorldKey) -> World:
        """A copy of a world, which belongs to who asks for it. Raises `MCPError` when it may make no more."""
        leased = self._settings.http is not None
        if leased:
            await self._quotas.admit(world.store, key.principal)
        forked = await world.fork(id=world_id)
        if leased:
            await self._quotas.renew(world.store, world_id)
        await forked.close()
        return await self.open(replace(key, id=world_id))

    @property
    def open_worlds(self) -> int:
        """How many are open or being opened."""
        return len(self._entries)

    async def probe(self) -> None:
        """Looks whether worlds can be had. Raises what is in the way."""
        store = await self._opener.store()
        with suppress(UnknownWorldError):
            await asyncio.to_thread(store.world, self.run.world)

    async def records(self) -> list[WorldRecord]:
        """What the store knows of its worlds, oldest first."""
        return await asyncio.to_thread((await self._opener.store()).worlds)

    async def find(self, world_id: str) -> World:
        """A world that is there already. Raises `UnknownWorldError` where it is not."""
        await asyncio.to_thread((await self._opener.store()).world, world_id)
        return await self.open(WorldKey(id=world_id))

    async def sweep(self) -> None:
        """Removes the worlds whose time is over."""
        for world_id in await self._quotas.sweep(await self._opener.store()):
            await self._drop(world_id)

    def keep_sweeping(self) -> None:
        """Removes them now and then, until the pool is closed."""
        if self._quotas.pause is not None and self._sweeping is None:
            self._sweeping = asyncio.create_task(self._sweep_for_ever(self._quotas.pause))

    async def aclose(self, *, keep_unused: bool = False) -> None:
        """Closes all worlds and the store.

        Clients start a server only to list its tools, and each start would leave a world behind: a
        fresh world of this process that nobody used is removed.
        """
        if self._sweeping is not None:
            self._sweeping.cancel()
        if openings := {entry.bare for entry in self._entries.values()}:
            await asyncio.wait(openings, timeout=CLOSE_SECONDS)
        for world_id in list(self._entries):
            await self._drop(world_id)
        if not keep_unused and self._settings.worlds.world_id is None:
            await self._remove_unused()
        await self._opener.close()

    async def _remove_unused(self) -> None:
        if not self._opener.begun:
            return
        # Whatever is wrong with the store was said before; a world that is gone is well.
        with suppress(AgentworldError):
            store = await self._opener.store()
            record = await asyncio.to_thread(store.world, self.run.world)
            if all(map(is_switch, await asyncio.to_thread(store.lineage, record.head))):
                await asyncio.to_thread(store.remove, record.id)

    def _entry(self, key: WorldKey) -> _Entry:
        entry = self._entries.pop(key.id, None)
        if entry is not None and self._quotas.is_over(entry.until) and not entry.users:
            # Another process may have used it since, or removed it: look again.
            self._close_later(entry)
            entry = None
        if entry is None:
            entry = _Entry()
            entry.bare = asyncio.create_task(self._open(key, entry))
            entry.ready = asyncio.create_task(self._with_tools(entry.bare))
            entry.ready.add_done_callback(lambda task: self._forget(key.id, entry, task))
        # At the end: the one used last.
        self._entries[key.id] = entry
        if len(self._entries) > self._max_open:
            self._shrink()
        return entry

    async def _open(self, key: WorldKey, entry: _Entry) -> World:
        leased = self._settings.http is not None and key.id != self.run.world
        store = await self._opener.store()

        async def admit() -> None:
            await self._quotas.admit(store, key.principal)

        world = await self._opener.open(
            key.id,
            fresh=key.fresh or (key.id == self.run.world and not self._settings.worlds.world_id),
            gone=lambda record: self._quotas.is_over(record.expires),
            admit=admit if leased else None,
        )
        if leased:
            entry.until = await self._quotas.renew(store, world.id)
        return world

    async def _with_tools(self, bare: asyncio.Task[World]) -> World:
        mirror = await asyncio.shield(self._mirror)
        if mirror is None:
            return await asyncio.shield(bare)
        return await mirror.bind(await asyncio.shield(bare), self._specs)

    def _forget(self, world_id: str, entry: _Entry, ready: asyncio.Task[World]) -> None:
        """What failed is tried again by who asks next."""
        failed = ready.cancelled() or ready.exception() is not None
        if failed and self._entries.get(world_id) is entry:
            del self._entries[world_id]

    def _shrink(self) -> None:
        for world_id, entry in list(self._entries.items()):
            if len(self._entries) <= self._max_open:
                return
            if not entry.users and entry.ready.done():
                del self._entries[world_id]
                self._close_later(entry)

    def _close_later(self, entry: _Entry) -> None:
        closing = asyncio.ensure_future(_close(entry))
        _CLOSING.add(closing)
        closing.add_done_callback(_CLOSING.discard)

    async def _drop(self, world_id: str) -> None:
        entry = self._entries.pop(world_id, None)
        if entry is not None:
            await _close(entry)

    async def _sweep_for_ever(self, pause: float) -> None:
        while True:
            await asyncio.sleep(pause)
            try:
                await self.sweep()
            except AgentworldError as error:
                # The store may be back at the next round.
                logger.error("worlds whose time is over could not be removed: %s", error)


class _Quotas:
    """Worlds that clients made are leased: removed some time after their last use. Times are host time."""

    def __init__(
        self, *, seconds: float, most: int, clock: Callable[[], float] = time.time
    ) -> None:
        self._seconds = seconds
        self._most = most
        self._clock = clock
        self._counts: dict[str | None, tuple[float, int]] = {}

    @property
    def pause(self) -> float | None:
        """Time between two rounds of `sweep`; `None` when nothing ever expires."""
        return min(60.0, max(1.0, self._seconds / RENEWALS)) if self._seconds else None

    def is_due(self, until: float) -> bool:
        """Whether a lease that ends then is to be renewed at a use now."""
        return 0 < until < self._clock() + self._seconds * (1 - 1 / RENEWALS)

    def is_over(self, until: float) -> bool:
        """Whether a lease that ends then is over; 0 is never."""
        return 0 < until <= self._clock()

    async def renew(self, store: WorldStore, world_id: str) -> float:
        """Keeps a world for the whole time from now on; gives the end, 0 for never."""
        if not self._seconds:
            return 0.0
        until = self._clock() + self._seconds
        await asyncio.to_thread(store.extend, world_id, until)
        return until

    async def admit(self, store: WorldStore, principal: str | None) -> None:
        """Counts one more world of a principal. Raises `MCPError` when it has as many as it may."""
        now = time.monotonic()
        since, count = self._counts.get(principal, (-RECOUNT_SECONDS, 0))
        if now - since >= (FULL_SECONDS if count >= self._most else RECOUNT_SECONDS):
            since, count = now, await asyncio.to_thread(_count_of, store, principal)
        if count >= self._most:
            self._counts[principal] = since, count
            raise MCPError(
                INVALID_REQUEST,
                f"no new world: there are {count} of this client already, and {self._most} are"
                " allowed. Worlds that are not used are removed after a while.",
            )
        self._counts[principal] = since, count + 1

    async def sweep(self, store: WorldStore) -> list[str]:
        """Removes the worlds whose time is over; gives their ids."""
        removed = await asyncio.to_thread(store.remove_expired, self._clock())
        if removed:
            self._counts.clear()
        for world_id in removed:
            logger.info("the world %s was not used for long; it is removed", world_id)
        return removed


def _count_of(store: WorldStore, principal: str | None) -> int:
    owner = owner_prefix(principal)
    if not owner:
        return sum(1 for record in store.worlds() if record.expires > 0 and not is_owned(record.id))
    return sum(1 for record in store.worlds() if record.id.startswith(owner))


_CLOSING: set[asyncio.Future[None]] = set()
"""The event loop itself holds tasks by weak references only."""


async def _close(entry: _Entry) -> None:
    entry.ready.cancel()
    if not entry.bare.done():
        entry.bare.cancel()
    elif not entry.bare.cancelled() and entry.bare.exception() is None:
        await entry.bare.result().close()
