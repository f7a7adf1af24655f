"""The refs by which tools point at elements of a page."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class RefBook:
    """The refs of one document, plain data: a ref stays with its element while role and name stay.

    Playwright from 1.64 on puts a prefix before the refs of every document but the first, so that an old ref cannot
    hit another page.
    """

    prefix: str = ""
    last: int = 0
    """The newest number."""
    given: dict[int, tuple[str, str, str]] = field(default_factory=dict[int, tuple[str, str, str]])
    """Role, name and ref, by the number of the element."""

    def give(self, index: int, role: str, name: str) -> str:
        """The ref of an element; a new one if it has none, or another role or name than it had."""
        known = self.given.get(index)
        if known is None or known[0] != role or known[1] != name:
            self.last += 1
            known = self.given[index] = (role, name, f"{self.prefix}e{self.last}")
        return known[2]
