"""Tables in worlds: every point reopens as it was, worlds stay apart, nothing is half done."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from agentworld_sim import MemoryStore, SqliteStore, ToolCall, World
from agentworld_sim.types.values import Values, apply_changes, changed_keys
from tests.properties import examples

from .desk import TOOLS, PlannedEngine, opened, planned, said, shown
from .test_model import CALLS

PLAN = planned(generate=None)

STEPS = CALLS.filter(lambda call: call[0] not in ("fork", "reopen", "pages", "rest"))

PROBES = (
    ToolCall("search_tickets", {"query": ""}),
    ToolCall("create_ticket", {"team": "red", "title": "probe"}),
    ToolCall("list_users", {}),
)


@settings(max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(session=st.lists(STEPS, min_size=1, max_size=8), branch=st.integers(0, 7))
async def test_every_point_reopens_as_it_was(
    session: list[tuple[str, dict[str, Any]]], branch: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for store in (MemoryStore(), SqliteStore(Path(folder) / "w.sqlite")):
            world = await opened(PLAN, store=store, id="w", seed=6)
            live: dict[str, list[str]] = {}
            refs = [world.root]
            for name, arguments in session:
                refs.append((await world.step(ToolCall(name, arguments))).ref)
                live[refs[-1]] = [(await world.step(probe, at=refs[-1])).ref for probe in PROBES]
            middle = refs[branch % len(refs)]
            fork = await world.fork(at=middle)
            forked = [(await fork.step(probe, at=middle)).ref for probe in PROBES]
            await world.close()
            for ref, wanted in live.items():
                async with await World.open(
                    "w", store=store, at=ref, engines=[PlannedEngine(PLAN)]
                ) as reopened:
                    reopened.add_tools(TOOLS)
                    assert [(await reopened.step(one, at=ref)).ref for one in PROBES] == wanted
            assert middle == world.root or forked == live[middle]
            store.close()


async def test_two_worlds_never_see_each_others_records() -> None:
    store = MemoryStore()
    engine = PlannedEngine(planned())
    worlds: list[World] = []
    for number in range(60):
        # More than are kept live in a process, so that some are brought up again.
        world = await World.create(store=store, id=f"w{number}", engines=[engine])
        world.add_tools(TOOLS)
        worlds.append(world)

    async def work(world: World) -> None:
        for number in range(4):
            await shown(world, "create_ticket", team=world.id, title=f"{world.id} {number}")

    await asyncio.gather(*map(work, worlds))
    for world in worlds:
        found = await shown(world, "list_tickets", team=world.id, limit=9)
        assert [one["title"] for one in found["items"]] == [f"{world.id} {n}" for n in range(4)]
        assert await shown(world, "count_tickets") == {"count": 4}
        await world.close()


async def test_a_cancelled_call_is_in_the_history_or_leaves_nothing() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "w.sqlite")
        async with await opened(planned(), store=store) as world:
            for moments in range(20):
                call = ToolCall("create_ticket", {"team": "red", "title": "perhaps"})
                step = asyncio.ensure_future(world.step(call))
                for _ in range(moments % 7):
                    await asyncio.sleep(0)
                step.cancel()
                await asyncio.wait([step])
            listed = (await shown(world, "list_tickets", team="red", limit=99))["items"]
            turns = await world.trajectory()
        made = [turn for turn in turns if turn.call.name == "create_ticket"]
        assert [one["id"] for one in listed] == list(range(1, len(made) + 1))
        store.close()


HOSTILE = (
    "'; DROP TABLE t0; --",
    '" OR 1=1 --',
    "\x00",
    "\ud800",
    "%_*?[",
    "$.title",
    "../../etc/passwd",
    "\u0131 İ ß \ufb01 漢字 👩\u200d👩\u200d👧",
    "\u202eabc",
    "a,b",
    "{title}",
    "\\",
    "/" * 40,
    "null",
    "1",
)


@pytest.mark.parametrize("text", HOSTILE)
async def test_any_text_in_any_argument_is_only_a_text(text: str) -> None:
    async with await opened(planned()) as world:
        await shown(world, "create_ticket", team="red", title="bystander")
        made = await shown(
            world, "create_ticket", team=text, title=text, body=text, tags=[text, "x"]
        )
        assert (made["team"], made["title"], made["body"]) == (text, text, text)
        assert await shown(world, "get_ticket", team=text, id=1) == made
        found = await shown(world, "list_tickets", team=text, tag=text, state="open")
        assert [one["title"] for one in found["items"]] == [text]
        assert await shown(world, "count_tickets", team=text) == {"count": 1}
        assert await shown(world, "count_tickets", state=text) == {"count": 0}
        assert (await said(world, "list_tickets", team=text, sort=text)).is_error
        assert (await said(world, "list_tickets", team=text, cursor=text)).is_error
        assert not (await said(world, "search_tickets", query=text)).is_error
        await said(world, "add_user", login=text, name=text)
        assert (await said(world, "add_user", login=text)).text == f"User {text} already exists"
        assert (await shown(world, "delete_tickets", team=text, ids=[1]))["success"]
        assert await shown(world, "count_tickets") == {"count": 1}


async def test_what_one_turn_keeps_is_what_it_changed() -> None:
    async with await opened(planned()) as world:
        for number in range(3):
            await shown(world, "create_ticket", team="red", title=f"{number}")
        await shown(world, "update_ticket", team="red", id=2, title="new")
        await shown(world, "delete_tickets", team="red", ids=[3])
        await shown(world, "list_tickets", team="red")
        changes = [list(turn.change.values) for turn in (await world.trajectory()).turns]
        assert changes == [
            ["tables/tickets", 'tables/tickets/"red",1'],
            ['tables/tickets/"red",2'],
            ['tables/tickets/"red",3'],
            ['tables/tickets/"red",2'],
            ['tables/tickets/"red",3', 'tables/tickets/+"red"'],
            [],
        ]


@given(
    st.lists(
        st.dictionaries(st.integers(0, 700).map(str), st.none() | st.integers(), max_size=300),
        max_size=8,
    )
)
def test_shared_values_are_as_copied_ones(steps: list[dict[str, int | None]]) -> None:
    held = apply_changes({}, {str(number): number for number in range(600)})
    assert isinstance(held, Values)
    plain: dict[str, Any] = dict(held)
    for changes in steps:
        before = plain
        plain = {key: one for key, one in {**plain, **changes}.items() if one is not None}
        after = apply_changes(held, changes)
        assert after == plain and len(after) == len(plain)
        assert set(after) == set(plain) and all(key in after for key in plain)
        differing = {key for key in {*before, *plain} if before.get(key) != plain.get(key)}
        assert changed_keys(held, after) == differing
        held = after
