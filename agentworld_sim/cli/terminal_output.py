"""Tables and progress on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager


def print_table(heads: Sequence[str], lines: Iterable[Sequence[str]], caption: str = "") -> None:
    """Prints texts in columns; the first is never broken, and no text is cut."""
    from rich.console import Console
    from rich.table import Column, Table

    others = (Column(head, overflow="fold") for head in heads[1:])
    table = Table(Column(heads[0], no_wrap=True), *others, caption=caption or None)
    for line in lines:
        table.add_row(*line)
    console = Console()
    console.print(table, width=None if console.is_terminal else 200)


@contextmanager
def progress_bar(what: str, total: int | None, note: object = "") -> Generator[Callable[[], None]]:
    """Shows on stderr how many are done and how long the others will take; the function takes one more.

    Args:
        total: How many, where that is known. All are done at the end: some may have been there before.
        note: Its text stands behind the bar.
    """
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeRemainingColumn())
    spoken = TextColumn("{task.fields[note]}")
    with Progress(*columns, spoken, console=Console(stderr=True)) as progress:
        bar = progress.add_task(what, total=total, note=note)
        yield lambda: progress.advance(bar)
        progress.update(bar, completed=total)
