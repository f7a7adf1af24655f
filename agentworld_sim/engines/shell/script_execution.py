"""One script run by the embedded shell, within the limits of a turn."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Container
from dataclasses import dataclass

from bashkit import Bash

from agentworld_sim.engines.shell.bash_texts import (
    OVERFLOW,
    Verdict,
    Verdicts,
    unfaithful,
    verdict_on,
)
from agentworld_sim.engines.shell.machine import ShellLimits
from agentworld_sim.engines.shell.stack_guard import call_deep
from agentworld_sim.errors import EngineFailure

GRACE_S = 0.3
"""bashkit ends a script at the time limit by itself; after this it is told to."""

STUCK_S = 5.0
"""A script that ignores being cancelled for so long is given up."""

MOST_REPORTS = 50
"""A script that hits a limit so often, in ever more subshells, multiplies without end."""

FLOOD = 4
"""A script that writes this many times the output limit is not waited for any longer."""


@dataclass(frozen=True, slots=True)
class ScriptResult:
    """What a script wrote and how it ended."""

    stdout: str
    stderr: str
    exit_code: int
    verdict: Verdict | None = None
    """`None` when it ended by itself."""


class Execution:
    """Runs one script and stops it at the limits."""

    def __init__(
        self,
        bash: Bash,
        limits: ShellLimits,
        stop: Callable[[], None],
        now_us: Callable[[], int] = lambda: 0,
        *,
        said: Container[str] = (),
    ) -> None:
        """`stop` cancels all that `bash` started; the lines in `said` are others' and no reports of `bash`."""
        self._bash = bash
        self._said = said
        self._limits = limits
        self._stop = stop
        self._now_us = now_us
        self.moments: list[int] = []
        """When each of `pieces` was written, on the world's clock."""
        self._out: list[str] = []
        self._err: list[str] = []
        self._size = 0
        self._limit = Watch(limits.wall_seconds + GRACE_S, stop)
        self._flooded = False
        self._reports = 0

    def run(self, script: str, *, named: str = "") -> ScriptResult:
        """Runs `script`; `named` is what failures call it.

        Raises:
            EngineFailure: a limit was hit that a real machine does not have.
        """
        named = named or script
        result = call_deep(lambda: self._bash.execute_sync(script, self._sink), watch=self._watch)
        if self._limit.deep:
            return self._end(OVERFLOW)
        if self._reports >= MOST_REPORTS:
            report = self._verdict_inside("".join(self._err), named)
            return self._end(report or OVERFLOW)
        if self._limit.late:
            return self._end(Verdicts("timeout", "", 124))
        if self._size > self._limits.output_bytes:
            raise EngineFailure(
                f"The script {named[:300]!r} wrote more than {self._limits.output_bytes:,} bytes"
                " (ShellLimits.output_bytes); raise the limit, or have it write to a file."
            )
        if result.error is not None:
            return self._end(verdict_on(result.error, named))
        if result.stdout_truncated or result.stderr_truncated:
            raise unfaithful("the output was truncated", named)
        said = self._verdict_inside(result.stderr, named)
        if said is not None:
            return self._end(said)
        # The sink misses the menu of `select`, the result what a DEBUG trap prints.
        pairs = zip(self.output_so_far(), (result.stdout, result.stderr), strict=True)
        stdout, stderr = (max(pair, key=len) for pair in pairs)
        return ScriptResult(stdout, stderr, result.exit_code)

    @property
    def stopped(self) -> bool:
        """Whether a limit stopped the script."""
        return self._limit.stopped or self._flooded or self._reports >= MOST_REPORTS

    def whole_seconds(self) -> int:
        """Host time since it began, rounded up."""
        return math.ceil(self._limit.seconds())

    def seconds_left(self) -> float:
        """Host time until this script is stopped."""
        if self.stopped:
            return 0.0
        return self._limit.seconds_left() - GRACE_S

    def cause(self, *, cancelled: bool) -> Verdict:
        """Why a command of ours was given up."""
        late = self._limit.late or self._flooded or self.seconds_left() <= 0
        return "cancelled" if cancelled and not late else "timeout"

    def pieces(self) -> list[tuple[str, str]]:
        """Standard output and error piece by piece, in the order of writing."""
        said = (err if not _REPORT.search(self._own(err)) else "" for err in self._err)
        return list(zip(self._out, said, strict=True))

    def output_so_far(self) -> tuple[str, str]:
        """Standard output and error so far. A stopped run forgets them; the sink has seen them."""
        return "".join(self._out), "".join(self._err)

    def _end(self, by: Verdicts) -> ScriptResult:
        stdout, stderr = self.output_so_far()
        lines = stderr.splitlines(keepends=True)
        kept = [line for line in lines if not _REPORT.search(self._own(line))]
        return ScriptResult(stdout, "".join(kept) + by.said, by.exit_code, by.verdict)

    def _own(self, text: str) -> str:
        """The lines of `text` that nobody else wrote."""
        lines = text.splitlines(keepends=True)
        return "".join(line for line in lines if line.rstrip("\n") not in self._said)

    def _verdict_inside(self, stderr: str, script: str) -> Verdicts | None:
        """A part of the script (a subshell, a pipeline's stage) hit a limit that ends all of it."""
        own = self._own(stderr)
        if "jq: execution timed out" in own:
            return Verdicts("timeout", "", 124)
        found = re.search(r"(?:resource limit exceeded|execution error): (.*)", own)
        return verdict_on(found[1], script) if found else None

    def _sink(self, stdout: str, stderr: str) -> None:
        if "resource limit exceeded: " in stderr and "resource limit" in self._own(stderr):
            self._reports += 1
            if self._reports == MOST_REPORTS:
                self._stop()
        self._size += len(stdout) + len(stderr)
        if self._size > self._limits.output_bytes:
            if self._size > FLOOD * self._limits.output_bytes and not self._flooded:
                self._flooded = True
                self._stop()
            return
        self._out.append(stdout)
        self._err.append(stderr)
        self.moments.append(self._now_us())

    def _watch(self, deep: bool) -> None:
        self._limit(deep)
        if self._limit.seconds_left() < -STUCK_S:
            raise EngineFailure(
                f"A script did not stop {STUCK_S:g} s after its time limit of"
                f" {self._limits.wall_seconds:g} s (ShellLimits.wall_seconds)."
            )


class Watch:
    """Stops what runs in an interpreter when its time is over or its stack is deep."""

    def __init__(self, limit_s: float, stop: Callable[[], None]) -> None:
        self._limit_s = limit_s
        self._stop = stop
        self._started = time.monotonic()
        self.deep = False
        """It recursed too deeply, and was stopped."""
        self.late = False
        """Its time was over, and it was stopped."""

    @property
    def stopped(self) -> bool:
        return self.deep or self.late

    def seconds(self) -> float:
        """Host time since it began."""
        return time.monotonic() - self._started

    def seconds_left(self) -> float:
        return self._limit_s - self.seconds()

    def __call__(self, deep: bool) -> None:
        if not self.stopped:
            self.deep = deep
            self.late = not deep and self.seconds_left() <= 0
            if self.stopped:
                self._stop()


_REPORT = re.compile(
    r"resource limit exceeded: |execution error: |^execution cancelled|^jq: execution timed out|^bashkit: "
)
