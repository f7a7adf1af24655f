"""Equal questions are asked once: while one is under way, and after it was answered."""

from __future__ import annotations

import asyncio
import copy
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from agentworld_sim.errors import ModelFailure
from agentworld_sim.llm.chat import ChatReply

T = TypeVar("T")


class FlightCancelled(Exception):
    """The work was given up while somebody waited for it."""


@dataclass(slots=True, eq=False)
class Flight(Generic[T]):
    """One piece of work and how many wait for it."""

    task: asyncio.Task[T]
    waiters: int = 0


class SingleFlight(Generic[T]):
    """The work under way on one event loop, by key."""

    def __init__(self) -> None:
        self._under_way: dict[Hashable, Flight[T]] = {}

    async def do(self, key: Hashable, work: Callable[[], Coroutine[Any, Any, T]]) -> tuple[T, bool]:
        """The result of the work, and whether it was under way already.

        A failure reaches everyone who waits, each with an exception of its own. The work is
        cancelled once nobody waits any more, and has ended when this returns.

        Raises:
            FlightCancelled: see `end`.
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
            raise FlightCancelled
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

        def finish(task: asyncio.Task[T]) -> None:
            self._forget(key, flight)
            if not task.cancelled():
                # Nobody may be left to look at it.
                task.exception()

        flight.task.add_done_callback(finish)
        return flight

    def _forget(self, key: Hashable, flight: Flight[T]) -> None:
        if self._under_way.get(key) is flight:
            del self._under_way[key]


LARGEST = 128 * 1024 * 1024
"""Bytes of text kept at most, whatever the number of entries: replies can be megabytes long."""


class RepliesCache:
    """The latest replies by key. Used from any thread."""

    def __init__(self, entries: int, *, size: int = LARGEST) -> None:
        self._entries = entries
        self._room = size
        self._replies: OrderedDict[bytes, ChatReply] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: bytes) -> ChatReply | None:
        with self._lock:
            reply = self._replies.get(key)
            if reply is not None:
                self._replies.move_to_end(key)
            return reply

    def put(self, key: bytes, reply: ChatReply) -> None:
        """Keeps a reply that came to its own end."""
        if not self._entries or reply.finish_reason != "stop":
            return
        with self._lock:
            if (old := self._replies.pop(key, None)) is not None:
                self._room += _size(old)
            self._replies[key] = reply
            self._room -= _size(reply)
            while self._replies and (self._room < 0 or len(self._replies) > self._entries):
                _, oldest = self._replies.popitem(last=False)
                self._room += _size(oldest)

    def drop(self, key: bytes) -> None:
        """Forgets a reply."""
        with self._lock:
            if (old := self._replies.pop(key, None)) is not None:
                self._room += _size(old)


def _size(reply: ChatReply) -> int:
    return sys.getsizeof(reply.content) + sys.getsizeof(reply.thinking)
