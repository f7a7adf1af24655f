"""Does tasks of WebArena-Verified on our forum, shop and tracker, and has its own evaluator judge the requests.

python -m tests.webarena.record PYTHON [CLI]    PYTHON has `webarena-verified` 1.2.3 installed; CLI is the `cli.js` of
`@playwright/mcp`: then Chromium does the same through a proxy. Verdicts, by task and kind of solution, are written to
`verdicts.json`; the tasks themselves are not kept.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from agentworld_sim import Scenario, World
from agentworld_sim.engines.web import WebEngine
from agentworld_sim.engines.web.requests import Internet, WebRequest, WebResponse
from agentworld_sim.sites.site_internet import scenario_internet
from agentworld_sim.testing.task_proof import Call, TaskAgent, calls_of
from agentworld_sim.types.state import StateChange, WorldState
from tests.sites.record_tasks import Chromium
from tests.webarena import plans, shop_and_tracker_plans
from tests.webarena.plans import Plan

FORM = "application/x-www-form-urlencoded"
VERDICTS = Path(__file__).parent / "verdicts.json"
WHERE = (
    "import webarena_verified as w; print(w.__path__[0] + '/assets/dataset/webarena-verified.json')"
)


class NotingInternet:
    """Keeps what was asked of an internet, and what it answered."""

    def __init__(self, internet: Internet | None) -> None:
        assert internet is not None
        self._internet = internet
        self.entries: list[dict[str, Any]] = []

    def answer(
        self, request: WebRequest, state: WorldState
    ) -> tuple[WebResponse, StateChange] | None:
        answered = self._internet.answer(request, state)
        if answered is not None and not request.url.endswith(".css"):
            self.entries.append(_entry(request, answered[0]))
        return answered

    def hosts(self, state: WorldState) -> Sequence[str]:
        return self._internet.hosts(state)


def _entry(request: WebRequest, response: WebResponse) -> dict[str, Any]:
    """An exchange as HAR has it."""
    asked: dict[str, Any] = {
        "method": request.method,
        "url": request.url,
        "headers": _pairs(request.headers),
    }
    if request.body:
        kind = request.header("content-type")
        asked["postData"] = {"mimeType": kind, "text": request.body.decode()}
    said = {
        "status": response.status,
        "headers": _pairs(response.headers),
        "redirectURL": response.header("location") or "",
        "content": {"mimeType": response.header("content-type") or "", "text": response.text},
    }
    return {"startedDateTime": "2026-03-02T09:00:00.000Z", "request": asked, "response": said}


def _pairs(headers: tuple[tuple[str, str], ...]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in headers]


def scenario_for(plan: Plan) -> Scenario:
    return Scenario.model_validate(
        {
            "name": "webarena",
            "domains": ["web"],
            "sites": [{"site": plan.site, "user": plan.user}],
            "tables": {name: {"records": records} for name, records in plan.records.items()},
            "tools": ["playwright-mcp"],
        },
        strict=False,
    )


Send = Callable[[str, str, str], Awaitable[None]]
"""Sends a form as a script does: the address of the page, the form's address and its fields."""


async def _do(call: Call, send: Send, home: str, steps: list[dict[str, Any]]) -> None:
    agent, page = TaskAgent(call, home), ""
    for step in steps:
        if "send" in step:
            path, fields = step["send"]
            await send(page, home + quote(path[1:]), fields)
            continue
        await agent.do(step)
        page = home + quote(step["open"][1:]) if "open" in step else page


async def ours(plan: Plan, steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What our browser asked for."""
    scenario = scenario_for(plan)
    internet = NotingInternet(scenario_internet(scenario))
    engine = WebEngine(None, internet, workspace="/srv/app")
    world = await World.create(scenario, engines=[engine])
    state = await world.state()

    async def send(page: str, url: str, fields: str) -> None:
        headers = (("accept", "application/json"), ("content-type", FORM), ("referer", page))
        internet.answer(WebRequest(url, "POST", headers, fields.encode()), state)

    try:
        await _do(calls_of(world), send, plan.home, steps)
    finally:
        await world.close()
    return internet.entries


class PlanChromium(Chromium):
    """Does the steps of plans."""

    async def _send(self, page: str, url: str, fields: str) -> None:
        headers = {"accept": "application/json", "content-type": FORM}
        options = json.dumps({"method": "POST", "headers": headers, "body": fields})
        code = f"() => fetch({json.dumps(url)}, {options}).then(answer => answer.status)"
        await self.call("browser_evaluate", {"function": code})

    async def entries(self, plan: Plan, steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
        await self.proxy.serve(scenario_for(plan))
        noting = self.proxy.internet = NotingInternet(self.proxy.internet)
        await _do(self.call, self._send, plan.home, steps)
        await self.call("browser_close", {})
        return noting.entries


def plan_of(task: Mapping[str, Any]) -> Plan | None:
    """How a task is done; `None` for those of sites and pages that are not ours."""
    if task["sites"] == ["reddit"]:
        return plans.plan_of(task)
    is_ours = task["sites"] in (["shopping"], ["gitlab"])
    return shop_and_tracker_plans.plan_of(task) if is_ours else None


async def record(python: str, cli: str | None) -> dict[str, dict[str, str]]:
    where = await asyncio.to_thread(_said_by, python, "-c", WHERE)
    tasks = json.loads(Path(where.strip()).read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        chromium = PlanChromium(cli, folder) if cli else None
        for task in tasks:
            about = {one["evaluator"] for one in task["eval"]}
            if len(task["sites"]) > 1 or "NetworkEventEvaluator" not in about:
                continue
            plan = plan_of(task)
            if plan is None:
                continue
            for name, steps in (("right", plan.right), ("wrong", plan.wrong)):
                logs = {f"ours-{name}": await ours(plan, steps)}
                if chromium is not None:
                    logs[f"chromium-{name}"] = await chromium.entries(plan, steps)
                for kind, entries in logs.items():
                    path = Path(folder) / str(task["task_id"]) / f"{kind}.har"
                    path.parent.mkdir(exist_ok=True)
                    path.write_text(json.dumps({"log": {"version": "1.2", "entries": entries}}))
        script = str(Path(__file__).with_name("evaluate.py"))
        return json.loads(await asyncio.to_thread(_said_by, python, script, folder))


def _said_by(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    verdicts = asyncio.run(record(sys.argv[1], *sys.argv[2:3] or [None]))
    lines = ",\n".join(f'"{task}": {json.dumps(told)}' for task, told in sorted(verdicts.items()))
    VERDICTS.write_text("{\n" + lines + "\n}\n", encoding="utf-8")
    kinds = sorted({kind for told in verdicts.values() for kind in told})
    for kind in kinds:
        met = sum(told[kind] == "success" for told in verdicts.values())
        print(f"{kind}: {met} of {len(verdicts)} tasks judged as done")
