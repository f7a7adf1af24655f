"""Tools that functions of a graph call themselves, under `simulate_graph`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph import func
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import (  # pyright: ignore[reportMissingTypeStubs]  langgraph is a namespace
    START,
    MessagesState,
    StateGraph,
)
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, interrupt

from agentworld_graphs import (
    ScriptedChatModel,
    SimToolNode,
    SimulatedTools,
    SimulationInterrupted,
    _run_context as patch,
    simulate,
    simulate_graph,
)
from agentworld_sim import AccessRefused, UsageError

if TYPE_CHECKING:
    from conftest import Lab

WAYS = pytest.mark.parametrize("way", ["invoke", "ainvoke"])

entrypoint: Any = cast("Any", func).entrypoint


async def run(graph: Any, way: str, given: Any, *config: Any) -> Any:
    return graph.invoke(given, *config) if way == "invoke" else await graph.ainvoke(given, *config)


def graph_of(
    *nodes: Any, saver: Any = None, parallel: bool = False, state: Any = MessagesState
) -> Any:
    """A graph of functions, one after another or side by side."""
    graph: Any = StateGraph(state)
    for number, node in enumerate(nodes):
        graph.add_node(f"node{number}", node)
        graph.add_edge(START if parallel or not number else f"node{number - 1}", f"node{number}")
    return graph.compile(checkpointer=saver)


def said(*texts: Any) -> dict[str, Any]:
    return {"messages": [AIMessage(str(text)) for text in texts]}


def simulated(*arguments: Any, **options: Any) -> Any:
    return simulate_graph(*arguments, **options)


def texts(final: Any) -> list[str]:
    return [message.text for message in final["messages"] if message.type in ("ai", "tool")]


CALLS: dict[str, Callable[[BaseTool, str], Any]] = {
    "invoke": lambda tool, item: tool.invoke({"item": item}),
    "invoke with a call": lambda tool, item: (
        tool.invoke({"name": "add", "args": {"item": item}, "id": "1", "type": "tool_call"}).content
    ),
    "invoke with callbacks of its own": lambda tool, item: tool.invoke(
        {"item": item}, {"callbacks": [BaseCallbackHandler()]}
    ),
    "run": lambda tool, item: tool.run({"item": item}),
    "one argument": lambda tool, item: tool.run(item),
    "a sequence": lambda tool, item: (tool | str).invoke({"item": item}),
    "batch": lambda tool, item: tool.batch([{"item": item}])[0],
}


@pytest.mark.promise("called-tools")
@pytest.mark.parametrize("how", CALLS)
def test_a_tool_that_a_function_calls_is_answered_by_the_world(lab: Lab, go: Any, how: str) -> None:
    add = lab.tools()[0]

    def work(state: Any) -> Any:
        return said(CALLS[how](add, "x"))

    graph = graph_of(work)
    assert texts(simulated(graph, lab.world()).invoke(go)) == ["x"]
    assert lab.ran == []
    # Where no simulated graph runs, the tool is the real one.
    assert texts(graph.invoke(go)) == ["really added x"]


@pytest.mark.promise("called-tools")
@pytest.mark.parametrize("method", ["ainvoke", "arun"])
async def test_a_tool_that_a_coroutine_calls_is_answered_by_the_world(
    lab: Lab, go: Any, method: str
) -> None:
    add = lab.tools()[0]

    async def work(state: Any) -> Any:
        return said(await getattr(add, method)({"item": "x"}))

    assert texts(await simulated(graph_of(work), lab.world()).ainvoke(go)) == ["x"]
    assert lab.ran == []


@pytest.mark.promise("called-tools")
@WAYS
@pytest.mark.parametrize("with_callbacks", [False, True])
async def test_a_refusal_that_a_function_catches_stops_the_run_all_the_same(
    lab: Lab, go: Any, way: str, with_callbacks: bool
) -> None:
    def deploy(version: str) -> str:
        """Deploys."""
        raise AssertionError("real")

    tool = lab.tool(deploy)
    own: Any = {"callbacks": [BaseCallbackHandler()]} if with_callbacks else None

    def work(state: Any) -> Any:
        try:
            return said(tool.invoke({"version": "1"}, own))
        except Exception as error:  # noqa: BLE001  as agents' own loops do
            return said(error)

    async def awork(state: Any) -> Any:
        try:
            return said(await tool.ainvoke({"version": "1"}, own))
        except Exception as error:  # noqa: BLE001  as above
            return said(error)

    saver = InMemorySaver()
    graph = simulated(graph_of(work if way == "invoke" else awork, saver=saver), lab.machine())
    with pytest.raises(SimulationInterrupted) as caught:
        await run(graph, way, go, lab.thread())
    assert "the node 'node0' caught that 'deploy' got no answer" in str(caught.value)
    assert "'deploy'" in str(caught.value.error)
    assert isinstance(caught.value.error, AccessRefused)
    assert "messages" in graph.get_state(cast("Any", lab.thread())).values
    assert texts(graph.get_state(cast("Any", lab.thread())).values) == []


@pytest.mark.promise("called-tools")
@pytest.mark.promise("failure-raises")
def test_a_failure_caught_inside_of_an_agent_inside_of_a_function_stops_the_run(
    lab: Lab, go: Any
) -> None:
    add = lab.tools()[0]
    lab.down.add("x")

    def work(state: Any) -> Any:
        with contextlib.suppress(Exception):
            return said(add.invoke({"item": "x"}))
        return said("it failed")

    inner = graph_of(work)

    def outer(state: Any) -> Any:
        with contextlib.suppress(Exception):
            return inner.invoke(state)
        return said("all is well")

    with pytest.raises(SimulationInterrupted, match="no answer for x"):
        simulated(graph_of(outer), lab.world()).invoke(go)


def test_a_call_that_is_tried_again_and_answered_is_no_failure(lab: Lab, go: Any) -> None:
    add = lab.tools()[0]
    lab.down.add("x")

    def work(state: Any) -> Any:
        with contextlib.suppress(Exception):
            add.invoke({"item": "x"})
        lab.down.clear()
        return said(add.invoke({"item": "x"}))

    assert texts(simulated(graph_of(work), lab.world()).invoke(go)) == ["x"]


@pytest.mark.promise("called-tools")
def test_access_is_kept_where_functions_call(lab: Lab, go: Any) -> None:
    add, look, _ = lab.tools()

    def work(state: Any) -> Any:
        return said(add.invoke({"item": "x"}), look.invoke({}))

    graph = graph_of(work)
    mixed = simulated(graph, lab.world(), access={"add": "real"})
    assert texts(mixed.invoke(go)) == ["really added x", ""]
    assert lab.ran == ["add"]
    with pytest.raises(SimulationInterrupted, match="'look' is refused: access"):
        simulated(graph, lab.world(), access={"look": "refuse"}).invoke(go)
    assert lab.ran == ["add"]


def test_nothing_else_in_the_process_is_simulated(lab: Lab, go: Any) -> None:
    add = lab.tools()[0]
    run_before = BaseTool.run

    def work(state: Any) -> Any:
        return said(add.invoke({"item": "x"}))

    def other(state: Any) -> Any:
        return said(add.invoke({"item": "y"}))

    steps = simulated(graph_of(work, work), lab.world()).stream(go)
    next(steps)
    # While one graph is under way, another that is not simulated runs its real tools.
    assert texts(graph_of(other).invoke(go)) == ["really added y"]
    assert add.invoke({"item": "z"}) == "really added z"
    assert [list(step) for step in steps] == [["node1"]]
    assert BaseTool.run is run_before
    assert lab.answered == ["x", "x"]


class Tutorial:
    """A node as LangGraph's tutorials write one: an object that keeps its tools by name."""

    def __init__(self, tools: list[BaseTool]) -> None:
        self.tools_by_name = {tool.name: tool for tool in tools}

    def __call__(self, state: Any) -> Any:
        calls = state["messages"][-1].tool_calls
        return {
            "messages": [
                ToolMessage(
                    self.tools_by_name[call["name"]].invoke(call["args"]), tool_call_id=call["id"]
                )
                for call in calls
            ]
        }


