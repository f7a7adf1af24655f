"""Kinds of control that tell the agent that something went wrong."""

from __future__ import annotations

import pytest

from agentworld_sim import Observation, UsageError
from agentworld_sim.controls import (
    ChangedSchema,
    ConnectionCut,
    DiskFull,
    ExpiredToken,
    IntermittentError,
    LockedAccount,
    PermissionDenied,
    Quota,
    RateLimit,
    ReadOnly,
    ServerError,
    Timeout,
    VanishedTool,
)
from agentworld_sim.errors import ArgumentsError, UnknownToolError
from agentworld_sim.types import ToolCall
from tests.controls.records import ITEMS, LOGIN, adding, held, ordering, records, texts


async def test_a_server_error_has_the_status_and_the_servers_own_text() -> None:
    busy = ServerError(name="e", tool="add", status=503, text="try later")
    async with await records(busy) as world:
        turn = await world.step(adding("a"))
        assert turn.observation == Observation(
            text="503 Service Unavailable: try later", is_error=True, provenance="enforced"
        )
        assert turn.change.values == {"control/e": 1}
        assert await held(world) == []
        assert await texts(world, ITEMS) == ["[]"]


@pytest.mark.parametrize(
    ("status", "text", "message"),
    [(0, "nope", "nope"), (599, "x", "599: x"), (500, "", "500 Internal Server Error")],
)
def test_what_an_error_says(status: int, text: str, message: str) -> None:
    assert ServerError(name="e", status=status, text=text).message == message


async def test_an_intermittent_error_lets_a_second_try_through() -> None:
    twice = IntermittentError(name="i", tool="order", failures=2, successes=1, text="no")
    async with await records(twice) as world:
        turns = [await world.step(ordering(n)) for n in range(6)]
        assert [turn.observation.is_error for turn in turns] == [True, True, False] * 2


@pytest.mark.parametrize("done", [False, True])
async def test_after_a_timeout_the_agent_does_not_know_whether_it_was_done(done: bool) -> None:
    async with await records(Timeout(name="t", tool="add", after_us=5_000_000, done=done)) as world:
        turn = await world.step(adding("a"))
        assert turn.observation.text == "Request timed out after 5 seconds"
        assert turn.change.clock_us - world.scenario.clock_us >= 5_000_000
        assert await held(world) == (["a"] if done else [])


async def test_a_connection_that_is_cut_says_so_at_once() -> None:
    async with await records(ConnectionCut(name="c", tool="add", done=True)) as world:
        turn = await world.step(adding("a"))
        assert turn.observation.text == "Connection reset by peer"
        assert turn.change.clock_us - world.scenario.clock_us == 100_000
        assert await held(world) == ["a"]


async def test_a_rate_limit_is_reset_on_the_worlds_clock() -> None:
    limit = RateLimit(name="r", tool="order", limit=2, window_us=3_000_000)
    async with await records(limit) as world:
        said = await texts(world, *(ordering(n) for n in range(6)))
        refused = [text.partition(". ")[::2] for text in said if text.startswith("429")]
        assert [one[0] for one in refused] == ["429 Too Many Requests"] * 3
        assert [one[1] for one in refused] == ["Retry-After: 3", "Retry-After: 2", "Retry-After: 1"]
        assert not said[5].startswith("429")


async def test_an_expired_token_fails_calls_until_a_login_succeeds() -> None:
    expired = ExpiredToken(name="t", tool="*", nth=(2,))
    async with await records(expired) as world:
        said = await texts(world, ITEMS, ITEMS, ordering(), LOGIN, ITEMS, ITEMS, ITEMS)
        assert [text[:3] for text in said] == ["[]", "401", "401", "wel", "[]", "[]", "[]"]


async def test_a_login_that_fails_renews_no_token() -> None:
    token = ExpiredToken(name="t", tool="items", nth=(1,))
    broken = ServerError(name="e", tool="login", times=1)
    async with await records(token, broken) as world:
        said = await texts(world, ITEMS, LOGIN, ITEMS, LOGIN, ITEMS)
        assert [text[:3] for text in said] == ["401", "500", "401", "wel", "[]"]


