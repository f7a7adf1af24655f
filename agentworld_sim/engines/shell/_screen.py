"""What a terminal shows: text and control sequences, put on a screen of rows and columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import pyte

ROWS, COLUMNS = 40, 160
"""The size that terminal benchmarks give their sessions."""


@dataclass(frozen=True, slots=True)
class Display:
    """A screen as a value."""

    lines: tuple[str, ...] = ()
    """From the top; missing ones are blank."""
    row: int = 0
    column: int = 0
    rows: int = ROWS
    columns: int = COLUMNS

    def fed(self, text: str) -> Display:
        """The screen after `text` was written to it; a newline also returns the carriage."""
        if not text:
            return self
        screen = pyte.Screen(self.columns, self.rows)
        stream = pyte.Stream(cast("Any", screen))
        stream.feed("\r\n".join(self.lines))
        screen.cursor_position(self.row + 1, self.column + 1)
        stream.feed(text.replace("\r\n", "\n").replace("\n", "\r\n"))
        lines = [line.rstrip() for line in screen.display]
        row, column = screen.cursor.y, min(screen.cursor.x, self.columns - 1)
        while lines and not lines[-1]:
            lines.pop()
        return Display(tuple(lines), row, column, self.rows, self.columns)

    @property
    def text(self) -> str:
        """The rows, blank ones at the end left out."""
        return "\n".join(self.lines)
