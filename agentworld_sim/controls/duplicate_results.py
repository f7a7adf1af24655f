"""`duplicate-results`: search results are one page at several addresses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentworld_sim.controls.web_control import ResultControl

MOST = 3


@dataclass(frozen=True, kw_only=True)
class DuplicateResults(ResultControl):
    """Every page that is found comes again at further addresses, all of which open it; fewer pages have room."""

    copies: int = 2
    """How many further addresses a page has: at most 3."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.copies > MOST:
            raise self.refusal("copies", self.copies, f"give {MOST} or less")

    def result_dirt(self) -> Mapping[str, Any]:
        return {"kind": "duplicates", "copies": self.copies}

    def describe(self) -> str:
        return (
            f"Results of {self.calls} are repeated at other addresses afterwards: write each once."
        )
