"""LangGraph's functional API: simulated tools that tasks call themselves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph import func
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import message as graph_message  # pyright: ignore[reportMissingTypeStubs]  a namespace
from langgraph.types import Command, interrupt

from agentworld_graphs import (
    ScriptedChatModel,
    SimToolNode,
    SimulationInterrupted,
    _call_site as functional,
    ref_in,
    simulate,
    simulate_graph,
)
from agentworld_sim import FunctionEngine, SqliteStore, World

if TYPE_CHECKING:
    from conftest import Lab

WAYS = pytest.mark.parametrize("way", ["invoke", "ainvoke"])
SAVES = pytest.mark.parametrize("saves", ["messages", "nested", "text"])
GO = [HumanMessage("go")]

task: Any = cast("Any", func).task
entrypoint: Any = cast("Any", func).entrypoint
add_messages: Any = cast("Any", graph_message).add_messages


async def run(graph: Any, way: str, given: Any, *config: Any) -> Any:
    return graph.invoke(given, *config) if way == "invoke" else await graph.ainvoke(given, *config)


def agent(
    lab: Lab,
    world: World,
    *script: AIMessage,
    way: str,
    saver: Any = None,
    saves: str = "messages",
    ask: bool = False,
    tools: Any = None,
) -> Any:
    """The loop of LangGraph's own tutorial: a task for the model, one for each tool call."""
    model = ScriptedChatModel(script=list(script))
    known = {one.name: one for one in tools or [simulate(one, world) for one in lab.tools()]}

    @task
    def call_model(messages: Any) -> Any:
        return model.invoke(messages)

    @task
    def call_tool(call: Any) -> Any:
        if ask and call["args"].get("item") == "ask":
            interrupt("may I?")
        return known[call["name"]].invoke(call)

    @task
    async def acall_tool(call: Any) -> Any:
        if ask and call["args"].get("item") == "ask":
            interrupt("may I?")
        return await known[call["name"]].ainvoke(call)

    def saved(messages: Any) -> Any:
        kept = {"messages": messages, "nested": {"talk": {"all": messages}}, "text": "done"}
        return entrypoint.final(value={"messages": messages}, save=kept[saves])

    def conversation(previous: Any) -> list[Any]:
        if previous is None or saves == "text":
            return []
        return previous["talk"]["all"] if saves == "nested" else previous

    @entrypoint(checkpointer=saver or InMemorySaver())
    def sync(messages: Any, *, previous: Any = None) -> Any:
        messages = add_messages(conversation(previous), messages)
        reply = call_model(messages).result()
        while reply.tool_calls:
            futures = [call_tool(call) for call in reply.tool_calls]
            messages = add_messages(messages, [reply, *(one.result() for one in futures)])
            reply = call_model(messages).result()
        return saved(add_messages(messages, [reply]))

    @entrypoint(checkpointer=saver or InMemorySaver())
    async def asynchronous(messages: Any, *, previous: Any = None) -> Any:
        messages = add_messages(conversation(previous), messages)
        reply = await call_model(messages)
        while reply.tool_calls:
            futures = [acall_tool(call) for call in reply.tool_calls]
            messages = add_messages(messages, [reply, *[await one for one in futures]])
            reply = await call_model(messages)
        return saved(add_messages(messages, [reply]))

    return sync if way == "invoke" else asynchronous


@WAYS
async def test_parallel_tasks_are_answered_in_the_order_of_the_calls(lab: Lab, way: str) -> None:
    world = lab.world()
    script = [lab.adds(*"abcdefgh"), lab.adds("i"), AIMessage("done")]
    graph = agent(lab, world, *script, way=way)
    final = await run(graph, way, GO, lab.thread())
    assert lab.answered == list("abcdefghi")
    assert lab.answers(final)[-1] == "a,b,c,d,e,f,g,h,i"
    assert ref_in(final) == world.ref
    assert lab.ran == []


@WAYS
async def test_its_history_is_that_of_a_tool_node(lab: Lab, way: str) -> None:
    world = lab.world()
    script = [lab.adds("a", "b"), lab.adds("c"), AIMessage("done")]
    node = lab.agent(SimToolNode(lab.tools(), world=world), *script)
    expected = ref_in(node.invoke({"messages": GO}))
    graph = agent(lab, lab.world(), *script, way=way)
    first = await run(graph, way, GO, lab.thread())
    second = await run(graph, way, GO, lab.thread("other"))
    assert ref_in(first) == ref_in(second) == expected


@WAYS
@SAVES
async def test_the_world_follows_the_thread(lab: Lab, way: str, saves: str) -> None:
    later = [lab.adds("b"), AIMessage("done")] if saves != "text" else []
    graph = agent(lab, lab.world(), lab.adds("a"), AIMessage("done"), *later, way=way, saves=saves)
    for name in ("one", "other"):
        final = await run(graph, way, GO, lab.thread(name))
        assert lab.answers(final) == ["a"]
    for name in ("one", "other"):
        final = await run(graph, way, GO, lab.thread(name))
        assert lab.answers(final)[-1] == ("a,b" if saves != "text" else "a,a")


