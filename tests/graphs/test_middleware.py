"""`SimulatedTools` among the other middleware of an agent."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Annotated, Any

import pytest
from langchain.agents import middleware as theirs
from langchain.agents.middleware import AgentMiddleware
from langchain.agents.structured_output import ToolStrategy
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import InjectedState, ToolNode
from langgraph.types import Command
from pydantic import BaseModel

from agentworld_graphs import (
    ExpectedAnswer,
    ScriptedChatModel,
    SimToolNode,
    SimulatedTools,
    SimulationInterrupted,
    ref_in,
)
from agentworld_graphs._middleware import inside_of, unknown_to_us
from agentworld_sim import AccessRefused, UsageError, WorldFailure

if TYPE_CHECKING:
    from conftest import Lab

WAYS = pytest.mark.parametrize("way", ["invoke", "ainvoke"])


async def run(graph: Any, way: str, given: Any, *config: Any) -> Any:
    return graph.invoke(given, *config) if way == "invoke" else await graph.ainvoke(given, *config)


def agent(lab: Lab, script: list[Any], *middleware: Any, tools: Any = None, **options: Any) -> Any:
    return lab.create_agent(
        options.pop("model", None) or ScriptedChatModel(script=script),
        lab.tools() if tools is None else tools,
        middleware=list(middleware),
        checkpointer=InMemorySaver(),
        **options,
    )


class Swallow(AgentMiddleware[Any, Any, Any]):
    """Makes a message of every failure, as some people's middleware does."""

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        try:
            return handler(request)
        except Exception as error:  # noqa: BLE001  it is what is tested
            return ToolMessage(f"Please fix: {error}", tool_call_id=request.tool_call["id"])

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        try:
            return await handler(request)
        except Exception as error:  # noqa: BLE001  it is what is tested
            return ToolMessage(f"Please fix: {error}", tool_call_id=request.tool_call["id"])


class Note(BaseModel):
    """What the agent has to say."""

    text: str


# Answers


@WAYS
async def test_the_world_answers_every_tool_in_the_order_of_the_calls(
    lab: Lab, go: Any, way: str
) -> None:
    world = lab.world()
    script = [lab.adds("a", "b", "c"), lab.asks(lab.call("look")), AIMessage("done")]
    final = await run(agent(lab, script, SimulatedTools(world)), way, go, lab.thread())
    assert lab.answers(final) == ["a", "a,b", "a,b,c", "a,b,c"]
    assert lab.answered == ["a", "b", "c"]
    assert lab.ran == []
    assert final["sim_ref"] == ref_in(final) == world.ref


@WAYS
async def test_its_history_is_that_of_a_tool_node(lab: Lab, go: Any, way: str) -> None:
    world = lab.world()
    script = [lab.adds("a", "b"), lab.adds("c"), AIMessage("done")]
    graphs = [
        agent(lab, script, SimulatedTools(world)),
        lab.agent(SimToolNode(lab.tools(), world=world), *script),
    ]
    refs = [ref_in(await run(graph, way, go, lab.thread(way))) for graph in graphs]
    assert refs[0] == refs[1]


@pytest.mark.parametrize("mode", ["tools", "updates", "values"])
async def test_streams_have_the_events_of_the_real_agent(lab: Lab, go: Any, mode: str) -> None:
    script = [lab.adds("milk"), AIMessage("done")]
    seen: list[list[str]] = []
    for middleware in ([], [SimulatedTools(lab.world())]):
        graph = agent(lab, script, *middleware)
        events = list(graph.stream(go, lab.thread(), stream_mode=mode))
        later = [one async for one in graph.astream(go, lab.thread("b"), stream_mode=mode)]
        seen.append([shape(event) for event in events])
        assert [shape(event) for event in later] == seen[-1]
    assert seen[0] == seen[1] != []


def shape(event: Any) -> str:
    if "event" in event:
        return f"{event['event']} {event.get('tool_name')} {event.get('input')}"
    return str([key for key in event if key != "sim_ref"])


@WAYS
async def test_arguments_are_validated_as_the_real_tool_does(lab: Lab, go: Any, way: str) -> None:
    script = [lab.asks(lab.call("add", thing="milk"), lab.call("sing", "2")), AIMessage("done")]
    told: list[Any] = []
    for middleware in ([], [SimulatedTools(lab.world())]):
        model = ScriptedChatModel(script=script, checks_calls=False)
        final = await run(agent(lab, [], *middleware, model=model), way, go, lab.thread())
        told.append(lab.answers(final))
    assert told[0] == told[1]
    assert "sing is not a valid tool" in told[0][1]


