"""`agentworld mcp` over stdio beside calling the upstream directly.

Both sides are the official client, a server process of its own, and a file of one line that is read.
The call is measured with the world in memory and in a store on disk, where each answer is committed
before it is sent. The start is measured from nothing to the first tool list, and the first call after that: at
once, and after the pause in which a model would make up its mind.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import partial
from pathlib import Path

from benchmarks._rows import Row, p50_ms_async, run
from mcp import Client, StdioServerParameters

UPSTREAM = (sys.executable, str(Path(__file__).parent / "data" / "mcp_upstream.py"))
SHIM = (sys.executable, "-m", "agentworld_mcp_shim")
ROUNDS = 9
CALLS = 50
TARGET_RATIO = 1.0
SNAPSHOT_RATIO = 1.2
"""Of the start from a snapshot, where nothing of the upstream is started."""
PAUSE_SECONDS = 0.5
FIRST_CALL_MS = 40
TOLERANCE = 0.1
"""A ratio within this of the target is the target: so much two runs of one command differ."""


def rows() -> list[Row]:
    """Calls and start-up."""
    return run(_rows())


async def _rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        scenario, note = write_scenario(Path(folder))
        home = {"AGENTWORLD_HOME": folder}
        ours = (*SHIM, "--scenario", str(scenario))
        kept = (*ours, "--world", "bench", "--", *UPSTREAM)
        calls = await _calls_ms([UPSTREAM, (*ours, "--memory", "--", *UPSTREAM), kept], home, note)
        snapshot = Path(folder) / "snapshot.json"
        await _snapshot(snapshot, home)
        from_snapshot = (*ours, "--world", "shown", "--snapshot", str(snapshot))
        own = (*ours, "--world", "own")
        starts = await _starts_ms([UPSTREAM, kept, own, from_snapshot], home)
        firsts = [await _first_call_ms(kept, home, note, pause) for pause in (0, PAUSE_SECONDS)]
    return [
        _row("MCP call, world in memory", calls[1], "the upstream itself", calls[0]),
        _row("MCP call, world on disk", calls[2], "the upstream itself", calls[0]),
        _row("MCP start", starts[1], "the upstream itself", starts[0]),
        _row("MCP start, no upstream", starts[2], "a server of the SDK", starts[0]),
        _row(
            "MCP start, from a snapshot",
            starts[3],
            "a server of the SDK",
            starts[0],
            ratio=SNAPSHOT_RATIO,
        ),
        Row(name="MCP first call, right after the first tool list", ours=firsts[0]),
        Row(
            name=f"MCP first call, {PAUSE_SECONDS:g} s after the first tool list",
            ours=firsts[1],
            target=f"{FIRST_CALL_MS} ms",
            met=firsts[1] <= FIRST_CALL_MS,
        ),
    ]


def write_scenario(folder: Path) -> tuple[Path, Path]:
    """A scenario with a note that lies on this host too; the two files."""
    note, scenario = folder / "note.txt", folder / "scenario.yaml"
    note.write_text("remember the milk\n", encoding="utf-8")
    scenario.write_text(
        f"name: bench\ndomains: [terminal]\nfiles:\n  {note}: |\n    remember the milk\n",
        encoding="utf-8",
    )
    return scenario, note


async def _snapshot(path: Path, environment: dict[str, str]) -> None:
    command = (*SHIM, "snapshot", "-o", str(path), "--", *UPSTREAM)
    process = await asyncio.create_subprocess_exec(*command, env={**os.environ, **environment})
    assert await process.wait() == 0, command


def _row(
    name: str, ours: float, alternative: str, theirs: float, ratio: float = TARGET_RATIO
) -> Row:
    return Row(
        name=name,
        ours=ours,
        alternative=alternative,
        theirs=theirs,
        target=f"ratio {ratio}",
        met=ours / theirs <= ratio + TOLERANCE,
    )


def _connected(
    command: Sequence[str], environment: dict[str, str]
) -> AbstractAsyncContextManager[Client]:
    parameters = StdioServerParameters(
        command=command[0], args=list(command[1:]), env={**os.environ, **environment}
    )
    return Client(parameters, cache=None)


async def _calls_ms(
    commands: Sequence[Sequence[str]], environment: dict[str, str], note: Path
) -> list[float]:
    """The median call of each server. They take turns, so that a busy host is busy for all."""
    async with AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(_connected(command, environment))
            for command in commands
        ]

        async def call(client: Client) -> None:
            result = await client.call_tool("read_file", {"file_path": str(note)})
            assert not result.is_error, result

        taken: list[list[float]] = [[] for _ in clients]
        for _ in range(ROUNDS):
            for times, client in zip(taken, clients, strict=True):
                times.append(await p50_ms_async(partial(call, client), times=CALLS))
    return [statistics.median(times) for times in taken]


async def _first_call_ms(
    command: Sequence[str], environment: dict[str, str], note: Path, pause: float
) -> float:
    """The median first call of a server, so long after it has listed its tools."""
    times: list[float] = []
    for _ in range(ROUNDS):
        async with _connected(command, environment) as client:
            await client.list_tools()
            await asyncio.sleep(pause)
            began = time.perf_counter()
            result = await client.call_tool("read_file", {"file_path": str(note)})
            times.append((time.perf_counter() - began) * 1000)
            assert not result.is_error, result
    return statistics.median(times)


async def _starts_ms(commands: Sequence[Sequence[str]], environment: dict[str, str]) -> list[float]:
    """The median start of each server, to its first tool list; they take turns."""
    taken: list[list[float]] = [[] for _ in commands]
    for _ in range(ROUNDS):
        for times, command in zip(taken, commands, strict=True):
            began = time.perf_counter()
            async with _connected(command, environment) as client:
                await client.list_tools()
                times.append((time.perf_counter() - began) * 1000)
    return [statistics.median(times) for times in taken]
