"""The world's clock while a command runs.

bashkit stamps files with the host's time. `TurnClock` remembers which moment of the world each
stretch of host time stands for, so that a stamp made during the turn can be translated. Translation
only ever uses the *order* of host times, never their distance: the world's time stays deterministic.
"""

from __future__ import annotations

import time
from bisect import bisect_right

FUTURE_SLACK_S = 0.5
"""A stamp later than the host's now plus this was set on purpose (`touch -d`), not by writing."""


FOR_EVER_US = 10 * 365 * 86_400_000_000
"""Who sleeps as long as this is not waited for."""


class DeadlinePassed(Exception):
    """A command slept past the moment at which its tool gives up."""


class TurnClock:
    """Implements `ShellClock` for one running turn."""

    def __init__(self, now_us: int) -> None:
        self._now_us = now_us
        self.deadline_us: int | None = None
        """When the running tool gives up, on the world's clock; `None` for never."""
        self._host_marks = [time.time()]
        self._world_marks = [now_us]

    def now_us(self) -> int:
        return self._now_us

    def sleep(self, microseconds: int) -> None:
        """Moves the clock on.

        Raises:
            DeadlinePassed: the deadline comes first; the clock stands at it then.
        """
        if microseconds >= FOR_EVER_US and self.deadline_us is None:
            raise DeadlinePassed
        wake_us = self._now_us + max(0, microseconds)
        late = self.deadline_us is not None and wake_us > self.deadline_us
        if self.deadline_us is not None and late:
            wake_us = max(self._now_us, self.deadline_us)
        self._now_us = wake_us
        self._host_marks.append(time.time())
        self._world_marks.append(wake_us)
        if late:
            raise DeadlinePassed

    def rewind(self, now_us: int) -> None:
        """Takes the clock back: what was done since then stays done at its own moments."""
        self._now_us = now_us
        self._host_marks.append(time.time())
        self._world_marks.append(now_us)

    def world_time(self, host_seconds: float) -> int | None:
        """The world's moment for a file stamped at `host_seconds`, in microseconds.

        `None` when the stamp was not made during this turn: it is a world time already.
        """
        if not self._host_marks[0] <= host_seconds <= time.time() + FUTURE_SLACK_S:
            return None
        return self._world_marks[bisect_right(self._host_marks, host_seconds) - 1]
