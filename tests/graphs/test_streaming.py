"""`stream_mode="tools"`: simulated tools tell what real ones tell, and what is written while it is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.prebuilt import ToolNode

from agentworld_graphs import SimToolNode, SimulationInterrupted, simulate
from agentworld_sim import Answer, Control, Observation, Scenario, World
from agentworld_sim.checks import DEFAULT_CHECKS, CheckInput
from agentworld_sim.controls import Next, StepContext
from agentworld_sim.imagination import WorldModel
from agentworld_sim.llm import ModelSettings
from agentworld_sim.llm.scripted import (
    Disconnect,
    ErrorReply,
    Reply,
    ScriptedModelServer,
    ScriptedReply,
)
from agentworld_sim.runtime.sync import run_sync

if TYPE_CHECKING:
    from conftest import Lab

WAYS = pytest.mark.parametrize("way", ["stream", "astream"])
SAID = "Utrecht < Amsterdam,\n<b>tomorrow</b>\n\n  at noon "
SCENARIO = Scenario.model_validate(
    {"name": "lab", "domains": ["mcp"], "tools": [], "files": {"/a": "x\n"}}
)


def track() -> BaseTool:
    def track_parcel(number: str) -> str:
        """Where a parcel is."""
        raise AssertionError("the real tool ran")

    return StructuredTool.from_function(track_parcel)


async def events(graph: Any, way: str, given: Any, **options: Any) -> list[Any]:
    options = {"stream_mode": "tools", **options}
    if way == "stream":
        return list(graph.stream(given, **options))
    return [one async for one in graph.astream(given, **options)]


def deltas(told: list[Any]) -> list[str]:
    return [one["delta"] for one in told if one["event"] == "tool-output-delta"]


def finished(told: list[Any]) -> Any:
    output = next(one["output"] for one in told if one["event"] == "tool-finished")
    return output if isinstance(output, ToolMessage) else output.update["messages"][0]


async def imagining(
    lab: Lab, go: Any, way: str, *replies: Reply, **options: Any
) -> tuple[list[Any], int]:
    """What is streamed while a model answers one call, and how often it was asked."""
    with ScriptedModelServer(list(replies)) as server:
        model = WorldModel(ModelSettings(url=server.url))
        async with await World.create(SCENARIO, model=model, **options) as world:
            node = SimToolNode([track()], world=world)
            asked = lab.asks(lab.call("track_parcel", "c1", number="7"))
            told = await events(lab.agent(node, asked, AIMessage("done")), way, go)
            # A synchronous call is answered on the library's own loop.
            run_sync(model.close())
            return told, len(server.requests)


@WAYS
async def test_a_simulated_tool_tells_what_a_real_one_tells(lab: Lab, go: Any, way: str) -> None:
    def add(item: str) -> str:
        """Adds to the list."""
        return item

    asked = lab.asks(lab.call("add", "1", item="a"), lab.call("add", "2", item="a"))
    world = lab.world()
    nodes = [
        ToolNode([lab.tool(add)]),
        ToolNode([simulate(lab.tool(add), world)]),
        SimToolNode([lab.tool(add)], world=world),
    ]
    told = [
        await events(lab.agent(node, asked, lab.asks(), sent=sent), way, go)
        for node in nodes
        for sent in (False, True)
    ]
    shapes = [
        sorted(
            (one["event"], one["tool_call_id"], one.get("tool_name"), str(one.get("input")))
            for one in run
        )
        for run in told
    ]
    assert all(shape == shapes[0] for shape in shapes[1:])
    assert [one[0] for one in shapes[0]] == ["tool-finished"] * 2 + ["tool-started"] * 2


@WAYS
@pytest.mark.parametrize("chunk", [1, 3, 7, None])
@pytest.mark.parametrize(
    "thinking", ["", "Is it <predicted_observation>lost</predicted_observation>?"]
)
async def test_an_observation_arrives_while_a_model_writes_it(
    lab: Lab, go: Any, way: str, chunk: int | None, thinking: str
) -> None:
    content = f"<predicted_observation>\n{SAID}\n</predicted_observation>"
    for inside in (False, True):
        reply = ScriptedReply(
            f"<think>{thinking}</think>\n{content}" if inside else content,
            thinking="" if inside else thinking or "Hm.",
            chunk_size=chunk,
        )
        told, _ = await imagining(lab, go, way, reply)
        assert "".join(deltas(told)) == SAID == finished(told).content
        assert len(deltas(told)) > 1 or chunk is None
        assert [told[0]["event"], told[-1]["event"]] == ["tool-started", "tool-finished"]
        assert {one["tool_call_id"] for one in told} == {"c1"}


@pytest.mark.parametrize(
    "content",
    [
        # No tag: it may be thinking that nobody separated.
        "In Utrecht.",
        # Thinking of which only the end is marked.
        "Perhaps <predicted_observation>lost</predicted_observation>?</think>In Utrecht.",
        "<predicted_observation>\n```\nIn Utrecht.\n```\n</predicted_observation>",
        "<predicted_observation>**Environment Observation:**\nIn Utrecht.</predicted_observation>",
    ],
)
async def test_what_may_not_be_the_observation_is_not_told(lab: Lab, go: Any, content: str) -> None:
    told, _ = await imagining(lab, go, "astream", ScriptedReply(content, chunk_size=4))
    assert deltas(told) == []
    assert "Utrecht" in finished(told).content


async def test_thinking_inside_of_an_answer_ends_the_deltas(lab: Lab, go: Any) -> None:
    leaked = "<predicted_observation>In Ut<think>recht?</think>recht</predicted_observation>"
    reply = ScriptedReply(leaked, thinking="Hm.", chunk_size=2)
    right = ScriptedReply.observation("In Utrecht.", thinking="Hm.")
    told, _ = await imagining(lab, go, "astream", reply, right)
    assert "".join(deltas(told)) == "In Ut"


class Picky:
    """A check that refuses the first answer."""

    name = "picky"
    scope: Literal["all"] = "all"

    def judge(self, given: CheckInput) -> str | None:
        return "it is not lost" if "lost" in given.observation.text else None


async def test_an_answer_that_is_refused_is_followed_by_no_other_deltas(lab: Lab, go: Any) -> None:
    replies = [
        ScriptedReply.observation(text, thinking="Hm.") for text in ("It is lost.", "In Utrecht.")
    ]
    told, asked = await imagining(lab, go, "astream", *replies, checks=[*DEFAULT_CHECKS, Picky()])
    assert asked == 2
    # Provisional: what the message says counts.
    assert "".join(deltas(told)) == "It is lost."
    assert finished(told).content == "In Utrecht."


async def test_a_reply_that_breaks_off_is_not_told_twice(lab: Lab, go: Any) -> None:
    whole = ScriptedReply.observation("In Utrecht, arrives tomorrow.", thinking="Hm.")
    broken = Disconnect(after_chunks=3, reply=whole)
    told, _ = await imagining(lab, go, "astream", broken, whole)
    assert "In Utrecht, arrives tomorrow.".startswith("".join(deltas(told)))
    assert finished(told).content == "In Utrecht, arrives tomorrow."


class Upper(Control):
    """A control that changes every answer."""

    name = "upper"

    async def handle(self, step: StepContext, next: Next) -> Answer:
        answer = await next(step)
        return replace(answer, observation=Observation(text=answer.observation.text.upper()))


async def test_what_a_control_changes_is_not_read_before(lab: Lab, go: Any) -> None:
    control: Control = Upper()
    reply = ScriptedReply.observation("In Utrecht.", thinking="Hm.")
    told, _ = await imagining(lab, go, "astream", reply, controls=[control])
    assert deltas(told) == [] and finished(told).content == "IN UTRECHT."


@WAYS
async def test_computed_answers_have_no_deltas(lab: Lab, go: Any, way: str) -> None:
    node = SimToolNode(lab.shell_tools(), world=lab.machine())
    asked = lab.asks(lab.call("bash", "1", command="echo a; echo b"))
    told = await events(lab.agent(node, asked, lab.asks()), way, go)
    assert deltas(told) == [] and finished(told).content == "a\nb\n"


async def test_a_failure_is_told_as_an_error_and_never_as_an_output(lab: Lab, go: Any) -> None:
    told: list[Any] = []
    with ScriptedModelServer([ErrorReply(400, "no")]) as server:
        async with await World.create(SCENARIO, model=server.url) as world:
            asked = lab.asks(lab.call("track_parcel", "c1", number="7"))
            graph = lab.agent(SimToolNode([track()], world=world), asked)
            with pytest.raises(SimulationInterrupted):
                async for one in graph.astream(go, stream_mode="tools"):
                    told.append(one)
    assert [one["event"] for one in told] == ["tool-started", "tool-error"]


@WAYS
async def test_the_tokens_of_the_world_model_are_not_the_agents(
    lab: Lab, go: Any, way: str
) -> None:
    with ScriptedModelServer([ScriptedReply.observation(SAID, thinking="Hm.")]) as server:
        model = WorldModel(ModelSettings(url=server.url))
        async with await World.create(SCENARIO, model=model) as world:
            node = SimToolNode([track()], world=world)
            asked = lab.asks(lab.call("track_parcel", "c1", number="7"))
            graph = lab.agent(node, asked, AIMessage("done"))
            told = await events(graph, way, go, stream_mode="messages")
            run_sync(model.close())
    # An agent's own model streams its tokens here; ours asks its server by itself.
    assert [one.content for one, _ in told if one.type == "tool"] == [SAID]
    assert "".join(one.content for one, _ in told if one.type != "tool") == "done"


async def test_deltas_change_nothing(lab: Lab, go: Any) -> None:
    finals: list[Any] = []
    for mode in ("tools", "values"):
        reply = ScriptedReply.observation(SAID, thinking="Hm.")
        with ScriptedModelServer([reply]) as server:
            async with await World.create(SCENARIO, model=server.url) as world:
                node = SimToolNode([track()], world=world)
                asked = lab.asks(lab.call("track_parcel", "c1", number="7"))
                graph = lab.agent(node, asked, AIMessage("done"))
                async for _ in graph.astream(go, stream_mode=mode):
                    pass
                finals.append(world.ref)
    assert finals[0] == finals[1]
