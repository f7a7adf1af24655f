"""Counts, keys, long texts and tables as plain text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def count_of(count: int, noun: str) -> str:
    """`1 answer`, `2,000 answers`."""
    return f"{count:,} {noun}{'s' if count != 1 else ''}"


def shorten(text: str, most: int) -> str:
    """The text without its end, if it has more than so many characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def key_path(key: Iterable[str | int]) -> str:
    """`("files", "/etc/x", "mode")` → `files./etc/x.mode`; a list's item is `goals[0]`."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in key]
    return "".join(parts).removeprefix(".")


def text_table(rows: Sequence[Sequence[str]], *, numbers: bool = False) -> list[str]:
    """The lines of a table; with `numbers`, all columns but the first are aligned on the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if numbers and column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
