"""`SelectiveControl`: what all kinds have in common that strike some of the calls.

Which calls it strikes is a function of the step: its call, its state and the turns before it. A chance is drawn from
what names the call (the world's seed, the control's name, tool and arguments, how often the same call was made
before), and not from the turn's random source, which depends on the order in which parallel calls arrived.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from functools import cached_property
from hashlib import blake2b
from random import Random
from typing import Any, ClassVar

from agentworld_sim.controls.observation_parts import without_lines
from agentworld_sim.errors import UsageError
from agentworld_sim.ports import Answer, Control, Next, StepContext
from agentworld_sim.ports.steps import PREFIX, control_values
from agentworld_sim.types.json import canonical_json
from agentworld_sim.types.state import WorldState
from agentworld_sim.types.tools import DomainName, ToolCall, ToolSpec
from agentworld_sim.types.turns import Observation, Turn


@dataclass(frozen=True, kw_only=True)
class SelectiveControl(Control):
    """Strikes the calls that all its selectors select; by default every call of every tool.

    It counts what it strikes under `control/<name>`: a turn whose change has that key was struck. A kind says in
    `strike` what becomes of such a call. An answer of `next` that `strike` gives back as it is does not count.
    """

    lasting: ClassVar[bool] = False
    """Whether it goes on with every call of its tools once it has struck one."""
    lowest: ClassVar[Mapping[str, float]] = {}
    """The least that whole numbers of its own may be; 1 for those that are not here."""
    only_in: ClassVar[tuple[DomainName, ...]] = ()
    """The domains in which it can do something; all by default."""

    name: str
    """Of its own among the controls of a world; the count is kept under it."""
    tool: str = "*"
    """Name of the tools whose calls it strikes, or a pattern (`*`, `?`, `[…]`)."""
    domain: DomainName | None = None
    """The domain of the tools; any by default."""
    arguments: Mapping[str, str] = field(default_factory=dict[str, str])
    """Argument to the pattern that its value fits (`*git push*`); values that are no text are taken as JSON."""
    state: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What holds in the state: a path that begins with `/`, or a key of its values, to `true` (is there),
    `false` (is not), or the JSON that the key has."""
    first_turn: int = 1
    """The first call of the world's history that it may strike."""
    last_turn: int | None = None
    """The last one."""
    nth: tuple[int, ...] = ()
    """Which of the calls that fit it strikes: the first is 1; all by default."""
    every: int | None = None
    """It strikes one in so many of the calls that fit: the last of each."""
    probability: float = 1.0
    """How likely it strikes a call that is left."""
    times: int | None = None
    """The most calls it strikes in one line of history; all by default."""

    def __post_init__(self) -> None:
        """Refuses what no call can have.

        Raises:
            UsageError: a number is out of its range, or it could never strike.
        """
        lowest = {"probability": 0, **self.lowest, "last_turn": self.first_turn}
        for one in fields(self):
            for number in self.nth if one.name == "nth" else [getattr(self, one.name)]:
                least = lowest.get(one.name, 1)
                if type(number) is int and number < least:
                    raise self.refusal(one.name, number, f"give {least} or more")
        if not 0 < self.probability <= 1:
            raise self.refusal(
                "probability",
                self.probability,
                "give more than 0 and at most 1, or it never strikes",
            )
        if "/" in self.name or self.name.startswith(":"):
            raise self.refusal(
                "name",
                repr(self.name),
                "its count would be taken for a value of another's. Use no '/'",
            )
        if self.domain is not None and self.only_in and self.domain not in self.only_in:
            allowed = f"it never strikes there. It does in: {', '.join(self.only_in)}"
            raise self.refusal("domain", repr(self.domain), allowed)

    def refusal(self, name: str, value: object, allowed: str) -> UsageError:
        """What is raised for a value that a field cannot have."""
        return UsageError(f"{name} of the control {self.name!r} is {value}: {allowed}.")

    @property
    def answers(self) -> bool:
        """Whether it answers what it strikes by itself, so that nothing behind it sees the call."""
        return False

    @cached_property
    def key(self) -> str:
        """Under which the state keeps how many calls it has struck."""
        return f"{PREFIX}{self.name}"

    @cached_property
    def unconditional(self) -> bool:
        """Whether it strikes every call of its tools."""
        chosen = self.arguments or self.state or self.nth or self.every or self.last_turn
        return not chosen and self.first_turn == 1 and self.probability == 1 and self.times is None

    @property
    def is_pattern(self) -> bool:
        """Whether `tool` may be several tools."""
        return any(sign in self.tool for sign in "*?[")

    def shadow_in(self, before: Iterable[Control]) -> str | None:
        """The name of a control that answers all its calls, of those that stand around it."""
        for outer in before:
            if (
                isinstance(outer, SelectiveControl)
                and outer.answers
                and outer.unconditional
                and outer.domain in (None, self.domain)
                and not outer.only_in
                and (outer.tool in ("*", self.tool) or not self.is_pattern)
                and fnmatchcase(self.tool, outer.tool)
            ):
                return outer.name
        return None

    def selects_tool(self, tool: ToolSpec) -> bool:
        """Whether it is about calls of this tool."""
        if self.domain is not None and tool.domain != self.domain:
            return False
        if self.only_in and tool.domain is not None and tool.domain not in self.only_in:
            return False
        return self.tool in ("*", tool.name) or fnmatchcase(tool.name, self.tool)

    def concerns(self, tool: ToolSpec) -> bool:
        return self.selects_tool(tool)

    def selects_arguments(self, call: ToolCall) -> bool:
        """Whether it is about a call of one of its tools, by the arguments."""
        return not self.arguments or all(
            name in call.arguments and fnmatchcase(_text(call.arguments[name]), pattern)
            for name, pattern in self.arguments.items()
        )

    def count_in(self, state: WorldState) -> int:
        """How many calls it has struck on the way to a state."""
        return state.values.get(self.key, 0)

    async def strikes(self, step: StepContext) -> bool:
        """Whether it strikes this call."""
        if self.times is not None and self.count_in(step.state) >= self.times:
            return False
        if self.lasting and self.count_in(step.state):
            return self.selects_tool(step.tool)
        if not (self.selects_tool(step.tool) and self.selects_arguments(step.call)):
            return False
        if self.state and not _holds(self.state, step.state):
            return False
        if self.first_turn > 1 or self.last_turn is not None:
            turn = len(await step.history()) + 1
            if turn < self.first_turn or turn > (self.last_turn or turn):
                return False
        if self.nth or self.every:
            number = await self.fitting_before(step) + 1
            if (self.nth and number not in self.nth) or (self.every and number % self.every):
                return False
        if self.probability == 1:
            return True
        # Seeding a `Random` takes longer than all else here.
        drawn = blake2b((await self._names(step)).encode(), digest_size=8).digest()
        return int.from_bytes(drawn) < self.probability * 2**64

    async def fitting_before(self, step: StepContext) -> int:
        """How many calls before this one were of its tools and arguments."""
        known: dict[str, bool] = {}
        count = 0
        for turn in await step.history():
            name = turn.call.name
            if name not in known:
                known[name] = self.selects_tool(step.tools.get(name, ToolSpec(name=name)))
            count += known[name] and self.selects_arguments(turn.call)
        return count

    async def same_before(self, step: StepContext) -> int:
        """How many calls before this one were the same."""
        calls = (turn.call for turn in await step.history())
        arguments = [one.arguments for one in calls if one.name == step.call.name]
        return arguments.count(step.call.arguments)

    async def random(self, step: StepContext) -> Random:
        """A random source of this call's own: the same in whatever order parallel calls come."""
        return Random(await self._names(step))

    async def _names(self, step: StepContext) -> str:
        """What names the call for this control, in this world."""
        arguments, again = canonical_json(step.call.arguments), await self.same_before(step)
        return f"{step.state.seed}/{self.name}/{step.call.name}/{arguments}/{again}"

    async def handle(self, step: StepContext, next: Next) -> Answer:
        if not await self.strikes(step):
            return await next(step)
        given: list[Answer] = []

        async def passing(inner: StepContext) -> Answer:
            given.append(await next(inner))
            return given[-1]

        answer = await self.strike(step, passing)
        if any(answer is one for one in given):
            return answer
        return self.count(step, answer)

    def count(self, step: StepContext, answer: Answer) -> Answer:
        """The answer to a call that it struck."""
        return answer.with_values({self.key: self.count_in(step.state) + 1})

    @property
    def own_words(self) -> tuple[str, ...]:
        """Patterns of what only it says: an answer of a model to a call of its tools never does."""
        return ()

    async def obedient(self, step: StepContext, observation: Observation) -> Observation:
        if not self.own_words or not self.selects_tool(step.tool):
            return observation
        made = without_lines(
            observation, re.compile("|".join(self.own_words), re.IGNORECASE).search
        )
        # What is left of a failure that does not strike is none.
        return observation if made is observation else replace(made, is_error=False)

    async def strike(self, step: StepContext, next: Next) -> Answer:
        """What becomes of a call that it strikes; an answer of `next` as it is where there is nothing to do."""
        raise NotImplementedError

    @cached_property
    def calls(self) -> str:
        """The calls that it is about, as a model is told of them."""
        tools = "all tools" if self.tool == "*" else f"`{self.tool}`"
        domain = f" in the domain {self.domain}" if self.domain else ""
        return f"{'calls' if self.unconditional else 'some calls'} of {tools}{domain}"


