"""A Python of this host behind a world's `python3`: what it computes, what it cannot reach, and its recording."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from agentworld_sim.cassette import CassetteSession
from agentworld_sim.engines.shell.native_python import ROUTES, NativePython
from agentworld_sim.errors import EngineFailure, UsageError
from agentworld_sim.scenario import Scenario
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Turn
from agentworld_sim.world import World

pytestmark = pytest.mark.usefixtures("jail")

RUN = ToolSpec(name="run", binds_to="shell/run")
SCENARIO = Scenario.model_validate(
    {"name": "numbers", "domains": ("terminal",), "routes": {"commands": dict(ROUTES)}}
)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with a module that no world's Python has."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (site,) = folder.glob("lib/python3*/site-packages")
    (site / "numbers_of_mine.py").write_text("def total(values):\n    return sum(values)\n")
    return folder


@pytest_asyncio.fixture
async def world(environment: Path) -> AsyncIterator[World]:
    async with await World.create(SCENARIO, model=NativePython(environment)) as made:
        made.add_tools([RUN])
        yield made


async def run(world: World, command: str) -> tuple[Turn, dict[str, Any]]:
    turn = await world.step(ToolCall("run", {"command": command}))
    found: Any = turn.observation.structured
    return turn, found


async def test_it_works_on_the_files_of_the_turn_and_they_come_back(world: World) -> None:
    script = (
        "mkdir out; seq 1 4 > numbers; cat > sum.py <<'E'\nimport sys, os\nfrom numbers_of_mine import total\n"
        "open('out/sum', 'wb').write(bytes([255, total(map(int, open('numbers')))]))\n"
        "os.remove('numbers'); os.chmod('sum.py', 0o700)\nprint(sys.argv[1:], sys.stdin.read())\nsys.exit(3)\nE\n"
        "echo in | python3 sum.py a 'b c'; echo $?; xxd -p out/sum; ls; stat -c %a sum.py"
    )
    turn, found = await run(world, script)
    assert found["stdout"] == "['a', 'b c'] in\n\n3\nff0a\nout\nsum.py\n700\n"
    assert (turn.observation.provenance, found["stderr"]) == ("native", "")
    again = await world.fork()
    assert (await run(again, "xxd -p out/sum; echo x"))[0].observation.provenance == "computed"


@pytest.mark.promise("host-files")
async def test_nothing_else_of_the_host_is_there(world: World, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    probe = (
        "import os, socket, sys\n"
        f"print(os.path.exists({str(secret)!r}), os.path.exists({str(Path.home() / '.ssh')!r}), 'HOST_TOKEN' in os.environ)\n"
        "print(sorted(int(one) for one in os.listdir('/proc') if one.isdigit())[-1] < 100)\n"
        "for place in ('/usr/x', sys.prefix + '/x'):\n"
        "    try: open(place, 'w')\n    except OSError as error: print(error.strerror)\n"
        "try: socket.create_connection(('127.0.0.1', 22), 1)\nexcept OSError as error: print(error.strerror)\n"
    )
    os.environ["HOST_TOKEN"] = "x"
    try:
        _, found = await run(world, f"python3 - <<'E'\n{probe}E")
    finally:
        del os.environ["HOST_TOKEN"]
    said = "False False False\nTrue\nRead-only file system\nRead-only file system\nConnection refused\n"
    assert found["stdout"] == said


async def test_a_memory_hog_is_told_so_and_a_link_is_refused(world: World) -> None:
    _, found = await run(world, "python3 -c 'x = bytearray(10**11)' 2>&1 | tail -n 1")
    assert found["stdout"] == "MemoryError\n"
    with pytest.raises(EngineFailure, match="neither a file nor a folder"):
        await run(world, 'python3 -c \'import os; os.symlink("/etc", "x")\'')
    assert (await run(world, "ls"))[1]["stdout"] == ""


async def test_a_cassette_says_it_again_without_the_environment(
    environment: Path, tmp_path: Path
) -> None:
    command = 'python3 -c \'import numbers_of_mine as n; open("f", "w").write(str(n.total([1, 2])))\'; cat f'
    said: list[tuple[str, str]] = []
    for model in (NativePython(environment), None):
        session = CassetteSession(tmp_path / "cassette.jsonl", "once")
        async with await World.create(SCENARIO, model=session.model(model) or False) as made:
            made.add_tools([RUN])
            turn, found = await run(made, command)
            said.append((turn.observation.provenance, found["stdout"]))
            await session.watch(made)
        session.finish(passed=True)
    assert said == [("native", "3"), ("replayed", "3")]


def test_what_is_no_environment_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"is no virtual environment.*python3 -m venv DIR"):
        NativePython(tmp_path)
