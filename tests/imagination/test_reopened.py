"""A world asks the same wherever it is answered: live, in a fork, or opened again."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

from agentworld_sim import SqliteStore, ToolCall, ToolSpec, Turn, World
from agentworld_sim.llm.scripted import ModelRequest, ScriptedReply
from tests.imagination.conftest import WEATHER, Open

SEARCH = ToolSpec(
    name="web_search",
    domain="search",
    input_schema={"type": "object", "properties": {"query": {"type": "string"}}},
)


def some_length(request: ModelRequest) -> ScriptedReply:
    seed = request.body["seed"]
    if "argv:" in request.last_user:
        return ScriptedReply(content=json.dumps({"stdout": f"{seed}\n" + "y" * (seed % 500)}))
    return ScriptedReply.observation(f"{seed} " + "y" * (seed % 3000))


def asked(turn: Turn) -> list[tuple[Any, Any]]:
    return [(one.messages, one.parameters) for one in turn.exchanges]


def a_call(random: Random, number: int) -> ToolCall:
    return random.choice(
        (
            ToolCall("weather", {"city": str(number)}),
            ToolCall("web_search", {"query": str(number)}),
            ToolCall("Bash", {"command": f"echo {number} > /root/{number % 3}"}),
            ToolCall("Bash", {"command": f"frobnicate {number} | cat > /root/out"}),
        )
    )


async def test_live_forked_and_reopened_worlds_ask_the_same_also_where_turns_are_cut(
    imagining: Open, tmp_path: Path
) -> None:
    store = SqliteStore(tmp_path / "worlds.sqlite")
    opened = await imagining(
        some_length,
        tools=(WEATHER, SEARCH),
        world={"store": store, "seed": 5},
        server={"max_model_len": 6_000},
        max_tokens=1_000,
    )
    live, random = opened.world, Random(3)
    for number in range(24):
        call = a_call(random, number)
        fork = await live.fork()
        again = await World.open(live.id, store=store, model=live.model)
        again.add_tools([WEATHER, SEARCH])
        turn = await live.step(call)
        for other in (await fork.step(call), await again.step(call, at=turn.parent)):
            assert asked(other) == asked(turn)
            assert other.ref == turn.ref
        await fork.close()
        await again.close()
    prompts = [request.messages for request in opened.server.requests]
    assert any("Earlier turns, in short:" in messages[1]["content"] for messages in prompts)
    store.close()
