"""What every store must do that outlives a process. Each leg brings a fixture `where`: what names an
empty one to `open_store`."""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agentworld_sim import (
    FunctionEngine,
    Scenario,
    ToolCall,
    ToolSpec,
    Turn,
    World,
    WorldStore,
)
from agentworld_sim.store.home import open_store
from tests.store.stores_suite import ROOT, START, add_world, commit, has_blob, turn_after

REPOSITORY = Path(__file__).resolve().parents[2]
KILLS = 12
PROCESSES = 4
STEPS = 15

COUNTED = Scenario.model_validate({"name": "counted", "domains": ("terminal",)})

STEPPER = """
import asyncio, sys
from agentworld_sim import ToolCall, ToolSpec, World
from agentworld_sim.store.home import open_store

async def main():
    where, steps = sys.argv[1], int(sys.argv[2])
    async with await World.open("counted", store=open_store(where)) as world:
        world.add_tools([ToolSpec(name="run", binds_to="shell/run")])
        while steps:
            turn = await world.step(ToolCall("run", {"command": "echo x >> /root/count"}))
            print(turn.ref, flush=True)
            steps -= 1

asyncio.run(main())
"""

OPENER = """
import sys
from agentworld_sim.store.home import open_store
print("ready", flush=True)
sys.stdin.readline()
store = open_store(sys.argv[1])
print(len(store.worlds()), flush=True)
store.close()
"""

CHURNER = """
import sys
from agentworld_sim.store.home import open_store
from tests.store.stores_suite import add_world, commit, has_blob

store = open_store(sys.argv[1])
name = sys.argv[2]
for number in range(12):
    world_id = f"{name}-{number}"
    add_world(store, world_id)
    for text in ("a", "b", "c"):
        turn = commit(store, text, world_id)
    # Others remove worlds that did the same, all the time.
    assert [one.call.arguments["text"] for one in store.lineage(turn.ref)] == ["a", "b", "c"]
    assert all(has_blob(store, data) for data in (b"a", b"b", b"c"))
    store.remove(world_id)
store.close()
"""


def start(script: str, where: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, where, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
    )


def finish(processes: Sequence[subprocess.Popen[str]]) -> list[list[str]]:
    """What each wrote, once all have ended well."""
    said = [process.communicate()[0].split() for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes)
    return said


def test_a_reopened_store_has_everything(where: str) -> None:
    first = open_store(where)
    add_world(first)
    turn = commit(first, "one")
    first.close()
    second = open_store(where)
    assert second.lineage(second.world("w").head) == [turn]
    second.close()


def test_of_many_writers_one_wins_each_turn(where: str) -> None:
    opener = open_store(where)
    add_world(opener)

    def write(name: str) -> bool:
        store = open_store(where)
        turn, blobs = turn_after(ROOT, name)
        won = store.commit("w", turn, START.after(turn.change), blobs, must_move_head=True)
        store.close()
        return won

    with ThreadPoolExecutor(8) as threads:
        won = list(threads.map(write, "abcdefgh"))
    assert sorted(won) == [False] * 7 + [True]
    assert opener.world("w").turns == 1
    opener.close()


def test_many_threads_share_one_store(where: str) -> None:
    store = open_store(where)

    def work(world_id: str) -> None:
        add_world(store, world_id)
        for number in range(10):
            commit(store, f"t{number}", world_id)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, "abcdefgh"))
    assert [record.turns for record in store.worlds()] == [10] * 8
    assert len({record.head for record in store.worlds()}) == 1
    store.close()


@pytest.mark.slow
def test_ten_processes_make_one_store_at_once(where: str) -> None:
    processes = [start(OPENER, where) for _ in range(10)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    assert finish(processes) == [["0"]] * 10


@pytest.mark.slow
async def test_steps_of_many_processes_follow_each_other(where: str) -> None:
    store = open_store(where)
    await World.create(COUNTED, id="counted", store=store)
    told = finish([start(STEPPER, where, str(STEPS)) for _ in range(PROCESSES)])
    async with await World.open("counted", store=store) as world:
        refs = [turn.ref for turn in await world.trajectory()]
        assert sorted(refs) == sorted(ref for one in told for ref in one)
        assert await world.read_file("/root/count") == b"x\n" * PROCESSES * STEPS
    store.close()


@pytest.mark.slow
def test_worlds_come_and_go_in_many_processes_and_none_loses_what_it_needs(where: str) -> None:
    store = open_store(where)
    add_world(store, "stays")
    kept = commit(store, "a", "stays")
    finish([start(CHURNER, where, f"p{number}") for number in range(PROCESSES)])
    assert [record.id for record in store.worlds()] == ["stays"]
    assert store.lineage(kept.ref) == [kept]
    assert has_blob(store, b"a") and not has_blob(store, b"b")
    store.remove("stays")
    assert not store.has(ROOT) and not has_blob(store, b"a")
    store.close()


@pytest.mark.slow
async def test_a_world_survives_kills_at_any_moment(where: str) -> None:
    store = open_store(where)
    await World.create(COUNTED, id="counted", store=store)
    chance = random.Random(7)
    committed = 0
    for _ in range(KILLS):
        writer = start(STEPPER, where, "-1")
        assert writer.stdout is not None
        # Killed in the middle of the turns that follow the last one it told of.
        told = [writer.stdout.readline().strip() for _ in range(chance.randrange(1, 12))]
        writer.send_signal(signal.SIGKILL)
        told += [line.strip() for line in writer.stdout if line.endswith("\n")]
        writer.communicate()

        refs = [turn.ref for turn in whole_history(store, "counted")]
        assert set(told) <= set(refs)
        # At most one turn was committed and not told of.
        assert committed + len(told) <= len(refs) <= committed + len(told) + 1
        async with await World.open("counted", store=store) as world:
            assert await world.read_file("/root/count") == b"x\n" * len(refs)
        committed = len(refs)
    store.close()


def whole_history(store: WorldStore, world_id: str) -> list[Turn]:
    """The turns of a world, each of which can be read with all it needs."""
    record = store.world(world_id)
    turns = store.lineage(record.head)
    assert len(turns) == record.turns
    for turn in turns:
        for blob in turn.blobs():
            store.blobs.get(blob)
        store.state(turn.ref)
    return turns


async def test_a_world_put_back_is_put_back_for_whoever_has_it_open(where: str) -> None:
    engines = [FunctionEngine({"echo": lambda arguments, values: str(arguments["text"])})]
    here, there = open_store(where), open_store(where)
    async with await World.create(COUNTED, id="w", store=here, engines=engines) as first:
        second = await World.open("w", store=there, engines=engines)
        for world in (first, second):
            world.add_tools([ToolSpec(name="echo", input_schema={"type": "object"})])
        one = await first.step(ToolCall("echo", {"text": "one"}))
        two = await first.step(ToolCall("echo", {"text": "two"}))
        await second.rewind(one.ref)
        assert second.ref == one.ref
        three = await first.step(ToolCall("echo", {"text": "three"}))
        assert [turn.ref for turn in await first.trajectory()] == [one.ref, three.ref]
        assert [turn.ref for turn in await first.trajectory(two.ref)] == [one.ref, two.ref]
        await first.rewind()
        assert first.ref == first.root == there.world("w").head
        await second.close()
    await asyncio.to_thread(here.close)
    there.close()
