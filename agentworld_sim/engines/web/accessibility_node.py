"""A node of an accessibility tree."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class AccessibilityNode:
    """What a page shows of an element: its role, its name, its states, what is in it."""

    role: str
    name: str
    element: int
    """The number of the element."""
    ref: str = ""
    """What a tool calls it by; empty for what cannot be pointed at."""
    pointer: bool = False
    """The cursor over it is a hand."""
    active: bool = False
    """It is in focus."""
    states: tuple[str, ...] = ()
    """As they are written: `checked`, `level=2`, …"""
    properties: tuple[tuple[str, str], ...] = ()
    """`url` and `placeholder`."""
    marked_hidden: bool = False
    """It is `aria-hidden` and shown all the same."""
    children: tuple[AccessibilityNode | str, ...] = ()
    written: tuple[tuple[int, bool, bool, int], str] | None = field(default=None, repr=False)
    """Its lines, and where they were written for."""

    @property
    def is_bare(self) -> bool:
        """Whether it would not be missed: not in focus, without properties, not marked as hidden."""
        return not (self.active or self.properties or self.marked_hidden)