@WAYS
async def test_injected_values_are_not_recorded(lab: Lab, go: Any, way: str) -> None:
    def add(item: str, state: Annotated[Any, InjectedState], runtime: ToolRuntime[Any, Any]) -> str:
        """Adds to the list."""
        raise AssertionError("real")

    world = lab.world()
    script = [lab.adds("a"), lab.adds("b"), AIMessage("done")]
    graph = agent(lab, script, SimulatedTools(world), tools=[add])
    assert lab.answers(await run(graph, way, go, lab.thread())) == ["a", "a,b"]
    trajectory = await world.trajectory()
    assert [turn.call.arguments for turn in trajectory.turns] == [{"item": "a"}, {"item": "b"}]


@WAYS
async def test_a_tool_that_is_listed_as_real_runs(lab: Lab, go: Any, way: str) -> None:
    script = [lab.asks(lab.call("look"), lab.call("add", "2", item="a")), AIMessage("done")]
    graph = agent(lab, script, SimulatedTools(lab.world(), access={"look": "real"}))
    assert lab.answers(await run(graph, way, go, lab.thread())) == ["really looked", "a"]
    assert lab.ran == ["look"]


@pytest.mark.promise("whole-graphs")
@WAYS
async def test_agents_inside_a_real_tool_are_simulated_too(lab: Lab, go: Any, way: str) -> None:
    inner = lab.create_agent(
        ScriptedChatModel(script=[lab.adds("x"), AIMessage("found")]), lab.tools()
    )

    def research(topic: str) -> str:
        """Hands a question to another agent."""
        return str(lab.answers(inner.invoke({"messages": [("user", topic)]})))

    async def aresearch(topic: str) -> str:
        return str(lab.answers(await inner.ainvoke({"messages": [("user", topic)]})))

    tool = lab.tool(research, coroutine=aresearch)
    script = [lab.asks(lab.call("research", topic="milk")), AIMessage("done")]
    simulated = SimulatedTools(lab.world(), access={"research": "real"})
    graph = agent(lab, script, simulated, tools=[tool])
    assert lab.answers(await run(graph, way, go, lab.thread())) == ["['x']"]
    assert lab.ran == []


# Refusals


@pytest.mark.promise("whole-graphs")
@WAYS
async def test_what_cannot_be_simulated_is_named_before_the_model_is_asked(
    lab: Lab, go: Any, way: str
) -> None:
    def deploy(version: str) -> str:
        """Deploys."""
        raise AssertionError("real")

    model = ScriptedChatModel(script=[lab.adds("a"), AIMessage("done")])
    server_side = {"type": "web_search_20250305", "name": "web_search"}
    tools = [*lab.shell_tools(), lab.tool(deploy), server_side]
    graph = agent(lab, [], SimulatedTools(lab.machine()), tools=tools, model=model)
    with pytest.raises(SimulationInterrupted) as caught:
        await run(graph, way, go, lab.thread())
    assert isinstance(caught.value.error, AccessRefused)
    text = str(caught.value)
    assert text.startswith("not every tool would be simulated, so the model was not asked.")
    assert "'web_search' is a provider-side tool" in text
    assert "'deploy'" in text
    assert "binds_to={'deploy': 'toolkit/tool'}" in text
    assert len(model.unused_messages()) == 2


@pytest.mark.promise("provider-side")
@pytest.mark.parametrize(
    "server_side",
    [
        {"type": "bash_20250124", "name": "bash"},
        {"type": "web_search_preview"},
        {"google_search": {}},
        {"type": "mcp", "server_label": "files", "server_url": "http://files.example"},
    ],
)
def test_provider_side_tools_are_refused_in_every_form(
    lab: Lab, go: Any, server_side: dict[str, Any]
) -> None:
    graph = agent(lab, [AIMessage("done")], SimulatedTools(lab.world()), tools=[server_side])
    with pytest.raises(SimulationInterrupted, match="is a provider-side tool"):
        graph.invoke(go, lab.thread())


