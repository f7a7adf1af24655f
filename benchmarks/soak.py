"""`make soak`: 100,000 calls over 1,000 worlds through `agentworld mcp --http`, and what memory does.

Each world's answers are checked by content: the issue that was written is the one that is read, and the
total is the number of those created in this very world. A world gets ten issues; from then on they are
changed, so that what is held does not grow by itself. Takes some minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path

from rich.progress import Progress

from benchmarks.mcp_http import shim
from mcp import Client

UPSTREAM = (sys.executable, str(Path(__file__).parent / "data" / "tracker_upstream.py"))
CLIENTS = 16
ISSUES = 10
"""Per world."""

WARM_UP = 0.3
"""Share of the calls after which memory is taken as the beginning: by then every world has its issues."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--worlds", type=int, default=1_000)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_soak(Path(folder), chosen.calls, chosen.worlds))


async def _soak(folder: Path, calls: int, worlds: int) -> None:
    environment = {**os.environ, "AGENTWORLD_HOME": str(folder)}
    snapshot = folder / "tracker.json"
    command = [sys.executable, "-m", "agentworld_mcp_shim"]
    subprocess.run(
        [*command, "snapshot", "-o", str(snapshot), "--", *UPSTREAM], env=environment, check=True
    )
    async with shim(folder, "--snapshot", str(snapshot)) as base:
        await _drive(base, calls, worlds)


async def _drive(base: str, calls: int, worlds: int) -> None:
    taken: list[float] = []
    sizes: list[tuple[int, float]] = []
    turns = iter(range(calls // 2))
    written = [0] * worlds
    busy = [asyncio.Lock() for _ in range(worlds)]
    began = time.perf_counter()
    with Progress() as progress:
        bar = progress.add_task("calls", total=calls)

        async def work(client: Client) -> None:
            for turn in turns:
                number = turn % worlds
                async with busy[number]:
                    start = time.perf_counter()
                    await _pair(client, number, written)
                    taken.append((time.perf_counter() - start) / 2)
                progress.update(bar, advance=2)
                if turn % 2_500 == 0:
                    sizes.append((2 * turn, _megabytes()))

        async with AsyncExitStack() as stack:
            clients = [
                await stack.enter_async_context(Client(f"{base}/mcp", cache=None))
                for _ in range(CLIENTS)
            ]
            await asyncio.gather(*map(work, clients))
    seconds = time.perf_counter() - began
    sizes.append((calls, _megabytes()))
    taken.sort()
    for count, size in sizes:
        print(f"{count:>8,} calls  {size:7.1f} MB")
    warm = next(size for count, size in sizes if count >= WARM_UP * calls)
    print(
        f"{calls:,} calls over {worlds:,} worlds in {seconds:.0f} s: {calls / seconds:.0f} calls/s,"
        f" p50 {taken[len(taken) // 2] * 1000:.1f} ms, p99 {taken[len(taken) * 99 // 100] * 1000:.1f} ms"
        f" with {CLIENTS} clients; memory {warm:.0f} MB after {WARM_UP:.0%} of the calls,"
        f" {sizes[-1][1]:.0f} MB at the end"
    )


async def _pair(client: Client, number: int, written: list[int]) -> None:
    """Creates an issue in a world or changes one, and reads it back with the total."""
    where = {"agentworld/world": f"soak-{number}"}
    title = f"{number}/{written[number]}"
    if written[number] < ISSUES:
        made = await client.call_tool("create_issue", {"title": title}, meta=where)
    else:
        wanted = {"issue_id": 1 + written[number] % ISSUES, "title": title}
        made = await client.call_tool("update_issue", wanted, meta=where)
    assert made.structured_content and made.structured_content["title"] == title, made
    written[number] += 1
    wanted = {"limit": 1, "offset": made.structured_content["id"] - 1}
    page = await client.call_tool("list_issues", wanted, meta=where)
    assert page.structured_content, page
    assert page.structured_content["issues"][0]["title"] == title, page
    begun = made.structured_content["id"] if written[number] <= ISSUES else None
    assert begun in (None, page.structured_content["total"]), page


def _megabytes() -> float:
    """Resident memory of the server's processes: this one has no other children."""
    total = 0
    for one in _children(os.getpid()):
        text = Path(f"/proc/{one}/status").read_text(encoding="utf-8")
        found = re.search(r"VmRSS:\s+(\d+)", text)
        total += int(found[1]) if found else 0
    return total / 1024


def _children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()
    return [one for child in map(int, listed) for one in (child, *_children(child))]


if __name__ == "__main__":
    main()
