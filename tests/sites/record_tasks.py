"""Records what the real `@playwright/mcp` shows when an agent does the tasks of our sites in Chromium.

python -m tests.sites.record_tasks CLI [SITE …]    CLI is the package's `cli.js`; Chromium is /usr/bin/chromium

Chromium loads the pages through a proxy that answers as the sites do. `recorded_tasks.json` has a line for every task:
for each snapshot the nodes that Chromium's has, how many of them ours has too, and the start of its SHA-256. The
recording is held by `test_recorded_tasks.py`.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import sys
import tempfile
import threading
from collections.abc import Mapping
from difflib import SequenceMatcher
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from agentworld_sim import Scenario, World
from agentworld_sim.engines.web.requests import Internet, WebRequest
from agentworld_sim.scenario import SiteTasks, site_tasks
from agentworld_sim.scenario.site_file import SHIPPED
from agentworld_sim.sites.site_internet import scenario_internet
from agentworld_sim.testing.task_proof import Call, TaskAgent, calls_of
from tests.engines.web.record_actions import Server

RECORDED = Path(__file__).parent / "recorded_tasks.json"

Recorded = dict[str, dict[str, list[tuple[int, int, str]]]]
"""Site, task, and of each snapshot: nodes, those that ours has too, the start of the hash."""


def lines_of(answer: str) -> list[str]:
    """The nodes of the snapshot in an answer, one a line."""
    found = re.search(r"```yaml\n(.*?)\n?```", answer, re.DOTALL)
    return found[1].split("\n") if found else []


def hash_of(lines: list[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]


async def snapshots_of(call: Call, tasks: SiteTasks, name: str) -> list[list[str]]:
    """The snapshots that an agent sees who does a task."""
    seen: list[list[str]] = []

    async def noted(tool: str, arguments: Mapping[str, Any]) -> tuple[str, bool]:
        if tool == "submit_answer":
            return "", False
        text, failed = await call(tool, arguments)
        if tool == "browser_snapshot":
            seen.append(lines_of(text))
        return text, failed

    agent = TaskAgent(noted, tasks.home)
    for step in tasks.task(name).steps:
        await agent.do(step)
        await agent.snapshot() if "dialog" in step else None
    await agent.snapshot()
    return seen


async def our_snapshots(tasks: SiteTasks, name: str) -> list[list[str]]:
    world = await World.create(tasks.scenario_of(name))
    try:
        return await snapshots_of(calls_of(world), tasks, name)
    finally:
        await world.close()


class SiteProxy(ThreadingHTTPServer):
    """A forward proxy behind which there are the sites of one scenario, and nothing else."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.lock = threading.Lock()
        self.internet: Internet | None = None

    async def serve(self, scenario: Scenario) -> None:
        world = await World.create(scenario)
        self.internet, self.state = scenario_internet(scenario), await world.state()
        await world.close()


class _Handler(BaseHTTPRequestHandler):
    server: SiteProxy  # pyright: ignore[reportIncompatibleVariableOverride]  the only one that it serves
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _answer(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        headers = tuple((name.lower(), value) for name, value in self.headers.items())
        request = WebRequest(self.path, self.command, headers, self.rfile.read(length))
        with self.server.lock:
            assert self.server.internet is not None
            answered = self.server.internet.answer(request, self.server.state)
            if answered is not None:
                self.server.state = self.server.state.after(answered[1])
        if answered is None:
            self.send_error(502)
            return
        response, _ = answered
        self.send_response(response.status, response.status_text)
        for name, value in response.headers:
            self.send_header(name, value)
        if response.status != 204:
            self.send_header("content-length", str(len(response.body)))
        self.end_headers()
        self.wfile.write(response.body)

    do_GET = do_POST = _answer


class Chromium:
    """The real MCP server with a real Chromium, before the sites of `proxy`."""

    def __init__(self, cli: str, folder: str) -> None:
        self.proxy = SiteProxy()
        threading.Thread(target=self.proxy.serve_forever, daemon=True).start()
        proxy = f"http://127.0.0.1:{self.proxy.server_port}"
        options = "--headless --isolated --no-sandbox --executable-path /usr/bin/chromium".split()
        options += ["--output-dir", folder, "--proxy-server", proxy]
        self.server = Server(["node", cli, *options], folder)

    async def call(self, name: str, arguments: Mapping[str, Any]) -> tuple[str, bool]:
        return await asyncio.to_thread(self.server.call, name, dict(arguments))


async def record(cli: str, sites: list[str]) -> Recorded:
    """What was recorded, with that of `sites`; written to the file after each."""
    found: Recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        chromium = Chromium(cli, folder)
        proxy, call = chromium.proxy, chromium.call
        for site in sites:
            tasks = site_tasks(site)
            found[site] = {}
            for task in tasks.tasks:
                await proxy.serve(tasks.scenario_of(task.id))
                real = await snapshots_of(call, tasks, task.id)
                await call("browser_close", {})
                ours = await our_snapshots(tasks, task.id)
                found[site][task.id] = [
                    (len(theirs), _equal(theirs, own), hash_of(theirs))
                    for theirs, own in zip(real, ours, strict=True)
                ]
                for number, (theirs, own) in enumerate(zip(real, ours, strict=True)):
                    if theirs != own:
                        print(site, task.id, number, *_differences(theirs, own), sep="\n")
            _write(found)
        chromium.server.close()
    return found


def _write(recorded: Recorded) -> None:
    lines = [
        f'"{site}": {{\n'
        + ",\n".join(f'"{name}": {json.dumps(seen)}' for name, seen in tasks.items())
        + "\n}"
        for site, tasks in recorded.items()
    ]
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _equal(theirs: list[str], ours: list[str]) -> int:
    blocks = SequenceMatcher(None, theirs, ours, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks)


def _differences(theirs: list[str], ours: list[str]) -> list[str]:
    from difflib import unified_diff

    return list(unified_diff(theirs, ours, "Chromium", "ours", lineterm="", n=1))[:30]


def shares(recorded: Recorded) -> str:
    """The figures of a recording in one line."""
    every = [one for tasks in recorded.values() for seen in tasks.values() for one in seen]
    nodes, equal = sum(one[0] for one in every), sum(one[1] for one in every)
    whole = sum(one[0] == one[1] for one in every)
    return f"{equal} of {nodes} nodes, {whole} of {len(every)} snapshots whole"


if __name__ == "__main__":
    chosen = sys.argv[2:] or sorted(file.parent.name for file in SHIPPED.glob("*/tasks.yaml"))
    recorded = asyncio.run(record(sys.argv[1], chosen))
    print(shares(recorded))
