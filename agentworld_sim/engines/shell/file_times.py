"""What gives the world's files their times and modes: its clock, `touch`, and the umask.

bashkit stamps files with the host's time. `TurnClock` remembers which moment of the world each
stretch of host time stands for, so that a stamp made during the turn can be translated. Translation
only ever uses the *order* of host times, never their distance: the world's time stays deterministic.
"""

from __future__ import annotations

import os
import time
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from shlex import quote

from bashkit import Bash, ExecutionProfile, FileSystem

FUTURE_SLACK_S = 0.5
"""A stamp later than the host's now plus this was set on purpose (`touch -d`), not by writing."""


FOR_EVER_US = 10 * 365 * 86_400_000_000
"""Who sleeps as long as this is not waited for."""


class DeadlinePassed(Exception):
    """A command slept past the moment at which its tool gives up."""


class TurnClock:
    """The world's clock as seen from inside a running command, in microseconds since the epoch (UTC)."""

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


USUAL = 0o022
NEW_FILE = 0o666
AS_MADE = 0o644
"""What the embedded shell gives every new file."""


@dataclass(slots=True)
class Umask:
    """The mask of one turn, moment by moment."""

    now: int = USUAL
    marks: list[tuple[float, int, int]] = field(default_factory=list[tuple[float, int, int]])
    """Host time, depth, mask."""
    explicit: set[str] = field(default_factory=set[str])
    """Paths whose mode was given on purpose in this turn."""

    @property
    def used(self) -> bool:
        return bool(self.marks) or self.now != USUAL

    def change(self, depth: int, mask: int) -> None:
        """`umask` was called at this depth of subshells."""
        if not self.marks:
            self.marks.append((0.0, 0, self.now))
        self.marks.append((time.time(), depth, mask))
        self.now = mask

    def back_at(self, depth: int) -> None:
        """A command runs at this depth: masks of deeper subshells are gone."""
        if self.marks and self.marks[-1][1] > depth:
            mask = next(m for _, d, m in reversed(self.marks) if d <= depth)
            self.marks.append((time.time(), depth, mask))
            self.now = mask

    def mode_of(self, path: str, mode: int, created: float) -> int:
        """The mode that a new file really has."""
        if mode != AS_MADE or path in self.explicit:
            return mode
        mask = next((m for when, _, m in reversed(self.marks) if when <= created), self.now)
        return NEW_FILE & ~mask


_UNBOUNDED = 2**62

MOST_REFERENCES = 2_000
"""Files that are kept for their times."""

_REFERENCES = "/proc/times"
"""Where they lie for the interpreter that sets times."""

_idle: dict[int, list[Bash]] = {}
"""By process: what was made before a fork is of no use after it."""


class _References:
    """Files by their times: reading a date takes the embedded `touch` 0.2 ms, copying a file's time 10 µs. The
    same times come again, in every world of a scenario."""

    def __init__(self) -> None:
        self.files = FileSystem()
        self.known: set[int] = set()


_references = _References()


def set_times(files: FileSystem, paths: Mapping[int, Sequence[str]]) -> None:
    """Sets the modification times of files, by microseconds since the epoch. Paths are absolute.

    Raises:
        RuntimeError: one could not be set.
    """
    global _references
    if len(_references.known) > MOST_REFERENCES:
        _references = _References()
    references = _references
    lines: list[str] = []
    for mtime_us, named in paths.items():
        name = f"{_REFERENCES}/{mtime_us}"
        if mtime_us % 1_000_000 == 0 and 0 <= mtime_us < 2**52:
            option = f"-t {datetime.fromtimestamp(mtime_us // 1_000_000, UTC):%Y%m%d%H%M.%S}"
        else:
            option = f"-r {name}"
            if mtime_us not in references.known:
                references.files.write_file(f"/{mtime_us}", b"")
                lines.append(f"touch -d {iso_time(mtime_us)} -- {name}")
        lines.append(f"touch {option} -- {' '.join(map(quote, named))}")
    idle = _idle.setdefault(os.getpid(), [])
    try:
        bash = idle.pop()
    except IndexError:
        # Not asked beforehand: another thread may take the last one in between.
        bash = Bash(
            profile=ExecutionProfile.Interactive,
            max_commands=_UNBOUNDED,
            max_loop_iterations=_UNBOUNDED,
        )
    bash.mount("/", files)
    bash.mount(_REFERENCES, references.files)
    result = bash.execute_sync(" && ".join(lines))
    bash.unmount(_REFERENCES)
    bash.unmount("/")
    if result.exit_code:
        raise RuntimeError(f"could not set a file's time: {result.stderr.strip()}")
    references.known.update(paths)
    idle.append(bash)


def iso_time(mtime_us: int) -> str:
    """The form that the embedded `touch -d` reads exactly, to the microsecond."""
    seconds, micro = divmod(mtime_us, 1_000_000)
    moment = datetime.fromtimestamp(seconds, UTC).replace(microsecond=micro)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
