"""How far a stage is: a bar with the time left on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import TextIO

LINE_SECONDS = 10.0
"""A plain line in so many seconds, and one at the end."""

_BESIDE = ("loss", "accuracy", "reward")
"""Which metrics stand beside the progress."""


class Progress:
    """Says nothing. Others say how far something is."""

    def step(self, done: int, metrics: Mapping[str, float] | None = None) -> None:
        """Says how many are done, of the total, and what was measured last."""

    def say(self, text: str) -> None:
        """Says a line that stays: a warning, a notice."""


@contextmanager
def progress(
    total: int,
    what: str,
    *,
    done: int = 0,
    stream: TextIO | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Generator[Progress]:
    """Tells how far something is while the block runs.

    Args:
        what: What is told of, in a word or two.
        done: Steps that were done before, in an earlier process.
        stream: Where to; standard error by default.
        clock: Seconds, for the time left in plain lines.
    """
    out: TextIO = sys.stderr if stream is None else stream
    if out.isatty():
        with _bar(total, what, done, out) as bar:
            yield bar
    else:
        lines = _Lines(total, what, done, out, clock)
        try:
            yield lines
        finally:
            lines.write()


class _Lines(Progress):
    """Plain lines, for logs."""

    def __init__(
        self, total: int, what: str, done: int, stream: TextIO, clock: Callable[[], float]
    ) -> None:
        self._total, self._what, self._stream, self._clock = total, what, stream, clock
        self._begun = self._done = done
        self._start = self._last = clock()
        self._metrics = ""

    def step(self, done: int, metrics: Mapping[str, float] | None = None) -> None:
        self._metrics = _text(metrics) or self._metrics
        self._done = done
        if self._clock() - self._last >= LINE_SECONDS:
            self.write()

    def write(self) -> None:
        if self._total == 0:
            return
        self._last = self._clock()
        parts = [f"{self._what} {self._done}/{self._total}"]
        if self._begun < self._done < self._total:
            pace = (self._last - self._start) / (self._done - self._begun)
            left = timedelta(seconds=round(pace * (self._total - self._done)))
            parts.append(f"{left} left")
        self.say(", ".join([*parts, self._metrics] if self._metrics else parts))

    def say(self, text: str) -> None:
        print(text, file=self._stream, flush=True)


@contextmanager
def _bar(total: int, what: str, done: int, stream: TextIO) -> Generator[Progress]:
    from rich.console import Console
    from rich.progress import Progress as Bars, TextColumn

    columns = (
        *Bars.get_default_columns(),
        TextColumn("{task.completed}/{task.total} {task.fields[metrics]}"),
    )
    # What others print meanwhile, warnings too, appears above the bar.
    with Bars(*columns, console=Console(file=stream)) as bars:
        task = bars.add_task(what, total=total, completed=done, metrics="")

        class Bar(Progress):
            def step(self, done: int, metrics: Mapping[str, float] | None = None) -> None:
                bars.update(task, completed=done)
                if metrics:
                    bars.update(task, metrics=_text(metrics))

            def say(self, text: str) -> None:
                bars.console.print(text, markup=False, highlight=False)

        yield Bar()


def _text(metrics: Mapping[str, float] | None) -> str:
    found = [(name, (metrics or {}).get(name)) for name in _BESIDE]
    return ", ".join(f"{name} {value:.4g}" for name, value in found if value is not None)
