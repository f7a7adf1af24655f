"""Plays tasks inside, replays what was done outside, and keeps what became of it; an unfinished run is gone on with."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from agentworld_sim._version import __version__
from agentworld_sim.bench.run import for_each, settings_of
from agentworld_sim.bench.run_file import append_lines, begin_lines
from agentworld_sim.bench.transfer.model_agent import play_with_model
from agentworld_sim.bench.transfer.places import (
    ENGINES,
    ImaginedPlace,
    Place,
    PlaceAnswer,
    WorldPlace,
)
from agentworld_sim.bench.transfer.scripted_agents import WEAKNESS, Play, play
from agentworld_sim.bench.transfer.transfer_task import TransferTask
from agentworld_sim.errors import UsageError
from agentworld_sim.imagination import WorldModel
from agentworld_sim.llm.client import ChatClient
from agentworld_sim.types.json import canonical_json

FORMAT = "agentworld-transfer/1"
AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of one task of one agent inside one engine."""

    engine: str
    agent: str
    task: str
    kind: str
    content_dependent: bool
    calls: int
    inside: list[str]
    """Why it failed inside, a line for each goal; empty when it passed."""
    outside: list[str]
    divergence: dict[str, Any] | None
    """The first call that was answered otherwise outside: `step`, `call`, `inside`, `outside`, and the world's
    `difference` there."""

    @property
    def id(self) -> tuple[str, str, str]:
        return self.engine, self.agent, self.task


Replay = tuple[list[PlaceAnswer], list[str]]
"""The real thing's answers, and what of the task is not met there."""

Places = Mapping[str, Callable[[TransferTask], Awaitable[Place]]]
"""Opens the real thing, by the kind of task."""


@asynccontextmanager
async def real_places(kinds: Collection[str], server: Sequence[str] = ()) -> AsyncGenerator[Places]:
    """The real thing for tasks; what all tasks of a kind share, a jail or a browser, is opened once.

    Args:
        kinds: Of the tasks.
        server: The command of the MCP server, in place of the shipped one.

    Raises:
        UsageError: this host cannot isolate shells or has no browser, and a task needs one.
    """
    found = dict[str, Callable[[TransferTask], Awaitable[Place]]]()
    async with AsyncExitStack() as stack:
        if "shell" in kinds:
            from agentworld_sim.bench.transfer.real_shell import RealShell

            found["shell"] = partial(RealShell.open, jail=RealShell.jail())
        if "mcp" in kinds:
            from agentworld_sim.bench.transfer.real_server import SERVER, RealServer

            found["mcp"] = partial(RealServer.open, command=server or SERVER)
        if "web" in kinds:
            from agentworld_sim.bench.transfer.real_browser import RealBrowser, real_browser

            browser = await stack.enter_async_context(real_browser())
            found["web"] = partial(RealBrowser.open, browser=browser)
        yield found


async def run_transfer(
    tasks: Sequence[TransferTask],
    output: Path,
    *,
    engines: Sequence[str],
    agents: Sequence[str],
    model: ChatClient | None = None,
    world_model: WorldModel | None = None,
    server: Sequence[str] = (),
    on_trial: Callable[[], None] = lambda: None,
) -> list[Trial]:
    """Every agent does every task inside every engine; a text loop has no pages, so it is given no tasks on them, and
    knows plans only, so that no model works in it.

    Args:
        tasks: What is done.
        output: The trials' file.
        engines: Of `ENGINES`, or `imagined`, which is given tasks for tools only.
        agents: Scripted ones, by name.
        model: Drives one more agent, which is called what the model is called.
        world_model: Answers inside `imagined`.
        server: See `real_places`.
        on_trial: Hears of every trial that was not there.

    Raises:
        UsageError: the file holds something else, no engine does the tasks, or this host has not what they need.
    """
    names = [*agents, *([(await model.served_model()).name] if model else ())]
    about: dict[str, Any] = {"format": FORMAT, "version": __version__}
    if server:
        about["server"] = list(server)
    if world_model:
        name = (await world_model.client.served_model()).name
        about["settings"] = {**settings_of(world_model), "model": name}
    asked = [
        (engine, agent, task)
        for task in tasks
        for engine in engines
        for agent in names
        if engine != "text" or (task.kind != "web" and agent in WEAKNESS)
        if engine != ImaginedPlace.name or task.kind == "mcp"
    ]
    if tasks and not asked:
        raise UsageError(
            "no engine given does these tasks: `text` does none on pages, `imagined` only those for tools (mcp)."
        )
    _, trials = begin_lines(output, about, lambda line: Trial(**line))
    found = {trial.id: trial for trial in trials}
    missing = [one for one in asked if (one[0], one[1], one[2].name) not in found]
    replays: dict[str, asyncio.Task[Replay]] = {}

    async def one(asked: tuple[str, str, TransferTask]) -> None:
        trial = await _trial(*asked, model, world_model, places, replays)
        found[trial.id] = trial
        write([trial])
        on_trial()

    with append_lines(output) as write:
        async with real_places({task.kind for _, _, task in missing}, server) as places:
            await for_each(missing, one, AT_ONCE)
    return [found[engine, agent, task.name] for engine, agent, task in asked]


async def _trial(
    engine: str,
    agent: str,
    task: TransferTask,
    model: ChatClient | None,
    world_model: WorldModel | None,
    places: Places,
    replays: dict[str, asyncio.Task[Replay]],
) -> Trial:
    if engine == ImaginedPlace.name:
        assert world_model is not None
        place = await ImaginedPlace.open_with(task, world_model)
    else:
        place = await ENGINES[engine].open(task)
    try:
        if model and isinstance(place, WorldPlace) and agent not in WEAKNESS:
            done = await play_with_model(model, task, place)
        else:
            done = await play(agent, task, place)
        inside = await place.problems(done.finished)
        # The same calls in the same real thing are made once, whoever made them inside.
        key = canonical_json([task.name, [[one.name, dict(one.arguments)] for one in done.calls]])
        if key not in replays:
            replays[key] = asyncio.create_task(_replay(task, done, places))
        answers, outside = await replays[key]
        divergence = None
        for number, (call, said, told) in enumerate(
            zip(done.calls, done.answers, answers, strict=True)
        ):
            if said.compared != told.compared:
                divergence = {
                    "step": number + 1,
                    "call": {"name": call.name, "arguments": dict(call.arguments)},
                    "inside": said.compared,
                    "outside": told.compared,
                    "difference": await place.difference(number)
                    if isinstance(place, WorldPlace)
                    else "",
                }
                break
    finally:
        await place.close()
    return Trial(
        engine=engine,
        agent=agent,
        task=task.name,
        kind=task.kind,
        content_dependent=task.content_dependent,
        calls=len(done.calls),
        inside=inside,
        outside=outside,
        divergence=divergence,
    )


async def _replay(task: TransferTask, done: Play, places: Places) -> Replay:
    place = await places[task.kind](task)
    try:
        return [await place.call(call) for call in done.calls], await place.problems(done.finished)
    finally:
        await place.close()
