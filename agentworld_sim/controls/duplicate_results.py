"""`duplicate-results`: search results are one page at several addresses."""

from __future__ import annotations

from dataclasses import dataclass

from agentworld_sim.controls.web_control import ResultControl


@dataclass(frozen=True, kw_only=True)
class DuplicateResults(ResultControl):
    """Every page that is found comes again at further addresses, all of which open it; fewer pages have room."""

    copies: int = 2
    """How many further addresses a page has."""

    def describe(self) -> str:
        return (
            f"Results of {self.calls} are repeated at other addresses afterwards: write each once."
        )
