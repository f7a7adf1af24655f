"""`simulate_graph`: graphs that were compiled by others. `simulate_tool_nodes`: everything at once."""

from __future__ import annotations

import contextlib
import inspect
from typing import TYPE_CHECKING, Any, TypedDict, cast

import deepagents
import pytest
from deepagents.backends import FilesystemBackend
from langchain.agents import middleware as theirs
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import (  # pyright: ignore[reportMissingTypeStubs]  langgraph is a namespace
    START,
    MessagesState,
    StateGraph,
)
from langgraph.prebuilt import ToolNode
from langgraph.pregel.remote import (  # pyright: ignore[reportMissingTypeStubs]  as above
    RemoteGraph,
)
from mcp.client.session import ClientSession

from agentworld_graphs import (
    ScriptedChatModel,
    SimToolNode,
    SimulatedTools,
    SimulationInterrupted,
    _run_context as patch,
    ref_in,
    simulate,
    simulate_graph,
    simulate_tool_nodes,
)
from agentworld_sim import AccessRefused, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Lab

WAYS = pytest.mark.parametrize("way", ["invoke", "ainvoke"])


async def run(graph: Any, way: str, given: Any, *config: Any) -> Any:
    return graph.invoke(given, *config) if way == "invoke" else await graph.ainvoke(given, *config)


def adding(lab: Lab, *batches: str, **options: Any) -> Any:
    """An agent that adds, one message per batch of letters."""
    script = [lab.adds(*batch) for batch in batches]
    model = ScriptedChatModel(script=[*script, AIMessage("done")])
    return lab.create_agent(model, lab.tools(), **options)


def deep_agent(*arguments: Any, **options: Any) -> Any:
    return cast("Any", deepagents).create_deep_agent(*arguments, **options)


def of_node(node: Any, state: Any = MessagesState) -> Any:
    """A graph of one node."""
    graph: Any = StateGraph(state)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    return graph.compile()


# Graphs


@pytest.mark.promise("whole-graphs")
@WAYS
@pytest.mark.filterwarnings("ignore::langgraph.warnings.LangGraphDeprecatedSinceV10")
@pytest.mark.parametrize("kind", ["create_agent", "react v1", "react v2", "own", "sent"])
async def test_the_tools_of_a_compiled_graph_are_simulated(
    lab: Lab, go: Any, way: str, kind: str
) -> None:
    script = [lab.adds("a", "b"), lab.adds("c"), AIMessage("done")]
    model = ScriptedChatModel(script=script)
    if kind == "create_agent":
        graph = lab.create_agent(model, lab.tools(), checkpointer=InMemorySaver())
    elif kind.startswith("react"):
        version = kind.partition(" ")[2]
        saver = InMemorySaver()
        graph = lab.create_react_agent(model, lab.tools(), version=version, checkpointer=saver)
    else:
        node = ToolNode(lab.tools())
        graph = lab.agent(node, *script, saver=InMemorySaver(), sent=kind == "sent")
    world = lab.world()
    simulated = simulate_graph(graph, world)
    final = await run(simulated, way, go, lab.thread())
    assert lab.answers(final) == ["a", "a,b", "a,b,c"]
    assert lab.answered == ["a", "b", "c"]
    assert ref_in(final) == world.ref
    assert lab.ran == []
    # The graph itself still runs its real tools.
    await run(graph, way, go, lab.thread("real"))
    assert lab.ran == ["add", "add", "add"]


@WAYS
async def test_wrappers_stay_around_the_calls(lab: Lab, go: Any, way: str) -> None:
    seen: list[Any] = []

    class Shout(AgentMiddleware[Any, Any, Any]):
        def _changed(self, request: Any) -> Any:
            seen.append(request.tool)
            args = {"item": request.tool_call["args"]["item"].upper()}
            return request.override(tool_call={**request.tool_call, "args": args})

        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            return handler(self._changed(request))

        async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
            return await handler(self._changed(request))

    graph = simulate_graph(adding(lab, "a", middleware=[Shout()]), lab.world())
    assert lab.answers(await run(graph, way, go)) == ["A"]
    assert seen[0].name == "add"


