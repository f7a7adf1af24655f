"""What callbacks and tracers are told, for people, and what agents are not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.messages.utils import convert_to_openai_messages
from langchain_core.tools import BaseTool, StructuredTool
from langchain_core.tracers.run_collector import RunCollectorCallbackHandler
from langgraph.checkpoint.memory import InMemorySaver

from agentworld_graphs import SimToolNode, ref_in
from agentworld_sim import Scenario, World
from agentworld_sim.imagination import WorldModel
from agentworld_sim.llm import ModelSettings
from agentworld_sim.llm.scripted import ScriptedModelServer, ScriptedReply
from agentworld_sim.runtime.sync import run_sync
from tests.graphs.shapes import SHAPES, Setting, world_in

if TYPE_CHECKING:
    from conftest import Lab

WAYS = pytest.mark.parametrize("way", ["invoke", "ainvoke"])
SCENARIO = Scenario.model_validate({"name": "lab", "domains": ["mcp"], "tools": [], "seed": 7})


class Heard:
    """What handlers are told of tools."""

    def __init__(self) -> None:
        self.starts: list[dict[str, Any]] = []
        self.tags: list[list[str]] = []
        self.ends: list[Any] = []


class Listener(BaseCallbackHandler):
    def __init__(self) -> None:
        self.heard = Heard()

    def on_tool_start(
        self, serialized: dict[str, Any], input_str: str, *, run_id: UUID, **kwargs: Any
    ) -> None:
        self.heard.starts.append(kwargs["metadata"])
        self.heard.tags.append(kwargs["tags"])

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self.heard.ends.append(output)


class AsyncListener(AsyncCallbackHandler):
    def __init__(self) -> None:
        self.heard = Heard()

    async def on_tool_start(
        self, serialized: dict[str, Any], input_str: str, *, run_id: UUID, **kwargs: Any
    ) -> None:
        self.heard.starts.append(kwargs["metadata"])
        self.heard.tags.append(kwargs["tags"])

    async def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self.heard.ends.append(output)


async def run(graph: Any, way: str, given: Any, config: Any) -> Any:
    return graph.invoke(given, config) if way == "invoke" else await graph.ainvoke(given, config)


def tool_runs(collector: RunCollectorCallbackHandler) -> list[Any]:
    found: list[Any] = []

    def look(run: Any) -> None:
        if run.run_type == "tool":
            found.append(run)
        for child in run.child_runs:
            look(child)

    for one in collector.traced_runs:
        look(one)
    return found


@WAYS
@pytest.mark.parametrize("shape", sorted(SHAPES))
async def test_a_tracer_knows_of_every_call_where_it_came_from(
    lab: Lab, go: Any, shape: str, way: str
) -> None:
    world = await world_in(None, lab)
    script = [lab.adds("a", "b"), lab.asks(lab.call("fail")), AIMessage("done")]
    graph = SHAPES[shape](Setting(lab, world, script, InMemorySaver()))
    collector = RunCollectorCallbackHandler()
    config = {**lab.thread(), "callbacks": [collector]}
    final = await run(graph, way, go, config)
    turns = {turn.ref: turn for turn in (await world.trajectory(ref_in(final))).turns}
    runs = tool_runs(collector)
    assert len(runs) == len(turns) == 3
    for one in runs:
        turn = turns[one.metadata["agentworld_ref"]]
        assert one.metadata["agentworld_parent"] == turn.parent
        assert one.metadata["agentworld_provenance"] == "computed"
        assert one.metadata["agentworld_world"] == world.id
        assert one.metadata["agentworld_seed"] == world.scenario.seed
        assert one.metadata["agentworld_simulated"] is True
        assert "agentworld_model" not in one.metadata
        assert "simulated" in one.tags
        assert one.outputs["output"].additional_kwargs["agentworld"]["ref"] == turn.ref


@pytest.mark.parametrize("listener", [Listener, AsyncListener])
async def test_handlers_hear_the_world_first_and_the_answers_origin_last(
    lab: Lab, go: Any, listener: Any
) -> None:
    world = lab.world()
    node = SimToolNode(lab.tools(), world=world)
    made = listener()
    await lab.agent(node, lab.adds("a"), AIMessage("done")).ainvoke(go, {"callbacks": [made]})
    heard: Heard = made.heard
    assert heard.starts[0]["agentworld_world"] == world.id
    assert heard.tags == [[*heard.tags[0][:-1], "simulated"]]
    mark = heard.ends[0].additional_kwargs["agentworld"]
    assert mark == {
        "world": world.id,
        "ref": world.ref,
        "parent": world.root,
        "provenance": "computed",
        "seed": world.scenario.seed,
    }


@WAYS
async def test_an_imagined_answer_names_its_model_and_no_secret(
    lab: Lab, go: Any, way: str
) -> None:
    def track_parcel(number: str) -> str:
        """Where a parcel is."""
        raise AssertionError("the real tool ran")

    reply = ScriptedReply.observation("In Utrecht.")
    with ScriptedModelServer([reply], api_key="hidden-key") as server:
        model = WorldModel(
            ModelSettings(url=server.url + "?token=hidden-token", api_key="hidden-key")
        )
        async with await World.create(SCENARIO, model=model) as world:
            forked = await world.fork(seed=99)
            tool: BaseTool = StructuredTool.from_function(track_parcel)
            node = SimToolNode([tool], world=forked)
            asked = lab.asks(lab.call("track_parcel", "c1", number="7"))
            graph = lab.agent(node, asked, AIMessage("done"))
            collector, listener = RunCollectorCallbackHandler(), Listener()
            final = await run(graph, way, go, {"callbacks": [collector, listener]})
            # A synchronous call is answered on the library's own loop.
            run_sync(model.close())
            await forked.close()
    (one,) = tool_runs(collector)
    told = {name: one.metadata[f"agentworld_{name}"] for name in ("provenance", "model", "seed")}
    served = "Qwen/Qwen-AgentWorld-35B-A3B"
    assert told == {"provenance": "imagined", "model": served, "seed": 99}
    everything = json.dumps(
        [one.metadata, one.outputs, one.inputs, one.tags, listener.heard.starts], default=str
    ) + str(final)
    assert "hidden" not in everything


async def test_streamed_events_have_both(lab: Lab, go: Any) -> None:
    world = lab.world()
    graph = lab.agent(SimToolNode(lab.tools(), world=world), lab.adds("a"), AIMessage("done"))
    events = [one async for one in graph.astream_events(go, version="v2")]
    (start,) = [one for one in events if one["event"] == "on_tool_start"]
    (end,) = [one for one in events if one["event"] == "on_tool_end"]
    assert start["metadata"]["agentworld_world"] == world.id
    assert "simulated" in start["tags"] and "simulated" in end["tags"]
    assert end["data"]["output"].additional_kwargs["agentworld"]["ref"] == world.ref


async def test_a_real_tool_is_not_called_simulated(lab: Lab, go: Any) -> None:
    node = SimToolNode(lab.tools(), world=lab.world(), access={"look": "real"})
    listener = Listener()
    asked = lab.asks(lab.call("look"))
    await lab.agent(node, asked, AIMessage("done")).ainvoke(go, {"callbacks": [listener]})
    assert lab.ran == ["look"]
    assert "simulated" not in listener.heard.tags[0]
    assert not any(name.startswith("agentworld") for name in listener.heard.starts[0])


async def test_the_agents_own_messages_do_not_say_it(lab: Lab, go: Any) -> None:
    asked: list[Any] = []

    class Model(BaseCallbackHandler):
        def on_chat_model_start(self, serialized: Any, messages: Any, **kwargs: Any) -> None:
            asked.append(convert_to_openai_messages(messages[0]))

    world = lab.world()
    graph = lab.agent(SimToolNode(lab.tools(), world=world), lab.adds("a"), AIMessage("done"))
    final = await graph.ainvoke(go, {"callbacks": [Model()]})
    assert len(asked) == 2
    for shown in ("simul", "agentworld", world.id, world.ref, "computed"):
        assert shown not in json.dumps(asked)
    assert all(
        "simul" not in str(one.content) for one in final["messages"] if isinstance(one, ToolMessage)
    )
