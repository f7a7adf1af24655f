"""`paywall`: a page shows only its beginning."""

from __future__ import annotations

from dataclasses import dataclass

from agentworld_sim.controls.web_control import PageControl


@dataclass(frozen=True, kw_only=True)
class Paywall(PageControl):
    """Some pages show their beginning and a notice that one must subscribe."""

    characters: int = 300
    """What is shown of such a page."""

    def describe(self) -> str:
        return (
            f"Some pages that {self.calls} open are cut by a paywall afterwards: write them whole."
        )
