"""`outdated-page`: an old version of a page is shown."""

from __future__ import annotations

from dataclasses import dataclass

from agentworld_sim.controls.web_control import PageControl


@dataclass(frozen=True, kw_only=True)
class OutdatedPage(PageControl):
    """Some pages are shown as a cached copy that says how old it is, with numbers that were others then."""

    days: int = 400
    """How much older the copy is."""
    facts: int = 1
    """How many numbers of such a page were others."""

    def describe(self) -> str:
        return f"Some pages that {self.calls} open are made old copies afterwards: write them as they are today."
