"""Ready graphs with checkpoints, and agents made for a test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.memory import InMemorySaver

from agentworld_graphs.ready._agent import Agent, worlds

THREAD: Any = {"configurable": {"thread_id": "thread"}}
START: Any = {"messages": []}


@pytest.fixture(autouse=True)
async def closed_worlds(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """Nothing may run for real unless a test says so, and no world outlives its test."""
    monkeypatch.delenv("AGENTWORLD_ALLOW_REAL", raising=False)
    yield
    await worlds.close()


def kept(graph: Any) -> Any:
    """The graph with checkpoints of its own."""
    return graph.copy({"checkpointer": InMemorySaver()})


def call(name: str, id: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "args": arguments, "id": id, "type": "tool_call"}


def says(text: str, *calls: Any) -> AIMessage:
    return AIMessage(text, tool_calls=list(calls))


def answers(state: Any) -> list[str]:
    """The texts of the tool messages."""
    return [message.content for message in state["messages"] if message.type == "tool"]


class RealBash:
    """A real tool that only notes what it was asked."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.breaks = False

    def tool(self) -> BaseTool:
        def bash(command: str) -> str:
            """Run a command in bash."""
            self.ran.append(command)
            if self.breaks:
                raise RuntimeError("the line went dead")
            return f"really ran {command}"

        return StructuredTool.from_function(bash)

    def agent(self, *commands: str, allow_real: frozenset[str] | None = None) -> Agent:
        """An agent that runs these commands, one after the other."""
        script = [
            says("", call("bash", f"c{number}", command=command))
            for number, command in enumerate(commands)
        ]
        return Agent(tools=[self.tool()], script=[*script, says("Done.")], allow_real=allow_real)


@pytest.fixture
def real() -> RealBash:
    return RealBash()


Build = Callable[[Agent], Any]
