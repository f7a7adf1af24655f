"""Trying again after failures that may be over in a moment."""

from __future__ import annotations

import logging
import math
import random
import time
from collections.abc import Awaitable, Callable
from email.utils import parsedate_to_datetime
from typing import TypeVar

from agentworld_sim.errors import ModelUnavailable

FIRST_PAUSE = 0.5
"""Seconds; each further pause may be twice as long."""

LONGEST_PAUSE = 30.0

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]

logger = logging.getLogger(__name__)


class Temporary(Exception):
    """A lost connection, a 5xx or a 429."""

    def __init__(self, failure: ModelUnavailable, *, after: float | None = None) -> None:
        super().__init__(str(failure))
        self.failure = failure
        """What to raise when it does not pass."""
        self.after = after
        """Seconds the server asks to wait."""


async def retried(attempt: Callable[[], Awaitable[T]], *, retries: int, sleep: Sleep) -> T:
    """Makes attempts until one is no `Temporary` failure, with pauses in between.

    Raises:
        ModelUnavailable: the last attempt failed too.
    """
    count = 0
    while True:
        try:
            return await attempt()
        except Temporary as error:
            failure, after = error.failure, error.after
        if count == retries:
            break
        seconds = pause(count, after)
        count += 1
        logger.debug("attempt %d failed, the next one comes in %.2f s", count, seconds)
        await sleep(seconds)
    if retries:
        failure.args = (f"{failure.args[0]} It was tried {retries + 1} times.",)
    raise failure


def pause(count: int, after: float | None) -> float:
    """Seconds before the next attempt: full jitter below an exponential bound.

    What a server asks for is kept to, with a little jitter so that not all clients return at once.
    """
    if after is not None:
        return min(after, LONGEST_PAUSE) + random.uniform(0, FIRST_PAUSE)
    return random.uniform(0, min(FIRST_PAUSE * 2**count, LONGEST_PAUSE))


def seconds_until(retry_after: str | None) -> float | None:
    """The seconds of a `Retry-After` header, which has seconds or a date (RFC 9110, 10.2.3)."""
    if not retry_after:
        return None
    try:
        seconds = float(retry_after)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(retry_after).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    # `nan` and `inf` are numbers to Python, and no time to wait.
    return max(seconds, 0.0) if math.isfinite(seconds) else None
