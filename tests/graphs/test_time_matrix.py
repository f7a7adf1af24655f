"""Every shape of a graph goes through time with its world."""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from agentworld_graphs import ref_in
from agentworld_graphs._thread_refs import marks_of
from agentworld_sim import MemoryStore
from tests.graphs.shapes import SENT, SHAPES, Setting, asks_a_person, world_in

if TYPE_CHECKING:
    from conftest import Lab

WAYS = pytest.mark.parametrize("way", ["invoke", "ainvoke"])
EVERY = pytest.mark.parametrize("shape", sorted(SHAPES))
WITH_MESSAGES = pytest.mark.parametrize("shape", sorted(set(SHAPES) - {"functional", "subgraph"}))


async def run(graph: Any, way: str, given: Any, config: Any) -> Any:
    return graph.invoke(given, config) if way == "invoke" else await graph.ainvoke(given, config)


def refs(state: Any) -> list[Any]:
    """The refs of the tool messages, `None` for those of real tools."""
    marks = [marks_of(one) for one in state["messages"] if one.type == "tool"]
    return [mark and mark["ref"] for mark in marks]


def script(lab: Lab) -> list[AIMessage]:
    asked = [lab.adds("a"), lab.adds("b", "c"), lab.asks(lab.call("look", "l")), lab.adds("d")]
    return [*asked, AIMessage("done")]


ANSWERS = ["a", "a,b", "a,b,c", "a,b,c", "a,b,c,d"]


def copy_thread(saver: InMemorySaver, source: str, target: str) -> None:
    """What `copy_thread` of a checkpointer and `threads.copy` of a server do: every checkpoint and every
    write of a thread under another name. The saver in memory leaves it out."""
    for namespace, checkpoints in list(saver.storage[source].items()):
        saver.storage[target][namespace].update(checkpoints)
    for held in (saver.writes, saver.blobs):
        kept: Any = held
        for key in [key for key in kept if key[0] == source]:
            kept[(target, *key[1:])] = kept[key]


@WAYS
@EVERY
async def test_the_same_run_gives_the_same_refs_in_every_shape(
    lab: Lab, go: Any, shape: str, way: str
) -> None:
    world = await world_in(None, lab)
    graph = SHAPES[shape](Setting(lab, world, script(lab), InMemorySaver()))
    final = await run(graph, way, go, lab.thread())
    assert lab.answers(final) == ANSWERS
    plain = SHAPES["marks"](Setting(lab, await world_in(None, lab), script(lab), None))
    assert refs(final) == refs(plain.invoke(go))


@WAYS
@EVERY
async def test_a_replay_from_any_checkpoint_sees_what_was_there(
    lab: Lab, go: Any, shape: str, way: str
) -> None:
    world = await world_in(None, lab)
    graph = SHAPES[shape](Setting(lab, world, script(lab), InMemorySaver()))
    first = await run(graph, way, go, lab.thread())
    snapshots = [one for one in graph.get_state_history(lab.thread()) if one.next]
    # The input alone is no point to go on from.
    for snapshot in snapshots[:-1] or snapshots:
        again = await run(graph, way, None, snapshot.config)
        assert lab.answers(again) == ANSWERS
        assert refs(again) == refs(first)


@WAYS
@WITH_MESSAGES
async def test_a_fork_with_an_edited_call_forks_the_world(
    lab: Lab, go: Any, shape: str, way: str
) -> None:
    world = await world_in(None, lab)
    graph = SHAPES[shape](Setting(lab, world, script(lab), InMemorySaver()))
    first = await run(graph, way, go, lab.thread())
    for snapshot in list(graph.get_state_history(lab.thread())):
        said = snapshot.values.get("messages", [None])[-1]
        if not (isinstance(said, AIMessage) and len(said.tool_calls) == 2 and snapshot.next):
            continue
        other = lab.adds("b", "z")
        other.id = said.id
        node = "agent" if "react" in shape else "model"
        forked = graph.update_state(snapshot.config, {"messages": [other]}, as_node=node)
        second = await run(graph, way, None, forked)
        assert lab.answers(second) == ["a", "a,b", "a,b,z", "a,b,z", "a,b,z,d"]
        assert refs(second)[:2] == refs(first)[:2]
        assert (await world.state(ref_in(second))).values["items"] == ["a", "b", "z", "d"]
        break
    else:
        raise AssertionError("no such checkpoint")
    assert (await world.state(ref_in(first))).values["items"] == ["a", "b", "c", "d"]


@WAYS
@pytest.mark.parametrize("shape", ["channel", "sent_channel"])
async def test_a_ref_written_by_hand_is_where_the_thread_goes_on(
    lab: Lab, go: Any, shape: str, way: str
) -> None:
    world = await world_in(None, lab)
    said = [*script(lab)[:-1], AIMessage("stop"), lab.adds("e", "f"), AIMessage("done")]
    graph = SHAPES[shape](Setting(lab, world, said, InMemorySaver()))
    first = await run(graph, way, go, lab.thread())
    for point, before in ((refs(first)[0], "a"), (refs(first)[2], "a,b,c"), (world.root, "")):
        graph.update_state(lab.thread(), {"sim_ref": point})
        second = await run(graph, way, go, lab.thread())
        added = ",".join(filter(None, (before, "e")))
        assert lab.answers(second)[-2:] == [added, f"{added},f"]
        history = list(graph.get_state_history(lab.thread()))
        first_end = next(one for one in history if refs(one.values) == refs(first) and not one.next)
        graph.update_state(first_end.config, {"sim_ref": refs(first)[-1]})