@pytest.mark.parametrize("method", [False, True])
def test_tools_that_objects_keep_are_found(lab: Lab, method: bool) -> None:
    node: Any = Tutorial(lab.tools())
    graph = simulated(graph_of(node.__call__ if method else node), lab.world())
    final = graph.invoke(cast("Any", {"messages": [lab.adds("a", "b")]}))
    assert lab.answers(final) == ["a", "a,b"]


def test_tools_of_tables_are_bound_together(lab: Lab, go: Any) -> None:
    def create_ticket(title: str) -> str:
        """Create a ticket."""
        raise AssertionError("real")

    def list_tickets() -> str:
        """List all tickets."""
        raise AssertionError("real")

    def get_ticket(ticket_id: str) -> str:
        """Get a ticket."""
        raise AssertionError("real")

    create, listing, get = map(lab.tool, (create_ticket, list_tickets, get_ticket))

    def work(state: Any) -> Any:
        made = create.invoke({"title": "broken lamp"})
        return said(made, listing.invoke({}), bool(get))

    assert "broken lamp" in texts(simulated(graph_of(work)).invoke(go))[1]


@WAYS
async def test_the_world_follows_the_thread(lab: Lab, go: Any, way: str) -> None:
    add = lab.tools()[0]

    def work(state: Any) -> Any:
        return said(add.invoke({"item": "a"}), add.invoke({"item": "b"}))

    async def awork(state: Any) -> Any:
        return said(await add.ainvoke({"item": "a"}), await add.ainvoke({"item": "b"}))

    node = work if way == "invoke" else awork
    graph: Any = simulated(graph_of(node, node, saver=InMemorySaver()), lab.world())
    first = await run(graph, way, go, lab.thread())
    assert texts(first) == ["a", "a,b", "a,b,a", "a,b,a,b"]
    assert texts(await run(graph, way, go, lab.thread("other"))) == texts(first)
    assert texts(await run(graph, way, go, lab.thread()))[-1] == "a,b,a,b,a,b,a,b"
    # Back to where the second node was about to run for the first time.
    history = list(graph.get_state_history(lab.thread()))
    between = next(one for one in reversed(history) if one.next == ("node1",))
    assert texts(await run(graph, way, None, between.config)) == texts(first)


