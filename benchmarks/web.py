"""Steps of a browser, a thousand browsers in one process, beside the real `@playwright/mcp` with Chromium; and the
proxy before a world's internet.

python -m benchmarks web    takes two to three minutes; what is real needs `make test-servers` and Chromium
"""

from __future__ import annotations

import asyncio
import os
import re
import resource
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable
from http.server import ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any

from agentworld_sim import Scenario, ToolCall, World
from agentworld_sim.assembly import internet_of
from agentworld_sim.engines.web import WebEngine
from agentworld_sim.engines.web.requests import WebRequest, WebResponse
from agentworld_sim.scenario import site_tasks
from agentworld_sim.toolkits import toolkit
from agentworld_sim.types.state import StateChange, WorldState
from agentworld_sim.web_proxy import WorldInternet, web_proxy
from benchmarks._rows import Row, p50_ms_async, run

CLI = Path(__file__).resolve().parents[1] / "build/servers/node_modules/@playwright/mcp/cli.js"
"""The real server; `make test-servers` installs it."""
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
NEW_PAGE = {200: 5.0, 2_000: 80.0}
"""Nodes of a page, and the milliseconds that a step to it may take."""
EDIT = 10.0
"""The milliseconds that typing into a page of 2,000 nodes may take."""
BROWSERS = 1_000