@pytest.mark.promise("whole-graphs")
@WAYS
async def test_subgraphs_are_simulated_too(lab: Lab, go: Any, way: str) -> None:
    def same(state: Any) -> Any:
        return state

    builder: Any = StateGraph(MessagesState)
    # Each agent counts the replies in the conversation so far.
    agents = {
        item: lab.create_agent(
            ScriptedChatModel(script=[AIMessage("")] * said + [lab.adds(item), AIMessage("done")]),
            lab.tools(),
        )
        for said, item in ((0, "a"), (2, "b"), (4, "c"))
    }
    builder.add_node("first", agents["a"])
    builder.add_node("second", agents["b"].with_config(tags=["bound"]))
    builder.add_node("third", RunnableLambda(same) | agents["c"])
    builder.add_edge(START, "first")
    builder.add_edge("first", "second")
    builder.add_edge("second", "third")
    graph: Any = simulate_graph(builder.compile(checkpointer=InMemorySaver()), lab.world())
    assert [name for name, _ in graph.get_subgraphs()] == ["first", "second", "third"]
    final = await run(graph, way, go, lab.thread())
    assert lab.answers(final) == ["a", "a,b", "a,b,c"]
    assert lab.ran == []


@WAYS
async def test_time_travel_forks_the_world(lab: Lab, go: Any, way: str) -> None:
    graph = simulate_graph(adding(lab, "a", "b", checkpointer=InMemorySaver()), lab.world())
    first = await run(graph, way, go, lab.thread())
    earlier = next(
        state
        for state in graph.get_state_history(cast("Any", lab.thread()))
        if state.next == ("tools",) and len(lab.answers(state.values)) == 1
    )
    again = await run(graph, way, None, earlier.config)
    assert lab.answers(first) == lab.answers(again) == ["a", "a,b"]
    assert ref_in(first) == ref_in(again)


@WAYS
@pytest.mark.parametrize("caught", [True, False])
async def test_our_failures_never_reach_the_agent(
    lab: Lab, go: Any, way: str, caught: bool
) -> None:
    class Swallow(AgentMiddleware[Any, Any, Any]):
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            with contextlib.suppress(Exception):
                return handler(request)
            return ToolMessage("it failed", tool_call_id=request.tool_call["id"])

        async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
            with contextlib.suppress(Exception):
                return await handler(request)
            return ToolMessage("it failed", tool_call_id=request.tool_call["id"])

    middleware = [Swallow()] if caught else []
    graph = adding(lab, "a", middleware=middleware, checkpointer=InMemorySaver())
    simulated = simulate_graph(graph, lab.world())
    lab.down.add("a")
    with pytest.raises(SimulationInterrupted, match="no answer for a"):
        await run(simulated, way, go, lab.thread())
    lab.down.clear()
    assert lab.answers(await run(simulated, way, None, lab.thread())) == ["a"]


@pytest.mark.promise("whole-graphs")
@WAYS
async def test_an_agent_inside_of_a_function_is_simulated(lab: Lab, go: Any, way: str) -> None:
    inner = adding(lab, "x", checkpointer=InMemorySaver())

    # A thread of its own drops what the run hands on, but not its callbacks.
    def think(state: Any) -> Any:
        return {"messages": inner.invoke(go, lab.thread("inner"))["messages"]}

    async def athink(state: Any) -> Any:
        return {"messages": (await inner.ainvoke(go, lab.thread("inner")))["messages"]}

    graph = simulate_graph(of_node(think if way == "invoke" else athink), lab.world())
    assert lab.answers(await run(graph, way, go)) == ["x"]
    assert lab.ran == []


@WAYS
async def test_a_simulated_tool_that_a_function_calls_itself_runs(
    lab: Lab, go: Any, way: str
) -> None:
    world = lab.world()
    add = simulate(lab.tools()[0], world)

    def think(state: Any) -> Any:
        return {"messages": [add.invoke(lab.call("add", item="x"))]}

    async def athink(state: Any) -> Any:
        return {"messages": [await add.ainvoke(lab.call("add", item="x"))]}

    graph = simulate_graph(of_node(think if way == "invoke" else athink), world)
    assert lab.answers(await run(graph, way, go)) == ["x"]


