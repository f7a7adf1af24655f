"""`connection-cut`: the connection breaks while a call is answered."""

from __future__ import annotations

from dataclasses import dataclass

from agentworld_sim.controls.timeout import Timeout


@dataclass(frozen=True, kw_only=True)
class ConnectionCut(Timeout):
    """As `timeout`, at once and in the words of a broken connection."""

    after_us: int = 0
    text: str = "Connection reset by peer"