@WAYS
@EVERY
async def test_interleaved_threads_of_one_world_do_not_see_each_other(
    lab: Lab, go: Any, shape: str, way: str
) -> None:
    store = MemoryStore()
    world = await world_in(store, lab)
    saver = InMemorySaver()
    # Two graphs, as two parts of a service have them, and a third thread of another graph.
    one, other = (
        SHAPES[shape](Setting(lab, world, [lab.adds("a"), AIMessage("-"), *script(lab)[1:]], saver))
        for _ in range(2)
    )
    for step, thread in itertools.product(range(2), "xyz"):
        graph = one if thread == "x" else other
        final = await run(graph, way, go, lab.thread(thread))
        assert lab.answers(final) == (["a"] if step == 0 else ANSWERS)
    plain = SHAPES["marks"](Setting(lab, await world_in(None, lab), script(lab), None))
    expected = refs(plain.invoke(go))
    for thread in "xyz":
        state = one.get_state(lab.thread(thread)).values
        assert refs(state) == expected


@WAYS
@pytest.mark.parametrize("stop", ["interrupt_before", "interrupt_after"])
@WITH_MESSAGES
async def test_a_run_that_stops_at_every_step_comes_to_the_same_point(
    lab: Lab, go: Any, shape: str, way: str, stop: str
) -> None:
    world = await world_in(None, lab)
    graph = SHAPES[shape](Setting(lab, world, script(lab), InMemorySaver()))
    given: Any = go
    final: Any = {}
    for _ in range(20):
        if way == "invoke":
            final = graph.invoke(given, lab.thread(), **{stop: ["tools"]})
        else:
            final = await graph.ainvoke(given, lab.thread(), **{stop: ["tools"]})
        given = None
        if not graph.get_state(lab.thread()).next:
            break
    assert lab.answers(final) == ANSWERS
    plain = SHAPES["marks"](Setting(lab, await world_in(None, lab), script(lab), None))
    assert refs(final) == refs(plain.invoke(go))


def with_a_person(lab: Lab) -> list[AIMessage]:
    """Two calls, a person, one more call, all in one message."""
    calls = (
        lab.call("add", "a", item="a"),
        lab.call("ask", "q", question="sure?"),
        lab.call("add", "b", item="b"),
        lab.call("add", "c", item="b"),
    )
    return [lab.adds("0"), lab.asks(*calls), lab.asks(lab.call("look", "l")), AIMessage("done")]


ASKED = ["0", "0,a", "sure? yes", "0,a,b", "0,a,b,b", "0,a,b,b"]


@WAYS
@EVERY
async def test_after_a_person_was_asked_nothing_is_answered_twice(
    lab: Lab, go: Any, shape: str, way: str
) -> None:
    world = await world_in(None, lab)
    setting = Setting(lab, world, with_a_person(lab), InMemorySaver(), [asks_a_person(lab)])
    graph = SHAPES[shape](setting)
    await run(graph, way, go, lab.thread())
    final = await run(graph, way, Command(resume="yes"), lab.thread())
    assert lab.answers(final) == ASKED
    assert lab.answered == ["0", "a", "b", "b"]


@WAYS
@EVERY
async def test_a_copy_of_a_thread_goes_its_own_way(lab: Lab, go: Any, shape: str, way: str) -> None:
    world = await world_in(None, lab)
    saver = InMemorySaver()
    setting = Setting(lab, world, with_a_person(lab), saver, [asks_a_person(lab)])
    graph = SHAPES[shape](setting)
    await run(graph, way, go, lab.thread())
    copy_thread(saver, "thread", "copy")
    finals = [
        await run(graph, way, Command(resume="yes"), lab.thread(name))
        for name in ("thread", "copy")
    ]
    assert lab.answers(finals[0]) == lab.answers(finals[1]) == ASKED
    assert refs(finals[0]) == refs(finals[1])


@WAYS
@pytest.mark.parametrize("shape", ["sent_channel", "sent_marks"])
@pytest.mark.parametrize("copied", [False, True])
async def test_a_copied_call_that_waited_for_a_person_sees_the_calls_that_did_not(
    lab: Lab, go: Any, shape: str, way: str, copied: bool
) -> None:
    assert shape in SENT
    from langgraph.types import interrupt

    def approve(request: Any, execute: Any) -> Any:
        return execute(request) if request.tool_call["id"] != "b" or interrupt("b?") else None

    world = await world_in(None, lab)
    saver = InMemorySaver()
    said = [lab.adds("a", "b", "c"), lab.asks(lab.call("look", "l")), AIMessage("done")]
    answered: dict[str, Any] = defaultdict(list)
    graph = SHAPES[shape](Setting(lab, world, said, saver, options={"wrap_tool_call": approve}))
    await run(graph, way, go, lab.thread())
    if copied:
        copy_thread(saver, "thread", "copy")
    name = "copy" if copied else "thread"
    answered[name] = await run(graph, way, Command(resume=True), lab.thread(name))
    assert lab.answers(answered[name]) == ["a", "a,c,b", "a,c", "a,c,b"]