@pytest.mark.parametrize("mode", ["tools", "updates", "messages"])
async def test_streams_have_the_events_of_the_real_graph(lab: Lab, go: Any, mode: str) -> None:
    graph = adding(lab, "a", "b")
    seen: list[Any] = []
    copied: Any = simulate_graph(graph, lab.world())
    for one in (graph, copied):
        events = [shape(event) for event in one.stream(go, stream_mode=mode)]
        later = [shape(event) async for event in one.astream(go, stream_mode=mode)]
        assert events == later
        seen.append(events)
    assert seen[0] == seen[1] != []


def shape(event: Any) -> str:
    """An event without ids and contents."""
    if "event" in event:
        return f"{event['event']} {event.get('tool_name')} {event.get('input')}"
    return str(list(event)) if hasattr(event, "keys") else type(event[0]).__name__


@pytest.mark.promise("whole-graphs")
@WAYS
async def test_deep_agents_and_their_subagents_are_simulated(lab: Lab, go: Any, way: str) -> None:
    task = lab.call("task", "1", description="look", subagent_type="general-purpose")
    write = lab.call("write_file", "2", file_path="/srv/list", content="milk\n")
    child = [
        lab.asks(write),
        lab.asks(lab.call("bash", "3", command="cat /srv/list")),
        AIMessage("x"),
    ]
    script = [lab.asks(task), lab.asks(lab.call("bash", "4", command="ls /")), AIMessage("done")]
    subagent: Any = {
        "name": "general-purpose",
        "description": "does all",
        "system_prompt": "",
        "model": ScriptedChatModel(script=child),
    }
    agent: Any = deep_agent(
        ScriptedChatModel(script=script), tools=lab.shell_tools(), subagents=[subagent]
    )
    world = lab.machine({"/srv/other": "x"})
    final = await run(simulate_graph(agent, world), way, go)
    assert lab.answers(final)[0] == "x"
    assert "srv" in lab.answers(final)[1]
    assert lab.ran == []
    names = [turn.call.name for turn in (await world.trajectory()).turns]
    assert "bash" in names


@WAYS
async def test_middleware_for_deep_agents_reaches_the_default_subagent(
    lab: Lab, go: Any, way: str
) -> None:
    task = lab.call("task", "1", description="look", subagent_type="general-purpose")
    child = [lab.asks(lab.call("bash", "3", command="echo hi")), AIMessage("x")]

    class ByRole(ScriptedChatModel):
        """Says other things to a subagent, which begins with what it was asked."""

        def _reply(self, messages: Any, tools: Any) -> AIMessage:
            asked = next(message for message in messages if message.type == "human")
            own = asked.text == "look"
            model = (
                ScriptedChatModel(script=child) if own else ScriptedChatModel(script=self.script)
            )
            return model._reply(messages, tools)  # pyright: ignore[reportPrivateUsage]  its double

    agent: Any = deep_agent(
        ByRole(script=[lab.asks(task), AIMessage("done")]),
        tools=lab.shell_tools(),
        middleware=[SimulatedTools(lab.machine())],
    )
    final = await run(agent, way, go)
    assert lab.answers(final) == ["x"]
    assert lab.ran == []


@WAYS
@pytest.mark.parametrize("by", ["middleware", "graph"])
async def test_parallel_subagents_work_one_after_the_other_in_one_world(
    lab: Lab, go: Any, way: str, by: str
) -> None:
    def subagent(name: str, *items: str) -> dict[str, Any]:
        script = [*(lab.adds(item) for item in items), AIMessage(f"{name} done")]
        return {
            "name": name,
            "description": "adds",
            "system_prompt": "",
            "model": ScriptedChatModel(script=script),
            "tools": lab.tools(),
        }

    tasks = [
        lab.call("task", name, description="add", subagent_type=name) for name in ("one", "other")
    ]
    script = [lab.adds("0"), lab.asks(*tasks, lab.call("add", "z", item="z")), AIMessage("done")]
    files = ["ls", "read_file", "write_file", "edit_file", "delete", "glob", "grep", "execute"]
    access: Any = dict.fromkeys(files, "refuse")
    world = lab.world()
    agent = deep_agent(
        ScriptedChatModel(script=script),
        tools=lab.tools(),
        subagents=[subagent("one", "a", "b"), subagent("other", "c", "d")],
        middleware=[SimulatedTools(world, access=access)] if by == "middleware" else [],
    )
    if by == "graph":
        agent = simulate_graph(agent, world, access=access)
    final = await run(agent, way, go)
    assert lab.answers(final) == ["0", "one done", "other done", "0,a,b,c,d,z"]
    assert lab.answered == ["0", "a", "b", "c", "d", "z"]
    assert lab.ran == []


