"""`WorldTask`: an agent with tools in a simulated world, rewarded for the state it leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from agentworld_sim.episode import (
    hand_in,
    offered_tools,
    remove_world,
    unknown_tool,
    wrong_arguments,
)
from agentworld_sim.errors import ArgumentsError, UnknownToolError
from agentworld_sim.rollouts.hermes import (
    MalformedCall,
    parse_calls,
    tool_objects,
    without_thinking,
)
from agentworld_sim.rollouts.tasks import EnvironmentReply, Opening
from agentworld_sim.scenario import Scenario
from agentworld_sim.scoring.goal_reward import WorldReward, require_goals, world_reward
from agentworld_sim.scoring.samples import Message, Reward
from agentworld_sim.types.refs import WorldRef
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.world import World
from agentworld_sim.world_spec import WorldSpec

SYSTEM = "You work on a computer through tools. When the task is done, answer without a tool call."
"""The system message, unless another is given."""


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
    a call ends the rollout, and is the agent's answer where the world takes answers.
    """

    def __init__(
        self,
        scenario: Scenario | WorldSpec,
        *,
        name: str | None = None,
        settings: WorldTaskSettings | None = None,
    ) -> None:
        """
        Args:
            scenario: Its instruction is the user's message, its seed that of every fork. No model is
                asked, and its world lives in memory; a `WorldSpec` says otherwise.
            name: Of the task; the scenario's by default.
            settings: How the agent meets it.

        Raises:
            UsageError: the scenario has no goals that a reward could be made of.
        """
        if isinstance(scenario, Scenario):
            scenario = WorldSpec(scenario=scenario, model=False)
        self._spec = scenario
        self.settings = settings or WorldTaskSettings()
        known = self._spec.scenario
        self.name = name or (known.name if known is not None else self._spec.id or "debian")
        self._world: World | None = None
        self._at: WorldRef | None = None
        self._owned = True
        self._lock = asyncio.Lock()
        if known is not None:
            require_goals(known, self.settings.reward)

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
        world = await self._open_world()
        fork = await world.fork(at=self._at)
        tools = await offered_tools(fork, self.settings.tools)
        return WorldEnvironment(fork, world.scenario.instruction, self.settings, tools)

    async def close(self) -> None:
        # A lock that was waited for belongs to its event loop; the next batch may have another.
        self._lock = asyncio.Lock()
        world = self._world
        if world is None or not self._owned:
            return
        self._world = None
        await (remove_world(world) if self._spec.id is None else world.close())

    async def _open_world(self) -> World:
        if self._world is None:
            async with self._lock:
                if self._world is None:
                    world = await self._spec.open()
                    require_goals(world.scenario, self.settings.reward)
                    self._world, self._at = world, world.ref
        return self._world


class WorldEnvironment:
    """Implements `Environment` with a world of its own, which is removed at the end."""

    def __init__(
        self,
        world: World,
        instruction: str,
        settings: WorldTaskSettings,
        tools: Mapping[str, ToolSpec],
    ) -> None:
        self.world = world
        self._instruction = instruction
        self._settings = settings
        self._tools = dict(tools)
        self._invalid = 0

    async def open(self) -> Opening:
        messages: list[Message] = []
        if self._settings.system:
            messages.append({"role": "system", "content": self._settings.system})
        messages.append({"role": "user", "content": self._instruction})
        return Opening(messages=tuple(messages), tools=tool_objects(self._tools.values()))

    async def answer(self, text: str) -> EnvironmentReply:
        calls = parse_calls(text)
        if not calls:
            await hand_in(self.world, without_thinking(text))
        messages: list[Message] = []
        invalid = 0
        for call in calls:
            answer, valid = await self._answer_call(call)
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
        return await world_reward(self.world, self._settings.reward)

    @property
    def world_ref(self) -> str:
        return self.world.ref

    async def close(self) -> None:
        await remove_world(self.world)

    async def _answer_call(self, call: ToolCall | MalformedCall) -> tuple[str, bool]:
        """What the agent reads, and whether the call was one."""
        if isinstance(call, MalformedCall):
            return call.problem, False
        names = self._settings.tools
        offered = await offered_tools(self.world)
        offered = {name: one for name, one in offered.items() if names is None or name in names}
        # What it was given and a control took away since, it may still call: the control answers.
        self._tools.update(offered)
        if call.name not in self._tools:
            return unknown_tool(call.name, offered), False
        try:
            turn = await self.world.step(call)
        except UnknownToolError:
            return unknown_tool(call.name, offered), False
        except ArgumentsError as error:
            return wrong_arguments(str(error)), False
        return turn.observation.text, True
