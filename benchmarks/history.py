"""How a world's history is kept: changes per turn, snapshots per turn, or execution again.

The measurement behind the first architecture decision record. 100 files of 10 kB, a session in which
every fourth turn writes.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from bashkit import Bash, ExecutionProfile

from agentworld_sim import Scenario, SqliteStore, ToolCall, ToolSpec, World
from benchmarks._rows import Row, run

TURNS = 200
SHELL = ToolSpec(name="run", binds_to="shell/run")
SCENARIO = Scenario.model_validate(
    {
        "name": "files",
        "domains": ("terminal",),
        "files": {f"/srv/d{n % 10}/f{n}": "x" * 10_000 for n in range(100)},
    }
)


def command(number: int) -> str:
    """The script of one turn."""
    writes = f"echo {number} >> /srv/d{number % 10}/f{number % 100}"
    return writes if number % 4 == 0 else "grep -c x /srv/d1/f1; ls /srv | wc -l"


def rows() -> list[Row]:
    """All figures about keeping history."""
    return run(_measured())


async def _measured() -> list[Row]:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "w.sqlite"
        changing: list[float] = []
        async with await World.create(SCENARIO, store=SqliteStore(path), id="w") as world:
            world.add_tools([SHELL])
            for number in range(TURNS):
                start = time.perf_counter()
                await world.step(ToolCall("run", {"command": command(number)}))
                if number % 4 == 0:
                    changing.append(time.perf_counter() - start)
        size = sum(file.stat().st_size for file in Path(name).iterdir())

        start = time.perf_counter()
        async with await World.open("w", store=SqliteStore(path)) as again:
            again.add_tools([SHELL])
            await again.step(ToolCall("run", {"command": "true"}))
        reopened = time.perf_counter() - start

        start = time.perf_counter()
        async with await World.create(SCENARIO) as repeated:
            repeated.add_tools([SHELL])
            for number in range(TURNS):
                await repeated.step(ToolCall("run", {"command": command(number)}))
        executed = time.perf_counter() - start

    commits, stored = _commits()
    return [
        Row(
            "a changing turn, its changes stored",
            statistics.median(changing) * 1000,
            alternative="the same, bashkit commit per turn (without times, options, traps)",
            theirs=commits,
        ),
        Row(
            f"reopening after {TURNS} turns",
            reopened * 1000,
            alternative=f"executing the {TURNS} turns again",
            theirs=executed * 1000,
        ),
        Row(
            f"stored for {TURNS} turns",
            size / 1e6,
            unit="MB",
            alternative="objects of bashkit commits",
            theirs=stored / 1e6,
        ),
    ]


def _commits() -> tuple[float, int]:
    """Median time of a changing turn with an incremental commit (ms), and the bytes of all commits."""
    bash = Bash(profile=ExecutionProfile.Interactive, max_commands=10**9)
    for path, content in SCENARIO.files.items():
        bash.fs().mkdir(path.rpartition("/")[0], True)
        bash.fs().write_file(path, getattr(content, "text", str(content)).encode())
    held: dict[str, bytes] = dict(bash.commit().objects)
    taken: list[float] = []
    parent: list[str] = []
    for number in range(TURNS):
        start = time.perf_counter()
        bash.execute_sync(command(number))
        commit = bash.commit(parents=parent, have=list(held))
        if number % 4 == 0:
            taken.append(time.perf_counter() - start)
        held.update(commit.objects)
        parent = [commit.id]
    return statistics.median(taken) * 1000, sum(map(len, held.values()))
