"""`agentworld mcp --http` under load, and beside the upstream itself over HTTP.

200 clients each have a world of their own. Every answer is checked by content: what a client wrote is
what it reads, and nothing else. The latencies are those the clients see while all of them are busy. One
call at a time, and calls per second of records, are measured beside the same tools of the official SDK's server.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import httpx2
from mcp.client.streamable_http import streamable_http_client

from benchmarks._rows import Row, p50_ms_async, run
from benchmarks.mcp import SHIM, TOLERANCE, UPSTREAM, write_scenario
from mcp import Client

DATA = Path(__file__).parent / "data"
CLIENTS = 200
CALLS = 20
ROUNDS = 5
RECORD_CLIENTS = 10
RECORD_ROUNDS = 5
RECORD_RATIO = 0.8

_DIRECT = (
    "import sys; sys.path.insert(0, sys.argv[1]); from importlib import import_module;"
    " server = import_module(sys.argv[3]).server;"
    " server.run('streamable-http', host='127.0.0.1', port=int(sys.argv[2]))"
)


def rows() -> list[Row]:
    """One call at a time, and many clients with one and with two processes."""
    return run(_rows())


async def _rows() -> list[Row]:
    found: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        scenario, note = write_scenario(Path(folder))
        found += await _one_at_a_time(Path(folder), scenario, note)
        found.append(await _records(Path(folder)))
        one = await _under_load(Path(folder) / "home1", 1)
        two = await _under_load(Path(folder) / "home2", 2)
        faster = replace(
            two[1],
            alternative="one process",
            theirs=one[1].ours,
            target="ratio > 1",
            met=two[1].ours > one[1].ours,
        )
        found += [*one, two[0], faster, *two[2:]]
    return found


async def _records(home: Path) -> Row:
    """Calls per second of several clients, each with records of its own here and all with the same there."""

    async def rate(base: str) -> float:
        async with AsyncExitStack() as stack:
            clients = [
                await stack.enter_async_context(_client(base, "legacy"))
                for _ in range(RECORD_CLIENTS)
            ]
            began = time.perf_counter()
            await asyncio.gather(*(_work_on_records(client) for client in clients))
            return RECORD_CLIENTS * RECORD_ROUNDS * 4 / (time.perf_counter() - began)

    upstream = (sys.executable, str(DATA / "tracker_upstream.py"))
    async with (
        _direct("tracker_upstream") as direct,
        shim(home / "records", "--empty", "--", *upstream) as ours,
    ):
        rates = [(await rate(direct), await rate(ours)) for _ in range(ROUNDS)]
    theirs, own = (statistics.median(column) for column in zip(*rates, strict=True))
    return Row(
        name=f"MCP over HTTP, {RECORD_CLIENTS} clients, records on disk: calls per second",
        ours=own,
        unit="calls/s",
        alternative="the upstream itself",
        theirs=theirs,
        target=f"ratio {RECORD_RATIO}",
        met=own / theirs >= RECORD_RATIO - TOLERANCE,
    )


async def _work_on_records(client: Client) -> None:
    for _ in range(RECORD_ROUNDS):
        for tool, arguments in (
            ("create_issue", {"title": "x"}),
            ("get_issue", {"issue_id": 1}),
            ("update_issue", {"issue_id": 1, "state": "closed"}),
            ("list_issues", {"limit": 5}),
        ):
            result = await client.call_tool(tool, arguments)
            assert not result.is_error, result


async def _one_at_a_time(folder: Path, scenario: Path, note: Path) -> list[Row]:
    names = ("in memory", "on disk")
    found: list[Row] = []
    async with AsyncExitStack() as stack:
        bases = [await stack.enter_async_context(_direct("mcp_upstream"))]
        for extra in (("--memory",), ()):
            arguments = ("--scenario", str(scenario), *extra, "--", *UPSTREAM)
            bases.append(await stack.enter_async_context(shim(folder / "home", *arguments)))
        for mode, era in (("auto", "2026-07-28"), ("legacy", "2025-11-25")):
            clients = [await stack.enter_async_context(_client(base, mode)) for base in bases]

            async def call(client: Client) -> None:
                result = await client.call_tool("read_file", {"file_path": str(note)})
                assert getattr(result.content[0], "text", "") == "remember the milk\n", result

            taken: list[list[float]] = [[] for _ in clients]
            for _ in range(ROUNDS):
                for times, client in zip(taken, clients, strict=True):
                    times.append(await p50_ms_async(partial(call, client), times=50))
            direct, *ours = (statistics.median(times) for times in taken)
            for name, milliseconds in zip(names, ours, strict=True):
                found.append(
                    Row(
                        name=f"MCP call over HTTP, {era}, world {name}",
                        ours=milliseconds,
                        alternative="the upstream itself",
                        theirs=direct,
                        target="ratio 1.0",
                        met=milliseconds / direct <= 1.0 + TOLERANCE,
                    )
                )
    return found


async def _under_load(home: Path, workers: int) -> list[Row]:
    taken: list[float] = []
    together = asyncio.Barrier(CLIENTS + 1)

    async def work(base: str, number: int) -> None:
        # A connection of the SDK belongs to the task that made it.
        async with _client(base, "legacy") as client:
            await _said(client, "true")
            await together.wait()
            for turn in range(CALLS):
                start = time.perf_counter()
                text = await _said(
                    client, f"echo {number} >> /srv/n; sort -u /srv/n; wc -l < /srv/n"
                )
                taken.append((time.perf_counter() - start) * 1000)
                assert text.split() == [str(number), str(turn + 1)], (number, turn, text)
            await together.wait()

    async with (
        shim(home, "--workers", str(workers), "--", *_shell()) as base,
        asyncio.TaskGroup() as group,
    ):
        began = time.perf_counter()
        for number in range(CLIENTS):
            group.create_task(work(base, number))
        await together.wait()
        opened = time.perf_counter() - began
        await together.wait()
        rate = CLIENTS * CALLS / (time.perf_counter() - began - opened)
    taken.sort()
    who = f"{CLIENTS} clients, {workers} process{'es' * (workers > 1)}"
    return [
        Row(name=f"MCP over HTTP, {who}: connect and open a world each", ours=opened, unit="s"),
        Row(name=f"MCP over HTTP, {who}: calls per second", ours=rate, unit="calls/s"),
        Row(name=f"MCP over HTTP, {who}: p50", ours=taken[len(taken) // 2]),
        Row(name=f"MCP over HTTP, {who}: p99", ours=taken[len(taken) * 99 // 100]),
    ]


def _shell() -> tuple[str, ...]:
    return sys.executable, str(DATA / "shell_upstream.py")


async def _said(client: Client, command: str) -> str:
    result = await client.call_tool("bash", {"command": command})
    assert not result.is_error, result
    return getattr(result.content[0], "text", "")


@asynccontextmanager
async def _client(base: str, mode: str) -> AsyncGenerator[Client]:
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    async with (
        httpx2.AsyncClient(timeout=120, limits=limits) as http,
        Client(
            streamable_http_client(f"{base}/mcp", http_client=http), mode=mode, cache=None
        ) as client,
    ):
        yield client


@asynccontextmanager
async def shim(home: Path, *arguments: str) -> AsyncGenerator[str]:
    """The shim over HTTP, and its address."""
    environment = {**os.environ, "AGENTWORLD_HOME": str(home)}
    command = [*SHIM, "--http", "0", *arguments]
    async with _running(command, environment, lambda line: "serving " in line) as line:
        yield line.split(" ")[2].removesuffix("/mcp;")


@asynccontextmanager
async def _direct(module: str) -> AsyncGenerator[str]:
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-c", _DIRECT, str(DATA), str(port), module]
    async with _running(command, dict(os.environ), lambda line: "running on" in line):
        yield f"http://127.0.0.1:{port}"


@asynccontextmanager
async def _running(
    command: list[str], environment: dict[str, str], is_ready: Callable[[str], bool]
) -> AsyncGenerator[str]:
    process = await asyncio.create_subprocess_exec(
        *command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    try:
        while line := (await process.stderr.readline()).decode():
            if is_ready(line):
                break
        else:
            raise RuntimeError(f"{command} ended with {await process.wait()}")
        draining = asyncio.create_task(process.stderr.read())
        yield line
        del draining
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()