def page_of(nodes: int, number: int) -> str:
    """A page of that many nodes, four to an entry; no two are the same."""
    entry = '<li><a href="/item/{0}">Item {0} of {1}</a> <input aria-label="Note {0}"><button>Save</button></li>'
    entries = "".join(entry.format(one, number) for one in range(nodes // 4))
    return f"<!doctype html><title>{number}</title><main><ul>{entries}</ul></main>"


class Pages:
    """`/200/7` is the seventh page of 200 nodes."""

    def answer(self, request: WebRequest, state: WorldState) -> tuple[WebResponse, StateChange]:
        nodes, number = map(int, request.path.strip("/").split("/"))
        return WebResponse(body=page_of(nodes, number).encode()), StateChange(
            clock_us=state.clock_us
        )

    def hosts(self, state: WorldState) -> list[str]:
        return ["pages.test"]


async def _steps(call: Callable[..., Awaitable[str]], home: str, times: int) -> dict[str, float]:
    """Milliseconds of steps, by what is done: a new page of so many nodes, and typing into one."""
    found: dict[str, float] = {}
    numbers = count(1)
    for nodes in NEW_PAGE:

        async def visit(nodes: int = nodes) -> None:
            await call("browser_navigate", url=f"{home}/{nodes}/{next(numbers)}")

        found[f"{nodes}"] = await p50_ms_async(visit, times, 2)
    snapshot = await call("browser_snapshot")
    refs = re.findall(r'textbox "Note \d+" \[ref=(\w+)\]', snapshot)

    async def edit() -> None:
        await call(
            "browser_type", target=refs[next(numbers) % len(refs)], text=f"Note {next(numbers)}"
        )

    found["edit"] = await p50_ms_async(edit, times, 2)
    return found


async def _ours() -> dict[str, float]:
    scenario = Scenario.model_validate({"name": "pages", "domains": ["web"]}, strict=False)
    engine = WebEngine(None, Pages(), workspace="/srv/app")
    async with await World.create(scenario, engines=[engine]) as world:
        world.add_tools(toolkit("playwright-mcp"))

        async def call(name: str, **arguments: Any) -> str:
            return (await world.step(ToolCall(name, arguments))).observation.text

        return await _steps(call, "http://pages.test", 30)


async def _theirs() -> tuple[dict[str, float], float]:
    """The same of the real server, and the megabytes that Chromium has then."""
    if not CLI.exists() or not Path(CHROMIUM).exists():
        return {}, 0.0
    from tests.engines.web.record_actions import Handler, Server

    class PageHandler(Handler):
        def do_GET(self) -> None:
            nodes, _, number = self.path.strip("/").partition("/")
            body = page_of(int(nodes), int(number)).encode() if number else b""
            self.send_response(200 if number else 204)
            self.send_header("content-type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(body)

    http = ThreadingHTTPServer(("127.0.0.1", 0), PageHandler)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        options = ["--headless", "--isolated", "--no-sandbox", "--executable-path", CHROMIUM]
        server = Server(["node", str(CLI), *options, "--output-dir", folder], folder)

        async def call(name: str, **arguments: Any) -> str:
            return server.call(name, arguments)[0]

        try:
            steps = await _steps(call, f"http://127.0.0.1:{http.server_port}", 5)
            return steps, _chromium_megabytes()
        finally:
            server.close()
            http.shutdown()


def _chromium_megabytes() -> float:
    """What the processes of Chromium that came from this one hold of memory, shared parts divided."""
    total, known = 0, {os.getpid()}
    for folder in sorted(Path("/proc").glob("[0-9]*"), key=lambda one: int(one.name)):
        try:
            about = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(about[1]) in known:
                known.add(int(folder.name))
                if b"chromium" in (folder / "cmdline").read_bytes():
                    held = re.search(r"Pss:\s+(\d+)", (folder / "smaps_rollup").read_text())
                    total += int(held[1]) if held else 0
        except OSError:
            continue
    return total / 1024


async def _rows() -> list[Row]:
    ours, (theirs, megabytes) = await _ours(), await _theirs()
    real = "Playwright MCP, Chromium" if theirs else ""
    rows = [
        Row(
            f"a browser goes to a new page of {nodes:,} nodes",
            ours[f"{nodes}"],
            alternative=real,
            theirs=theirs.get(f"{nodes}"),
            target=f"< {target:g} ms",
            met=ours[f"{nodes}"] < target,
        )
        for nodes, target in NEW_PAGE.items()
    ]
    rows.append(
        Row(
            "a browser types into a page of 2,000 nodes",
            ours["edit"],
            alternative=real,
            theirs=theirs.get("edit"),
            target=f"< {EDIT:g} ms",
            met=ours["edit"] < EDIT,
        )
    )
    many = await _many(real, megabytes, theirs.get("200"))
    return [*rows, *many, await _proxy(), await _start()]


async def _many(real: str, megabytes: float, step_ms: float | None) -> list[Row]:
    scenario = site_tasks("forum").scenario_of("subscribe-to-music")
    first = await World.create(scenario)
    begun, started = _own_megabytes(), time.perf_counter()
    worlds = [await first.fork() for _ in range(BROWSERS)]
    steps = 0
    for path in ("f/books", "f/music", "f/books/1001"):
        for world in worlds:
            await world.step(ToolCall("browser_navigate", {"url": f"http://forum.test/{path}"}))
            steps += 1
    seconds = time.perf_counter() - started
    each = (_own_megabytes() - begun) / BROWSERS
    for world in (*worlds, first):
        await world.close()
    return [
        Row(
            f"a browser with a forum of its own, of {BROWSERS:,} in one process",
            each,
            unit="MB",
            alternative=real and "one Chromium",
            theirs=megabytes or None,
        ),
        Row(
            f"steps of {BROWSERS:,} browsers in one process",
            steps / seconds,
            unit="a second",
            alternative=real and "one Chromium, a page of 200 nodes",
            theirs=1000 / step_ms if step_ms else None,
        ),
    ]


async def _proxy() -> Row:
    """A page through the proxy, on a connection that stands."""
    scenario = site_tasks("forum").scenario_of("subscribe-to-music")
    world = await World.create(scenario)
    internet = internet_of(scenario)
    assert internet is not None
    async with web_proxy(WorldInternet(world, internet).answer) as url:
        host, _, port = url.removeprefix("http://").partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))

        async def load() -> None:
            writer.write(b"GET http://forum.test/f/books HTTP/1.1\r\nHost: forum.test\r\n\r\n")
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head)
            await reader.readexactly(int(length[1]) if length else 0)

        taken = await p50_ms_async(load, 100)
        writer.close()
    await world.close()
    return Row("a page of the forum through the proxy", taken)


async def _start() -> Row:
    """How long `agentworld web` takes until it can be asked."""
    taken: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "forum.yaml"
        file.write_text("name: forum\ndomains: [web]\nsites: [{site: forum}]\n")
        for _ in range(3):
            begun = time.perf_counter()
            command = (sys.executable, "-m", "agentworld_sim.cli", "web", str(file), "--port", "0")
            pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
            running = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=nothing)
            assert running.stdout is not None
            await running.stdout.readline()
            taken.append(time.perf_counter() - begun)
            running.send_signal(signal.SIGTERM)
            await running.wait()
    return Row("start of `agentworld web` with the forum", min(taken), unit="s")


def _own_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def rows() -> list[Row]:
    return run(_rows())
