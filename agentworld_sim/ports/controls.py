"""Controls: they perturb what engines answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import ClassVar, Protocol, TypeAlias

from agentworld_sim.ports.steps import Answer, StepContext
from agentworld_sim.types.state import WorldState
from agentworld_sim.types.tools import ToolSpec

Next: TypeAlias = "Callable[[StepContext], Awaitable[Answer]]"
"""Answers a step: the controls behind this one, and then an engine."""


class Control(Protocol):
    """One perturbation, as middleware around the answering of calls. Subclass it; all but `name` and
    `handle` may be left as it is."""

    name: str
    """Of its own among the controls of a world; what it keeps in the state is kept under it."""
    allows_streaming: ClassVar[bool] = False
    """Whether the agent may read an answer while a model writes it: the control never changes the text of
    an answer that `next` gave."""

    async def handle(self, step: StepContext, next: Next) -> Answer:
        """Answers a step.

        `next(step)` lets the others answer. It may be called never, once or several times, and with
        another call, state or seed. The change of what is given back is relative to `step.state`. An
        observation that is not one of those that `next` gave has provenance `enforced`.

        It decides by the step, and by nothing else: where another process moves the world meanwhile, it
        is asked again with the state that is there then. What it raises fails the step.
        """
        ...

    def tools(self, specs: Sequence[ToolSpec], state: WorldState) -> Sequence[ToolSpec]:
        """What of `specs` the agent is offered in this state, and what else."""
        return specs

    def describe(self) -> str:
        """What a language world model is told of it, so that what it imagines agrees; nothing by
        default. It is the same at every call, so that prompts only grow."""
        return ""
