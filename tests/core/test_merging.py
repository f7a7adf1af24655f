"""Worlds whose branches meet: refs, trajectories, reopening, forks, expiry, and writers at once."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from agentworld_sim import (
    FunctionEngine,
    HeadMoved,
    MemoryStore,
    SqliteStore,
    ToolCall,
    Turn,
    UsageError,
    World,
    WorldStore,
)
from agentworld_sim.runtime import world_history
from agentworld_sim.types.turns import Trajectory
from tests.core.test_law import COMMANDS, MACHINE, PROBE, TOOLS
from tests.core.test_world import ADD, SCENARIO, add, adding, sums
from tests.engines.table.desk import opened, planned
from tests.properties import examples


def shell(command: str) -> ToolCall:
    return ToolCall("session", {"command": command})


async def machine(store: WorldStore, id: str = "w") -> World:
    world = await World.create(MACHINE, id=id, store=store, seed=2)
    world.add_tools(TOOLS)
    return world


async def test_a_merge_has_what_all_branches_did_and_the_world_moves_on_to_it() -> None:
    store = MemoryStore()
    async with await machine(store) as world:
        base = (await world.step(shell("echo p > p"))).ref
        tips = [(await world.step(shell(f"echo {n} > f{n}"), at=base)).ref for n in range(3)]
        met = await world.merge(tips)
        assert world.ref == met == store.world("w").head
        files = (await world.state()).files
        assert {"/root/p", "/root/f0", "/root/f1", "/root/f2"} <= set(files)
        (merge,) = await world.merges()
        assert merge.parents == tuple(tips) and merge.conflicts == ()
        assert len(await world.trajectory()) == 4 and store.world("w").turns == 5
        assert (await world.step(shell("cat f*"))).observation.text.split()[-3:] == ["0", "1", "2"]


async def test_the_same_branches_meet_in_the_same_turn_and_one_of_them_alone_in_none() -> None:
    async with await machine(MemoryStore()) as world:
        base = (await world.step(shell("echo p > p"))).ref
        tips = [(await world.step(shell(f"echo {n} > f"), at=base)).ref for n in range(2)]
        met = await world.merge(tips)
        assert await world.merge([*tips, base, tips[0]]) == met
        assert await world.merge([met, *tips]) == met and await world.merge([base]) == base
        other = await world.merge(tips[::-1])
        assert other != met and await world.read_file("/root/f", at=other) == b"0\n"
        assert await world.read_file("/root/f", at=met) == b"1\n"
        assert [str(one) for one in (await world.merges(met))[0].conflicts] == [
            f"file /root/f: changed by both branches; the one up to {tips[1][:12]} stays"
        ]
        with pytest.raises(UsageError, match="name at least one point"):
            await world.merge([])


async def test_points_of_different_worlds_do_not_meet() -> None:
    store = MemoryStore()
    one = await sums(store, id="one")
    other = await World.create(SCENARIO, id="other", store=store, seed=9)
    other = await sums(store, id="third") if other.root == one.root else other
    tip = (await one.step(adding(1))).ref
    with pytest.raises(UsageError, match="they are of different worlds"):
        await one.merge([tip, other.root])


async def test_tips_joined_name_the_point_where_they_meet() -> None:
    async with await sums() as world:
        tips = [(await world.step(adding(n), at=world.root)).ref for n in (1, 2)]
        together = "+".join(tips)
        assert (await world.state(together)).values == {"total": 3}
        assert (await world.step(adding(4), at=together)).observation.text == "7"
        assert (await (await world.fork(at=together)).state()).values == {"total": 3}
        await world.rewind(together)
        assert world.ref == await world.merge(tips) and len(await world.trajectory(together)) == 2


async def test_a_merge_of_merges_starts_where_the_branches_parted() -> None:
    async with await sums() as world:
        one, two, three = [(await world.step(adding(n), at=world.root)).ref for n in (1, 10, 100)]
        left = await world.merge([one, two])
        left = (await world.step(adding(1000), at=left)).ref
        met = await world.merge([left, await world.merge([two, three])])
        assert (await world.state(met)).values == {"total": 1111}
        assert len(await world.trajectory(met)) == 4


async def test_branches_that_went_round_an_earlier_merge_have_all_that_it_had_in_common() -> None:
    async with await sums() as world:

        async def after(at: str, amount: int) -> str:
            return (await world.step(adding(amount), at=at)).ref

        one, two = await after(world.root, 1), await after(world.root, 10)
        past = await after(await world.merge([one, two]), 100)
        met = await world.merge([await after(one, 1000), await after(two, 10_000), past])
        assert (await world.state(met)).values == {"total": 11_111}


@pytest.mark.parametrize("kind", ["memory", "disk"])
@settings(max_examples=examples(10), deadline=None)
@given(
    branches=st.lists(
        st.lists(st.sampled_from(COMMANDS), min_size=1, max_size=2), min_size=2, max_size=3
    )
)
def test_reopening_at_a_merge_gives_exactly_the_state_that_was_live(
    kind: str, branches: list[list[str]]
) -> None:
    async def check(open_again: Callable[[], WorldStore], store: WorldStore) -> None:
        async with await machine(store) as world:
            await world.step(shell("echo one > one; mkdir -p deep"))
            base, tips = world.ref, list[str]()
            for commands in branches:
                tip = base
                for command in commands:
                    tip = (await world.step(shell(command), at=tip)).ref
                tips.append(tip)
            met = await world.merge(tips)
            live = await world.step(PROBE, at=met)
            lines = [turn.to_line() for turn in await world.merges(met)]
            assert [Turn.from_line(line).to_line() for line in lines] == lines
            state = await world.state(met)
        async with await World.open("w", store=open_again(), at=met) as again:
            again.add_tools(TOOLS)
            assert (await again.state()) == state
            assert (await again.step(PROBE, at=met)).ref == live.ref
            fork = await again.fork(at=met)
            assert (await fork.step(PROBE)).ref == live.ref

    if kind == "memory":
        kept = MemoryStore()
        asyncio.run(check(lambda: kept, kept))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "w.sqlite"
        asyncio.run(check(lambda: SqliteStore(path), SqliteStore(path)))


@pytest.mark.parametrize("begun", [False, True])
async def test_records_of_parallel_branches_are_all_kept(begun: bool) -> None:
    """Also where each branch is the first to touch the table, at another time of the world."""
    async with await opened(planned(generate=5)) as world:
        seen = ToolCall("list_tickets", {"team": "red", "limit": 50})
        total = (await world.step(seen, at=world.root)).observation.structured["total"]
        base = (await world.step(seen)).ref if begun else world.root
        tips: list[str] = []
        for title in ("chair", "table"):
            tip = base
            if title == "table":
                tip = (await world.step(ToolCall("list_users"), at=tip)).ref
            call = ToolCall("create_ticket", {"team": "red", "title": title})
            tips.append((await world.step(call, at=tip)).ref)
        after = (await world.step(seen, at="+".join(tips))).observation.structured
        assert after["total"] == total + 2
        assert {"chair", "table"} <= {one["title"] for one in after["items"]}
        assert len({one["id"] for one in after["items"]}) == len(after["items"])


async def test_a_trajectory_with_branches_is_written_and_read(tmp_path: Path) -> None:
    async with await sums() as world:
        tips = [(await world.step(adding(n), at=world.root)).ref for n in (1, 2)]
        trajectory = await world.trajectory("+".join(tips))
        trajectory.write(tmp_path / "t.jsonl")
        assert Trajectory.read(tmp_path / "t.jsonl") == trajectory


# Writers at once


async def test_between_two_tries_a_step_lets_others_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async with await sums() as world:
        store = world.store
        real, moved = store.commit, 0

        def commit(*given: Any, **more: Any) -> bool:
            nonlocal moved
            moved += 1
            return moved > 5 and real(*given, **more)

        monkeypatch.setattr(store, "commit", commit)
        monkeypatch.setattr(world_history.asyncio, "sleep", sleep)
        assert (await world.step(adding(1))).observation.text == "1"
        assert len(waits) == 5
        assert all(0 <= one <= 0.001 * 2**tried for tried, one in enumerate(waits))
        moved = -(10**9)
        with pytest.raises(HeadMoved, match="was moved on by others 32 times"):
            await world.step(adding(1))
        assert max(waits) <= world_history.LONGEST_PAUSE_S


async def test_many_writers_of_one_world_at_once_all_succeed(tmp_path: Path) -> None:
    path, engines = tmp_path / "w.sqlite", [FunctionEngine({"add": add})]
    async with await sums(SqliteStore(path), id="shared") as world:
        others = [
            await World.open("shared", store=SqliteStore(path), engines=engines) for _ in range(4)
        ]
        for other in others:
            other.add_tools([ADD])

        async def write(one: World) -> None:
            for _ in range(10):
                await one.step(adding(1))

        await asyncio.gather(*map(write, (world, *others)))
        assert (await world.step(adding(0))).observation.text == "50"
