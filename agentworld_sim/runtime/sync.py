"""Calling asynchronous code from synchronous code, also inside a running event loop; and a lock between event loops."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections import deque
from collections.abc import Coroutine
from concurrent.futures import Future, TimeoutError as TookTooLong
from contextlib import suppress
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, TypeVar

from agentworld_sim.errors import UsageError

T = TypeVar("T")

THREAD = "agentworld-loop"
"""The name of the thread that runs the library's own event loop."""

ENDING_SECONDS = 2.0
"""How long the process waits at its end for connections to be closed in order."""


_blocked: ContextVar[list[asyncio.AbstractEventLoop]] = ContextVar("blocked")


def run_sync(work: Coroutine[Any, Any, T]) -> T:
    """Runs `work` on the library's own event loop and waits for it. Ctrl-C cancels it.

    Raises:
        UsageError: called on that very loop, which would wait for itself for ever.
    """
    if _loop(os.getpid())[1] is threading.current_thread():
        work.close()
        raise UsageError(
            "a synchronous call was made from inside of another one, on the event loop that both"
            " need. Await the asynchronous method there instead."
        )
    loop = _running_loop()
    # What runs there inherits this context, also tasks that live on: the list is emptied in the end.
    blocked = [] if loop is None else [loop]
    token = _blocked.set(blocked)
    try:
        running = submit(work)
    finally:
        _blocked.reset(token)
    try:
        return running.result()
    except KeyboardInterrupt:
        running.cancel()
        raise
    finally:
        blocked.clear()


def blocked_loop() -> asyncio.AbstractEventLoop | None:
    """The event loop that stands still until the current work is done, because `run_sync` was called on
    it; `None` for work that no loop waits for so."""
    return next(iter(_blocked.get([])), None)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def in_sync_call() -> bool:
    """Whether this runs for somebody who waits in `run_sync`, and not on a loop of the user's."""
    return threading.current_thread().name == THREAD


def submit(work: Coroutine[Any, Any, T]) -> Future[T]:
    """Runs `work` on the library's own event loop, without waiting for it."""
    return asyncio.run_coroutine_threadsafe(work, _loop(os.getpid())[0])


# By process: a fork has the loop of its parent, and no thread that runs it.
@lru_cache(maxsize=1)
def _loop(process: int) -> tuple[asyncio.AbstractEventLoop, threading.Thread]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name=THREAD, daemon=True)
    thread.start()
    atexit.register(_end, loop, thread, process)
    return loop, thread


def _end(loop: asyncio.AbstractEventLoop, thread: threading.Thread, process: int) -> None:
    if process != os.getpid():
        return
    # Who keeps connections on the loop has begun a generator there that closes them.
    ending = asyncio.run_coroutine_threadsafe(loop.shutdown_asyncgens(), loop)
    with suppress(TookTooLong):
        ending.result(ENDING_SECONDS)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(ENDING_SECONDS)
    if not thread.is_alive():
        loop.close()


class TurnLock:
    """An asynchronous mutex, held across awaits, first come, first served. `asyncio.Lock` belongs to one loop; a world is
    used from the user's and, through the sync wrappers, from ours."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._held = False
        self._loop: asyncio.AbstractEventLoop | None = None
        """Of whoever has the lock, where it is known."""
        self._waiting: deque[tuple[Future[None], asyncio.AbstractEventLoop]] = deque()

    def try_acquire(self) -> bool:
        """Takes the lock if nobody has it; `release` gives it back."""
        with self._guard:
            if self._held:
                return False
            self._held = True
            return True

    async def __aenter__(self) -> None:
        """Takes the lock, or waits for it.

        Raises:
            UsageError: somebody waits synchronously for this, on the event loop of one who goes before:
                nobody would ever get on.
        """
        loop = asyncio.get_running_loop()
        with self._guard:
            if not self._held:
                self._held, self._loop = True, loop
                return
            self._refuse_deadlock()
            turn: Future[None] = Future()
            self._waiting.append((turn, loop))
        try:
            await asyncio.wrap_future(turn)
        except asyncio.CancelledError:
            # `wrap_future` has cancelled the future; if it was our turn already, pass it on.
            if turn.done() and not turn.cancelled():
                self.release()
            raise

    async def __aexit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        with self._guard:
            self._loop = None
            while self._waiting:
                turn, loop = self._waiting.popleft()
                if turn.set_running_or_notify_cancel():
                    self._loop = loop
                    turn.set_result(None)
                    return
            self._held = False

    def _refuse_deadlock(self) -> None:
        blocked = blocked_loop()
        if blocked is not None and blocked in (self._loop, *(loop for _, loop in self._waiting)):
            raise UsageError(
                "a synchronous call was made on an event loop while a call to the same world was being"
                " answered there: both would wait for ever. Await the asynchronous method there instead."
            )
