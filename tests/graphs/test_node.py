"""`SimToolNode`: a `ToolNode` in everything but who answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool as tool_from
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import (  # pyright: ignore[reportMissingTypeStubs]  langgraph is a namespace
    START,
    StateGraph,
)
from langgraph.graph.message import (  # pyright: ignore[reportMissingTypeStubs]  as above
    add_messages,  # pyright: ignore[reportUnknownVariableType]  its decorator is untyped
)
from langgraph.prebuilt import ToolNode
from langgraph.types import Command
from typing_extensions import TypedDict

from agentworld_graphs import (
    ScriptedChatModel,
    SimToolNode,
    SimulatedTool,
    SimulatedTools,
    SimulationInterrupted,
    simulate,
)
from agentworld_sim import AccessRefused, Scenario, UsageError, World, WorldFailure
from agentworld_sim.runtime.sync import run_sync

if TYPE_CHECKING:
    from conftest import Lab

WAYS = pytest.mark.parametrize("way", ["invoke", "ainvoke"])
HANDLERS = pytest.mark.parametrize("handled", [True, False, "it failed", (Exception,), str])
SENT = pytest.mark.parametrize("sent", [False, True])


class Talk(TypedDict):
    """A state that calls its messages otherwise."""

    talk: Annotated[list[Any], add_messages]


async def run(graph: Any, way: str, given: Any, *config: Any) -> Any:
    return graph.invoke(given, *config) if way == "invoke" else await graph.ainvoke(given, *config)


# Like a ToolNode


@WAYS
@SENT
async def test_messages_are_those_of_a_tool_node_but_for_the_mark(
    lab: Lab, go: Any, way: str, sent: bool
) -> None:
    script = [
        lab.asks(
            lab.call("look", "1"),
            lab.call("add", "2", item="milk"),
            lab.call("sing", "3"),
            lab.call("add", "4", thing="milk"),
        ),
        AIMessage("done"),
    ]
    nodes: list[ToolNode] = [ToolNode(lab.tools()), SimToolNode(lab.tools(), world=lab.world())]
    finals = [await run(lab.agent(node, *script, sent=sent), way, go) for node in nodes]
    real, ours = (final["messages"][2:-1] for final in finals)
    for theirs, message in zip(real, ours, strict=True):
        assert ("agentworld" in message.additional_kwargs) == (theirs.status == "success")
        message.additional_kwargs = {}
        message.id = theirs.id
        if theirs.status == "success":
            theirs.content = message.content
    assert ours == real


@pytest.mark.parametrize("mode", ["tools", "messages", "updates", "values", "custom"])
async def test_streams_have_the_events_of_a_tool_node(lab: Lab, go: Any, mode: str) -> None:
    script = [lab.adds("milk"), AIMessage("done")]
    seen: list[list[str]] = []
    for node in (ToolNode(lab.tools()), SimToolNode(lab.tools(), world=lab.world())):
        graph = lab.agent(node, *script)
        sync = [shape(event) for event in graph.stream(go, stream_mode=mode)]
        asynchronous = [shape(event) async for event in graph.astream(go, stream_mode=mode)]
        assert sync == asynchronous
        seen.append(sync)
    assert seen[0] == seen[1]
    assert mode == "custom" or seen[0]


def shape(event: Any) -> str:
    """An event without ids and contents."""
    if "event" in event:
        return f"{event['event']} {event.get('tool_name')} {event.get('input')}"
    return str(list(event)) if hasattr(event, "keys") else type(event[0]).__name__


def test_a_finished_event_has_the_answer(lab: Lab, go: Any) -> None:
    graph = lab.agent(SimToolNode(lab.tools(), world=lab.world()), lab.adds("milk"), lab.asks())
    events = list(graph.stream(go, stream_mode="tools"))
    assert [event["event"] for event in events] == ["tool-started", "tool-finished"]
    assert events[1]["output"].content == "milk"


@WAYS
async def test_a_tool_may_end_the_run_with_its_answer(lab: Lab, go: Any, way: str) -> None:
    (look,) = (tool for tool in lab.tools() if tool.name == "look")
    look.return_direct = True
    model = ScriptedChatModel(script=[lab.asks(lab.call("look"))])
    node = SimToolNode([look], world=lab.world())
    with pytest.warns(DeprecationWarning, match="create_react_agent"):
        graph = lab.create_react_agent(model, node)
    final = await run(graph, way, go)
    assert [message.type for message in final["messages"]] == ["human", "ai", "tool"]


@WAYS
async def test_other_names_for_messages_work(lab: Lab, way: str) -> None:
    graph: Any = StateGraph(Talk)
    graph.add_node("tools", SimToolNode(lab.tools(), world=lab.world(), messages_key="talk"))
    graph.add_edge(START, "tools")
    talk = (await run(graph.compile(), way, {"talk": [lab.adds("a", "b")]}))["talk"]
    talk = [*talk, lab.asks(lab.call("look"))]
    talk = (await run(graph.compile(), way, {"talk": talk}))["talk"]
    assert lab.answers(talk) == ["a", "a,b", "a,b"]


# Wrappers


@pytest.mark.parametrize(
    ("way", "kind"), [("invoke", "sync"), ("ainvoke", "sync"), ("ainvoke", "async")]
)
async def test_a_wrapper_sees_its_own_tools_and_executes_the_simulated_ones(
    lab: Lab, go: Any, way: str, kind: str
) -> None:
    tools = lab.tools()
    seen: list[Any] = []

    def changed(request: Any) -> Any:
        seen.append(request.tool)
        return request.override(tool_call={**request.tool_call, "args": {"item": "bread"}})

    def wrap(request: Any, execute: Any) -> Any:
        return execute(changed(request))

    async def awrap(request: Any, execute: Any) -> Any:
        return await execute(changed(request))

    wrapper: Any = {"wrap_tool_call": wrap} if kind == "sync" else {"awrap_tool_call": awrap}
    for state in lab.states:
        node = SimToolNode(tools, world=lab.world(), **wrapper)
        graph = lab.agent(node, lab.adds("milk"), lab.asks(), state=state)
        assert lab.answers(await run(graph, way, go)) == ["bread"]
    assert seen == [tools[0]] * 2
    assert lab.ran == []


@WAYS
async def test_a_wrapper_may_answer_itself(lab: Lab, go: Any, way: str) -> None:
    def wrap(request: Any, execute: Any) -> Any:
        if request.tool_call["id"] == "no":
            return ToolMessage("denied", tool_call_id="no")
        return execute(request)

    for state in lab.states:
        world = lab.world()
        node = SimToolNode(lab.tools(), world=world, wrap_tool_call=wrap)
        graph = lab.agent(node, lab.adds("a", "no", "b"), lab.asks(), state=state)
        assert lab.answers(await run(graph, way, go)) == ["a", "denied", "a,b"]


@WAYS
async def test_a_wrapper_may_try_again(lab: Lab, go: Any, way: str) -> None:
    def wrap(request: Any, execute: Any) -> Any:
        execute(request)
        return execute(request)

    node = SimToolNode(lab.tools(), world=lab.world(), wrap_tool_call=wrap)
    graph = lab.agent(node, lab.adds("a", "b"), lab.asks())
    assert lab.answers(await run(graph, way, go)) == ["a,a", "a,a,b,b"]


@WAYS
async def test_a_wrapper_may_give_a_command(lab: Lab, go: Any, way: str) -> None:
    def wrap(request: Any, execute: Any) -> Any:
        return Command(update={"messages": [execute(request)]})

    for state in lab.states:
        node = SimToolNode(lab.tools(), world=lab.world(), wrap_tool_call=wrap)
        script = [lab.adds("a", "b"), lab.asks(lab.call("look")), lab.asks()]
        final = await run(lab.agent(node, *script, state=state), way, go)
        assert lab.answers(final) == ["a", "a,b", "a,b"]


@WAYS
async def test_a_wrapper_cannot_bring_in_a_real_tool(lab: Lab, go: Any, way: str) -> None:
    def wrap(request: Any, execute: Any) -> Any:
        (other,) = (tool for tool in lab.tools() if tool.name == "add")
        return execute(request.override(tool=other))

    node = SimToolNode(lab.tools(), world=lab.world(), wrap_tool_call=wrap, handle_tool_errors=True)
    with pytest.raises(SimulationInterrupted, match="not given to the SimToolNode"):
        await run(lab.agent(node, lab.adds("milk"), lab.asks()), way, go)
    assert lab.ran == []


def test_nothing_in_a_run_can_reach_a_real_tool(lab: Lab, go: Any) -> None:
    reachable: list[Any] = []

    def wrap(request: Any, execute: Any) -> Any:
        reachable.extend(request.runtime.tools)
        return execute(request)

    node = SimToolNode(lab.tools(), world=lab.world(), wrap_tool_call=wrap)
    lab.agent(node, lab.adds("milk"), lab.asks()).invoke(go)
    assert {type(tool) for tool in [*reachable, *node.tools_by_name.values()]} == {SimulatedTool}


# Failures


def told(error: Exception) -> str:
    return f"the agent is told: {error}"


@WAYS
@HANDLERS
@SENT
async def test_our_failures_end_the_run_and_leave_the_thread_resumable(
    lab: Lab, go: Any, way: str, handled: Any, sent: bool
) -> None:
    handler = told if handled is str else handled
    for state in lab.states:
        world = lab.world()
        node = SimToolNode(lab.tools(), world=world, handle_tool_errors=handler)
        script = [lab.adds("a", "b", "c"), lab.asks(lab.call("look")), AIMessage("done")]
        graph = lab.agent(node, *script, saver=InMemorySaver(), state=state, sent=sent)
        lab.down, lab.answered = {"b"}, []
        with pytest.raises(SimulationInterrupted, match="no answer for b") as caught:
            await run(graph, way, go, lab.thread())
        assert isinstance(caught.value.error, WorldFailure)
        assert caught.value.exit_code == WorldFailure.exit_code
        snapshot = graph.get_state(lab.thread())
        # LangGraph keeps what was written by tasks that were through.
        assert lab.answers(snapshot.values) == (["a"] if sent else [])
        assert set(snapshot.next) == {"tools"}
        lab.down = set()
        final = await run(graph, way, None, lab.thread())
        assert lab.answers(final) == ["a", "a,b", "a,b,c", "a,b,c"]
        assert lab.answered == ["a", "b", "b", "c"]


@WAYS
async def test_a_wrapper_cannot_make_a_message_of_our_failure(lab: Lab, go: Any, way: str) -> None:
    def wrap(request: Any, execute: Any) -> Any:
        try:
            return execute(request)
        except Exception as error:  # noqa: BLE001  what careless wrappers do
            return ToolMessage(str(error), tool_call_id=request.tool_call["id"])

    node = SimToolNode(lab.tools(), world=lab.world(), wrap_tool_call=wrap)
    lab.down = {"milk"}
    with pytest.raises(SimulationInterrupted, match="no answer for milk"):
        await run(lab.agent(node, lab.adds("milk"), lab.asks()), way, go)


@WAYS
async def test_a_wrapper_may_try_again_after_our_failure(lab: Lab, go: Any, way: str) -> None:
    def wrap(request: Any, execute: Any) -> Any:
        try:
            return execute(request)
        except SimulationInterrupted:
            lab.down = set()
            return execute(request)

    node = SimToolNode(lab.tools(), world=lab.world(), wrap_tool_call=wrap)
    lab.down = {"milk"}
    final = await run(lab.agent(node, lab.adds("milk"), lab.asks()), way, go)
    assert lab.answers(final) == ["milk"]


@WAYS
async def test_simulated_tools_in_a_plain_node_fail_in_the_same_way(
    lab: Lab, go: Any, way: str
) -> None:
    world = lab.world()
    node = ToolNode([simulate(tool, world) for tool in lab.tools()], handle_tool_errors=True)
    lab.down = {"milk"}
    with pytest.raises(SimulationInterrupted, match="no answer for milk"):
        await run(lab.agent(node, lab.adds("milk"), lab.asks()), way, go)


@WAYS
async def test_errors_of_the_simulated_system_are_messages(lab: Lab, go: Any, way: str) -> None:
    for state in lab.states:
        node = SimToolNode(lab.tools(), world=lab.world())
        graph = lab.agent(node, lab.asks(lab.call("fail")), lab.asks(), state=state)
        message = (await run(graph, way, go))["messages"][2]
        assert (message.status, message.content) == ("error", "no such thing")


# Access


@WAYS
async def test_a_real_tool_runs_only_when_it_is_allowed_by_name(
    lab: Lab, go: Any, way: str
) -> None:
    node = SimToolNode(lab.tools(), world=lab.world(), access={"look": "real"})
    calls = lab.asks(lab.call("look", "1"), lab.call("add", "2", item="milk"))
    final = await run(lab.agent(node, calls, lab.asks()), way, go)
    assert lab.answers(final) == ["really looked", "milk"]
    assert lab.ran == ["look"]


@WAYS
async def test_a_refused_tool_fails_the_run(lab: Lab, go: Any, way: str) -> None:
    node = SimToolNode(
        lab.tools(), world=lab.world(), access={"look": "refuse"}, handle_tool_errors=True
    )
    with pytest.raises(SimulationInterrupted, match=r"access=\{'look': 'refuse'\}") as caught:
        await run(lab.agent(node, lab.asks(lab.call("look")), lab.asks()), way, go)
    assert isinstance(caught.value.error, AccessRefused)
    assert lab.ran == []


def test_a_simulated_tool_is_taken_as_it_is_unless_it_is_refused(lab: Lab, go: Any) -> None:
    world = lab.world()
    tools = [simulate(tool, world) for tool in lab.tools()]
    script = lab.adds("milk"), lab.asks()
    assert lab.answers(lab.agent(SimToolNode(tools, world=world), *script).invoke(go)) == ["milk"]
    refusing = SimToolNode(tools, world=world, access={"add": "refuse"})
    with pytest.raises(SimulationInterrupted, match="'add' is refused"):
        lab.agent(refusing, *script).invoke(go)


def test_every_tool_that_binds_to_nothing_is_named_with_what_to_do(lab: Lab) -> None:
    def web_search(query: str) -> str:
        """Searches."""
        raise AssertionError("the real tool ran")

    def send_mail(to: str) -> str:
        """Sends."""
        raise AssertionError("the real tool ran")

    tools: list[Any] = [*lab.shell_tools(), web_search, send_mail, {"type": "code_execution"}]
    with pytest.raises(AccessRefused) as caught:
        SimToolNode(tools, world=lab.machine())
    text = str(caught.value)
    assert text.startswith("not every tool would be simulated, so the node was not made.\n- ")
    for line in (
        "- 'code_execution' is a provider-side tool",
        "- 'web_search' is refused, because it binds to nothing.",
        "- 'send_mail' is refused, because it binds to nothing.",
        "binds_to={'web_search': 'toolkit/tool'}",
        "access={'web_search': 'real'}",
        "access={'web_search': 'refuse'}",
    ):
        assert line in text


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"access": {"bsh": "real"}}, r"access names 'bsh'.*Did you mean 'bash'"),
        ({"binds_to": {"bsh": "terminal/bash"}}, r"binds_to names 'bsh'.*There are: bash"),
        ({"access": {"bash": "reel"}}, r"can be 'simulate', 'real' or 'refuse'"),
        (
            {"access": "real"},
            r"access='real': say it by tool name, as access=\{'some_tool': 'real'\}",
        ),
        ({"binds_to": "terminal/bash"}, r"binds_to='terminal/bash': say it by tool name"),
    ],
)
def test_mistakes_are_named(lab: Lab, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        SimToolNode(lab.shell_tools(), world=lab.machine(), **options)


def test_one_tool_instead_of_a_list_is_told(lab: Lab) -> None:
    given: Any = lab.shell_tools()[0]
    with pytest.raises(UsageError, match=r"the tools are a list: give \[bash\]"):
        SimToolNode(given, world=lab.machine())


async def test_tools_are_bound_explicitly(lab: Lab, go: Any) -> None:
    @tool_from
    def sh(command: str) -> str:
        """Runs."""
        raise AssertionError("the real tool ran")

    node = SimToolNode([sh], world=lab.machine(), binds_to={"sh": "terminal/bash"})
    graph = lab.agent(node, lab.asks(lab.call("sh", command="echo hi")), lab.asks())
    assert lab.answers(graph.invoke(go)) == ["hi\n"]


@pytest.mark.parametrize(
    ("rule", "access", "problem"),
    [
        ("refuse", {}, "the scenario's access rules say so"),
        ("refuse", {"bash": "real"}, "the scenario's access rules refuse it"),
        ("real", {}, "Real tools are allowed by name"),
    ],
)
def test_a_scenario_may_refuse_a_tool_but_not_let_a_real_one_run(
    lab: Lab, rule: str, access: Any, problem: str
) -> None:
    content = {**lab.scenario().model_dump(mode="json"), "access": {"bash": rule}}
    world = run_sync(World.create(Scenario.model_validate(content)))
    with pytest.raises(AccessRefused, match=problem):
        SimToolNode(lab.shell_tools(), world=world, access=access)


async def test_a_refused_binding_leaves_the_worlds_own_tool_alone(lab: Lab) -> None:
    def bash(host: str) -> str:
        """Goes elsewhere."""
        raise AssertionError("the real tool ran")

    world = lab.machine()
    before = dict(world.tools)
    with pytest.raises(AccessRefused):
        SimToolNode([bash], world=world)
    assert dict(world.tools) == before


def test_a_node_of_its_own_world_needs_nothing(lab: Lab, go: Any) -> None:
    node = SimToolNode(lab.shell_tools())
    graph = lab.agent(node, lab.asks(lab.call("bash", command="echo hi")), lab.asks())
    assert lab.answers(graph.invoke(go)) == ["hi\n"]
    assert node.world.ref == node.world.ref


def test_its_repr_names_tools_and_world(lab: Lab) -> None:
    world = lab.world()
    shown = repr(SimToolNode(lab.tools(), world=world))
    assert shown == f"SimToolNode(['add', 'look', 'fail'], world={world.id!r})"


def test_a_fresh_world_may_be_of_a_scenario(lab: Lab) -> None:
    scenario = lab.scenario({"/srv/list": "milk\n"})
    call = lab.asks(lab.call("bash", command="cat /srv/list"))
    graph = lab.agent(SimToolNode(lab.shell_tools(), scenario=scenario), call, AIMessage("done"))
    assert lab.answers(graph.invoke({"messages": [("user", "go")]})) == ["milk\n"]
    assert SimulatedTools(scenario=scenario).world.scenario is scenario
    with pytest.raises(UsageError, match="leave out world="):
        SimToolNode(lab.shell_tools(), world=lab.machine(), scenario=scenario)
