"""`spam-results`: advertising among search results."""

from __future__ import annotations

from dataclasses import dataclass

from agentworld_sim.controls.web_control import ResultControl


@dataclass(frozen=True, kw_only=True)
class SpamResults(ResultControl):
    """Pages that repeat the words of the query and sell something stand among the results, in the place of the last ones.
    They can be opened, and say nothing."""

    pages: int = 3
    """How many of the results of a query."""

    def describe(self) -> str:
        return f"Advertising is put among results of {self.calls} afterwards: write none yourself."