# Refusals


@pytest.mark.promise("whole-graphs")
def test_all_that_binds_to_nothing_is_named(lab: Lab) -> None:
    def deploy(version: str) -> str:
        """Deploys."""
        raise AssertionError("real")

    def page(who: str) -> str:
        """Pages."""
        raise AssertionError("real")

    model = ScriptedChatModel(script=[])
    side = {"type": "web_search_preview"}
    inner = lab.create_agent(model, [lab.tool(page)])

    def ask(state: Any) -> Any:
        return inner.invoke(state)

    outer: Any = StateGraph(MessagesState)
    outer.add_node("deployer", lab.create_agent(model, [lab.tool(deploy), side]))
    outer.add_node("pager", ask)
    outer.add_edge(START, "deployer")
    outer.add_edge("deployer", "pager")
    with pytest.raises(AccessRefused) as caught:
        simulate_graph(outer.compile(), lab.machine())
    text = str(caught.value)
    assert text.startswith("not everything in the graph would be simulated, so no graph was made.")
    for name in ("'deploy'", "'page'", "'web_search_preview' is a provider-side tool"):
        assert name in text


def test_a_provider_side_tool_that_was_bound_to_the_model_is_refused(lab: Lab, go: Any) -> None:
    bound = ScriptedChatModel(script=[AIMessage("x")]).bind(
        tools=[{"type": "computer_use_preview"}]
    )

    def think(state: Any) -> Any:
        return {"messages": [bound.invoke(state["messages"])]}

    with pytest.raises(AccessRefused, match="'computer_use_preview' is a provider-side tool"):
        simulate_graph(of_node(think), lab.world())


@pytest.mark.promise("provider-side")
@WAYS
async def test_a_provider_side_tool_is_stopped_before_the_model_is_asked(
    lab: Lab, go: Any, way: str
) -> None:
    model = ScriptedChatModel(script=[AIMessage("x")])
    tools = [{"type": "computer_use_preview"}, *lab.tools()]

    def think(state: Any) -> Any:
        return {"messages": [model.bind(tools=tools).invoke(state["messages"])]}

    async def athink(state: Any) -> Any:
        return {"messages": [await model.bind(tools=tools).ainvoke(state["messages"])]}

    graph = simulate_graph(of_node(think if way == "invoke" else athink), lab.world())
    with pytest.raises(
        SimulationInterrupted, match="'computer_use_preview' is a provider-side tool"
    ):
        await run(graph, way, go)
    assert model.unused_messages()


def test_a_real_shell_is_refused_before_it_starts(lab: Lab, tmp_path: Path) -> None:
    shell = theirs.ShellToolMiddleware(tmp_path, startup_commands=["touch started"])
    with pytest.raises(AccessRefused, match="SimulatedShellMiddleware in its place"):
        simulate_graph(adding(lab, "a", middleware=[shell]), lab.world())
    assert not list(tmp_path.iterdir())


def test_a_backend_on_the_real_disk_is_refused(lab: Lab, tmp_path: Path) -> None:
    backend = FilesystemBackend(root_dir=tmp_path, virtual_mode=True)
    agent: Any = deep_agent(ScriptedChatModel(script=[]), backend=backend)
    with pytest.raises(AccessRefused, match="FilesystemBackend works on real files"):
        simulate_graph(agent, lab.machine())


def test_a_graph_on_another_server_is_refused(lab: Lab) -> None:
    remote: Any = RemoteGraph("agent", url="http://127.0.0.1:1")
    with pytest.raises(AccessRefused, match="on another server"):
        simulate_graph(of_node(remote), lab.world())


def test_a_client_of_an_mcp_server_in_a_function_is_refused(lab: Lab) -> None:
    session = ClientSession.__new__(ClientSession)

    async def think(state: Any) -> Any:
        return {"messages": [str(await session.call_tool("add", {}))]}

    with pytest.raises(AccessRefused, match=r"client of an MCP server \(ClientSession\)"):
        simulate_graph(of_node(think), lab.world())


