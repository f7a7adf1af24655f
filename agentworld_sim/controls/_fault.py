"""`Fault`: calls of one tool fail, or take longer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agentworld_sim.controls._base import PREFIX, ControlInput, Enforced
from agentworld_sim.types.turns import Observation


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Implements `Control`. It counts in the state, so that a fork or an earlier point of history has the
    count that it had there."""

    name: str
    """Of its own among the controls of a world; the count is kept under it."""
    tool: str
    """Name of the tool whose calls it strikes."""
    when: Callable[[Mapping[str, Any]], bool] | None = None
    """Whether it strikes a call with these arguments; every call by default."""
    error: str | None = None
    """What the call fails with, told as the tool tells its own failures; `None` leaves the answer alone."""
    latency_us: int = 0
    """How much longer the call takes, on the world's clock."""
    times: int | None = None
    """The most calls it strikes in one line of history; all by default."""

    @property
    def key(self) -> str:
        """Under which the state keeps how many calls it has struck."""
        return f"{PREFIX}{self.name}"

    def strikes(self, given: ControlInput) -> bool:
        """Whether it strikes this call."""
        if given.call.name != self.tool:
            return False
        if self.times is not None and given.state.values.get(self.key, 0) >= self.times:
            return False
        return self.when is None or bool(self.when(given.call.arguments))

    def before(self, given: ControlInput) -> Enforced | None:
        if not self.strikes(given):
            return None
        told = None if self.error is None else failure_of(given, self.error)
        return Enforced(
            observation=told, values={self.key: given.state.values.get(self.key, 0) + 1}
        )

    def after(self, given: ControlInput, observation: Observation) -> Observation:
        return observation

    def delay_us(self, given: ControlInput) -> int:
        return self.latency_us if self.latency_us and self.strikes(given) else 0


def failure_of(given: ControlInput, error: str) -> Observation:
    """`error` as the tool of the call would tell it: the tools that run commands have a form for what a
    failed command printed, and most others mark their result as an error."""
    # Imported late: it is there already when the tool is bound to a shell, and nobody else needs it.
    from agentworld_sim.engines.shell._bindings import bindings

    binding = bindings().get(given.tool.binds_to or "")
    if binding is not None and binding.failing is not None:
        return binding.failing(error, given.call.arguments, given.seed)
    return Observation(text=error, is_error=True)
