"""How long worlds of clients are kept, and how many; with a clock in the test's hands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agentworld_mcp_shim._pool import WorldPool
from agentworld_mcp_shim._settings import HttpSettings, ShimSettings
from agentworld_mcp_shim._world_keys import Run, WorldKey
from agentworld_mcp_shim._worlds import WorldChoice
from agentworld_sim.errors import UsageError
from agentworld_sim.store import SqliteStore
from agentworld_sim.types.tools import ToolCall
from mcp import MCPError

HOUR = 3600.0


class Clock:
    """Host time, as far as the pool knows."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def pool_of(
    folder: Path, clock: Clock, *, most: int = 100, max_open: int = 100, scenario: str | None = None
) -> AsyncGenerator[WorldPool]:
    settings = ShimSettings(
        worlds=WorldChoice(store=str(folder / "worlds.sqlite"), scenario=scenario),
        http=HttpSettings(world_seconds=HOUR, max_worlds=most),
    )
    pool = WorldPool(settings, run=Run(), clock=clock, max_open=max_open)
    pool.show(None)
    yield pool
    await pool.aclose()


def named(world_id: str, principal: str | None = None) -> WorldKey:
    return WorldKey(id=world_id, principal=principal)


async def run(pool: WorldPool, key: WorldKey, command: str) -> str:
    """One call, in a task of its own as every request is."""

    async def call() -> str:
        world = await pool.open(key)
        return (await world.step(ToolCall("bash", {"command": command}))).observation.text

    return await asyncio.create_task(call())


def known(folder: Path) -> list[str]:
    store = SqliteStore(folder / "worlds.sqlite")
    found = [record.id for record in store.worlds()]
    store.close()
    return sorted(found)


async def test_a_world_that_is_not_used_for_its_time_is_removed_and_begins_again(
    tmp_path: Path,
) -> None:
    clock = Clock()
    async with pool_of(tmp_path, clock) as pool:
        await run(pool, named("used"), "touch /srv/x")
        await run(pool, named("idle"), "touch /srv/x")
        clock.now += HOUR / 2
        await run(pool, named("used"), "touch /srv/y")
        clock.now += HOUR / 2
        assert known(tmp_path) == ["idle", "used"]
        await pool.sweep()
        assert known(tmp_path) == ["used"]
        assert await run(pool, named("used"), "ls /srv") == "x\ny\n"
        assert await run(pool, named("idle"), "ls /srv") == ""


async def test_a_world_whose_time_is_over_is_gone_also_before_anybody_removed_it(
    tmp_path: Path,
) -> None:
    clock = Clock()
    async with pool_of(tmp_path, clock) as one, pool_of(tmp_path, clock) as other:
        await run(one, named("w"), "touch /srv/x")
        clock.now += HOUR * 0.9
        assert await run(other, named("w"), "ls /srv") == "x\n"
        clock.now += HOUR * 0.9
        # This process has not heard that the other one has used it.
        assert await run(one, named("w"), "ls /srv") == "x\n"
        clock.now += HOUR
        assert await run(other, named("w"), "ls /srv") == ""


async def test_the_world_of_the_process_is_kept(tmp_path: Path) -> None:
    clock = Clock()
    async with pool_of(tmp_path, clock) as pool:
        key = WorldKey(id=pool.run.world)
        await run(pool, key, "touch /srv/x")
        clock.now += 1000 * HOUR
        await pool.sweep()
        assert await run(pool, key, "ls /srv") == "x\n"


async def test_a_principal_may_have_so_many_worlds_and_others_do_not_count(tmp_path: Path) -> None:
    from agentworld_mcp_shim._world_keys import store_id

    clock = Clock()
    async with pool_of(tmp_path, clock, most=2) as pool:
        for who in ("alice", "bob", None):
            for name in ("a", "b"):
                await run(pool, named(store_id(name, who), who), "true")
            with pytest.raises(MCPError, match="there are 2 of this client already"):
                await run(pool, named(store_id("c", who), who), "true")
            assert await run(pool, named(store_id("a", who), who), "echo still") == "still\n"
        clock.now += 2 * HOUR
        await pool.sweep()
        assert await run(pool, named(store_id("c", "alice"), "alice"), "echo hi") == "hi\n"


async def test_many_that_ask_at_once_open_a_world_once(tmp_path: Path) -> None:
    async with pool_of(tmp_path, Clock()) as pool:
        opened = await asyncio.gather(
            *(asyncio.create_task(pool.open(named("w"))) for _ in range(50))
        )
        assert len({id(world) for world in opened}) == 1


async def test_who_leaves_while_a_world_is_opened_takes_it_from_nobody(tmp_path: Path) -> None:
    async with pool_of(tmp_path, Clock()) as pool:
        first, second = (asyncio.create_task(pool.open(named("w"))) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        assert (await second).id == "w"
        assert first.cancelled()


async def test_worlds_used_long_ago_are_closed_but_none_that_answers(tmp_path: Path) -> None:
    async with pool_of(tmp_path, Clock(), max_open=3) as pool:
        held = asyncio.Event()

        async def busy() -> str:
            world = await pool.open(named("busy"))
            await held.wait()
            return (await world.step(ToolCall("bash", {"command": "echo on"}))).observation.text

        working = asyncio.create_task(busy())
        for number in range(10):
            await run(pool, named(f"w{number}"), f"echo {number} > /srv/n")
        assert pool.open_worlds <= 4
        held.set()
        assert await working == "on\n"
        seen = [await run(pool, named(f"w{number}"), "cat /srv/n") for number in range(10)]
        assert seen == [f"{number}\n" for number in range(10)]


async def test_an_opening_that_failed_is_tried_again(tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text("name: broken\ndomains: [nothing]\n", encoding="utf-8")
    async with pool_of(tmp_path, Clock(), scenario=str(scenario)) as pool:
        with pytest.raises(UsageError):
            await run(pool, named("w"), "true")
        scenario.write_text("name: whole\ndomains: [terminal]\n", encoding="utf-8")
        assert await run(pool, named("w"), "echo hi") == "hi\n"
