"""`agentworld mcp` over stdio beside calling the upstream directly.

Both sides are the official client, a server process of its own, and a file of one line that is read.
The call is measured with the world in memory and in a store on disk, where each answer is committed
before it is sent. The start is measured from nothing to the first tool list.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from bench._rows import Row, p50_ms_async, run
from mcp import Client, StdioServerParameters

UPSTREAM = (sys.executable, str(Path(__file__).parent / "data" / "mcp_upstream.py"))
SHIM = (sys.executable, "-m", "agentworld_mcp_shim")
STARTS = 9
TARGET_RATIO = 1.0
TOLERANCE = 0.1
"""A ratio within this of the target is the target: so much two runs of one command differ."""


def rows() -> list[Row]:
    """Calls and start-up."""
    return run(_rows())


async def _rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        note = Path(folder) / "note.txt"
        note.write_text("remember the milk\n", encoding="utf-8")
        scenario = Path(folder) / "scenario.yaml"
        scenario.write_text(
            f"name: bench\ndomains: [terminal]\nfiles:\n  {note}: |\n    remember the milk\n",
            encoding="utf-8",
        )
        home = {"AGENTWORLD_HOME": folder}
        ours = (*SHIM, "--scenario", str(scenario))
        kept = (*ours, "--world", "bench", "--", *UPSTREAM)
        direct_call = await _call_ms(UPSTREAM, home, note)
        memory_call = await _call_ms((*ours, "--memory", "--", *UPSTREAM), home, note)
        disk_call = await _call_ms(kept, home, note)
        direct_start = await _start_ms(UPSTREAM, home)
        return [
            _row("MCP call, world in memory", memory_call, "the upstream itself", direct_call),
            _row("MCP call, world on disk", disk_call, "the upstream itself", direct_call),
            _row("MCP start", await _start_ms(kept, home), "the upstream itself", direct_start),
            _row(
                "MCP start, no upstream",
                await _start_ms((*ours, "--world", "own"), home),
                "a server of the SDK",
                direct_start,
            ),
        ]


def _row(name: str, ours: float, alternative: str, theirs: float) -> Row:
    return Row(
        name=name,
        ours=ours,
        alternative=alternative,
        theirs=theirs,
        target=f"ratio {TARGET_RATIO}",
        met=ours / theirs <= TARGET_RATIO + TOLERANCE,
    )


def _connected(
    command: Sequence[str], environment: dict[str, str]
) -> AbstractAsyncContextManager[Client]:
    parameters = StdioServerParameters(
        command=command[0], args=list(command[1:]), env={**os.environ, **environment}
    )
    return Client(parameters, cache=None)


async def _call_ms(command: Sequence[str], environment: dict[str, str], note: Path) -> float:
    async with _connected(command, environment) as client:

        async def call() -> None:
            result = await client.call_tool("read_file", {"file_path": str(note)})
            assert not result.is_error, result

        return await p50_ms_async(call)


async def _start_ms(command: Sequence[str], environment: dict[str, str]) -> float:
    import time

    taken: list[float] = []
    for _ in range(STARTS):
        began = time.perf_counter()
        async with _connected(command, environment) as client:
            await client.list_tools()
            taken.append(time.perf_counter() - began)
    return sorted(taken)[STARTS // 2] * 1000
