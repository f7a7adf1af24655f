"""The data source of the pocket world model: sessions of templates, played in real worlds."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, Final

from agentworld_sim import Scenario, ToolCall, World
from agentworld_sim.errors import UsageError, nearest
from agentworld_sim.types.tools import ToolSpec
from agentworld_trainers.data import SourceTrajectory, imagined_tools
from experiments.pocket.parallel import in_processes
from experiments.pocket.script import WORKDIR, Script
from experiments.pocket.thoughts import Look, contents, item, thought
from experiments.pocket.world_tasks import TEST, TRAIN, WEIGHTS

TOOL: Final[Mapping[str, Any]] = {
    "name": "bash",
    "description": "Runs a command in one bash session that stays open between calls.",
    "domain": "swe",
    "input_schema": {
        "type": "object",
        "properties": {"command": {"type": "string"}},
        "required": ["command"],
    },
}


FRESH_FROM: Final = 2_000_000
"""Sessions from this number on are for final scores: neither trained on nor looked at before."""


@dataclass(frozen=True, slots=True)
class PocketSessions:
    """Sessions of templates, played one after another while they are read."""

    sessions: tuple[tuple[str, int], ...]
    """Templates by name, and which session of it."""
    seed: int

    def __len__(self) -> int:
        return len(self.sessions)

    def __iter__(self) -> Iterator[SourceTrajectory]:
        return in_processes(partial(_played, seed=self.seed), self.sessions)


def _played(sessions: Sequence[tuple[str, int]], *, seed: int) -> list[SourceTrajectory]:
    with asyncio.Runner() as runner:
        return [runner.run(session(name, number, seed=seed)) for name, number in sessions]


def pocket_trajectories(settings: Mapping[str, Any], seed: int) -> PocketSessions:
    """Trajectories of all templates. A function for `data.source` of a recipe.

    Args:
        settings: `train` and `test`: how many sessions of each template (100 and 12), times its
            weight.
        seed: Where all random choices start.

    Raises:
        UsageError: there is no such setting.
    """
    counts = {"train": 100, "test": 12}
    for name in settings:
        if name not in counts:
            raise UsageError(
                f"the pocket world has no setting {name!r}.{nearest(name, counts)} There are:"
                f" {', '.join(counts)}."
            )
    counts |= {name: int(value) for name, value in settings.items()}
    sessions = [
        (name, number) for name in TRAIN for number in range(counts["train"] * WEIGHTS.get(name, 1))
    ]
    sessions += [(name, number) for name in TEST for number in range(counts["test"])]
    return PocketSessions(tuple(sessions), seed)


async def session(name: str, number: int, *, seed: int) -> SourceTrajectory:
    """One session of a template, played.

    Args:
        name: The template's name.
        number: Which session of the template.
        seed: Where random choices start.
    """
    script = Script(Random(f"{seed}/{name}/{number}"))
    {**TRAIN, **TEST}[name](script)
    played = await _play(scenario(script.files), script.commands)
    split = "test" if name in TEST else "train"
    return SourceTrajectory(id=f"{name}/{number}", task=name, split=split, **played)


def scenario(files: Mapping[str, str], *, imagined: bool = False) -> Scenario:
    """The small machine of a session.

    Args:
        files: What is there at the start, by path relative to the working directory.
        imagined: A model answers `bash` instead of the shell.
    """
    return Scenario.model_validate(
        {
            "name": "pocket",
            "domains": ["swe"],
            "machine": {"workdir": WORKDIR},
            "files": {f"{WORKDIR}/{name}": text for name, text in files.items()},
            "tools": [dict(TOOL)],
            "routes": {"tools": {"bash": "imagine"}} if imagined else {},
            "model": {"initial_state": {"swe": listed(files)}} if files else {},
        }
    )


def listed(files: Mapping[str, str]) -> str:
    """The files at the start, as the pocket world model is told of them."""
    return "\n".join(item(contents(name, text)) for name, text in files.items())


def told(files: Mapping[str, str]) -> str:
    """The files at the start, as the pocket agent is told of them when it predicts."""
    return "\n".join(contents(name, text) for name, text in files.items())


async def _play(scenario: Scenario, commands: Sequence[str]) -> dict[str, Any]:
    async with await World.create(scenario, model=False) as world:
        blobs = world.store.blobs
        thinking: dict[int, str] = {}
        for number, command in enumerate(commands, 1):
            look = Look.at(await world.state(), blobs, workdir=WORKDIR)
            thinking[number] = thought(command, look)
            await world.step(ToolCall("bash", {"command": command}))
        turns = (await world.trajectory()).turns
        tools: Mapping[str, ToolSpec] = imagined_tools(world.tools, turns)
        return {
            "turns": turns,
            "tools": tools,
            "prompt_context": scenario.model.to_prompt_context("", {}),
            "before": await world.state(world.root),
            "blobs": blobs,
            "thinking": thinking,
        }
