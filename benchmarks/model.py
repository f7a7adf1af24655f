"""Worlds that imagine: throughput, memory, overhead and requests saved, against a scripted server.

The server is a process of its own, so that it does not share our interpreter.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from statistics import median

from agentworld_sim import ModelSettings, ToolCall, ToolSpec, Turn, World, WorldModel
from benchmarks._rows import Row, run

WORLDS = 64
TURNS = 20
DELAY_S = 1.0
MANY = 1000
HISTORY = 20
GROUP = 8
GROUP_TURNS = 5
ANSWER = "The parcel is in Utrecht and arrives tomorrow. " * 8

TRACK = ToolSpec(
    name="track",
    description="Where a parcel is.",
    input_schema={"type": "object", "properties": {"number": {"type": "integer"}}},
)


def rows() -> list[Row]:
    """All figures about imagined worlds."""
    return [*run(_throughput()), *_many(), *run(_overhead()), *run(_saved())]


@contextmanager
def served(delay_s: float, reply: str = ANSWER) -> Generator[str]:
    """A scripted server in a process of its own; gives its URL."""
    command = [sys.executable, "-m", "agentworld_sim.llm.scripted"]
    command += ["--observation", "--reply", reply, "--delay", str(delay_s)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.wait()


async def worlds_of(model: WorldModel, count: int) -> list[World]:
    """Worlds that share nothing but the model."""
    made = [await World.create(model=model, seed=seed) for seed in range(count)]
    for world in made:
        world.add_tools([TRACK])
    return made


async def stepped(world: World, turns: int) -> list[Turn]:
    """Some steps, one after another."""
    return [await world.step(ToolCall("track", {"number": number})) for number in range(turns)]


async def _throughput() -> list[Row]:
    with served(DELAY_S) as url:
        model = WorldModel(ModelSettings(url=url))
        worlds = await worlds_of(model, WORLDS)
        # What is loaded at the first step is no part of any turn after it.
        async with await World.create(model=model, seed=WORLDS) as first:
            first.add_tools([TRACK])
            await stepped(first, 1)
        began = time.perf_counter()
        await asyncio.gather(*(stepped(world, TURNS) for world in worlds))
        seconds = time.perf_counter() - began
        for world in worlds:
            await world.close()
    ideal = WORLDS / DELAY_S
    ours = WORLDS * TURNS / seconds
    return [
        Row(
            f"{WORLDS} worlds in parallel, a model that takes {DELAY_S:g} s",
            ours,
            unit="turns/s",
            alternative="no time but the model's",
            theirs=ideal,
            target="95 %",
            met=ours >= 0.95 * ideal,
        )
    ]


def _many() -> list[Row]:
    with served(DELAY_S) as url:
        code = f"from benchmarks.model import many; many({url!r})"
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
    megabytes, seconds = map(float, done.stdout.split())
    return [
        Row(
            f"memory of {MANY} worlds imagining in parallel",
            megabytes,
            unit="MB",
            target="500 MB",
            met=megabytes < 500,
        ),
        Row(
            f"{MANY} worlds, 3 turns each, a model that takes {DELAY_S:g} s",
            seconds,
            unit="s",
            alternative="no time but the model's",
            theirs=3 * DELAY_S,
        ),
    ]


def many(url: str) -> None:
    """Many worlds at once, in a process of its own; prints peak memory in MB and seconds."""
    import resource

    async def work() -> float:
        model = WorldModel(ModelSettings(url=url, concurrency=MANY))
        worlds = await worlds_of(model, MANY)
        began = time.perf_counter()
        await asyncio.gather(*(stepped(world, 3) for world in worlds))
        seconds = time.perf_counter() - began
        for world in worlds:
            await world.close()
        return seconds

    seconds = asyncio.run(work())
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, seconds)


async def _overhead() -> list[Row]:
    with served(0.0) as url:
        model = WorldModel(ModelSettings(url=url, cache_entries=0))
        async with await World.create(model=model) as world:
            world.add_tools([TRACK])
            await stepped(world, HISTORY)
            at = world.ref
            ours: list[float] = []
            theirs: list[float] = []
            alone = Bare(url)
            await alone.connect()
            for number in range(200):
                began = time.perf_counter()
                turn = await world.step(ToolCall("track", {"number": 1000 + number}), at=at)
                ours.append(time.perf_counter() - began)
                asked = turn.exchanges[0]
                messages = [
                    {"role": role, "content": world.store.blobs.get(blob).decode()}
                    for role, blob in asked.messages
                ]
                body = json.dumps({**asked.parameters, "messages": messages}).encode()
                began = time.perf_counter()
                await alone.post(body)
                theirs.append(time.perf_counter() - began)
            alone.close()
    over = (median(ours) - median(theirs)) * 1000
    return [
        Row(
            f"a step with a model, {HISTORY} turns of history: all but the server",
            over,
            alternative="the server's own time, over a bare socket",
            theirs=median(theirs) * 1000,
            target="2 ms",
            met=over < 2,
        )
    ]


class Bare:
    """Sends a request and reads the reply to its end, and does nothing else."""

    def __init__(self, url: str) -> None:
        self._host, self._port = url.split("/")[2].split(":")

    async def connect(self) -> None:
        self._reader, self._writer = await asyncio.open_connection(self._host, int(self._port))

    async def post(self, body: bytes) -> None:
        head = (
            f"POST /v1/chat/completions HTTP/1.1\r\nHost: {self._host}:{self._port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self._writer.write(head.encode() + body)
        await self._reader.readuntil(b"\r\n0\r\n\r\n")

    def close(self) -> None:
        self._writer.close()


async def _saved() -> list[Row]:
    with served(0.2) as url:
        model = WorldModel(ModelSettings(url=url))
        first = await World.create(model=model)
        first.add_tools([TRACK])
        group = [first, *[await first.fork() for _ in range(GROUP - 1)]]
        rollouts = await asyncio.gather(*(stepped(world, GROUP_TURNS) for world in group))
        sources = [one.source for turns in rollouts for turn in turns for one in turn.exchanges]
        for world in group:
            await world.close()
    asked = sources.count("server")
    return [
        Row(
            f"requests of a group of {GROUP} with equal prefixes, {GROUP_TURNS} turns",
            asked,
            unit="requests",
            alternative="without cache and sharing",
            theirs=len(sources),
        )
    ]
