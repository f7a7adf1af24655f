"""Scenarios that nobody wrote: the empty one, and what a store keeps of one."""

from __future__ import annotations

import json
from typing import Any

from agentworld_sim.scenario._scenario import Scenario


def empty_scenario() -> Scenario:
    """An empty Debian machine."""
    return Scenario.model_validate({"name": "debian", "domains": ("terminal", "swe")})


def stored_text(scenario: Scenario) -> str:
    """The scenario as kept beside a world: its files are in the world's state already."""
    content: dict[str, Any] = scenario.model_dump(
        mode="json", by_alias=True, exclude={"files", "files_from"}
    )
    # Not sorted: the order of a table's fields is the order in which answers have them.
    return json.dumps(content, ensure_ascii=False)


def restored_scenario(text: str) -> Scenario:
    """What `stored_text` wrote."""
    return Scenario.parse(text, source="the stored scenario")
