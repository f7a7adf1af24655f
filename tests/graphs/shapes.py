"""The ways in which a graph may have its tools: every promise about time is tried in each of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, convert_to_messages
from langchain_core.tools import BaseTool
from langgraph.func import (  # pyright: ignore[reportMissingTypeStubs]  langgraph is a namespace
    entrypoint,
    task,
)
from langgraph.graph import (  # pyright: ignore[reportMissingTypeStubs]
    START,
    MessagesState,
    StateGraph,
)
from langgraph.prebuilt import ToolNode
from langgraph.types import interrupt

from agentworld_graphs import ScriptedChatModel, SimToolNode, simulate
from agentworld_sim import MemoryStore, World, WorldStore

if TYPE_CHECKING:
    from conftest import Lab


@dataclass(frozen=True)
class Setting:
    """What a graph is made of."""

    lab: Lab
    world: World
    script: Sequence[AIMessage]
    saver: Any
    real: Sequence[BaseTool] = ()
    options: dict[str, Any] | None = None

    @property
    def model(self) -> ScriptedChatModel:
        return ScriptedChatModel(script=list(self.script), checks_calls=False)

    def node(self, **options: Any) -> SimToolNode:
        """All tools behind a `SimToolNode`; the real ones run."""
        access: Any = {tool.name: "real" for tool in self.real}
        tools = [*self.lab.tools(), *self.real]
        return SimToolNode(
            tools, world=self.world, access=access, **{**(self.options or {}), **options}
        )

    def tools(self) -> list[BaseTool]:
        """The simulated tools one by one, and the real ones."""
        return [*(simulate(tool, self.world) for tool in self.lab.tools()), *self.real]


Shape = Callable[[Setting], Any]


def channel(one: Setting) -> Any:
    return one.lab.agent(one.node(), *one.script, saver=one.saver, state=one.lab.states[1])


def marks(one: Setting) -> Any:
    return one.lab.agent(one.node(), *one.script, saver=one.saver)


def sent_channel(one: Setting) -> Any:
    return one.lab.agent(
        one.node(), *one.script, saver=one.saver, state=one.lab.states[1], sent=True
    )


def sent_marks(one: Setting) -> Any:
    return one.lab.agent(one.node(), *one.script, saver=one.saver, sent=True)


def plain(one: Setting) -> Any:
    node = ToolNode(one.tools(), **(one.options or {}))
    return one.lab.agent(node, *one.script, saver=one.saver)


def plain_sent(one: Setting) -> Any:
    node = ToolNode(one.tools(), **(one.options or {}))
    return one.lab.agent(node, *one.script, saver=one.saver, sent=True)


def create_agent(one: Setting) -> Any:
    return one.lab.create_agent(one.model, one.tools(), checkpointer=one.saver)


def react_v1(one: Setting) -> Any:
    return _react(one, "v1", one.node())


def react_v2(one: Setting) -> Any:
    return _react(one, "v2", one.node())


def react_v2_tools(one: Setting) -> Any:
    return _react(one, "v2", one.tools())


def subgraph(one: Setting) -> Any:
    """An agent as a node of another graph, with the same messages."""
    inner = one.lab.agent(one.node(), *one.script)
    graph: Any = StateGraph(MessagesState)
    graph.add_node("agent", inner)
    graph.add_edge(START, "agent")
    return graph.compile(checkpointer=one.saver)


def functional(one: Setting) -> Any:
    """The functional API: the model and the node are called in tasks, the messages are passed on."""
    model, node = one.model, one.node()

    @task
    def think(messages: Any) -> Any:
        return model.invoke(messages)

    @task
    def act(messages: Any) -> Any:
        return node.invoke({"messages": messages})

    def agent(given: Any, *, previous: Any = None) -> Any:
        said: Any = before(previous) + before(given)
        while True:
            reply = think(said).result()
            said = [*said, reply]
            if not reply.tool_calls:
                return {"messages": said}
            said = [*said, *act(said).result()["messages"]]

    def before(state: Any) -> list[Any]:
        return convert_to_messages(state["messages"] if state else [])

    made: Any = entrypoint(checkpointer=one.saver)
    return made(agent)


def _react(one: Setting, version: str, tools: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return one.lab.create_react_agent(one.model, tools, version=version, checkpointer=one.saver)


SHAPES: dict[str, Shape] = {
    shape.__name__: shape
    for shape in (
        channel,
        marks,
        sent_channel,
        sent_marks,
        plain,
        plain_sent,
        create_agent,
        react_v1,
        react_v2,
        react_v2_tools,
        subgraph,
        functional,
    )
}

SENT = {"sent_channel", "sent_marks", "plain_sent", "create_agent", "react_v2", "react_v2_tools"}
"""Those in which every call is a task of its own."""


def asks_a_person(lab: Lab) -> BaseTool:
    """A real tool that stops the run until a person has answered."""

    def ask(question: str) -> str:
        """Asks a person."""
        return f"{question} {interrupt(question)}"

    return lab.tool(ask)


async def world_in(store: WorldStore | None, lab: Lab, id: str = "shared") -> World:
    """The lab's world in a store: made there, or opened as another process would."""
    store = store or MemoryStore()
    engine = lab.engine()
    if any(record.id == id for record in store.worlds()):
        return await World.open(id, store=store, engines=[engine])
    return await World.create(lab.scenario(), id=id, store=store, engines=[engine])