@WAYS
@pytest.mark.parametrize("with_ref", [False, True])
async def test_tool_nodes_and_functions_of_one_graph_see_what_the_other_did(
    lab: Lab, go: Any, way: str, with_ref: bool
) -> None:
    add = lab.tools()[0]

    def asking(item: str) -> Any:
        def ask(state: Any) -> Any:
            return {"messages": [lab.adds(item)]}

        return ask

    def work(state: Any) -> Any:
        return said(add.invoke({"item": "f"}))

    nodes = (work, asking("a"), ToolNode([add]), work, asking("b"), ToolNode([add]), work)
    graph = simulated(graph_of(*nodes, state=lab.states[with_ref]), lab.world())
    answers = [text for text in texts(await run(graph, way, go)) if text]
    assert answers == ["f", "f,a", "f,a,f", "f,a,f,b", "f,a,f,b,f"]


def test_a_function_goes_on_where_an_agent_before_it_left_the_world(lab: Lab, go: Any) -> None:
    add, look, _ = lab.tools()
    model = ScriptedChatModel(script=[lab.adds("a"), AIMessage("done")])

    def work(state: Any) -> Any:
        return said(add.invoke({"item": "f"}))

    def ask(state: Any) -> Any:
        return {"messages": [lab.asks(lab.call("look", "2"))]}

    nodes = (lab.create_agent(model, lab.tools()), work, ask, ToolNode([look]))
    final = simulated(graph_of(*nodes), lab.world()).invoke(go)
    assert [text for text in texts(final) if text] == ["a", "done", "a,f", "a,f"]


@WAYS
async def test_nodes_side_by_side_each_begin_where_the_step_began(
    lab: Lab, go: Any, way: str
) -> None:
    add, look, _ = lab.tools()

    def adding(item: str) -> Any:
        def work(state: Any) -> Any:
            return said(add.invoke({"item": item}), look.invoke({}))

        return work

    graph = simulated(graph_of(adding("a"), adding("b"), parallel=True), lab.world())
    assert texts(await run(graph, way, go)) == ["a", "a", "b", "b"]


def test_a_function_goes_on_where_an_agent_that_it_called_left_the_world(lab: Lab, go: Any) -> None:
    add, look, _ = lab.tools()
    model = ScriptedChatModel(script=[lab.adds("b"), AIMessage("done")])
    inner = lab.create_agent(model, lab.tools())

    def work(state: Any) -> Any:
        add.invoke({"item": "a"})
        agent = inner.invoke(go)
        add.invoke({"item": "c"})
        return said(*lab.answers(agent), look.invoke({}))

    assert texts(simulated(graph_of(work), lab.world()).invoke(go)) == ["a,b", "a,b,c"]
    assert lab.ran == []


def test_what_was_answered_before_an_interrupt_is_not_asked_again(lab: Lab, go: Any) -> None:
    add = lab.tools()[0]

    def work(state: Any) -> Any:
        before = add.invoke({"item": "a"})
        interrupt("may I?")
        return said(before, add.invoke({"item": "b"}))

    graph: Any = simulated(graph_of(work, saver=InMemorySaver()), lab.world())
    graph.invoke(go, lab.thread())
    assert texts(graph.invoke(Command(resume="yes"), lab.thread())) == ["a", "a,b"]
    assert lab.answered == ["a", "b"]


def test_an_entrypoint_calls_tools_itself_and_through_tasks(lab: Lab) -> None:
    add = lab.tools()[0]

    @cast("Any", func).task
    def work(item: str) -> str:
        return add.invoke({"item": item})

    @entrypoint(checkpointer=InMemorySaver())
    def agent(items: list[str]) -> list[str]:
        first = work(items[0]).result()
        return [first, add.invoke({"item": items[1]}), work(items[2]).result()]

    graph: Any = simulated(agent, lab.world())
    assert graph.invoke(["a", "b", "c"], lab.thread()) == ["a", "a,b", "a,b,c"]
    assert graph.invoke(["d", "e", "f"], lab.thread())[-1] == "a,b,c,d,e,f"
    assert lab.ran == []


