"""A lock that is held across awaits and works between event loops, first come, first served.

`asyncio.Lock` belongs to one loop; a world is used from the user's loop and, through the sync
wrappers, from ours.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from concurrent.futures import Future


class TurnLock:
    """An asynchronous mutex."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._held = False
        self._waiting: deque[Future[None]] = deque()

    def try_acquire(self) -> bool:
        """Takes the lock if nobody has it; `release` gives it back."""
        with self._guard:
            if self._held:
                return False
            self._held = True
            return True

    async def __aenter__(self) -> None:
        with self._guard:
            if not self._held:
                self._held = True
                return
            turn: Future[None] = Future()
            self._waiting.append(turn)
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
            while self._waiting:
                turn = self._waiting.popleft()
                if turn.set_running_or_notify_cancel():
                    turn.set_result(None)
                    return
            self._held = False
