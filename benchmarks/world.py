"""Steps, files, forks and memory of worlds."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from agentworld_sim import Scenario, SqliteStore, ToolCall, ToolSpec, World, WorldStore
from benchmarks._rows import Row, p50_ms, p50_ms_async, run

MACHINE = Scenario.model_validate({"name": "machine", "domains": ("terminal",)})
SHELL = ToolSpec(name="run", binds_to="shell/run")
ECHO = ToolCall("run", {"command": "echo hi"})
FILES = 100
FILE_BYTES = 10_000
OPEN_WORLDS = 1000


def rows() -> list[Row]:
    """All figures about worlds."""
    return [*run(_steps()), *run(_forks()), _memory()]


async def _steps() -> list[Row]:
    real_echo = p50_ms(
        lambda: subprocess.run(["bash", "-c", "echo hi"], capture_output=True, check=True)
    )
    found: list[Row] = []
    with tempfile.TemporaryDirectory() as name:
        note = Path(name) / "note"
        note.write_text("x" * 1000)
        real_cat = p50_ms(
            lambda: subprocess.run(["bash", "-c", f"cat {note}"], capture_output=True, check=True)
        )
        stores: list[tuple[str, WorldStore | None, str, float]] = [
            ("in memory", None, "8 times faster", 1 / 8),
            ("on disk", SqliteStore(Path(name) / "w.sqlite"), "not slower", 1.0),
        ]
        for place, store, target, limit in stores:
            async with await World.create(MACHINE, store=store) as world:
                world.add_tools([SHELL])
                await world.step(
                    ToolCall("run", {"command": "printf 'x%.0s' {1..1000} > /root/note"})
                )
                cat = ToolCall("run", {"command": "cat /root/note"})
                for what, call, theirs in (
                    ('World.step("echo hi")', ECHO, real_echo),
                    ("reading a file", cat, real_cat),
                ):
                    ours = await p50_ms_async(lambda call=call: world.step(call))
                    found.append(
                        Row(
                            f"{what}, {place}",
                            ours,
                            alternative="subprocess.run bash -c",
                            theirs=theirs,
                            target=target,
                            met=ours <= theirs * limit,
                        )
                    )
    return found


async def _forks() -> list[Row]:
    scenario = Scenario.model_validate(
        {
            "name": "files",
            "domains": ("terminal",),
            "files": {f"/srv/d{n % 10}/f{n}": "x" * FILE_BYTES for n in range(FILES)},
        }
    )
    async with await World.create(scenario) as world:
        world.add_tools([SHELL])
        change = ToolCall("run", {"command": "echo hi > /srv/d1/new"})

        async def fork_step_discard() -> None:
            fork = await world.fork()
            await fork.step(change)
            await fork.close()
            world.store.remove(fork.id)

        ours = await p50_ms_async(fork_step_discard, times=50)
    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / "srv"
        for n in range(FILES):
            file = source / f"d{n % 10}" / f"f{n}"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("x" * FILE_BYTES)
        copy = Path(name) / "copy"

        def copy_step_discard() -> None:
            subprocess.run(
                ["bash", "-c", f"cp -a {source} {copy}; echo hi > {copy}/d1/new; rm -r {copy}"],
                check=True,
            )

        theirs = p50_ms(copy_step_discard, times=50)
    return [
        Row(
            f"fork + step + discard, {FILES} files of 10 kB",
            ours,
            alternative="cp -a, bash, rm -r",
            theirs=theirs,
            target="under 10 ms",
            met=ours < 10,
        )
    ]


_COUNT_MEMORY = f"""
import asyncio, resource
from agentworld_sim import Scenario, ToolCall, ToolSpec, World
MACHINE = Scenario.model_validate({{"name": "machine", "domains": ("terminal",)}})
async def main():
    def used():
        return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize() / 1e6
    worlds = []
    first = await World.create(MACHINE)
    first.add_tools([ToolSpec(name="run", binds_to="shell/run")])
    await first.step(ToolCall("run", {{"command": "echo hi > f"}}))
    before = used()
    for _ in range({OPEN_WORLDS}):
        world = await World.create(MACHINE)
        world.add_tools([ToolSpec(name="run", binds_to="shell/run")])
        await world.step(ToolCall("run", {{"command": "echo hi > f"}}))
        worlds.append(world)
    print(used() - before, used())
asyncio.run(main())
"""


def _memory() -> Row:
    done = subprocess.run(
        [sys.executable, "-c", _COUNT_MEMORY], capture_output=True, text=True, check=True
    )
    added, _ = map(float, done.stdout.split())
    return Row(
        f"{OPEN_WORLDS} open worlds in one process, each after a step",
        added,
        unit="MB",
        target="under 300 MB",
        met=added < 300,
    )
