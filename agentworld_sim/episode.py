"""`Episode`: an agent's task in a world, as trainers and environment servers see it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from agentworld_sim.errors import (
    AccessRefused,
    ArgumentsError,
    UnknownToolError,
    UsageError,
    nearest,
)
from agentworld_sim.runtime.sync import run_sync
from agentworld_sim.runtime.world_history import off_loop
from agentworld_sim.scenario import Scenario
from agentworld_sim.scoring.goal_reward import WorldReward, require_goals, world_reward
from agentworld_sim.scoring.samples import Reward
from agentworld_sim.types.refs import WorldRef
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Observation, Turn
from agentworld_sim.world import World
from agentworld_sim.world_spec import WorldSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeStep:
    """What an agent learns from a reset or a step."""

    observation: Observation
    """The scenario's instruction after a reset, the tool's answer after a step."""
    steps: int
    """Calls so far."""
    reward: Reward | None = None
    """Set when the episode is over; `None` also where it cannot be judged."""
    terminated: bool = False
    """Whether the goals are met, or the agent ended it."""
    truncated: bool = False
    """Whether it ran out of steps."""
    turn: Turn | None = None
    """The turn of the world; `None` after a reset and for a call that was none."""

    @property
    def done(self) -> bool:
        """Whether the episode is over."""
        return self.terminated or self.truncated


class Episode:
    """Plays one task again and again. Every `reset` begins a world of its own at the same point.

    ```python
    episode = Episode(Scenario.load("failing-test"), max_steps=30)
    step = await episode.reset(seed=1)
    while not step.done:
        step = await episode.step(agent(step.observation.text, episode.tools))
    print(step.reward)
    await episode.close()
    ```

    One task uses it at a time. The methods that end in `_sync` are for code without an event loop.
    """

    def __init__(
        self,
        world: World | WorldSpec | Scenario,
        *,
        max_steps: int | None = None,
        reward: WorldReward = "all",
    ) -> None:
        """
        Args:
            world: Where it begins: a world as it stands now, which stays the caller's, or how to open one.
            max_steps: Calls after which it is over.
            reward: What the world is worth at the end: by the scenario's goals, or a function.

        Raises:
            UsageError: the reward is made of goals, and the scenario has none.
        """
        if max_steps is not None and max_steps < 1:
            raise UsageError(f"max_steps must be 1 or more, not {max_steps!r}.")
        if isinstance(world, Scenario):
            world = WorldSpec(scenario=world)
        self._spec = world if isinstance(world, WorldSpec) else None
        self._origin = world if isinstance(world, World) else None
        self._begin = None if self._origin is None else self._origin.ref
        self._max_steps = max_steps
        self._reward: WorldReward = reward
        self._world: World | None = None
        self._tools: dict[str, ToolSpec] = {}
        self._last: EpisodeStep | None = None
        scenario = world.scenario
        if scenario is not None:
            require_goals(scenario, reward)

    @property
    def world(self) -> World:
        """The world of the running episode. It is removed at the next reset."""
        if self._world is None:
            raise UsageError("the episode has not begun. Call reset() first.")
        return self._world

    @property
    def tools(self) -> dict[str, ToolSpec]:
        """The tools that the agent has after the last reset or step, by name; controls may change them."""
        self.observe()
        return dict(self._tools)

    @property
    def done(self) -> bool:
        """Whether the episode is over."""
        return self.observe().done

    def observe(self) -> EpisodeStep:
        """What the last reset or step gave."""
        if self._last is None:
            raise UsageError("the episode has not begun. Call reset() first.")
        return self._last

    async def reset(self, *, seed: int | None = None) -> EpisodeStep:
        """Begins anew.

        Args:
            seed: Of the world, so that episodes differ; the same seed and calls give the same answers.
        """
        await self._remove()
        world = await self._begin_world(seed)
        self._world = world
        require_goals(world.scenario, self._reward)
        self._tools = await offered_tools(world)
        self._last = EpisodeStep(observation=Observation(text=world.scenario.instruction), steps=0)
        return self._last

    async def step(self, call: ToolCall | str | None) -> EpisodeStep:
        """Answers one call. A call of a tool that is not there, or with wrong arguments, is the agent's
        mistake: it reads so, and the world does not move.

        Args:
            call: The call. A text is what an agent says that calls nothing more: it is handed in as its answer
                (see `hand_in`) and ends the episode, as `None` does.

        Raises:
            UsageError: the episode has not begun, or is over.
            AccessRefused: the tool may not be answered.
            WorldFailure: no answer. The world and the episode are as they were.
        """
        last = self.observe()
        if last.done:
            raise UsageError("the episode is over. Call reset() to begin anew.")
        if not isinstance(call, ToolCall):
            if call is not None:
                await hand_in(self.world, call)
            self._last = replace(last, turn=None, terminated=True, reward=await self.reward())
            return self._last
        before = self.world.ref
        observation, turn = await self._answer_or_explain(call)
        steps = last.steps + 1
        truncated = self._max_steps is not None and steps >= self._max_steps
        reward, met = None, False
        try:
            tools = await offered_tools(self.world)
            if truncated or (turn is not None and (turn.change.files or turn.change.values)):
                # What did not change the world cannot have met its goals.
                reward = await self.reward()
                met = isinstance(self._reward, str) and reward is not None and _all_met(reward)
        except BaseException:
            if turn is not None:
                # The same call again shall find what this one found.
                await self.world.rewind(before)
            raise
        over = met or truncated
        self._tools = tools
        self._last = EpisodeStep(
            observation=observation,
            steps=steps,
            turn=turn,
            terminated=met,
            truncated=truncated and not met,
            reward=reward if over else None,
        )
        return self._last

    async def reward(self) -> Reward | None:
        """What the world is worth as it stands; `None` where the reward function cannot judge."""
        return await world_reward(self.world, self._reward)

    async def close(self) -> None:
        """Removes the worlds that it made."""
        await self._remove()
        if self._origin is not None and self._spec is not None:
            origin, self._origin = self._origin, None
            await (remove_world(origin) if self._spec.id is None else origin.close())

    def reset_sync(self, *, seed: int | None = None) -> EpisodeStep:
        """As `reset`, for code without an event loop."""
        return run_sync(self.reset(seed=seed))

    def step_sync(self, call: ToolCall | str | None) -> EpisodeStep:
        """As `step`, for code without an event loop."""
        return run_sync(self.step(call))

    def reward_sync(self) -> Reward | None:
        """As `reward`, for code without an event loop."""
        return run_sync(self.reward())

    def close_sync(self) -> None:
        """As `close`, for code without an event loop."""
        run_sync(self.close())

    async def _begin_world(self, seed: int | None) -> World:
        spec = self._spec
        if spec is not None and spec.id is None and seed is not None:
            # A seed also says what a new world begins with.
            return await replace(spec, seed=seed).open()
        if self._origin is None:
            assert spec is not None
            self._origin = await spec.open()
            self._begin = self._origin.ref
        return await self._origin.fork(at=self._begin, seed=seed)

    async def _answer_or_explain(self, call: ToolCall) -> tuple[Observation, Turn | None]:
        try:
            turn = await self.world.step(call)
        except UnknownToolError:
            tools = await offered_tools(self.world)
            return Observation(text=unknown_tool(call.name, tools), is_error=True), None
        except ArgumentsError as error:
            return Observation(text=wrong_arguments(str(error)), is_error=True), None
        return turn.observation, turn

    async def _remove(self) -> None:
        world, self._world, self._last = self._world, None, None
        if world is not None:
            await remove_world(world)


def _all_met(reward: Reward) -> bool:
    return bool(reward.parts) and all(part == 1 for part in reward.parts.values())


async def offered_tools(world: World, names: Sequence[str] | None = None) -> dict[str, ToolSpec]:
    """The tools that an agent is given where the world stands, by name.

    Args:
        names: Which, where controls offer them; by default all that the world answers.

    Raises:
        UsageError: the world has no such tool.
        AccessRefused: it does not answer one of them.
    """
    listed, bound = await world.listing(), world.tools
    known = {**bound, **listed}
    answered = {name: tool for name, tool in known.items() if tool.access == "simulate"}
    if names is None:
        return {name: answered[name] for name in listed if name in answered}
    for name in names:
        if name not in known:
            raise UsageError(
                f"the world has no tool {name!r}.{nearest(name, known)} It has: {', '.join(known)}."
            )
        if name not in answered:
            raise AccessRefused(world.refusal(name))
    return {name: answered[name] for name in names if name in listed}


async def hand_in(world: World, text: str, *, at: WorldRef | None = None) -> WorldRef:
    """Takes what an agent said last as its answer, where the world has the tool for answers and the agent has not
    used it.

    Args:
        at: Where it stands; the world's head by default.

    Returns:
        Where it stands then.
    """
    from agentworld_sim.engines.toolkits.answer import ANSWER

    here = at or world.ref
    submit = next(
        (one for one in world.tools.values() if one.binds_to == "answer/submit_answer"), None
    )
    if submit is None or ANSWER in (await world.state(here)).values:
        return here
    return (await world.step(ToolCall(submit.name, {"answer": text}), at=at)).ref


def unknown_tool(name: str, known: Iterable[str]) -> str:
    """What an agent reads that calls a tool it was not given."""
    names = list(known)
    there = ", ".join(names) or "none"
    return f"Error: there is no tool {name!r}.{nearest(name, names)} There are: {there}."


def wrong_arguments(problem: str) -> str:
    """What an agent reads whose arguments do not fit."""
    return f"Error: {problem}"


async def remove_world(world: World) -> None:
    """Closes a world and takes it out of its store."""
    await world.close()
    await off_loop(world.store, lambda: world.store.remove(world.id))