@WAYS
async def test_a_replay_from_an_earlier_checkpoint_does_not_see_later_writes(
    lab: Lab, way: str
) -> None:
    script = [lab.adds("a"), AIMessage("done"), lab.adds("b"), AIMessage("done")]
    graph = agent(lab, lab.world(), *script, way=way)
    await run(graph, way, GO, lab.thread())
    between = graph.get_state(lab.thread()).config
    first = await run(graph, way, GO, lab.thread())
    again = await run(graph, way, GO, between)
    assert lab.answers(first) == lab.answers(again) == ["a", "a,b"]
    assert ref_in(first) == ref_in(again)


@WAYS
async def test_tasks_that_are_through_are_not_asked_again_after_an_interrupt(
    lab: Lab, way: str
) -> None:
    script = [lab.adds("a", "ask", "b"), lab.adds("c"), AIMessage("done")]
    graph = agent(lab, lab.world(), *script, way=way, ask=True)
    await run(graph, way, GO, lab.thread())
    final = await run(graph, way, Command(resume="yes"), lab.thread())
    assert sorted(lab.answered) == ["a", "ask", "b", "c"]
    assert lab.answers(final)[-1].count(",") == 3


@WAYS
async def test_our_failures_leave_the_run_and_it_can_be_resumed(lab: Lab, way: str) -> None:
    script = [lab.adds("a", "b"), AIMessage("done")]
    graph = agent(lab, lab.world(), *script, way=way)
    lab.down.add("b")
    with pytest.raises(SimulationInterrupted, match="no answer for b"):
        await run(graph, way, GO, lab.thread())
    lab.down.clear()
    final = await run(graph, way, None, lab.thread())
    assert lab.answers(final) == ["a", "a,b"]
    assert lab.answered.count("a") == 1


async def test_a_thread_goes_on_in_another_process(lab: Lab, tmp_path: Path) -> None:
    saver = InMemorySaver()
    engine = FunctionEngine({"add": lab._add})  # pyright: ignore[reportPrivateUsage]  ours
    script = [lab.adds("a"), AIMessage("done"), lab.adds("b"), AIMessage("done")]
    for opened, expected in enumerate((["a"], ["a", "a,b"])):
        store = SqliteStore(tmp_path / "worlds")
        if opened:
            world = await World.open("mine", store=store, engines=[engine])
        else:
            world = await World.create(lab.scenario(), id="mine", store=store, engines=[engine])
        tools = [simulate(lab.tools()[0], world)]
        graph = agent(lab, world, *script, way="ainvoke", saver=saver, tools=tools)
        assert lab.answers(await graph.ainvoke(GO, lab.thread())) == expected
        await world.close()


@WAYS
async def test_a_tool_node_works_inside_of_a_task(lab: Lab, way: str) -> None:
    node = SimToolNode(lab.tools(), world=lab.world())

    @task
    def call_tools(messages: Any) -> Any:
        return node.invoke(messages)

    @task
    async def acall_tools(messages: Any) -> Any:
        return await node.ainvoke(messages)

    @entrypoint()
    def sync(messages: Any) -> Any:
        return [*messages, *call_tools(messages).result()]

    @entrypoint()
    async def asynchronous(messages: Any) -> Any:
        return [*messages, *await acall_tools(messages)]

    graph = sync if way == "invoke" else asynchronous
    first = await run(graph, way, [*GO, lab.adds("a", "b")])
    second = await run(graph, way, [*first, lab.adds("c")])
    assert lab.answers(second) == ["a", "a,b", "a,b,c"]


@WAYS
async def test_a_whole_entrypoint_with_real_tools_is_simulated(lab: Lab, way: str) -> None:
    script = [lab.adds("a", "b"), AIMessage("done"), lab.adds("c"), AIMessage("done")]
    graph = simulate_graph(
        agent(lab, lab.world(), *script, way=way, tools=lab.tools()), lab.world()
    )
    first = await run(graph, way, GO, lab.thread())
    assert lab.answers(first) == ["a", "a,b"]
    assert lab.answers(await run(graph, way, GO, lab.thread()))[-1] == "a,b,c"
    assert lab.ran == []


@WAYS
async def test_langgraph_still_shows_the_tasks_that_were_called(lab: Lab, way: str) -> None:
    places: list[Any] = []

    @task
    def look(call: Any) -> Any:
        places.append(functional.site_in_task("look", call["id"]))

    @entrypoint(checkpointer=InMemorySaver())
    def sync(calls: Any) -> Any:
        for one in [look(call) for call in calls]:
            one.result()

    @entrypoint(checkpointer=InMemorySaver())
    async def asynchronous(calls: Any) -> Any:
        for one in [look(call) for call in calls]:
            await one

    calls = [lab.call("look", id) for id in "abc"]
    await run(sync if way == "invoke" else asynchronous, way, calls, lab.thread())
    found = [place for place in places if place is not None]
    assert {place.call for place in found} == {"a", "b", "c"}
    assert (
        len({place.step for place in found})
        == len({id(place.step_attempt) for place in found})
        == 1
    )
    assert functional.site_in_task("look", "a") is None
