"""The connections that are kept, used again and let go."""

from __future__ import annotations

import asyncio

import pytest

from agentworld_sim.llm import _lanes
from agentworld_sim.llm.client import ChatClient
from agentworld_sim.llm.scripted import Gate, ScriptedModelServer, ScriptedReply
from tests.llm.harness import Connect, asked, raw_server, response


async def test_requests_one_after_the_other_use_one_connection_of_many(connect: Connect) -> None:
    gate = Gate()
    with ScriptedModelServer(lambda _: ScriptedReply("fine", gate=gate)) as server:
        client = connect(server.url)
        asking = [asyncio.create_task(client.ask(asked(f"{n}"))) for n in range(10)]
        await asyncio.to_thread(server.wait_for, requests=10)
        gate.open()
        await asyncio.gather(*asking)
        for number in range(10, 20):
            await client.ask(asked(f"{number}"))
        lanes = lanes_of(client)
        assert len(lanes._all) == 10  # pyright: ignore[reportPrivateUsage]
        assert len(lanes._idle) == 10  # pyright: ignore[reportPrivateUsage]


async def test_connections_that_are_not_needed_any_more_are_closed(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate()
    with ScriptedModelServer(lambda _: ScriptedReply("fine", gate=gate)) as server:
        client = connect(server.url)
        asking = [asyncio.create_task(client.ask(asked(f"{n}"))) for n in range(10)]
        await asyncio.to_thread(server.wait_for, requests=10)
        gate.open()
        await asyncio.gather(*asking)
        monkeypatch.setattr(_lanes, "IDLE_SECONDS", 0.0)
        await client.ask(asked("later"))
        assert len(lanes_of(client)._all) == 1  # pyright: ignore[reportPrivateUsage]


async def test_a_lost_connection_is_replaced(connect: Connect) -> None:
    async with raw_server(response(), response()) as raw:
        client = connect(raw.url)
        await client.ask(asked("a"))
        for writer in raw.open:
            writer.close()
            await writer.wait_closed()
        assert (await client.ask(asked("b"))).content == "fine"
        assert raw.connections == 2


def lanes_of(client: ChatClient) -> _lanes.Lanes:
    """The pool of the running loop."""
    (line,) = client._lines._lines  # pyright: ignore[reportPrivateUsage]
    transport: object = line.http._transport  # pyright: ignore[reportPrivateUsage]
    assert isinstance(transport, _lanes.Lanes)
    return transport
