"""Programs of the machine, and worlds that run one each, beside the host's own Python."""

from __future__ import annotations

import asyncio
import resource
import subprocess
import sys
import time

from agentworld_sim import Scenario, ToolCall, ToolSpec, World
from agentworld_sim.types.turns import Turn
from benchmarks._rows import Row, run

PRINT = "print(1)"
WORLDS = 1_000
START_MS = 20.0


async def _world() -> World:
    world = await World.create(Scenario(name="machine", domains=("terminal",)))
    world.add_tools([ToolSpec(name="run", binds_to="shell/run")])
    return world


async def _python(world: World, code: str = PRINT) -> Turn:
    turn = await world.step(ToolCall("run", {"command": f"python3 -c '{code}'"}))
    assert turn.observation.structured["stdout"] == "1\n"
    return turn


async def _start_ms(times: int = 40) -> tuple[float, float]:
    """The best of some starts in a world, and what a fork's first run takes beside."""
    async with await _world() as world:
        await _python(world)
        best = fork_best = float("inf")
        for _ in range(times):
            began = time.perf_counter()
            await _python(world)
            best = min(best, time.perf_counter() - began)
            async with await world.fork() as fork:
                began = time.perf_counter()
                await _python(fork)
                fork_best = min(fork_best, time.perf_counter() - began)
    return best * 1e3, fork_best * 1e3


def _host_start_ms(times: int = 40) -> float:
    best = float("inf")
    for _ in range(times):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", PRINT], check=True, stdout=subprocess.DEVNULL)
        best = min(best, time.perf_counter() - began)
    return best * 1e3


async def _many() -> tuple[float, float]:
    """Runs a second of processor time, and megabytes for each of many worlds that stay open after a run."""
    worlds = [await _world() for _ in range(WORLDS)]
    await _python(worlds[0])
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    for first in range(0, WORLDS, 50):
        await asyncio.gather(*(_python(world) for world in worlds[first : first + 50]))
    seconds = time.process_time() - began
    grown_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb
    for world in worlds:
        await world.close()
    return WORLDS / seconds, grown_kb / 1024 / WORLDS


async def _rows() -> list[Row]:
    start_ms, fork_ms = await _start_ms()
    a_second, mb = await _many()
    return [
        Row("`python3 -c 'print(1)'` in a world, best", start_ms, "ms", "the host's own", _host_start_ms(),
            target=f"≤ {START_MS:g} ms", met=start_ms <= START_MS),
        Row("the same, first run of a fork, best", fork_ms, "ms", "in the world", start_ms),
        Row(f"Python runs a second and core, {WORLDS:,} worlds", a_second, "runs/s"),
        Row(f"memory of each of {WORLDS:,} worlds after a run", mb, "MB"),
    ]  # fmt: skip


def rows() -> list[Row]:
    return run(_rows())
