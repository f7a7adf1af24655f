"""`server-error`: the server answers with an error status."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import responses
from typing import ClassVar

from agentworld_sim.controls.selective_control import SelectiveControl, failure_of
from agentworld_sim.ports import Answer, Next, StepContext


@dataclass(frozen=True, kw_only=True)
class ServerError(SelectiveControl):
    """Calls fail with a status and the server's own text, and do nothing."""

    allows_streaming: ClassVar[bool] = True
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
        """What the call fails with."""
        status = f"{self.status} {responses.get(self.status, '')}".rstrip() if self.status else ""
        return ": ".join(filter(None, (status, self.text)))

    @property
    def own_words(self) -> tuple[str, ...]:
        return (re.escape(self.message),) if self.message else ()

    async def strike(self, step: StepContext, next: Next) -> Answer:
        return step.enforce(failure_of(step, self.message))

    def describe(self) -> str:
        return f"{self.calls} fail with {self.message!r} before they reach you; answer the others as usual."
