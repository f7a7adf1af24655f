"""Deep agents whose machine is a world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import deepagents
import pytest
from langchain_core.messages import AIMessage, ToolMessage

from agentworld_graphs import ScriptedChatModel, SimDeepAgentState

Script = Sequence[AIMessage | ToolMessage]


class Deep:
    """What the tests build deep agents of."""

    @staticmethod
    def call(name: str, id: str = "1", **arguments: Any) -> dict[str, Any]:
        return {"name": name, "args": arguments, "id": id, "type": "tool_call"}

    @staticmethod
    def asks(*calls: dict[str, Any]) -> AIMessage:
        return AIMessage("", tool_calls=cast("list[Any]", list(calls)))

    def writes(self, path: str, content: str = "x", id: str = "w") -> AIMessage:
        return self.asks(self.call("write_file", id, file_path=path, content=content))

    def delegates(self, *helpers: str) -> AIMessage:
        """One message that gives each helper a task, all in parallel."""
        return self.asks(
            *(self.call("task", name, description="go", subagent_type=name) for name in helpers)
        )

    def agent(
        self,
        backend: Any,
        *script: AIMessage | ToolMessage,
        helpers: Mapping[str, Script] | None = None,
        saver: Any = None,
        state: Any = SimDeepAgentState,
        **options: Any,
    ) -> Any:
        """A deep agent that says what is in the script.

        Args:
            backend: Its machine.
            script: What its model says.
            helpers: Subagents, by name, and what their models say.
            saver: Its checkpointer.
            state: Its state schema.
            options: For `create_deep_agent`.
        """
        subagents = [
            {
                "name": name,
                "description": "helps",
                "system_prompt": "Help.",
                "model": ScriptedChatModel(script=list(said)),
            }
            for name, said in (helpers or {}).items()
        ]
        return cast("Any", deepagents).create_deep_agent(
            model=ScriptedChatModel(script=list(script)),
            backend=backend,
            subagents=subagents,
            checkpointer=saver,
            state_schema=state,
            **options,
        )

    @staticmethod
    async def run(agent: Any, way: str, given: Any = None, thread: str = "thread") -> Any:
        return await Deep.run_at(agent, way, given, {"configurable": {"thread_id": thread}})

    @staticmethod
    async def run_at(agent: Any, way: str, given: Any, config: Any) -> Any:
        return (
            agent.invoke(given, config) if way == "invoke" else await agent.ainvoke(given, config)
        )

    @staticmethod
    def answers(state: Any) -> list[Any]:
        """The contents of the tool messages in a state."""
        return [one.content for one in state["messages"] if isinstance(one, ToolMessage)]


@pytest.fixture
def deep() -> Deep:
    return Deep()


@pytest.fixture
def go() -> dict[str, Any]:
    """The input that sets an agent off."""
    return {"messages": [("user", "go")]}
