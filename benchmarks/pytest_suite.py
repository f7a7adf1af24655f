"""A suite of 200 agent tests, replayed from cassettes, beside the same tests with hand-written fakes.

Both suites run the same agent with the same script and the same assertions, each in a pytest of its own.
Only the tools differ: ours are answered by a world (the shell is computed, orders are replayed), the
alternative's look their answers up in a dictionary. The time of a test is all of it: fixtures, the test,
the way back. Python's start and imports are in neither.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from agentworld_sim.llm.scripted import ScriptedModelServer, ScriptedReply
from benchmarks._rows import Row

TESTS = 200
WARM_UP = 10
LOAD_TARGET_MS = 20
RATIO_TARGET = 1.5

COMMON = '''
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from agentworld_graphs import ScriptedChatModel


@tool
def bash(command: str) -> str:
    """Runs a command."""
    return FAKES[command]


@tool
def get_order(id: int) -> str:
    """An order by its number."""
    return FAKES[id]


FAKES = {"mkdir -p /tmp/orders && cd /tmp/orders": "", "ls | wc -l": "2\\n"}
FAKES |= {f"echo {n} >> log && cat log": f"{n}\\n" for n in range(%(tests)d)}
FAKES |= {n: '{"status": "open"}' for n in range(%(tests)d)}


def says(number, name, **arguments):
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call-{number}"}])


def script(number):
    return [
        says(1, "bash", command="mkdir -p /tmp/orders && cd /tmp/orders"),
        says(2, "get_order", id=number),
        says(3, "bash", command=f"echo {number} >> log && cat log"),
        AIMessage("done"),
    ]


def run(tools, number):
    agent = create_agent(ScriptedChatModel(script=script(number)), tools)
    messages = agent.invoke({"messages": [("user", "go")]})["messages"]
    texts = [m.text for m in messages if m.type == "tool"]
    assert texts[1] == '{"status": "open"}' and texts[2] == f"{number}\\n"
'''

OURS = """
import pytest
{common}

@pytest.mark.parametrize("number", range({tests}))
def test_an_order_is_noted(world, sim_tools, number):
    run(sim_tools([bash, get_order]), number)
    world.assert_called("get_order", args={{"id": number}}, times=1)
    world.assert_state(files={{"/tmp/orders/log": f"{{number}}\\n"}})
"""

THEIRS = """
import pytest
{common}

@pytest.mark.parametrize("number", range({tests}))
def test_an_order_is_noted(number, tmp_path):
    run([bash, get_order], number)
"""

TIMES = """
import json, time

TAKEN = []

def pytest_runtest_logstart(nodeid):
    TAKEN.append(-time.perf_counter())

def pytest_runtest_logfinish(nodeid):
    TAKEN[-1] += time.perf_counter()

def pytest_sessionfinish(session):
    (session.config.rootpath / "times.json").write_text(json.dumps(TAKEN))
"""


def rows() -> list[Row]:
    """The time of a test, and of loading the plugin."""
    with tempfile.TemporaryDirectory() as scratch:
        ours, theirs = Path(scratch, "ours"), Path(scratch, "theirs")
        _write(ours, OURS)
        _write(theirs, THEIRS)
        answer = ScriptedReply.observation('{"status": "open"}')
        with ScriptedModelServer(lambda _request: answer) as server:
            _pytest(ours, "--sim-mode=once", url=server.url)
        replayed = _pytest(ours, "--sim-mode=replay")
        faked = _pytest(theirs, "-p", "no:agentworld")
    load = _load_ms()
    return [
        Row(
            name=f"an agent's test, replayed ({TESTS} tests)",
            ours=replayed,
            alternative="the same with hand-written fakes",
            theirs=faked,
            target=f"ratio {RATIO_TARGET}",
            met=replayed / faked <= RATIO_TARGET,
        ),
        Row(
            name="loading the pytest plugin, unused",
            ours=load,
            target=f"under {LOAD_TARGET_MS} ms",
            met=load < LOAD_TARGET_MS,
        ),
    ]


def _write(folder: Path, text: str) -> None:
    folder.mkdir()
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "conftest.py").write_text(TIMES)
    common = COMMON % {"tests": TESTS}
    (folder / "test_agent.py").write_text(text.format(common=common, tests=TESTS))


def _pytest(folder: Path, *options: str, url: str = "") -> float:
    """The median time of a test, in milliseconds."""
    environment = environment_for_tests(url)
    plain = ("-q", "-p", "no:randomly", "-p", "no:cacheprovider")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *plain, *options],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the suite failed:\n{done.stdout[-4000:]}{done.stderr[-2000:]}")
    taken: list[float] = json.loads((folder / "times.json").read_text())
    return statistics.median(taken[WARM_UP:]) * 1000


def environment_for_tests(url: str = "") -> dict[str, str]:
    """The environment of a developer, who has compiled modules and is not CI."""
    left_out = ("CI", "PYTHONDONTWRITEBYTECODE")
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    return {**environment, "AGENTWORLD_MODEL_URL": url} if url else environment


def _load_ms() -> float:
    code = (
        "import time, pytest, _pytest.config\n"
        "start = time.perf_counter()\n"
        "import agentworld_fixtures.plugin\n"
        "print(time.perf_counter() - start)"
    )
    taken = [
        float(
            subprocess.run(
                [sys.executable, "-c", code],
                capture_output=True,
                check=True,
                env=environment_for_tests(),
            ).stdout
        )
        for _ in range(8)
    ]
    return statistics.median(taken[1:]) * 1000
