"""One client on several event loops, closed and not."""

from __future__ import annotations

import asyncio
import gc
import threading
from concurrent.futures import ThreadPoolExecutor

from agentworld_sim.llm.client import ChatClient
from agentworld_sim.llm.scripted import ScriptedModelServer
from agentworld_sim.llm.settings import ModelSettings
from agentworld_sim.runtime.sync import run_sync
from tests.llm.harness import MODEL, asked, raw_server, response


def made(url: str) -> ChatClient:
    return ChatClient(ModelSettings(url=url, model=MODEL))


def test_a_loop_that_ends_closes_its_connections() -> None:
    async def ask(client: ChatClient, text: str) -> str:
        return (await client.ask(asked(text))).content

    with ScriptedModelServer(lambda request: request.last_user) as server:
        client = made(server.url)
        assert [asyncio.run(ask(client, text)) for text in "abc"] == ["a", "b", "c"]
    # Warnings are errors: a connection left open would be one now.
    del client
    gc.collect()


def test_a_loop_that_was_closed_the_hard_way_does_no_harm_to_the_next() -> None:
    async def ask(client: ChatClient, text: str) -> str:
        reply = await client.ask(asked(text))
        # Nothing is left open here, as after the seconds for which an idle connection is kept.
        await client._server._all[-1].sdk.close()  # pyright: ignore[reportPrivateUsage]
        return reply.content

    with ScriptedModelServer(lambda request: request.last_user) as server:
        client = made(server.url)
        for text in "ab":
            loop = asyncio.new_event_loop()
            assert loop.run_until_complete(ask(client, text)) == text
            loop.close()
        assert len(client._server._all) == 1  # pyright: ignore[reportPrivateUsage]
    del client
    gc.collect()


async def test_a_client_that_is_dropped_closes_its_connections() -> None:
    async with raw_server(response(), response()) as raw:
        client = made(raw.url)
        await client.ask(asked())
        del client
        gc.collect()
        # The server sees the end of the connection; closing it would hang otherwise.
        (writer,) = raw.open
        raw.responses.clear()
        writer.close()
        await writer.wait_closed()


def test_loops_in_several_threads_share_the_cache() -> None:
    barrier = threading.Barrier(4)

    def session(client: ChatClient, number: int) -> list[str]:
        async def work() -> list[str]:
            barrier.wait()
            own = await asyncio.gather(*(client.ask(asked(f"{number}/{n}")) for n in range(10)))
            await client.close()
            return [reply.content for reply in own]

        return asyncio.run(work())

    with ScriptedModelServer(lambda request: request.last_user) as server:
        client = made(server.url)
        with ThreadPoolExecutor(4) as threads:
            done = list(threads.map(session, [client] * 4, range(4)))
        assert done == [[f"{number}/{n}" for n in range(10)] for number in range(4)]
        assert len(server.requests) == 40

        async def again() -> str:
            reply = await client.ask(asked("3/9"))
            await client.close()
            return reply.source

        assert asyncio.run(again()) == "cache"
        assert run_sync(again()) == "cache"


async def test_closing_twice_and_closing_unused_is_fine() -> None:
    client = made("http://127.0.0.1:9/v1")
    await client.close()
    await client.close()
