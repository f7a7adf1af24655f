"""A small world of functions, real tools that must never run, and graphs around them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from langchain import agents
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph import prebuilt
from langgraph.graph import (  # pyright: ignore[reportMissingTypeStubs]  langgraph is a namespace
    END,
    START,
    MessagesState,
    StateGraph,
)
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Send

from agentworld_graphs import ScriptedChatModel, SimState
from agentworld_sim import FunctionEngine, Observation, Scenario, World
from agentworld_sim.runtime.sync import run_sync

Values = Mapping[str, Any]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves half of each product with `way` to the slow tests: every value is still met in `make test`."""
    products: dict[str, list[pytest.Function]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and Path(__file__).parent in item.path.parents:
            callspec = getattr(item, "callspec", None)
            if callspec is not None and "way" in callspec.params and len(callspec.params) > 1:
                products.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for product in products.values():
        others = [re.sub(r"\b(a?invoke)\b", "", item.name) for item in product]
        rank = {name: number for number, name in enumerate(sorted(set(others)))}
        for item, name in zip(product, others, strict=True):
            asynchronous = item.name != name and "ainvoke" in item.name
            if asynchronous == bool(rank[name] % 2):
                item.add_marker("slow")


class WithRef(MessagesState, SimState):
    """A graph's state with the channel."""


class Lab:
    """What the tests build graphs of."""

    states: Sequence[type[Any]] = (MessagesState, WithRef)

    def __init__(self) -> None:
        self.ran: list[str] = []
        """Names of real tools whose body ran."""
        self.answered: list[str] = []
        """Items that the world's `add` was asked for, in the order of asking, also when it failed."""
        self.down: set[str] = set()
        """Items for which the world breaks."""

    # The world

    def world(self) -> World:
        """A world with a list: `add`, `look`, `fail`."""
        return run_sync(World.create(self.scenario(), engines=[self.engine()]))

    def engine(self, **others: Any) -> FunctionEngine:
        """What answers in `world`; `others` answer in place of its own functions."""
        functions = {"add": self._add, "look": self._look, "fail": self._fail}
        return FunctionEngine({**functions, **others})

    def machine(self, files: Mapping[str, str] | None = None) -> World:
        """A world with a shell."""
        return run_sync(World.create(self.scenario(files)))

    @staticmethod
    def scenario(files: Mapping[str, str] | None = None) -> Scenario:
        return Scenario.model_validate(
            {
                "name": "lab",
                "domains": ["terminal", "swe"],
                "tools": ["terminal"],
                "files": dict(files or {}),
            }
        )

    def _add(self, arguments: Values, values: Values) -> tuple[Observation, dict[str, Any]]:
        item = arguments["item"]
        self.answered.append(item)
        if item in self.down:
            raise RuntimeError(f"no answer for {item}")
        items = [*values.get("items", ()), item]
        return Observation(text=",".join(items)), {"items": items}

    def _look(self, arguments: Values, values: Values) -> str:
        return ",".join(values.get("items", ()))

    def _fail(self, arguments: Values, values: Values) -> Observation:
        return Observation(text="no such thing", is_error=True)

    # The real tools

    def tools(self) -> list[BaseTool]:
        """The real tools of `world`."""

        def add(item: str) -> str:
            """Adds to the list."""
            self.ran.append("add")
            return f"really added {item}"

        def look() -> str:
            """Shows the list."""
            self.ran.append("look")
            return "really looked"

        def fail() -> str:
            """Fails."""
            self.ran.append("fail")
            return "really failed"

        return [self.tool(add), self.tool(look), self.tool(fail)]

    def shell_tools(self) -> list[BaseTool]:
        """Real tools of `machine`: a shell that keeps its directory, and one that reads files."""

        def bash(command: str) -> str:
            """Runs a command in a shell."""
            self.ran.append("bash")
            return command

        def read_file(file_path: str) -> str:
            """Reads a file."""
            self.ran.append("read_file")
            return file_path

        return [self.tool(bash), self.tool(read_file)]

    @staticmethod
    def tool(function: Callable[..., Any], **options: Any) -> StructuredTool:
        return StructuredTool.from_function(function, **options)

    # Conversations

    @staticmethod
    def call(name: str, id: str = "1", **arguments: Any) -> dict[str, Any]:
        return {"name": name, "args": arguments, "id": id, "type": "tool_call"}

    def asks(self, *calls: dict[str, Any]) -> AIMessage:
        return AIMessage("", tool_calls=cast("list[Any]", list(calls)))

    def adds(self, *items: str) -> AIMessage:
        """A message with one `add` per item, all to be done in parallel."""
        return self.asks(*(self.call("add", item, item=item) for item in items))

    @staticmethod
    def answers(state: Any) -> list[Any]:
        """The contents of the tool messages in a state."""
        messages = cast(
            "list[BaseMessage]", state if isinstance(state, list) else state["messages"]
        )
        return [message.content for message in messages if isinstance(message, ToolMessage)]

    # Graphs

    def agent(
        self,
        node: ToolNode,
        *script: AIMessage | ToolMessage,
        saver: Any = None,
        state: type[Any] = MessagesState,
        sent: bool = False,
        **compiled: Any,
    ) -> Any:
        """A graph of a scripted model and a tool node.

        Args:
            node: The tool node.
            script: What the model says.
            saver: Its checkpointer.
            state: Its state.
            sent: Whether every call is a task of its own, as in `create_agent`.
            compiled: For `compile`.
        """
        model = ScriptedChatModel(script=list(script))
        graph: Any = StateGraph(state)

        def think(state: Any) -> Any:
            return {"messages": [model.invoke(state["messages"])]}

        def send(state: Any) -> Any:
            calls = state["messages"][-1].tool_calls
            return [Send("tools", [call]) for call in calls] or END

        graph.add_node("model", think)
        graph.add_node("tools", node)
        graph.add_edge(START, "model")
        graph.add_conditional_edges("model", send if sent else tools_condition, ["tools", END])
        graph.add_edge("tools", "model")
        return graph.compile(checkpointer=saver, **compiled)

    @staticmethod
    def create_agent(*arguments: Any, **options: Any) -> Any:
        return cast("Any", agents).create_agent(*arguments, **options)

    @staticmethod
    def create_react_agent(*arguments: Any, **options: Any) -> Any:
        return cast("Any", prebuilt).create_react_agent(*arguments, **options)

    @staticmethod
    def thread(name: str = "thread") -> dict[str, Any]:
        return {"configurable": {"thread_id": name}}


@pytest.fixture
def lab() -> Lab:
    return Lab()


@pytest.fixture
def go() -> dict[str, Any]:
    """The input that sets an agent off."""
    return {"messages": [("user", "go")]}
