"""`contradiction`: a page says a fact otherwise than the others."""

from __future__ import annotations

from dataclasses import dataclass

from agentworld_sim.controls.web_control import PageControl


@dataclass(frozen=True, kw_only=True)
class Contradiction(PageControl):
    """Some numbers of some pages are others that could be right, wherever they stand on the page. What other pages say
    stays as it is."""

    facts: int = 1
    """How many numbers of such a page."""

    def describe(self) -> str:
        return (
            f"Some pages that {self.calls} open say a fact wrong afterwards: write what is right."
        )
