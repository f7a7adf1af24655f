"""Equal questions that are under way at the same time are asked once."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from agentworld_sim.errors import ModelFailure

T = TypeVar("T")


class Ended(Exception):
    """The work was given up while somebody waited for it."""


@dataclass(slots=True, eq=False)
class Flight(Generic[T]):
    """One piece of work and how many wait for it."""

    task: asyncio.Task[T]
    waiters: int = 0


class Flights(Generic[T]):
    """The work under way on one event loop, by key."""

    def __init__(self) -> None:
        self._under_way: dict[Hashable, Flight[T]] = {}

    async def share(
        self, key: Hashable, work: Callable[[], Coroutine[Any, Any, T]]
    ) -> tuple[T, bool]:
        """The result of the work, and whether it was under way already.

        A failure reaches everyone who waits, each with an exception of its own. The work is
        cancelled once nobody waits any more, and has ended when this returns.

        Raises:
            Ended: see `end`.
        """
        flight = self._under_way.get(key)
        joined = flight is not None
        if flight is None:
            flight = self._start(key, work)
        task = flight.task
        flight.waiters += 1
        try:
            # Unlike `await task`, this leaves the task alone when the waiter is cancelled.
            await asyncio.wait((task,))
        finally:
            flight.waiters -= 1
            if not flight.waiters and not task.done():
                self._forget(key, flight)
                task.cancel()
                await asyncio.wait((task,))
        if task.cancelled():
            raise Ended
        error = task.exception()
        if isinstance(error, ModelFailure):
            # Whoever catches it attaches its own exchanges.
            raise copy.copy(error) from error.__cause__
        return task.result(), joined

    async def end(self) -> None:
        """Cancels everything under way."""
        tasks = [flight.task for flight in self._under_way.values()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _start(self, key: Hashable, work: Callable[[], Coroutine[Any, Any, T]]) -> Flight[T]:
        flight = Flight(asyncio.create_task(work()))
        self._under_way[key] = flight

        def ended(task: asyncio.Task[T]) -> None:
            self._forget(key, flight)
            if not task.cancelled():
                # Nobody may be left to look at it.
                task.exception()

        flight.task.add_done_callback(ended)
        return flight

    def _forget(self, key: Hashable, flight: Flight[T]) -> None:
        if self._under_way.get(key) is flight:
            del self._under_way[key]
