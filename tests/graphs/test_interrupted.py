"""When the library fails, the run stops, the thread stays where it was, and no agent reads of it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from langchain.agents.middleware import ToolRetryMiddleware
from langchain_core.messages import AIMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver

from agentworld_graphs import (
    ScriptedChatModel,
    SimToolNode,
    SimulatedTools,
    SimulationInterrupted,
    simulate,
)
from agentworld_sim import Scenario, SqliteStore, StoreError, World
from agentworld_sim.imagination import WorldModel
from agentworld_sim.llm import ModelSettings
from agentworld_sim.llm.scripted import Disconnect, Gate, ScriptedModelServer, ScriptedReply
from tests.graphs.shapes import SHAPES, Setting, world_in

if TYPE_CHECKING:
    from conftest import Lab

WAYS = pytest.mark.parametrize("way", ["invoke", "ainvoke"])
EVERY = pytest.mark.parametrize("shape", sorted(SHAPES))
SCENARIO = Scenario.model_validate({"name": "lab", "domains": ["mcp"], "tools": []})


async def run(graph: Any, way: str, given: Any, config: Any) -> Any:
    return graph.invoke(given, config) if way == "invoke" else await graph.ainvoke(given, config)


@WAYS
@EVERY
async def test_a_full_store_stops_the_run_and_room_lets_it_go_on(
    lab: Lab, go: Any, shape: str, way: str, tmp_path: Path
) -> None:
    store = SqliteStore(tmp_path / "worlds")
    world = await world_in(store, lab)
    large = "b" * 200_000
    script = [lab.adds("a"), lab.adds("a", large), lab.adds("c"), AIMessage("done")]
    setting = Setting(lab, world, script, InMemorySaver())
    graph = SHAPES[shape](setting)
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]  # pyright: ignore[reportPrivateUsage]  a full disk in small
    store._db.execute(f"PRAGMA max_page_count={pages + 8}")  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(SimulationInterrupted, match="is full; the turn was not stored") as raised:
        await run(graph, way, go, lab.thread())
    assert isinstance(raised.value.error, StoreError)
    store._db.execute("PRAGMA max_page_count=1000000")  # pyright: ignore[reportPrivateUsage]
    final = await run(graph, way, None, lab.thread())
    assert lab.answers(final) == ["a", "a,a", f"a,a,{large}", f"a,a,{large},c"]
    assert lab.answered == ["a", "a", large, large, "c"]
    store.close()


def track(number: str) -> str:
    """Where a parcel is."""
    raise AssertionError("the real tool ran")


@WAYS
async def test_a_model_that_goes_down_while_it_writes_stops_the_run(
    lab: Lab, go: Any, way: str
) -> None:
    said = [ScriptedReply.observation(text, thinking="Hm.") for text in ("one", "two")]
    broken = Disconnect(after_chunks=3, reply=said[1])
    with ScriptedModelServer([said[0], broken, said[1]]) as server:
        model = WorldModel(ModelSettings(url=server.url, retries=0))
        async with await World.create(SCENARIO, model=model) as world:
            node = SimToolNode(
                [StructuredTool.from_function(track)], world=world, handle_tool_errors=True
            )
            calls = (lab.call("track", "1", number="1"), lab.call("track", "2", number="2"))
            graph = lab.agent(node, lab.asks(*calls), AIMessage("done"), saver=InMemorySaver())
            with pytest.raises(SimulationInterrupted, match="broke off"):
                await run(graph, way, go, lab.thread())
            state = graph.get_state(lab.thread())
            assert lab.answers(state.values) == [] and state.next == ("tools",)
            final = await run(graph, way, None, lab.thread())
            if way == "invoke":
                await asyncio.get_running_loop().run_in_executor(None, _close, model)
    assert lab.answers(final) == ["one", "two"]
    assert len(server.requests) == 3


async def test_a_run_that_is_cancelled_while_a_model_writes_can_be_resumed(
    lab: Lab, go: Any
) -> None:
    gate = Gate()
    said = [
        ScriptedReply.observation("one", thinking="Hm."),
        ScriptedReply.observation("never", thinking="Hm.", gate=gate),
        ScriptedReply.observation("two", thinking="Hm."),
    ]
    with ScriptedModelServer(said) as server:
        async with await World.create(SCENARIO, model=server.url) as world:
            tool = simulate(StructuredTool.from_function(track), world)
            calls = (lab.call("track", "1", number="1"), lab.call("track", "2", number="2"))
            model = ScriptedChatModel(script=[lab.asks(*calls), AIMessage("done")])
            graph = lab.create_agent(model, [tool], checkpointer=InMemorySaver())
            running = asyncio.create_task(graph.ainvoke(go, lab.thread()))
            await asyncio.to_thread(server.wait_for, requests=2)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            final = await graph.ainvoke(None, lab.thread())
        gate.open()
    assert lab.answers(final) == ["one", "two"]
    assert len(server.requests) == 3


@WAYS
@pytest.mark.parametrize("kind", ["tools", "middleware"])
async def test_middleware_that_tries_again_makes_no_message_of_it(
    lab: Lab, go: Any, way: str, kind: str
) -> None:
    world = lab.world()
    again = ToolRetryMiddleware(max_retries=1, initial_delay=0, jitter=False, on_failure="continue")
    model = ScriptedChatModel(script=[lab.adds("a", "b"), AIMessage("done")])
    graph = (
        lab.create_agent(
            model,
            [simulate(tool, world) for tool in lab.tools()],
            middleware=[again],
            checkpointer=InMemorySaver(),
        )
        if kind == "tools"
        else lab.create_agent(
            model,
            lab.tools(),
            middleware=[again, SimulatedTools(world=world)],
            checkpointer=InMemorySaver(),
        )
    )
    lab.down.add("b")
    with pytest.raises(SimulationInterrupted, match="no answer for b"):
        await run(graph, way, go, lab.thread())
    lab.down.clear()
    assert lab.answers(await run(graph, way, None, lab.thread())) == ["a", "a,b"]
    assert lab.answered == ["a", "b", "b"]


def _close(model: WorldModel) -> None:
    from agentworld_sim.runtime.sync import run_sync

    run_sync(model.close())
