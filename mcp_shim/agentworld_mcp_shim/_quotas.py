"""How many worlds clients may make, and for how long they are kept."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from mcp.types import INVALID_REQUEST

from agentworld_mcp_shim._keys import is_owned, owner_of
from mcp import MCPError

if TYPE_CHECKING:
    from agentworld_sim.store import WorldRecord, WorldStore

logger = logging.getLogger(__name__)

RECOUNT_SECONDS = 30.0
"""How long a count of a principal's worlds is believed: other processes make and remove some too."""

FULL_SECONDS = 1.0
"""The same for a principal that has as many as it may: each refusal would count all of them."""

RENEWALS = 10
"""A lease is renewed when a tenth of it has passed, not at every call."""


class WorldQuotas:
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

    def is_gone(self, record: WorldRecord) -> bool:
        """Whether the world's time is over, removed or not."""
        return self.is_over(record.expires)

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
        """Counts one more world of a principal.

        Raises:
            MCPError: it has as many as it may.
        """
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
    if principal is None:
        return sum(1 for record in store.worlds() if record.expires > 0 and not is_owned(record.id))
    owner = owner_of(principal)
    return sum(1 for record in store.worlds() if record.id.startswith(owner))
