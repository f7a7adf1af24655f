"""`umask`, which the embedded shell keeps but does not apply.

A script that sets it tells us each time (see `_guise`), with the depth of subshells at which it did.
Files that redirections made get the bits of the moment when they were made.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

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