async def test_what_is_not_allowed_is_refused_by_its_arguments() -> None:
    denied = PermissionDenied(name="p", tool="order", arguments={"n": "1*"})
    async with await records(denied) as world:
        said = await texts(world, ordering(1), ordering(12), ordering(2))
        assert [text[:17] == "Permission denied" for text in said] == [True, True, False]


async def test_a_quota_is_never_reset() -> None:
    async with await records(Quota(name="q", tool="order", limit=2)) as world:
        said = await texts(world, *(ordering(n) for n in range(4)))
        assert [text[:3] for text in said[2:]] == ["403", "403"]
        assert not any(text.startswith("403") for text in said[:2])


@pytest.mark.parametrize(
    ("control", "text"),
    [
        (ReadOnly(name="c", nth=(2,)), "Read-only file system"),
        (DiskFull(name="c", nth=(2,)), "No space left on device"),
    ],
)
async def test_records_cannot_be_changed_from_the_first_call_that_is_struck(
    control: ReadOnly | DiskFull, text: str
) -> None:
    async with await records(control) as world:
        said = await texts(world, adding("a"), adding("b"), ITEMS, adding("c"))
        assert (said[1], said[3]) == (text, text)
        assert said[2] == '["a"]'
        assert await held(world) == ["a"]


async def test_read_only_paths_leave_records_alone() -> None:
    async with await records(ReadOnly(name="c", paths=("/srv",))) as world:
        await world.step(adding("a"))
        assert await held(world) == ["a"]
        assert (await world.state()).values["condition/read_only"] == ["/srv"]


async def test_a_tool_that_vanished_is_in_no_listing_and_cannot_be_called() -> None:
    async with await records(VanishedTool(name="v", first_turn=2)) as world:
        await world.step(ordering())
        turn = await world.step(ordering(2))
        assert (turn.observation.text, turn.observation.is_error) == ("Unknown tool: order", True)
        assert sorted(await world.listing()) == ["add", "items", "login", "report"]
        assert "order" in await world.listing(world.root)
        assert (await texts(world, ordering(3))) == ["Unknown tool: order"]
        assert world.ref != turn.ref
    async with await records(VanishedTool(name="v", tool="o*")) as world:
        assert "order" not in await world.listing()


async def test_a_changed_schema_has_other_names_and_the_tool_its_own() -> None:
    async with await records(
        ChangedSchema(name="s", tool="add", rename={"items": "rows"})
    ) as world:
        schema = (await world.listing())["add"].input_schema
        assert (list(schema["properties"]), schema["required"]) == (["rows", "note"], ["rows"])
        with pytest.raises(ArgumentsError, match="rows"):
            await world.step(adding("a"))
        turn = await world.step(ToolCall("add", {"rows": ["a"]}))
        assert (await held(world), turn.observation.provenance) == (["a"], "computed")


async def test_a_schema_that_changes_later_fails_the_first_call_with_the_old_name() -> None:
    changed = ChangedSchema(name="s", tool="add", rename={"items": "rows"}, nth=(2,))
    async with await records(changed) as world:
        said = await texts(world, adding("a"), adding("b"))
        assert said[1] == "Invalid arguments: unexpected argument 'items'; 'rows' is expected"
        assert "rows" in (await world.listing())["add"].input_schema["properties"]
        await world.step(ToolCall("add", {"rows": ["c"]}))
        assert await held(world) == ["a", "c"]


def test_names_that_are_changed_to_themselves_are_refused() -> None:
    with pytest.raises(UsageError, match="give old names to new ones"):
        ChangedSchema(name="s", rename={"a": "a"})


async def test_an_account_stays_locked_for_all_calls_of_its_tools() -> None:
    locked = LockedAccount(name="l", tool="[ao]*", arguments={"n": "2"})
    async with await records(locked) as world:
        said = await texts(world, ordering(1), ordering(2), ordering(1), ITEMS, adding("a"))
        assert [text[:3] for text in said] == ["{\n ", "403", "403", "[]", "403"]


async def test_a_tool_that_only_a_process_knows_to_be_gone_is_unknown() -> None:
    async with await records() as world:
        with pytest.raises(UnknownToolError):
            await world.step(ToolCall("gone"))
