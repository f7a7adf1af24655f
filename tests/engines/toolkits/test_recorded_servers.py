"""The computed servers against recordings of the real ones, call by call."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from agentworld_sim import ToolCall, World
from tests.engines.toolkits.recordings import (
    answer,
    mirrored,
    recorded_answer,
    recording,
    scenario,
)

SERVERS = ("filesystem", "memory", "sqlite", "time")


@pytest.mark.parametrize("server", ["filesystem", "memory", "sqlite"])
async def test_answers_are_those_of_the_real_server(server: str) -> None:
    async with await World.create(scenario(server)) as world:
        world.add_tools(mirrored(server))
        different: list[object] = []
        for call in recording(server)["calls"]:
            turn = await world.step(ToolCall(call["tool"], call["arguments"]))
            assert turn.observation.provenance == "computed"
            ours, theirs = answer(turn.observation), recorded_answer(call)
            if ours != theirs:
                different.append((call["tool"], call["arguments"], ours, theirs))
        assert not different, "\n\n".join(map(str, different))


async def test_the_time_is_told_as_the_real_server_tells_it() -> None:
    for call in recording("time")["calls"]:
        at = scenario("time", clock=datetime.fromtimestamp(call["at"], UTC))
        async with await World.create(at) as world:
            world.add_tools(mirrored("time"))
            turn = await world.step(ToolCall(call["tool"], call["arguments"]))
            assert answer(turn.observation) == recorded_answer(call)


@pytest.mark.parametrize("server", SERVERS)
async def test_every_tool_of_the_real_server_binds_to_its_own(server: str) -> None:
    async with await World.create(scenario(server)) as world:
        for prefix in ("", "other__"):
            bound = world.add_tools(mirrored(server, prefix))
            assert [tool.binds_to for tool in bound] == [
                f"{server}/{tool.name.removeprefix(prefix)}" for tool in bound
            ]
