"""Calling asynchronous code from synchronous code, also inside a running event loop."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TookTooLong
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
