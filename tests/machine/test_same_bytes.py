"""The same world, seed and commands give the same bytes: in another process, after reopening, in a fork."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from agentworld_sim import Scenario, ToolCall, ToolSpec, World
from agentworld_sim.store import open_store
from agentworld_sim.types.turns import Turn

ROOT = Path(__file__).resolve().parents[2]

COMMANDS = (
    "python3 -c 'import os, random, time, uuid; print(os.urandom(4), random.random(), uuid.uuid4(), time.time(), hash(str(os)))'",
    "python3 -c 'import os, sys; print({*\"abcdef\"}, list(os.environ.items()), os.getpid(), id(sys) % 4096, os.listdir(\"/etc\"))'",
    "mkdir d; cd d; python3 -c 'import tempfile, os; print(tempfile.mkdtemp(), time.localtime()) if 0 else print(tempfile.mkdtemp(dir=\".\"))'",
    "python3 -c 'import time, datetime; print(time.tzname, time.localtime(), datetime.datetime.now())'",
    "python3 -c 'import subprocess; print(subprocess.run(\"echo $RANDOM; date +%N; env; ls -la --time-style=full-iso /root\", shell=True, capture_output=True).stdout)'",
    "python3 -c 'import sqlite3; c = sqlite3.connect(\"a.db\"); print(*c.execute(\"select random(), datetime()\")); c.execute(\"create table t(a)\")' ; cksum a.db",
    "sqlite3 b.db 'create table t(a); insert into t values (random()); select * from t'; openssl rand -hex 8; cksum b.db",
    "python3 -c 'import threading, queue; q = queue.Queue(); [threading.Thread(target=q.put, args=(n,)).start() for n in range(4)]; print([q.get() for _ in range(4)])'",
    "echo 'import random' > m.py; python3 -c 'import m; print(m.random.random())'; find . -type f | xargs cksum",
    "python3 -c 'raise ValueError({1, 2})'",
)  # fmt: skip


async def play(world: World) -> list[Turn]:
    world.add_tools([ToolSpec(name="run", binds_to="shell/run")])
    return [await world.step(ToolCall("run", {"command": command})) for command in COMMANDS]


def written(turns: list[Turn]) -> str:
    said = [[turn.observation.structured, turn.change.to_json(), str(turn.ref)] for turn in turns]
    return json.dumps(said, sort_keys=True)


PLAY = """
import asyncio
from agentworld_sim import Scenario, World
from tests.machine.test_same_bytes import play, written
async def main():
    async with await World.create(Scenario(name="machine", domains=("terminal",), seed=5)) as world:
        print(written(await play(world)))
asyncio.run(main())
"""


def elsewhere(cwd: Path, **env: str) -> str:
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    return subprocess.run(
        [sys.executable, "-c", PLAY],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **env},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout.strip()


async def test_the_same_bytes_in_other_processes_after_reopening_and_in_forks(
    tmp_path: Path,
) -> None:
    scenario = Scenario(name="machine", domains=("terminal",), seed=5)
    store = open_store(tmp_path / "worlds.sqlite")
    async with await World.create(scenario, store=store) as world:
        turns = await play(world)
    here = written(turns)
    (tmp_path / "cwd").mkdir()
    for env in (
        {"PYTHONHASHSEED": "1", "TZ": "Asia/Tokyo", "LANG": "de_DE.UTF-8", "COLUMNS": "40"},
        {"PYTHONHASHSEED": "2", "TZ": "America/New_York", "SECRET": "x"},
    ):
        there = elsewhere(tmp_path / "cwd", **env)
        for one, other in zip(json.loads(here), json.loads(there), strict=True):
            assert one == other
    async with await World.open(world.id, store=store) as opened:
        opened.add_tools([ToolSpec(name="run", binds_to="shell/run")])
        for turn in turns:
            async with await opened.fork(at=turn.parent) as fork:
                again = await fork.step(turn.call)
            assert written([again]) == written([turn])
        assert opened.ref == turns[-1].ref
