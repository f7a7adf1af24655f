"""Threads, checkpoints and interrupts: the world goes where the thread goes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from agentworld_graphs import SimToolNode, ref_in
from agentworld_sim import FunctionEngine, SqliteStore, World

if TYPE_CHECKING:
    from conftest import Lab

WAYS = pytest.mark.parametrize("way", ["invoke", "ainvoke"])
SENT = pytest.mark.parametrize("sent", [False, True])


async def run(graph: Any, way: str, given: Any, config: Any) -> Any:
    return graph.invoke(given, config) if way == "invoke" else await graph.ainvoke(given, config)


def before(graph: Any, config: Any, answers: int) -> Any:
    """The config of the checkpoint before the tools were run for the next time."""
    for snapshot in graph.get_state_history(config):
        messages = snapshot.values.get("messages", ())
        done = sum(message.type == "tool" for message in messages)
        if "tools" in snapshot.next and done == answers:
            return snapshot.config
    raise AssertionError("no such checkpoint")


@WAYS
@SENT
async def test_a_replay_from_an_earlier_checkpoint_does_not_see_later_writes(
    lab: Lab, go: Any, way: str, sent: bool
) -> None:
    for state in lab.states:
        node = SimToolNode(lab.tools(), world=lab.world())
        script = [lab.adds("a", "b"), lab.adds("c"), lab.adds("d"), AIMessage("done")]
        graph = lab.agent(node, *script, saver=InMemorySaver(), state=state, sent=sent)
        first = await run(graph, way, go, lab.thread())
        again = await run(graph, way, None, before(graph, lab.thread(), 2))
        assert lab.answers(first) == ["a", "a,b", "a,b,c", "a,b,c,d"]
        assert lab.answers(again) == lab.answers(first)
        assert ref_in(again) == ref_in(first)


@WAYS
@SENT
async def test_a_fork_of_a_thread_forks_the_world(lab: Lab, go: Any, way: str, sent: bool) -> None:
    for state in lab.states:
        world = lab.world()
        node = SimToolNode(lab.tools(), world=world)
        script = [lab.adds("a"), lab.adds("b"), AIMessage("done")]
        graph = lab.agent(node, *script, saver=InMemorySaver(), state=state, sent=sent)
        first = await run(graph, way, go, lab.thread())
        earlier = before(graph, lab.thread(), 1)
        asked = graph.get_state(earlier).values["messages"][-1]
        other = lab.adds("z")
        other.id = asked.id
        forked = graph.update_state(earlier, {"messages": [other]})
        second = await run(graph, way, None, forked)
        assert lab.answers(first) == ["a", "a,b"]
        assert lab.answers(second) == ["a", "a,z"]
        for final, items in ((first, ["a", "b"]), (second, ["a", "z"])):
            assert (await world.state(at=ref_in(final))).values["items"] == items


@WAYS
@SENT
async def test_threads_do_not_see_each_other(lab: Lab, go: Any, way: str, sent: bool) -> None:
    for state in lab.states:
        node = SimToolNode(lab.tools(), world=lab.world())
        script = [lab.adds("a"), AIMessage("done"), lab.adds("b"), AIMessage("done")]
        graph = lab.agent(node, *script, saver=InMemorySaver(), state=state, sent=sent)
        for name in ("one", "other"):
            final = await run(graph, way, go, lab.thread(name))
            assert lab.answers(final) == ["a"]
        for name in ("one", "other"):
            final = await run(graph, way, go, lab.thread(name))
            assert lab.answers(final) == ["a", "a,b"]


async def test_a_thread_begins_where_the_world_stood_when_its_tools_were_made(
    lab: Lab, go: Any
) -> None:
    world = lab.world()
    script = [lab.adds("a"), AIMessage("done")]
    first = lab.agent(SimToolNode(lab.tools(), world=world), *script)
    assert lab.answers(first.invoke(go)) == ["a"]
    assert (await world.state()).values["items"] == ["a"]
    second = lab.agent(SimToolNode(lab.tools(), world=world), *script)
    assert lab.answers(second.invoke(go)) == ["a,a"]
    assert lab.answers(first.invoke(go)) == ["a"]


async def test_the_channel_may_be_given_in_the_input(lab: Lab, go: Any) -> None:
    _, with_channel = lab.states
    world = lab.world()
    script = [lab.adds("a"), AIMessage("done")]
    graph = lab.agent(SimToolNode(lab.tools(), world=world), *script, state=with_channel)
    first = graph.invoke(go)
    assert first["sim_ref"] == world.ref
    assert lab.answers(graph.invoke({**go, "sim_ref": first["sim_ref"]})) == ["a,a"]


async def test_a_thread_goes_on_in_another_process(lab: Lab, go: Any, tmp_path: Path) -> None:
    saver = InMemorySaver()
    engine = FunctionEngine({"add": lab._add})  # pyright: ignore[reportPrivateUsage]  ours
    script = [lab.adds("a"), AIMessage("done"), lab.adds("b"), AIMessage("done")]
    for opened in range(2):
        store = SqliteStore(tmp_path / "worlds")
        world = (
            await World.open("mine", store=store, engines=[engine])
            if opened
            else await World.create(lab.scenario(), id="mine", store=store, engines=[engine])
        )
        graph = lab.agent(SimToolNode(lab.tools()[:1], world=world), *script, saver=saver)
        final = await graph.ainvoke(go, lab.thread())
        assert lab.answers(final) == ["a", "a,b"][: opened + 1]
        await world.close()
        store.close()


def asks_a_person(request: Any, execute: Any) -> Any:
    """A wrapper that lets a person decide about one call."""
    if request.tool_call["id"] == "b":
        item = interrupt("b?")
        call = {**request.tool_call, "args": {"item": item}}
        return execute(request.override(tool_call=call))
    return execute(request)


@WAYS
@SENT
async def test_after_an_interrupt_nothing_is_answered_twice(
    lab: Lab, go: Any, way: str, sent: bool
) -> None:
    for state in lab.states:
        node = SimToolNode(lab.tools(), world=lab.world(), wrap_tool_call=asks_a_person)
        script = [lab.adds("a", "b", "c"), lab.asks(lab.call("look")), AIMessage("done")]
        graph = lab.agent(node, *script, saver=InMemorySaver(), state=state, sent=sent)
        lab.answered.clear()
        await run(graph, way, go, lab.thread())
        # Calls that are tasks of their own go on; calls of the same task wait for it to be run again.
        assert lab.answered == (["a", "c"] if sent else ["a"])
        final = await run(graph, way, Command(resume="B"), lab.thread())
        in_order = ["a", "a,B", "a,B,c", "a,B,c"]
        assert lab.answers(final) == (["a", "a,c,B", "a,c", "a,c,B"] if sent else in_order)
        assert sorted(lab.answered) == ["B", "a", "c"]


@WAYS
async def test_after_a_real_tool_failed_nothing_is_answered_twice(
    lab: Lab, go: Any, way: str
) -> None:
    broken = [True]

    def look() -> str:
        """Shows the list."""
        if broken:
            broken.clear()
            raise OSError("the real tool failed")
        return "looked"

    tools = [lab.tools()[0], lab.tool(look)]
    node = SimToolNode(tools, world=lab.world(), access={"look": "real"})
    asked = lab.asks(lab.call("add", "1", item="a"), lab.call("look", "2"))
    graph = lab.agent(node, asked, AIMessage("done"), saver=InMemorySaver())
    with pytest.raises(OSError, match="the real tool failed"):
        await run(graph, way, go, lab.thread())
    assert lab.answers(await run(graph, way, None, lab.thread())) == ["a", "looked"]
    assert lab.answered == ["a"]


async def test_a_cancelled_run_can_be_resumed(lab: Lab, go: Any) -> None:
    reached = asyncio.Event()
    held = [True]

    async def hold(request: Any, execute: Any) -> Any:
        if request.tool_call["id"] == "b" and held:
            reached.set()
            await asyncio.Event().wait()
        return await execute(request)

    for sent in (False, True):
        held, reached, lab.answered = [True], asyncio.Event(), []
        node = SimToolNode(lab.tools(), world=lab.world(), awrap_tool_call=hold)
        script = [lab.adds("a", "b", "c"), AIMessage("done")]
        graph = lab.agent(node, *script, saver=InMemorySaver(), sent=sent)
        running = asyncio.create_task(graph.ainvoke(go, lab.thread()))
        await reached.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        held.clear()
        assert "c" not in lab.answered
        final = await graph.ainvoke(None, lab.thread())
        assert lab.answers(final) == ["a", "a,b", "a,b,c"]


def test_marks_of_other_worlds_are_passed_over(lab: Lab, go: Any) -> None:
    one, other = lab.world(), lab.world()
    script = [lab.adds("a"), lab.asks()]
    final = lab.agent(SimToolNode(lab.tools(), world=one), *script).invoke(go)
    assert ref_in(final) == ref_in(final, world=one.id) == one.ref
    assert ref_in(final, world=other.id) is None
    assert ref_in(go) is None
    later = [lab.adds("b"), lab.asks()]
    more = lab.agent(SimToolNode(lab.tools(), world=other), *script, *later)
    given = {"messages": [*final["messages"], ("user", "go on")]}
    mixed = more.invoke(given)
    assert lab.answers(mixed)[-1] == "b"
    # A point of the world that answered last, and of no other.
    assert ref_in(mixed) == ref_in(mixed, world=other.id) == other.ref


def test_calls_go_on_from_a_ref_that_was_written_by_hand(lab: Lab, go: Any) -> None:
    node = SimToolNode(lab.tools(), world=lab.world())
    script = [one for item in "abc" for one in (lab.adds(item), AIMessage("done"))]
    graph = lab.agent(node, *script, saver=InMemorySaver(), state=lab.states[True])
    graph.invoke(go, lab.thread())
    graph.update_state(lab.thread(), {"sim_ref": node.world.root})
    graph.invoke(go, lab.thread())
    final = graph.invoke(go, lab.thread())
    assert lab.answers(final) == ["a", "b", "b,c"]
    assert ref_in(final) == final["sim_ref"]