class AnswerControl(SelectiveControl):
    """Changes what answers say, and nothing else."""

    async def strike(self, step: StepContext, next: Next) -> Answer:
        answer = await next(step)
        observation = await self.change(step, answer.observation)
        return (
            answer
            if observation is answer.observation or observation == answer.observation
            else replace(answer, observation=observation)
        )

    async def change(self, step: StepContext, observation: Observation) -> Observation:
        """What the agent reads instead."""
        raise NotImplementedError


class FailureControl(SelectiveControl):
    """Fails the calls that it strikes, in the form that their tool has for failures; nothing is done."""

    allows_streaming: ClassVar[bool] = True

    text: str
    """What the calls fail with."""

    @property
    def message(self) -> str:
        """What the agent is told."""
        return self.text

    @property
    def own_words(self) -> tuple[str, ...]:
        return (re.escape(self.message),) if self.message else ()

    async def strike(self, step: StepContext, next: Next) -> Answer:
        return step.enforce(failure_of(step, self.message))


def failure_of(step: StepContext, error: str) -> Observation:
    """`error` as the tool of the call would tell it: the tools that run commands have a form for what a
    failed command printed, and most others mark their result as an error."""
    from agentworld_sim import toolkits

    return toolkits.failure_of(step.tool, error, step.call.arguments, step.seed)


def has_effect(answer: Answer) -> bool:
    """Whether a tool changed something that an agent could find out; what controls keep and where shells stand
    is nothing of that."""
    change = answer.change
    return bool(change.files) or len(control_values(change.values)) < len(change.values)


def controls_in(turn: Turn) -> list[str]:
    """The names of the selective controls that struck a turn, in order of the alphabet."""
    keys = (key.removeprefix(PREFIX) for key in control_values(turn.change.values))
    return sorted(key for key in keys if "/" not in key and not key.startswith(":"))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else canonical_json(value)


def _holds(wanted: Mapping[str, Any], state: WorldState) -> bool:
    for key, value in wanted.items():
        there = key in state.files if key.startswith("/") else key in state.values
        if isinstance(value, bool) and there != value:
            return False
        if not isinstance(value, bool) and (not there or state.values.get(key) != value):
            return False
    return True
