"""Tables and progress on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager

WIDEST = 1000
"""Columns of a table in a file or a pipe."""


def print_table(heads: Sequence[str], lines: Iterable[Sequence[str]], caption: str = "") -> None:
    """Prints texts in columns, or below each other where a terminal is too narrow; none is broken or cut."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    # What stands in brackets or colons is part of a name, no markup.
    console, rows = Console(markup=False, emoji=False, highlight=False), list(lines)
    if not console.is_terminal:
        console.width = WIDEST
    for gap, tops in ((1, heads), (0, [head.replace(" ", "\n") for head in heads])):
        table = Table(*tops, box=SIMPLE_HEAD, show_edge=False, padding=(0, gap, 0, 0))
        for row in rows:
            table.add_row(*row)
        unlimited = console.options.update(max_width=WIDEST)
        if console.measure(table, options=unlimited).maximum <= console.width:
            console.print(table)
            break
    else:
        for name, *cells in rows:
            parts = (f"  {head}: {cell}" for head, cell in zip(heads[1:], cells, strict=True))
            console.print(f"{heads[0]}, {name}", *parts, sep="\n", crop=False)
    console.print(caption, end="\n" if caption else "", crop=False)


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
