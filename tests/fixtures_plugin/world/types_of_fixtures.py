"""What the fixtures of this folder are."""

from __future__ import annotations

from collections.abc import Callable

from agentworld_fixtures._sim_world import SimWorld

Open = Callable[..., SimWorld]
"""Opens a world; takes parts of a scenario."""

Failure = Callable[[Callable[[], object]], list[str]]
"""The lines of the failure of an assertion."""