def test_provider_side_tools_in_the_settings_of_a_call_are_refused(lab: Lab, go: Any) -> None:
    class Adds(AgentMiddleware[Any, Any, Any]):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            settings = {"mcp_servers": [{"type": "url", "name": "files"}]}
            return handler(request.override(model_settings=settings))

    graph = agent(lab, [AIMessage("done")], Adds(), SimulatedTools(lab.world()))
    with pytest.raises(SimulationInterrupted, match="'files' is a provider-side tool"):
        graph.invoke(go, lab.thread())


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_real_shell_is_refused_by_name(lab: Lab, go: Any) -> None:
    def asked() -> str:
        shell = theirs.ShellToolMiddleware()
        graph = agent(lab, [AIMessage("done")], shell, SimulatedTools(lab.machine()), tools=[])
        with pytest.raises(SimulationInterrupted) as caught:
            graph.invoke(go, lab.thread())
        return str(caught.value)

    assert "SimulatedShellMiddleware in its place" in asked()
    # The real middleware leaves its pipes to the collector, which complains of them.
    gc.collect()


@pytest.mark.parametrize("option", ["access", "binds_to"])
def test_names_that_no_tool_has_are_told(lab: Lab, go: Any, option: str) -> None:
    options: dict[str, Any] = {option: {"loook": "refuse"}}
    graph = agent(lab, [lab.adds("a")], SimulatedTools(lab.world(), **options))
    with pytest.raises(SimulationInterrupted, match="Did you mean 'look'") as caught:
        graph.invoke(go, lab.thread())
    assert isinstance(caught.value.error, UsageError)


def test_a_wrong_access_is_told_at_once(lab: Lab) -> None:
    access: Any = {"look": "maybe"}
    with pytest.raises(UsageError, match="'simulate', 'real' or 'refuse'"):
        SimulatedTools(lab.world(), access=access)


@WAYS
async def test_a_refused_tool_fails_the_run(lab: Lab, go: Any, way: str) -> None:
    graph = agent(lab, [lab.adds("a")], SimulatedTools(lab.world(), access={"add": "refuse"}))
    with pytest.raises(SimulationInterrupted, match="'add' is refused"):
        await run(graph, way, go, lab.thread())
    assert lab.answers(graph.get_state(lab.thread()).values) == []


@WAYS
async def test_a_middleware_inside_of_it_is_named(lab: Lab, go: Any, way: str) -> None:
    decorated: Any = theirs.wrap_tool_call(lambda request, handler: handler(request))
    emulator = theirs.LLMToolEmulator(model=ScriptedChatModel(script=[AIMessage("made up")]))
    for inner, name in ((Swallow(), "Swallow"), (emulator, "LLMToolEmulator"), (decorated, "")):
        if way == "ainvoke" and inner is decorated:
            continue
        graph = agent(lab, [lab.adds("a")], SimulatedTools(lab.world()), inner)
        with pytest.raises(SimulationInterrupted, match=f"tool calls: {name}.*SimulatedTools last"):
            await run(graph, way, go, lab.thread())
    assert lab.ran == []


@WAYS
async def test_a_reviewer_inside_of_it_cannot_choose_a_real_tool(
    lab: Lab, go: Any, way: str
) -> None:
    human = theirs.HumanInTheLoopMiddleware(interrupt_on={"add": True})
    graph = agent(lab, [lab.adds("a"), AIMessage("done")], SimulatedTools(lab.world()), human)
    edits: list[tuple[str, dict[str, Any]]] = [("look", {}), ("add", {"item": "b"})]
    for thread, (name, args) in enumerate(edits):
        await run(graph, way, go, lab.thread(str(thread)))
        edited = {"type": "edit", "edited_action": {"name": name, "args": args}}
        answer = {"decisions": [edited]}
        resumed = run(graph, way, Command(resume=answer), lab.thread(str(thread)))
        if name == "add":
            assert lab.answers(await resumed)[0].endswith("b")
            continue
        with pytest.raises(SimulationInterrupted, match="the real tool 'look' was about to run"):
            await resumed
    assert lab.ran == []


def test_langchain_still_shows_what_a_middleware_is_handed(lab: Lab, go: Any) -> None:
    seen: list[list[str]] = []

    class Look(AgentMiddleware[Any, Any, Any]):
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            inner = inside_of(handler)
            seen.append([type(one).__name__ for one in inner])
            seen.append(unknown_to_us(inner))
            return handler(request)

    class Last(Swallow):
        pass

    middleware = [Look(), theirs.ToolRetryMiddleware(), Swallow(), Last()]
    agent(lab, [lab.adds("a"), AIMessage("done")], *middleware).invoke(go, lab.thread())
    assert sorted(seen[0]) == ["Last", "Swallow", "ToolRetryMiddleware"]
    assert sorted(seen[1]) == ["Last", "Swallow"]


# Our failures


