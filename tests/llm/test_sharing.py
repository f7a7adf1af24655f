"""Equal requests are asked once: while they are under way, and afterwards."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from agentworld_sim.errors import ModelRefused, ModelUnavailable
from agentworld_sim.llm._sharing import RepliesCache
from agentworld_sim.llm.chat import ChatReply
from agentworld_sim.llm.scripted import (
    Disconnect,
    ErrorReply,
    Gate,
    ModelRequest,
    ScriptedModelServer,
    ScriptedReply,
)
from tests.llm.harness import Connect, asked


async def arrived(server: ScriptedModelServer, requests: int) -> None:
    """Returns when so many requests are at the server."""
    await asyncio.to_thread(server.wait_for, requests=requests)


async def test_equal_requests_under_way_share_one(connect: Connect) -> None:
    gate = Gate()
    with ScriptedModelServer([ScriptedReply("fine", gate=gate)]) as server:
        client = connect(server.url)
        asking = [asyncio.create_task(client.ask(asked())) for _ in range(8)]
        await arrived(server, 1)
        gate.open()
        replies = await asyncio.gather(*asking)
        assert len(server.requests) == 1
    assert [reply.source for reply in replies] == ["server", *["shared"] * 7]
    assert {reply.content for reply in replies} == {"fine"}
    assert {reply.first_token_seconds for reply in replies[1:]} == {None}


async def test_a_finished_reply_is_kept(connect: Connect) -> None:
    with ScriptedModelServer([ScriptedReply("fine", thinking="hm")]) as server:
        client = connect(server.url)
        first, second = await client.ask(asked()), await client.ask(asked())
        assert len(server.requests) == 1
    expected = replace(first, source="cache", seconds=0.0, first_token_seconds=None)
    assert second == expected


@pytest.mark.parametrize(
    "other",
    [
        asked("other"),
        asked(seed=8),
        asked(max_tokens=999),
        asked(thinking=False),
        asked(schema={"type": "object"}),
        replace(asked(), messages=asked().messages[::-1]),
        replace(asked(), messages=asked().messages[:1]),
    ],
)
async def test_whatever_differs_is_asked_again(connect: Connect, other: object) -> None:
    assert other != asked()
    with ScriptedModelServer(["one", "two"]) as server:
        client = connect(server.url)
        await client.ask(asked())
        assert (await client.ask(other)).content == "two"  # pyright: ignore[reportArgumentType]


async def test_schemas_of_another_order_are_others(connect: Connect) -> None:
    with ScriptedModelServer(["one", "two"]) as server:
        client = connect(server.url)
        await client.ask(asked(schema={"type": "object", "properties": {"a": {}, "b": {}}}))
        reply = await client.ask(asked(schema={"type": "object", "properties": {"b": {}, "a": {}}}))
    assert reply.content == "two"


@pytest.mark.parametrize("settings", [{"cache_entries": 0}, {"cache_entries": 1}])
async def test_the_oldest_reply_leaves_a_full_cache(
    connect: Connect, settings: dict[str, int]
) -> None:
    with ScriptedModelServer(["one", "two", "three"]) as server:
        client = connect(server.url, **settings)
        for text in ("a", "b", "a"):
            await client.ask(asked(text))
        assert len(server.requests) == 3


async def test_a_reply_cut_at_the_limit_is_not_kept(connect: Connect) -> None:
    with ScriptedModelServer(["a long answer", "a long answer"]) as server:
        client = connect(server.url)
        for _ in range(2):
            await client.ask(asked(max_tokens=1))
        assert len(server.requests) == 2


async def test_a_failure_reaches_everyone_as_an_exception_of_their_own(connect: Connect) -> None:
    gate = Gate()

    async def answer(request: ModelRequest) -> ErrorReply:
        await gate.wait()
        return ErrorReply(400, "no")

    with ScriptedModelServer(answer) as server:
        client = connect(server.url)
        asking = [asyncio.create_task(client.ask(asked())) for _ in range(3)]
        await arrived(server, 1)
        gate.open()
        failures = await asyncio.gather(*asking, return_exceptions=True)
        assert len(server.requests) == 1
    assert len({id(failure) for failure in failures}) == 3
    assert {(type(failure), str(failure)) for failure in failures} == {
        (ModelRefused, str(failures[0]))
    }


async def test_a_failure_is_not_kept(connect: Connect) -> None:
    with ScriptedModelServer([ErrorReply(400), "fine"]) as server:
        client = connect(server.url)
        with pytest.raises(ModelRefused):
            await client.ask(asked())
        assert (await client.ask(asked())).content == "fine"


class TestCancelling:
    async def test_it_closes_the_connection(self, connect: Connect) -> None:
        with ScriptedModelServer([ScriptedReply("never", gate=Gate()), "fine"]) as server:
            client = connect(server.url)
            asking = asyncio.create_task(client.ask(asked()))
            await arrived(server, 1)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            await asyncio.to_thread(server.wait_for, abandoned=1)
            assert asyncio.all_tasks() == {asyncio.current_task()}
            assert (await client.ask(asked())).source == "server"

    async def test_it_works_in_the_middle_of_a_reply(self, connect: Connect) -> None:
        seen = asyncio.Event()

        def watch(content: str, thinking: str) -> None:
            seen.set()

        endless = ScriptedReply("x" * 1_000_000, seconds_per_chunk=0.001, chunk_size=1_000)
        with ScriptedModelServer([endless], max_model_len=2_000_000) as server:
            asking = asyncio.create_task(
                connect(server.url).ask(asked(max_tokens=1_000_000), watch=watch)
            )
            await seen.wait()
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            await asyncio.to_thread(server.wait_for, abandoned=1)
            assert asyncio.all_tasks() == {asyncio.current_task()}

    async def test_others_who_wait_still_get_the_reply(self, connect: Connect) -> None:
        gate = Gate()
        with ScriptedModelServer([ScriptedReply("fine", gate=gate)]) as server:
            client = connect(server.url)
            first, second = (asyncio.create_task(client.ask(asked())) for _ in range(2))
            await arrived(server, 1)
            first.cancel()
            with pytest.raises(asyncio.CancelledError):
                await first
            gate.open()
            assert (await second).source == "shared"
            assert server.abandoned == 0

    async def test_the_last_who_waits_takes_the_request_along(self, connect: Connect) -> None:
        with ScriptedModelServer([ScriptedReply("never", gate=Gate())]) as server:
            client = connect(server.url)
            asking = [asyncio.create_task(client.ask(asked())) for _ in range(3)]
            await arrived(server, 1)
            for task in asking:
                task.cancel()
            await asyncio.wait(asking)
            assert all(task.cancelled() for task in asking)
            await asyncio.to_thread(server.wait_for, abandoned=1)

    async def test_it_frees_the_slot_also_in_a_pause(self, connect: Connect) -> None:
        with ScriptedModelServer([ErrorReply(503), "fine"]) as server:
            client = connect(server.url, concurrency=1)
            pausing = asyncio.Event()

            async def forever(seconds: float) -> None:
                pausing.set()
                await asyncio.Event().wait()

            client._sleep = forever  # pyright: ignore[reportPrivateUsage]
            asking = asyncio.create_task(client.ask(asked()))
            await pausing.wait()
            asking.cancel()
            await asyncio.wait([asking])
            assert (await client.ask(asked("other"))).content == "fine"


class TestConcurrency:
    async def test_no_more_are_under_way_than_allowed_and_the_first_is_first(
        self, connect: Connect
    ) -> None:
        with ScriptedModelServer(lambda request: request.last_user) as server:
            client = connect(server.url, concurrency=3)
            await asyncio.gather(*(client.ask(asked(f"{n}")) for n in range(20)))
            assert server.peak_running <= 3
            # Three at a time may overtake each other, nobody else.
            order = [int(request.last_user) for request in server.requests]
        assert all(abs(number - position) < 3 for position, number in enumerate(order))

    async def test_a_single_slot_serves_in_the_order_of_asking(self, connect: Connect) -> None:
        with ScriptedModelServer(lambda request: request.last_user) as server:
            client = connect(server.url, concurrency=1)
            await asyncio.gather(*(client.ask(asked(f"{n}")) for n in range(10)))
            assert [request.last_user for request in server.requests] == [f"{n}" for n in range(10)]

    async def test_the_allowed_number_is_under_way_together(self, connect: Connect) -> None:
        gate = Gate()
        with ScriptedModelServer(lambda _: ScriptedReply("fine", gate=gate)) as server:
            client = connect(server.url, concurrency=64)
            asking = [asyncio.create_task(client.ask(asked(f"{n}"))) for n in range(64)]
            await arrived(server, 64)
            gate.open()
            await asyncio.gather(*asking)
            assert server.peak_running == 64


async def test_closing_ends_what_is_under_way(connect: Connect) -> None:
    with ScriptedModelServer([ScriptedReply("never", gate=Gate()), "fine"]) as server:
        client = connect(server.url)
        asking = asyncio.create_task(client.ask(asked()))
        await arrived(server, 1)
        await client.close()
        with pytest.raises(ModelUnavailable, match="the client was closed"):
            await asking
        await asyncio.to_thread(server.wait_for, abandoned=1)
        assert (await client.ask(asked())).content == "fine"


async def test_a_retried_request_is_one_for_all_who_share_it(connect: Connect) -> None:
    gate = Gate()
    script = [Disconnect(reply=ScriptedReply("", gate=gate)), "fine"]
    with ScriptedModelServer(script) as server:
        client = connect(server.url)
        asking = [asyncio.create_task(client.ask(asked())) for _ in range(4)]
        await arrived(server, 1)
        gate.open()
        await asyncio.gather(*asking)
        assert len(server.requests) == 2


class TestCache:
    def test_it_forgets_the_least_recently_used(self) -> None:
        cache, reply = RepliesCache(2), ChatReply(content="x", finish_reason="stop")
        cache.put(b"a", reply)
        cache.put(b"b", reply)
        assert cache.get(b"a") is reply
        cache.put(b"c", reply)
        assert [cache.get(key) is reply for key in (b"a", b"b", b"c")] == [True, False, True]

    def test_it_is_bounded_in_bytes_too(self) -> None:
        cache = RepliesCache(100, size=10_000)
        for number in range(20):
            cache.put(bytes([number]), ChatReply(content="x" * 2_000, finish_reason="stop"))
        kept = [number for number in range(20) if cache.get(bytes([number])) is not None]
        assert kept == [16, 17, 18, 19]

    def test_a_reply_larger_than_all_of_it_is_not_kept(self) -> None:
        cache = RepliesCache(100, size=10_000)
        cache.put(b"a", ChatReply(content="x" * 20_000, finish_reason="stop"))
        assert cache.get(b"a") is None

    def test_putting_a_key_again_takes_no_more_room(self) -> None:
        cache = RepliesCache(100, size=10_000)
        for _ in range(20):
            cache.put(b"a", ChatReply(content="x" * 4_000, finish_reason="stop"))
        cache.put(b"b", ChatReply(content="x" * 4_000, finish_reason="stop"))
        assert cache.get(b"a") is not None
