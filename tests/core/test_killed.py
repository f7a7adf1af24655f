"""A killed process loses at most the turn it had not committed."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

from agentworld_sim import Scenario, SqliteStore, World

ROUNDS = 12

WRITER = """
import asyncio, sys
from pathlib import Path
from agentworld_sim import SqliteStore, ToolCall, ToolSpec, World

async def main():
    store = SqliteStore(Path(sys.argv[1]))
    async with await World.open("counted", store=store) as world:
        world.add_tools([ToolSpec(name="run", binds_to="shell/run")])
        while True:
            turn = await world.step(ToolCall("run", {"command": "echo x >> /root/count"}))
            print(turn.ref, flush=True)

asyncio.run(main())
"""


async def test_a_world_survives_kills_at_any_moment(tmp_path: Path) -> None:
    path = tmp_path / "w.sqlite"
    scenario = Scenario.model_validate({"name": "counted", "domains": ("terminal",)})
    await World.create(scenario, id="counted", store=SqliteStore(path))
    chance = random.Random(7)
    committed = 0
    for _ in range(ROUNDS):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        # Killed in the middle of the turns that follow the last one it told of.
        told = [writer.stdout.readline().strip() for _ in range(chance.randrange(1, 12))]
        writer.send_signal(signal.SIGKILL)
        told += [line.strip() for line in writer.stdout if line.endswith("\n")]
        writer.wait()
        writer.stdout.close()

        with sqlite3.connect(path) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        db.close()
        store = SqliteStore(path)
        async with await World.open("counted", store=store) as world:
            refs = [turn.ref for turn in await world.trajectory()]
            assert set(told) <= set(refs)
            # At most one turn was committed and not told of.
            assert committed + len(told) <= len(refs) <= committed + len(told) + 1
            assert await world.read_file("/root/count") == b"x\n" * len(refs)
            committed = len(refs)
        store.close()
