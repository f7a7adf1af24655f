"""Parallel branches of a graph meet: map-reduce with workers that each ask the world."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import (  # pyright: ignore[reportMissingTypeStubs]  langgraph is a namespace
    END,
    START,
    StateGraph,
)
from langgraph.types import Command, Send, interrupt
from typing_extensions import TypedDict

from agentworld_graphs import ScriptedChatModel, SimToolNode, SimulatedTools, ref_in, simulate_graph
from agentworld_graphs._thread_refs import TipsChannel, join_tips
from agentworld_sim.runtime.sync import run_sync
from agentworld_sim.types.refs import tips_of

if TYPE_CHECKING:
    from conftest import Lab

WAYS = pytest.mark.parametrize("way", ["invoke", "ainvoke"])
STATES = pytest.mark.parametrize("carried", ["channel", "marks"])
KINDS = pytest.mark.parametrize("kind", ["subgraph", "agent", "function"])

WORKERS = range(3)


def run(graph: Any, way: str, given: Any, config: Any = None) -> Any:
    if way == "invoke":
        return graph.invoke(given, config)
    return asyncio.run(graph.ainvoke(given, config))


def sending(sent: list[Send]) -> Callable[[Any], list[Send]]:
    def send(state: Any) -> list[Send]:
        return sent

    return send


class MapReduce:
    """A planner, three workers that are sent out, and one who looks at what they did."""

    def __init__(self, lab: Lab, kind: str = "subgraph", carried: str = "channel") -> None:
        self.lab, self.kind = lab, kind
        self.world = lab.world()
        self.state = lab.states[carried == "channel"]
        self.with_ref = carried == "channel"

    def agent(self, *said: AIMessage, after: int = 0, **options: Any) -> Any:
        script = [*(AIMessage("") for _ in range(after)), *said, AIMessage("done")]
        node = SimToolNode(self.lab.tools(), world=self.world, **options)
        return self.lab.agent(node, *script, state=self.state)

    def worker(self, number: int, item: str) -> Any:
        said = self.lab.adds(item)
        if self.kind == "subgraph":
            return self.agent(said)
        if self.kind == "agent":
            model = ScriptedChatModel(script=[said, AIMessage("done")])
            return self.lab.create_agent(
                model, self.lab.tools(), middleware=[SimulatedTools(self.world)]
            )
        inner = self.agent(said)

        def work(state: Any) -> Any:
            final = inner.invoke({"messages": [("user", "go")]})
            kept = {"messages": final["messages"]}
            return {**kept, "sim_ref": final["sim_ref"]} if self.with_ref else kept

        return work

    def graph(
        self, items: Sequence[str] = ("0", "1", "2"), *, saver: Any = None, look: bool = True
    ) -> Any:
        graph: Any = StateGraph(self.state)
        names = [f"worker{number}" for number in range(len(items))]
        graph.add_node("plan", self.agent(self.lab.adds("p")))
        for number, (name, item) in enumerate(zip(names, items, strict=True)):
            graph.add_node(name, self.worker(number, item))
        graph.add_edge(START, "plan")
        graph.add_conditional_edges("plan", sending(self.sent(names)), names)
        if look:
            said = self.lab.asks(self.lab.call("look", "l"))
            after = 2 + 2 * len(items)
            graph.add_node("look", self.agent(said, after=after))
            for name in names:
                graph.add_edge(name, "look")
        return graph.compile(checkpointer=saver)

    @staticmethod
    def sent(names: Sequence[str]) -> list[Send]:
        return [Send(name, {"messages": [("user", "go")]}) for name in names]

    def merges(self, state: Any) -> Any:
        return run_sync(self.world.merges(ref_in(state)))


@WAYS
@STATES
@KINDS
def test_the_next_call_sees_what_every_worker_did(
    lab: Lab, go: Any, kind: str, carried: str, way: str
) -> None:
    one = MapReduce(lab, kind, carried)
    final = run(one.graph(), way, go)
    assert lab.answers(final) == ["p", "p,0", "p,1", "p,2", "p,0,1,2"]
    (merge,) = one.merges(final)
    assert len(merge.merged) == 2 and merge.conflicts == ()
    assert one.world.ref == ref_in(final)


def test_every_run_and_every_kind_of_worker_gives_the_same_refs(lab: Lab, go: Any) -> None:
    kinds = ("subgraph", "agent", "function")
    pairs = [(kind, carried) for kind in kinds for carried in ("channel", "marks")]
    finals = [
        run(MapReduce(lab, kind, carried).graph(), way, go)
        # Every two of kind, carrier and way meet.
        for (kind, carried), way in zip(
            pairs, ("invoke", "ainvoke", "ainvoke", "invoke") * 2, strict=False
        )
    ]
    finals.append(run(MapReduce(lab, *pairs[0]).graph(), "invoke", go))
    assert len({ref_in(final) for final in finals}) == 1


@WAYS
async def test_the_trajectory_has_the_calls_of_all_branches_in_task_order(
    lab: Lab, go: Any, way: str
) -> None:
    one = MapReduce(lab)
    final = await asyncio.to_thread(run, one.graph(), way, go)
    turns = (await one.world.trajectory(ref_in(final))).turns
    assert [turn.observation.text for turn in turns] == lab.answers(final)


@STATES
async def test_branches_without_a_next_call_are_named_together_and_meet_when_looked_at(
    lab: Lab, go: Any, carried: str
) -> None:
    one = MapReduce(lab, carried=carried)
    final = one.graph(look=False).invoke(go)
    point = ref_in(final)
    assert point is not None and len(tips_of(point)) == 3
    if carried == "channel":
        assert final["sim_ref"] == point
    assert (await one.world.state(point)).values["items"] == ["p", "0", "1", "2"]
    assert len(await one.world.trajectory(point)) == 4
    fork = await one.world.fork(at=point)
    assert (await fork.state()).values["items"] == ["p", "0", "1", "2"]
    assert one.world.ref == fork.ref


@WAYS
def test_what_two_workers_wrote_is_the_later_ones_and_is_named(lab: Lab, go: Any, way: str) -> None:
    one = MapReduce(lab)
    one.world = lab.machine({"/f": "old\n"})
    node = SimToolNode(lab.shell_tools(), world=one.world)

    def shell(command: str, after: int = 0) -> Any:
        said = lab.asks(lab.call("bash", "1", command=command))
        script = [*(AIMessage("") for _ in range(after)), said, AIMessage("done")]
        return lab.agent(node, *script, state=one.state)

    graph: Any = StateGraph(one.state)
    for number in WORKERS:
        graph.add_node(f"w{number}", shell(f"echo {number} > /f; echo {number} > /f{number}"))
        graph.add_edge(START, f"w{number}")
        graph.add_edge(f"w{number}", "look")
    graph.add_node("look", shell("cat /f /f0 /f1 /f2", after=6))
    final = run(graph.compile(), way, go)
    assert lab.answers(final)[-1] == "2\n0\n1\n2\n"
    (merge,) = one.merges(final)
    assert [(one.kind, one.key) for one in merge.conflicts] == [("file", "/f"), ("file", "/f")]
    assert [one.kept for one in merge.conflicts] == list(merge.merged)


@STATES
def test_a_thread_goes_back_before_and_after_the_merge(lab: Lab, go: Any, carried: str) -> None:
    one = MapReduce(lab, carried=carried)
    graph = one.graph(saver=InMemorySaver())
    first = graph.invoke(go, lab.thread())
    for snapshot in [one for one in graph.get_state_history(lab.thread()) if one.next][:-1]:
        again = graph.invoke(None, snapshot.config)
        assert lab.answers(again) == lab.answers(first) and ref_in(again) == ref_in(first)


def test_a_ref_written_by_hand_goes_back_before_the_merge(lab: Lab, go: Any) -> None:
    one = MapReduce(lab)
    graph = one.graph(saver=InMemorySaver(), look=False)
    first = graph.invoke(go, lab.thread())
    tips = tips_of(first["sim_ref"])
    look = one.agent(lab.asks(lab.call("look", "l")), after=0)
    for point, seen in ((tips[1], "p,1"), ("+".join(tips[1:]), "p,1,2")):
        final = look.invoke({"messages": [("user", "go")], "sim_ref": point})
        assert lab.answers(final) == [seen]


@WAYS
def test_a_worker_that_waits_for_a_person_meets_the_others_when_it_is_through(
    lab: Lab, go: Any, way: str
) -> None:
    def approve(request: Any, execute: Any) -> Any:
        return execute(request) if interrupt("sure?") else None

    class Asking(MapReduce):
        def worker(self, number: int, item: str) -> Any:
            options: Any = {} if number else {"wrap_tool_call": approve}
            return self.agent(lab.adds(item), **options)

    one = Asking(lab)
    graph = one.graph(saver=InMemorySaver())
    run(graph, way, go, lab.thread())
    assert sorted(lab.answered) == ["1", "2", "p"]
    final = run(graph, way, Command(resume=True), lab.thread())
    assert lab.answers(final)[-1] == "p,0,1,2" and len(lab.answered) == 4


class Items(TypedDict, total=False):
    items: list[str]


@WAYS
@pytest.mark.parametrize("together", [False, True])
def test_agents_that_functions_of_a_whole_graph_call_at_once_meet(
    lab: Lab, way: str, together: bool
) -> None:
    """The state shows nothing of the world; agents are called in one function or in several."""
    seen: list[str] = []

    def agent(*said: AIMessage) -> Any:
        model = ScriptedChatModel(script=[*said, AIMessage("done")])
        return lab.create_agent(model, lab.tools())

    def work(*items: str) -> Callable[[Items], Any]:
        async def ask(state: Items) -> Items:
            given: Any = {"messages": [("user", "go")]}
            await asyncio.gather(*(agent(lab.adds(item)).ainvoke(given) for item in items))
            return {}

        def ask_sync(state: Items) -> Items:
            given: Any = {"messages": [("user", "go")]}
            for item in items:
                agent(lab.adds(item)).invoke(given)
            return {}

        return ask if way == "ainvoke" else ask_sync

    def look(state: Items) -> Items:
        final = agent(lab.asks(lab.call("look"))).invoke({"messages": [("user", "go")]})
        seen.extend(lab.answers(final))
        return {}

    graph: Any = StateGraph(Items)
    graph.add_node("plan", work("p"))
    graph.add_node("look", look)
    graph.add_edge(START, "plan")
    for number, items in enumerate([("0", "1", "2")] if together else [("0",), ("1",), ("2",)]):
        graph.add_node(f"w{number}", work(*items))
        graph.add_edge("plan", f"w{number}")
        graph.add_edge(f"w{number}", "look")
    graph.add_edge("look", END)
    run(simulate_graph(graph.compile(), lab.world()), way, {})
    assert seen and sorted(seen[0].split(",")) == ["0", "1", "2", "p"]


@WAYS
@STATES
@pytest.mark.parametrize("nodes", [1, 2])
def test_tool_nodes_with_messages_of_their_own_are_answered_in_task_order(
    lab: Lab, go: Any, nodes: int, carried: str, way: str
) -> None:
    finals: list[Any] = []
    for _ in range(5):
        world = lab.world()
        graph: Any = StateGraph(lab.states[carried == "channel"])
        names = [f"tools{number}" for number in range(nodes)]
        for name in names:
            graph.add_node(name, SimToolNode(lab.tools(), world=world))
        sent = [
            Send(names[number % nodes], {"messages": [lab.adds(item)]})
            for number, item in enumerate("abcde")
        ]
        graph.add_conditional_edges(START, sending(sent), names)
        finals.append(run(graph.compile(), way, go))
        assert world.ref == ref_in(finals[-1])
        assert ("sim_ref" in finals[-1]) == (carried == "channel")
    expected = ["a", "a,b", "a,b,c", "a,b,c,d", "a,b,c,d,e"]
    assert [lab.answers(final) for final in finals] == [expected] * 5
    assert len({ref_in(final) for final in finals}) == 1


# The channel


def test_one_task_takes_the_place_of_what_was_there() -> None:
    channel = TipsChannel()
    channel.update(["a"])
    channel.update(["b"])
    assert channel.get() == "b"
    channel.update([""])
    assert channel.get() == ""


def test_tasks_of_one_step_are_kept_beside_each_other_and_those_that_did_nothing_are_not() -> None:
    channel = TipsChannel()
    channel.update(["a"])
    channel.update(["c", "a", "b", "c"])
    assert channel.get() == "c+b"
    channel.update(["c+b", "d"])
    assert channel.get() == "d"
    assert join_tips("a", ["a", "a"]) == "a" and join_tips("", ["", ""]) == ""