@pytest.mark.promise("failure-raises")
@WAYS
@pytest.mark.parametrize("around", ["retry", "error", "swallow", "none"])
async def test_our_failures_never_reach_the_agent(lab: Lab, go: Any, way: str, around: str) -> None:
    middleware: dict[str, list[Any]] = {
        "retry": [theirs.ToolRetryMiddleware(initial_delay=0, jitter=False)],
        "error": [theirs.ToolErrorMiddleware(on_error=lambda error, request: "it failed")],
        "swallow": [Swallow()],
        "none": [],
    }
    model = ScriptedChatModel(script=[lab.adds("a"), AIMessage("done")])
    graph = agent(lab, [], *middleware[around], SimulatedTools(lab.world()), model=model)
    lab.down.add("a")
    with pytest.raises(SimulationInterrupted, match="no answer for a") as caught:
        await run(graph, way, go, lab.thread())
    assert isinstance(caught.value.error, WorldFailure)
    assert model.unused_messages() == [AIMessage("done")]
    lab.down.clear()
    if around != "swallow":
        assert lab.answers(graph.get_state(lab.thread()).values) == []
        assert lab.answers(await run(graph, way, None, lab.thread())) == ["a"]
        return
    # There the message was written before anything of ours ran again; the agent does not read it.
    with pytest.raises(SimulationInterrupted, match="no answer for a"):
        await run(graph, way, None, lab.thread())


@WAYS
async def test_errors_of_the_simulated_tool_are_answers(lab: Lab, go: Any, way: str) -> None:
    script = [
        lab.asks(lab.call("fail")),
        ExpectedAnswer("no such thing", tool_call_id="1", status="error"),
        AIMessage("done"),
    ]
    middleware = [theirs.ToolRetryMiddleware(), SimulatedTools(lab.world())]
    final = await run(agent(lab, script, *middleware), way, go, lab.thread())
    assert final["messages"][-1].content == "done"


# Time


@WAYS
async def test_a_fork_of_a_thread_forks_the_world(lab: Lab, go: Any, way: str) -> None:
    script = [lab.adds("a"), lab.adds("b"), AIMessage("done")]
    graph = agent(lab, script, SimulatedTools(lab.world()))
    first = await run(graph, way, go, lab.thread())
    earlier = next(
        state
        for state in graph.get_state_history(lab.thread())
        if state.next == ("tools",) and len(lab.answers(state.values)) == 1
    )
    other = lab.adds("z")
    other.id = earlier.values["messages"][-1].id
    forked = graph.update_state(earlier.config, {"messages": [other]})
    second = await run(graph, way, None, forked)
    again = await run(graph, way, None, earlier.config)
    assert lab.answers(first) == lab.answers(again) == ["a", "a,b"]
    assert lab.answers(second) == ["a", "a,z"]
    assert first["sim_ref"] == again["sim_ref"] != second["sim_ref"]


@WAYS
async def test_threads_do_not_see_each_other(lab: Lab, go: Any, way: str) -> None:
    script = [lab.adds("a"), AIMessage("done"), lab.adds("b"), AIMessage("done")]
    graph = agent(lab, script, SimulatedTools(lab.world()))
    for name in ("one", "other"):
        assert lab.answers(await run(graph, way, go, lab.thread(name))) == ["a"]
    for name in ("one", "other"):
        assert lab.answers(await run(graph, way, go, lab.thread(name))) == ["a", "a,b"]


# Other middleware


@WAYS
@pytest.mark.parametrize("mode", ["batched", "per_call"])
async def test_a_person_approves_edits_and_rejects(lab: Lab, go: Any, way: str, mode: Any) -> None:
    human = theirs.HumanInTheLoopMiddleware(interrupt_on={"add": True}, interrupt_mode=mode)
    graph = agent(
        lab, [lab.adds("a", "b", "c"), AIMessage("done")], human, SimulatedTools(lab.world())
    )
    waiting = await run(graph, way, go, lab.thread())
    edited = {"name": "add", "args": {"item": "B"}}
    decisions: list[Any] = [
        {"type": "approve"},
        {"type": "edit", "edited_action": edited},
        {"type": "reject", "message": "no"},
    ]
    interrupts = waiting["__interrupt__"]  # in any order
    answer: Any = {"decisions": decisions}
    if len(interrupts) == 3:
        answer = {one.id: decisions["abc".index(one.value["tool_call_id"])] for one in interrupts}
    final = await run(graph, way, Command(resume=answer), lab.thread())
    items = [text.splitlines()[-1] for text in lab.answers(final)]
    assert [item for item in items if "," in item or item == "a"] == ["a", "a,B"]
    assert lab.answered == ["a", "B"]
    assert lab.ran == []


