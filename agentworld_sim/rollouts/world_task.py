"""`WorldTask`: an agent with tools in a simulated world, rewarded for the state it leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

from agentworld_sim.errors import AccessRefused, ArgumentsError, UsageError, nearest
from agentworld_sim.goals import check_goals
from agentworld_sim.rollouts.hermes import (
    Malformed,
    parse_calls,
    tool_objects,
    unknown_tool,
    wrong_arguments,
)
from agentworld_sim.rollouts.tasks import EnvironmentReply, Opening
from agentworld_sim.runtime.commit import off_loop
from agentworld_sim.scoring.reward import Reward
from agentworld_sim.scoring.samples import Message
from agentworld_sim.store.base import WorldStore
from agentworld_sim.types.refs import WorldRef
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.world import World

if TYPE_CHECKING:
    from agentworld_sim.imagination import WorldImaginer
    from agentworld_sim.scenario import Scenario

SYSTEM = "You work on a computer through tools. When the task is done, answer without a tool call."
"""The system message, unless another is given."""

WorldReward = Literal["all", "share"] | Callable[[World], Awaitable[Reward | None]]
"""1 where all goals of the scenario are met and 0 otherwise; the share of them that is met; or a
function of the world at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldTaskSettings:
    """How an agent meets a world."""

    tools: tuple[str, ...] | None = None
    """Names of the tools that it is given; by default all that the world answers."""
    system: str = SYSTEM
    """The system message; empty for none."""
    reward: WorldReward = "all"
    """What a rollout earns for the world that it leaves."""
    max_invalid_calls: int = 3
    """So many calls in a row that cannot be read, or name or take what is not there, end the rollout."""


class WorldTask:
    """Implements `Task`. The world is made once; every rollout plays in a fork of it.

    A turn with calls is answered with one message of the role `tool` for each, in order. A turn without
    a call ends the rollout.
    """

    def __init__(
        self,
        scenario: Scenario,
        *,
        name: str | None = None,
        settings: WorldTaskSettings | None = None,
        model: WorldImaginer | str | Literal[False] | None = False,
        store: WorldStore | None = None,
    ) -> None:
        """
        Args:
            scenario: Its instruction is the user's message, its seed that of every fork.
            name: Of the task; the scenario's by default.
            settings: How the agent meets it.
            model: As for `World.create`; none is looked for by default.
            store: Where worlds live; in memory by default.

        Raises:
            UsageError: the scenario has no goals that a reward could be made of.
        """
        self.name = name or scenario.name
        self.settings = settings or WorldTaskSettings()
        self.scenario = scenario
        self._model: WorldImaginer | str | Literal[False] | None = model
        self._store = store
        self._world: World | None = None
        self._at: WorldRef | None = None
        self._owned = True
        self._lock = asyncio.Lock()
        if isinstance(self.settings.reward, str) and not scenario.goals:
            raise UsageError(
                f"the scenario {scenario.name!r} has no goals, so nothing says what a rollout is"
                " worth. Add `goals:` to it, or give a function as the reward."
            )

    @classmethod
    def at(
        cls,
        world: World,
        ref: WorldRef | None = None,
        *,
        name: str | None = None,
        settings: WorldTaskSettings | None = None,
    ) -> Self:
        """A task that begins at a point of a world's history; where it stands by default.

        The world stays the caller's: it is never closed.
        """
        task = cls(world.scenario, name=name, settings=settings)
        task._world, task._at, task._owned = world, ref or world.ref, False
        return task

    async def environment(self, *, seed: int) -> WorldEnvironment:
        world = await self._opened()
        fork = await world.fork(at=self._at)
        return WorldEnvironment(fork, self.scenario.instruction, self.settings)

    async def close(self) -> None:
        # A lock that was waited for belongs to its event loop; the next batch may have another.
        self._lock = asyncio.Lock()
        world = self._world
        if world is None or not self._owned:
            return
        self._world = None
        await _removed(world)

    async def _opened(self) -> World:
        if self._world is None:
            async with self._lock:
                if self._world is None:
                    self._world = await World.create(
                        self.scenario, model=self._model, store=self._store
                    )
        return self._world


class WorldEnvironment:
    """Implements `Environment` with a world of its own, which is removed at the end."""

    def __init__(self, world: World, instruction: str, settings: WorldTaskSettings) -> None:
        self.world = world
        self._instruction = instruction
        self._settings = settings
        self._tools = _offered(world, settings.tools)
        self._invalid = 0

    async def open(self) -> Opening:
        messages: list[Message] = []
        if self._settings.system:
            messages.append({"role": "system", "content": self._settings.system})
        messages.append({"role": "user", "content": self._instruction})
        return Opening(messages=tuple(messages), tools=tool_objects(self._tools.values()))

    async def answer(self, text: str) -> EnvironmentReply:
        calls = parse_calls(text)
        messages: list[Message] = []
        invalid = 0
        for call in calls:
            answer, valid = await self._answered(call)
            messages.append({"role": "tool", "content": answer})
            self._invalid = 0 if valid else self._invalid + 1
            invalid += not valid
            if self._invalid >= self._settings.max_invalid_calls:
                break
        stuck = self._invalid >= self._settings.max_invalid_calls
        return EnvironmentReply(
            messages=tuple(messages),
            done=stuck or not calls,
            metrics={"steps": len(messages) - invalid, "invalid_calls": invalid},
        )

    async def reward(self) -> Reward | None:
        wanted = self._settings.reward
        if not isinstance(wanted, str):
            return await wanted(self.world)
        results = await check_goals(self.world)
        parts = {
            f"goal/{n}. {result.goal}"[:80]: float(result.met)
            for n, result in enumerate(results, 1)
        }
        share = sum(parts.values()) / len(results)
        reason = "; ".join(f"{one.goal}: {one.reason}" for one in results if not one.met)
        return Reward(share if wanted == "share" else float(share == 1), parts, reason)

    @property
    def world_ref(self) -> str:
        return self.world.ref

    async def close(self) -> None:
        await _removed(self.world)

    async def _answered(self, call: ToolCall | Malformed) -> tuple[str, bool]:
        """What the agent reads, and whether the call was one."""
        if isinstance(call, Malformed):
            return call.problem, False
        if call.name not in self._tools:
            return unknown_tool(call.name, self._tools), False
        try:
            turn = await self.world.step(call)
        except ArgumentsError as error:
            return wrong_arguments(str(error)), False
        return turn.observation.text, True


def _offered(world: World, names: Sequence[str] | None) -> dict[str, ToolSpec]:
    known = world.tools
    answered = {name: tool for name, tool in known.items() if tool.access == "simulate"}
    if names is None:
        return answered
    for name in names:
        if name not in known:
            raise UsageError(
                f"the world has no tool {name!r}.{nearest(name, known)} It has: {', '.join(known)}."
            )
        if name not in answered:
            raise AccessRefused(world.refusal(name))
    return {name: answered[name] for name in names}


async def _removed(world: World) -> None:
    await world.close()
    await off_loop(world.store, lambda: world.store.remove(world.id))
