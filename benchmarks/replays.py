"""Whether a replayed suite does the same every time: 100 runs, each in another order, half under xdist.

What is compared is everything a test leaves: every answer of every tool and the refs of its world, which
are hashes of all that happened in it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from agentworld_sim.llm.scripted import ModelRequest, ScriptedModelServer, ScriptedReply
from benchmarks._rows import Row
from benchmarks.pytest_suite import environment_for_tests

RUNS = 100
TESTS = 12

SUITE = '''
import asyncio

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

from agentworld_graphs import ScriptedChatModel


@tool
def bash(command: str) -> str:
    """Runs a command."""
    raise AssertionError("the real tool ran")


@tool
def get_order(id: int) -> str:
    """An order by its number."""
    raise AssertionError("the real tool ran")


def says(*calls):
    asked = [{"name": n, "args": a, "id": f"call-{i}"} for i, (n, a) in enumerate(calls)]
    return AIMessage("", tool_calls=asked)


@pytest.mark.parametrize("number", range(%(tests)d))
def test_an_agent(world, sim_tools, number, record_property):
    script = [
        says(("get_order", {"id": number}), ("get_order", {"id": 1}), ("get_order", {"id": 1})),
        says(("bash", {"command": f"echo $RANDOM > n; date >> n; kubectl get {number} | tee -a n"})),
        says(("get_order", {"id": 1}), ("bash", {"command": "cat n"})),
        AIMessage("done"),
    ]
    agent = create_agent(ScriptedChatModel(script=script), sim_tools([bash, get_order]))
    messages = agent.invoke({"messages": [("user", "go")]})["messages"]
    record_property("answers", [str(m.content) for m in messages if m.type == "tool"])
    record_property("refs", [turn.ref for turn in world.calls()])


async def ask(world, number):
    return await world.acall("bash", command=f"curl-it {number %% 2} | tr a-z A-Z")


@pytest.mark.parametrize("number", range(%(tests)d))
def test_calls_at_the_same_time(world, number, record_property):
    async def all_at_once():
        return await asyncio.gather(*(ask(world, n) for n in range(6)))

    record_property("answers", [answer.text for answer in asyncio.run(all_at_once())])
    record_property("refs", [turn.ref for turn in world.calls()])
'''

NOTED = """
import json

NOTED = {}

def pytest_runtest_logreport(report):
    if report.when == "call":
        NOTED[report.nodeid] = [report.outcome, *report.user_properties]

def pytest_sessionfinish(session):
    if not hasattr(session.config, "workerinput"):
        (session.config.rootpath / "noted.json").write_text(json.dumps(NOTED, sort_keys=True))
"""


def rows() -> list[Row]:
    """How many of the runs left exactly what the first one left."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "pytest.ini").write_text(
            "[pytest]\nasyncio_default_fixture_loop_scope = function\n"
        )
        (folder / "conftest.py").write_text(NOTED)
        (folder / "test_agents.py").write_text(SUITE % {"tests": TESTS})
        with ScriptedModelServer(_answer) as server:
            _run(folder, "--sim-mode=once", "-p", "no:randomly", url=server.url)
        first = _run(folder, "--sim-mode=replay", "-p", "no:randomly")
        equal = 0
        for number in range(RUNS):
            spread = ["-n", "2"] if number % 2 else []
            noted = _run(folder, "--sim-mode=replay", f"--randomly-seed={number}", *spread)
            equal += noted == first
    return [
        Row(
            name=f"replayed runs of {2 * TESTS} tests that left the same answers and refs,"
            f" of {RUNS} in random order, half under xdist",
            ours=equal,
            unit="runs",
            target=str(RUNS),
            met=equal == RUNS,
        )
    ]


def _answer(request: ModelRequest) -> ScriptedReply:
    """Never the same twice, so that an equal answer can only come from a cassette."""
    new = os.urandom(4).hex()
    told: dict[str, object] = {"asked": new}
    if "exit_code" in json.dumps(request.body):
        told = {"stdout": f"{new}\n", "stderr": "", "exit_code": 0, "operations": []}
    return ScriptedReply.observation(json.dumps(told))


def _run(folder: Path, *options: str, url: str = "") -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options],
        cwd=folder,
        env=environment_for_tests(url),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the suite failed:\n{done.stdout[-4000:]}{done.stderr[-2000:]}")
    return (folder / "noted.json").read_text()