@WAYS
async def test_limits_of_calls_hold(lab: Lab, go: Any, way: str) -> None:
    limit: Any = theirs.ToolCallLimitMiddleware(run_limit=1, exit_behavior="continue")
    script = [lab.adds("a"), lab.adds("b"), AIMessage("done")]
    final = await run(agent(lab, script, limit, SimulatedTools(lab.world())), way, go, lab.thread())
    assert lab.answers(final)[0] == "a"
    assert "limit" in lab.answers(final)[1].lower()
    assert lab.answered == ["a"]


@WAYS
async def test_an_emulator_outside_of_it_answers_instead(lab: Lab, go: Any, way: str) -> None:
    model = ScriptedChatModel(script=[AIMessage("made up")])
    emulator = theirs.LLMToolEmulator(tools=["look"], model=model)
    script = [lab.asks(lab.call("look"), lab.call("add", "2", item="a")), AIMessage("done")]
    graph = agent(lab, script, emulator, SimulatedTools(lab.world()))
    assert lab.answers(await run(graph, way, go, lab.thread())) == ["made up", "a"]


@WAYS
async def test_the_agents_own_list_of_things_to_do_works(lab: Lab, go: Any, way: str) -> None:
    todos = [{"content": "add milk", "status": "pending"}]
    script = [lab.asks(lab.call("write_todos", todos=todos)), lab.adds("milk"), AIMessage("done")]
    todo: Any = theirs.TodoListMiddleware()
    final = await run(agent(lab, script, todo, SimulatedTools(lab.world())), way, go, lab.thread())
    assert final["todos"] == todos
    assert lab.answers(final)[1] == "milk"


def test_a_tool_that_is_only_called_like_the_agents_own_is_not(lab: Lab, go: Any) -> None:
    def write_todos(todos: list[str]) -> str:
        """Writes to the disk."""
        raise AssertionError("real")

    graph = agent(lab, [lab.adds("a")], SimulatedTools(lab.world()), tools=[write_todos])
    with pytest.raises(SimulationInterrupted, match="'write_todos'"):
        graph.invoke(go, lab.thread())


@WAYS
async def test_structured_output_works(lab: Lab, go: Any, way: str) -> None:
    script = [lab.adds("milk"), lab.asks(lab.call("Note", "2", text="added"))]
    graph = agent(lab, script, SimulatedTools(lab.world()), response_format=ToolStrategy(Note))
    final = await run(graph, way, go, lab.thread())
    assert final["structured_response"] == Note(text="added")
    assert lab.answers(final)[0] == "milk"


@WAYS
async def test_tools_that_middleware_brings_are_simulated(lab: Lab, go: Any, way: str) -> None:
    class Brings(AgentMiddleware[Any, Any, Any]):
        def __init__(self) -> None:
            self.tools = lab.tools()

    graph = agent(
        lab, [lab.adds("a"), AIMessage("done")], Brings(), SimulatedTools(lab.world()), tools=[]
    )
    assert lab.answers(await run(graph, way, go, lab.thread())) == ["a"]
    assert lab.ran == []


@WAYS
async def test_a_subagent_works_in_the_world_of_its_parent(lab: Lab, go: Any, way: str) -> None:
    simulated = SimulatedTools(lab.world())
    child = lab.create_agent(
        ScriptedChatModel(script=[lab.adds("b"), AIMessage("child done")]),
        lab.tools(),
        middleware=[simulated],
    )

    def delegate(runtime: ToolRuntime[Any, Any]) -> Command[Any]:
        """Hands the list to another agent."""
        at = runtime.state["sim_ref"]
        result = child.invoke({"messages": [("user", "go")], "sim_ref": at})
        message = ToolMessage("delegated", tool_call_id=runtime.tool_call_id)
        return Command(update={"messages": [message], "sim_ref": result["sim_ref"]})

    script = [
        lab.adds("a"),
        lab.asks(lab.call("delegate", "2")),
        lab.asks(lab.call("look", "3")),
        AIMessage("done"),
    ]
    parent = SimulatedTools(simulated, access={"delegate": "real"})
    graph = agent(lab, script, parent, tools=[*lab.tools(), lab.tool(delegate)])
    assert lab.answers(await run(graph, way, go, lab.thread())) == ["a", "delegated", "a,b"]


def test_it_is_a_tool_node_that_calls_the_tools(lab: Lab) -> None:
    graph = agent(lab, [AIMessage("done")], SimulatedTools(lab.world()))
    assert isinstance(graph.nodes["tools"].bound, ToolNode)