def test_names_that_no_tool_has_are_told(lab: Lab) -> None:
    with pytest.raises(UsageError, match=r"access names 'ad'.*Did you mean 'add'"):
        simulate_graph(adding(lab, "a"), lab.world(), access={"ad": "real"})


def test_what_is_not_compiled_is_told(lab: Lab) -> None:
    builder: Any = StateGraph(MessagesState)
    with pytest.raises(UsageError, match="Compile it first"):
        simulate_graph(builder, lab.world())


def test_a_node_that_is_simulated_already_keeps_its_world(lab: Lab, go: Any) -> None:
    mine, other = lab.world(), lab.world()
    node = SimToolNode(lab.tools(), world=mine)
    graph: Any = simulate_graph(lab.agent(node, lab.adds("a"), AIMessage("done")), other)
    assert lab.answers(graph.invoke(go)) == ["a"]
    assert mine.ref != mine.root
    assert other.ref == other.root


# Everything at once


@WAYS
async def test_every_tool_node_of_the_process_is_simulated(lab: Lab, go: Any, way: str) -> None:
    graph = adding(lab, "a", "b")
    with simulate_tool_nodes(lab.world()) as world:
        assert lab.answers(await run(graph, way, go)) == ["a", "a,b"]
    assert lab.ran == []
    assert world.ref != world.root
    await run(graph, way, go)
    assert lab.ran == ["add", "add"]


def test_a_tool_that_binds_to_nothing_fails_the_run_there(lab: Lab, go: Any) -> None:
    with simulate_tool_nodes(lab.machine()), pytest.raises(SimulationInterrupted, match="'add'"):
        adding(lab, "a").invoke(go)
    assert lab.ran == []


def test_the_innermost_of_several_counts(lab: Lab, go: Any) -> None:
    with simulate_tool_nodes(lab.world()) as outer, simulate_tool_nodes(lab.world()) as inner:
        adding(lab, "a").invoke(go)
    assert outer.ref == outer.root
    assert inner.ref != inner.root


# What we rely on


def test_langgraph_still_runs_calls_through_the_methods_that_are_replaced() -> None:
    for name in patch.METHODS:
        method = getattr(ToolNode, name)
        assert list(inspect.signature(method).parameters) == patch.PARAMETERS


def test_a_langgraph_without_them_is_told(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patch, "METHODS", ("_run_two", "_arun_two"))
    monkeypatch.setattr(patch, "_originals", {})
    message = r"has no ToolNode\._run_two\(self, call, input_type, tool_runtime\)"
    with pytest.raises(UsageError, match=message), simulate_tool_nodes(lab.world()):
        raise AssertionError("entered")


@WAYS
async def test_without_them_nothing_real_runs_in_agents_inside(
    lab: Lab, go: Any, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def itself(node: Any, runtime: Any) -> Any:
        return node

    monkeypatch.setattr(patch, "_node_for", itself)
    inner = adding(lab, "x")

    def think(state: Any) -> Any:
        return {"messages": inner.invoke(go)["messages"]}

    async def athink(state: Any) -> Any:
        return {"messages": (await inner.ainvoke(go))["messages"]}

    graph = simulate_graph(of_node(think if way == "invoke" else athink), lab.world())
    # The tool is found by what calls it: LangChain's own `run`.
    assert lab.answers(await run(graph, way, go)) == ["x"]
    assert lab.ran == []


def test_prebuilt_agents_still_keep_their_tools_where_they_are_found(lab: Lab) -> None:
    agent = adding(lab, "a")
    found = [node.bound for node in agent.nodes.values() if isinstance(node.bound, ToolNode)]
    assert [list(node.tools_by_name) for node in found] == [["add", "look", "fail"]]


class Unused(TypedDict):
    """A state without messages."""

    number: int


@WAYS
async def test_a_graph_with_nothing_to_simulate_is_told(lab: Lab, way: str) -> None:
    def count(state: Any) -> Any:
        return {"number": state["number"] + 1}

    graph = simulate_graph(of_node(count, Unused), lab.world())
    with pytest.raises(UsageError, match="nothing in it that a world could answer") as caught:
        await run(graph, way, {"number": 1})
    assert "make a tool of what it does" in str(caught.value)
