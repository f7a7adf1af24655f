"""`server-error`: the server answers with an error status."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http.client import responses
from typing import ClassVar

from agentworld_sim.controls.selective_control import FailureControl


@dataclass(frozen=True, kw_only=True)
class ServerError(FailureControl):
    """Calls fail with a status and the server's own text, and do nothing."""

    lowest: ClassVar[Mapping[str, float]] = {"status": 0}

    status: int = 500
    """The HTTP status; 0 for a server that has none."""
    text: str = ""
    """What the server says beside it."""

    @property
    def answers(self) -> bool:
        return True

    @property
    def message(self) -> str:
        status = f"{self.status} {responses.get(self.status, '')}".rstrip() if self.status else ""
        return ": ".join(filter(None, (status, self.text)))

    def describe(self) -> str:
        return f"{self.calls} fail with {self.message!r} before they reach you; answer the others as usual."
