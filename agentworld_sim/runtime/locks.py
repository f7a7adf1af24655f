"""A lock that is held across awaits and works between event loops, first come, first served.

`asyncio.Lock` belongs to one loop; a world is used from the user's loop and, through the sync
wrappers, from ours.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from concurrent.futures import Future

from agentworld_sim.errors import UsageError
from agentworld_sim.runtime.sync import blocked_loop


class TurnLock:
    """An asynchronous mutex."""

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
