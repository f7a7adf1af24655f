"""What all controls have in common."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, TypeAlias

from agentworld_sim.ports.engines import Answer
from agentworld_sim.types.conditions import Conditions
from agentworld_sim.types.refs import WorldRef
from agentworld_sim.types.state import StateChange, WorldState
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Observation, Turn

PREFIX = "control/"
"""What the keys of the values begin with that controls keep in the state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One call on its way to an engine, as a control sees it. A control decides by nothing else.

    It is a value: `dataclasses.replace` makes the one that `next` is given instead.
    """

    call: ToolCall
    tool: ToolSpec
    state: WorldState
    """What the call is answered on: the state that the answer's change is relative to."""
    seed: int
    """Seed of the turn's random source. All controls of a turn have the same: add the control's name for
    one of its own, `random.Random(f"{self.name}/{step.seed}")`."""
    history: Callable[[], Awaitable[tuple[Turn, ...]]]
    """Gives the turns before this one, oldest first."""
    state_at: Callable[[WorldRef], Awaitable[WorldState]]
    """Gives the state at a point of the history."""
    control: str = ""
    """Name of the control that is handling it."""

    @property
    def values(self) -> Mapping[str, Any]:
        """What this control keeps in the state, by its own keys. Forks, time travel and reopened worlds
        each have what was kept there."""
        return _Own(self.state.values, f"{PREFIX}{self.control}/")

    def keep(self, answer: Answer, **values: Any) -> Answer:
        """`answer`, with which this control keeps values; `None` forgets one."""
        return answer.with_values(
            {f"{PREFIX}{self.control}/{key}": value for key, value in values.items()}
        )

    def enforce(self, observation: Observation) -> Answer:
        """An answer that changes nothing, without an engine."""
        return Answer(observation, StateChange(clock_us=self.state.clock_us))

    def after(self, answer: Answer) -> Step:
        """The same call again, on the state that `answer` leaves. `answer.then(…)` adds the two up."""
        return replace(self, state=self.state.after(answer.change))

    def under(self, conditions: Conditions) -> Step:
        """The same call while `conditions` hold, beside those that hold anyway."""
        change = StateChange(clock_us=self.state.clock_us, values=conditions.to_values())
        return replace(self, state=self.state.after(change))

    def without_effect(self, answer: Answer) -> Answer:
        """`answer`, with nothing left of what the tool did. Time passes, and controls keep what they
        keep."""
        kept = StateChange(
            clock_us=answer.change.clock_us, values=control_values(answer.change.values)
        )
        return replace(answer, change=kept)


Next: TypeAlias = "Callable[[Step], Awaitable[Answer]]"
"""Answers a step: the controls behind this one, and then an engine."""


class Control(Protocol):
    """One perturbation, as middleware around the answering of calls. Subclass it; all but `name` and
    `handle` may be left as it is."""

    name: str
    """Of its own among the controls of a world; what it keeps in the state is kept under it."""
    allows_streaming: ClassVar[bool] = False
    """Whether the agent may read an answer while a model writes it: the control never changes the text of
    an answer that `next` gave."""

    async def handle(self, step: Step, next: Next) -> Answer:
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


def control_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Those of a change's values that controls keep."""
    return {key: value for key, value in values.items() if key.startswith(PREFIX)}


class _Own(Mapping[str, Any]):
    """The values below a prefix, without it."""

    def __init__(self, values: Mapping[str, Any], prefix: str) -> None:
        self._values = values
        self._prefix = prefix

    def __getitem__(self, key: str) -> Any:
        return self._values[self._prefix + key]

    def __iter__(self) -> Iterator[str]:
        cut = len(self._prefix)
        return (key[cut:] for key in self._values if key.startswith(self._prefix))

    def __len__(self) -> int:
        return sum(1 for _ in self)
