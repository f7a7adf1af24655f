"""Luck: how far the reward of the same actions spreads, when an engine answers them again and again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from agentworld_sim.episode import Episode, unknown_tool
from agentworld_sim.errors import UsageError
from agentworld_sim.llm import ModelSettings
from agentworld_sim.scenario import Scenario
from agentworld_sim.types.tools import ToolCall
from agentworld_sim.world_spec import WorldSpec


async def rewards_of(
    scenario: Scenario,
    calls: Sequence[ToolCall],
    model: ModelSettings | Literal[False],
    repeats: int,
) -> list[float]:
    """What the same calls earn, each time in a new world with another seed.

    Raises:
        UsageError: the scenario has no goals, or none of a call's tool.
        WorldFailure: the engine gives no answer; that is no reward of 0.
    """
    found: list[float] = []
    episode = Episode(WorldSpec(scenario=scenario, model=model))
    try:
        for seed in range(repeats):
            step = await episode.reset(seed=seed)
            for call in calls:
                if call.name not in episode.tools:
                    raise UsageError(unknown_tool(call.name, episode.tools).removeprefix("Error: "))
            for call in (*calls, None):
                if not step.done:
                    step = await episode.step(call)
            if step.reward is None:
                raise UsageError(f"repeat {seed} of {scenario.name!r} cannot be judged.")
            found.append(step.reward.value)
    finally:
        await episode.close()
    return found


def read_calls(path: Path) -> list[ToolCall]:
    """Calls of a file, one JSON object a line: `{"name": …, "arguments": {…}}`.

    Raises:
        UsageError: a line is none.
    """
    calls: list[ToolCall] = []
    for number, line in enumerate(path.read_text("utf-8").split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
            calls.append(ToolCall(value["name"], dict(value["arguments"])))
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(
                f'{path.name}, line {number}: it is no call {{"name": …, "arguments": {{…}}}}: {error!r}.'
            ) from None
    if not calls:
        raise UsageError(f"{path.name} holds no call.")
    return calls