@WAYS
@pytest.mark.parametrize("by", ["node", "middleware"])
async def test_tools_that_a_real_tool_calls_are_answered_where_it_stands(
    lab: Lab, go: Any, way: str, by: str
) -> None:
    add = lab.tools()[0]

    def twice(item: str) -> str:
        """Adds twice."""
        lab.ran.append("twice")
        return add.invoke({"item": item}) + " then " + add.invoke({"item": item})

    script = [
        lab.asks(
            lab.call("add", "1", item="a"),
            lab.call("twice", "2", item="b"),
            lab.call("add", "3", item="c"),
        ),
        AIMessage("done"),
    ]
    tools = [*lab.tools(), lab.tool(twice)]
    access: Any = {"twice": "real"}
    if by == "node":
        graph = lab.agent(SimToolNode(tools, world=lab.world(), access=access), *script)
    else:
        middleware = [SimulatedTools(lab.world(), access=access)]
        graph = lab.create_agent(ScriptedChatModel(script=script), tools, middleware=middleware)
    final = await run(graph, way, go)
    assert lab.answers(final) == ["a", "a,b then a,b,b", "a,b,b,c"]
    assert lab.ran == ["twice"]


@pytest.mark.promise("called-tools")
@WAYS
@pytest.mark.parametrize("by", ["node", "middleware"])
async def test_a_refusal_that_a_real_tool_catches_stops_the_run_all_the_same(
    lab: Lab, go: Any, way: str, by: str
) -> None:
    look = lab.tools()[1]

    def careless() -> str:
        """Looks, whatever happens."""
        with contextlib.suppress(Exception):
            return look.invoke({})
        return "it failed"

    script = [lab.asks(lab.call("careless")), AIMessage("done")]
    tools, access = [*lab.tools(), lab.tool(careless)], {"careless": "real", "look": "refuse"}
    if by == "node":
        node = SimToolNode(tools, world=lab.world(), access=cast("Any", access))
        graph = lab.agent(node, *script)
    else:
        middleware = [SimulatedTools(lab.world(), access=cast("Any", access))]
        graph = lab.create_agent(ScriptedChatModel(script=script), tools, middleware=middleware)
    with pytest.raises(SimulationInterrupted, match="'careless' caught that 'look' got no answer"):
        await run(graph, way, go)
    assert lab.ran == []


@pytest.mark.promise("called-tools")
def test_a_tool_that_cannot_be_replaced_does_not_run(
    lab: Lab, go: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def itself(tool: BaseTool, callbacks: object) -> BaseTool:
        return tool

    monkeypatch.setattr(patch, "tool_in_place_of", itself)
    add = lab.tools()[0]

    def work(state: Any) -> Any:
        with contextlib.suppress(Exception):
            return said(add.invoke({"item": "x"}))
        return said("nothing")

    with pytest.raises(SimulationInterrupted, match="the real tool 'add' was about to run"):
        simulated(graph_of(work), lab.world()).invoke(go)
    assert lab.ran == []


@pytest.mark.promise("called-tools")
@pytest.mark.parametrize("method", ["invoke", "ainvoke", "run", "arun"])
def test_a_tool_with_a_way_of_its_own_to_run_is_refused_before_anything_runs(
    lab: Lab, go: Any, method: str
) -> None:
    def really(self: Any, *arguments: Any, **options: Any) -> str:
        lab.ran.append("add")
        return "really"

    kind: Any = type("Own", (StructuredTool,), {method: really, "__module__": "mine"})
    add = kind.from_function(cast("Any", lab.tools()[0]).func, name="add", description="Adds.")

    def work(state: Any) -> Any:
        return said(add.invoke({"item": "x"}))

    with pytest.raises(AccessRefused, match=f"'add', whose class has a '{method}' of its own"):
        simulated(graph_of(work), lab.world())
    simulated(graph_of(work), lab.world(), access={"add": "real"}).invoke(go)
    assert lab.ran == ["add"]
    # A tool node is given the simulated tool in its place.
    asked: Any = {"messages": [lab.adds("x")]}
    assert lab.answers(simulated(graph_of(ToolNode([add])), lab.world()).invoke(asked)) == ["x"]


def test_the_world_of_a_graph_can_be_read(lab: Lab) -> None:
    world = lab.world()
    add = lab.tools()[0]

    def work(state: Any) -> Any:
        return said(add.invoke({"item": "x"}))

    graph = graph_of(work)
    made = simulate_graph(graph, world)
    assert made.world is world
    assert isinstance(made, type(graph))
    assert made.with_config(tags=["mine"]).world is world
    # What holds a world can be given for one.
    assert simulate(add, made).world is world
    with pytest.raises(UsageError, match="goes with a world's id"):
        simulated(graph, store=cast("Any", object()))
