"""Calling asynchronous code from synchronous code, also inside a running event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from functools import lru_cache
from typing import Any, TypeVar

T = TypeVar("T")


def run_sync(work: Coroutine[Any, Any, T]) -> T:
    """Runs `work` on the library's own event loop and waits for it. Ctrl-C cancels it."""
    running = asyncio.run_coroutine_threadsafe(work, _loop())
    try:
        return running.result()
    except KeyboardInterrupt:
        running.cancel()
        raise


@lru_cache(maxsize=1)
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="agentworld-loop", daemon=True).start()
    return loop
