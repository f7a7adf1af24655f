"""Bodies of real tools do not run, except those that are allowed by their whole names."""

from __future__ import annotations

import asyncio
import importlib
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from langchain import agents
from langchain.agents.middleware import TodoListMiddleware
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, Tool, tool
from langgraph.graph import (  # pyright: ignore[reportMissingTypeStubs]  langgraph is a namespace
    START,
    MessagesState,
    StateGraph,
)
from langgraph.prebuilt import ToolNode

import agentworld_graphs
from agentworld_fixtures._guard import Guard, RealEffect
from agentworld_graphs import ScriptedChatModel, simulate
from agentworld_sim import Scenario, World
from agentworld_sim.runtime.sync import run_sync

pytestmark = pytest.mark.promise("guard-tools")

AGENTS: Any = agents
"""Its types are known in part only."""

RAN: list[str] = []
"""What ran. Nothing, mostly."""


@tool
def deploy(target: str) -> str:
    """Deploys."""
    RAN.append(target)
    return "deployed"


@tool
async def deploy_later(target: str) -> str:
    """Deploys, asynchronously."""
    RAN.append(target)
    return "deployed"


def ran(target: str) -> None:
    RAN.append(target)


class Deploy(BaseTool):
    name: str = "deploy"
    description: str = "Deploys."

    def _run(self, target: str) -> str:
        RAN.append(target)
        return "deployed"


@pytest.fixture
def guard(tmp_path: Path) -> Iterator[Guard]:
    RAN.clear()
    with Guard(writable=[tmp_path]) as guard:
        yield guard
    assert RAN == []


def asks(name: str, **arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": "1"}])


def graph_of(*tools: BaseTool) -> Any:
    """A node that answers the calls of the last message, and shows errors to the agent."""
    graph: Any = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode(list(tools), handle_tool_errors=True))
    graph.add_edge(START, "tools")
    return graph.compile()


REAL: dict[str, Callable[[], BaseTool]] = {
    "function": lambda: deploy,
    "coroutine": lambda: deploy_later,
    "class": Deploy,
    "Tool": lambda: Tool("deploy", ran, "Deploys."),
    "StructuredTool": lambda: StructuredTool.from_function(ran, name="deploy", description="Deploys."),
}  # fmt: skip


@pytest.mark.parametrize("make", REAL.values(), ids=list(REAL))
def test_the_body_of_a_real_tool_does_not_run(make: Callable[[], BaseTool], guard: Guard) -> None:
    real = make()
    with pytest.raises(RealEffect, match=f"the tool '{real.name}' was called for real"):
        asyncio.run(real.ainvoke({"target": "x"}))
    if real.name != "deploy_later":
        with pytest.raises(RealEffect):
            real.invoke({"target": "x"})
    assert {violation.tool for violation in guard.violations} == {real.name}


@pytest.mark.parametrize("real", [deploy, Deploy()], ids=["function", "class"])
def test_a_graph_does_not_turn_it_into_an_observation(real: BaseTool, guard: Guard) -> None:
    state = {"messages": [asks("deploy", target="x")]}
    with pytest.raises(RealEffect) as caught:
        graph_of(real).invoke(state)
    text = str(caught.value)
    assert text.startswith("the tool 'deploy' was called for real\n  at ")
    assert "test_tools.py:" in text
    assert '@pytest.mark.sim(allow_real=["deploy"]) or --sim-allow-real deploy' in text


@pytest.mark.parametrize("real", [deploy, deploy_later, Deploy()])
async def test_nor_does_an_asynchronous_graph(real: BaseTool, guard: Guard) -> None:
    state = {"messages": [asks(real.name, target="x")]}
    with pytest.raises(RealEffect):
        await graph_of(real).ainvoke(state)
    with pytest.raises(RealEffect):
        async for _ in graph_of(real).astream(state):
            pass


async def test_nor_does_an_agent(guard: Guard) -> None:
    agent: Any = AGENTS.create_agent(
        ScriptedChatModel(script=[asks("deploy", target="x"), AIMessage("done")]), [deploy]
    )
    with pytest.raises(RealEffect):
        await agent.ainvoke({"messages": [("user", "go")]})


def test_one_of_several_parallel_calls_is_enough(guard: Guard) -> None:
    @tool
    def look() -> str:
        """Looks."""
        return "nothing"

    calls: list[Any] = [
        {"name": "look", "args": {}, "id": "1"},
        {"name": "deploy", "args": {"target": "x"}, "id": "2"},
    ]
    with Guard(allow_real=["look"]) as inner, pytest.raises(RealEffect):
        graph_of(look, deploy).invoke({"messages": [AIMessage("", tool_calls=calls)]})
    assert [violation.tool for violation in inner.violations] == ["deploy"]


def test_an_allowed_tool_runs_and_what_it_does_is_not_stopped(tmp_path: Path) -> None:
    @tool
    def save(text: str) -> str:
        """Saves."""
        subprocess.run([sys.executable, "-c", ""], check=True)
        (tmp_path / "saved").write_text(text)
        return "saved"

    with Guard(allow_real=["save"]) as guard:
        (message,) = graph_of(save).invoke({"messages": [asks("save", text="x")]})["messages"][1:]
        assert message.content == "saved"
        with pytest.raises(RealEffect):
            (tmp_path / "other").touch()
    assert len(guard.violations) == 1
    assert (tmp_path / "saved").read_text() == "x"


@pytest.mark.parametrize("name", ["sav", "save ", "Save", "*", "saved", ""])
def test_only_the_whole_name_allows(name: str) -> None:
    @tool
    def save() -> str:
        """Saves."""
        raise AssertionError

    with Guard(allow_real=[name]), pytest.raises(RealEffect):
        save.invoke({})


async def test_threads_and_tasks_of_an_allowed_tool_are_a_part_of_it(tmp_path: Path) -> None:
    def write(name: str) -> None:
        (tmp_path / name).touch()

    @tool
    async def save() -> str:
        """Saves, in all sorts of threads."""
        thread = threading.Thread(target=write, args=("thread",))
        thread.start()
        thread.join()
        with ThreadPoolExecutor(1) as pool:
            pool.submit(write, "pool").result()
        await asyncio.to_thread(write, "to_thread")
        await asyncio.get_running_loop().run_in_executor(None, write, "executor")
        await asyncio.create_task(asyncio.to_thread(write, "task"))
        return "saved"

    with Guard(allow_real=["save"]) as guard:
        assert await save.ainvoke({}) == "saved"
    assert guard.violations == ()
    assert len(list(tmp_path.iterdir())) == 5


async def test_a_thread_that_an_allowed_tool_has_used_is_watched_again(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:

        @tool
        def save() -> str:
            """Saves, in a pool that it shares with others."""
            return str(pool.submit(threading.get_ident).result())

        with Guard(allow_real=["save"]) as guard:
            assert save.invoke({}) == str(pool.submit(threading.get_ident).result())
            with pytest.raises(RealEffect):
                pool.submit((tmp_path / "other").touch).result()
    assert len(guard.violations) == 1


def test_a_real_tool_within_an_allowed_one_needs_its_own_name(guard: Guard) -> None:
    @tool
    def delegate() -> str:
        """Lets another tool do it."""
        return deploy.invoke({"target": "x"})

    with Guard(allow_real=["delegate"]) as inner, pytest.raises(RealEffect, match="'deploy'"):
        delegate.invoke({})
    assert [violation.tool for violation in inner.violations] == ["deploy"]


def test_a_simulated_tool_answers(guard: Guard) -> None:
    @tool
    def terminal(commands: str) -> str:
        """Run shell commands on this Linux machine."""
        raise AssertionError

    scenario = Scenario.model_validate({"name": "empty", "domains": ["terminal"]})
    world = run_sync(World.create(scenario))
    simulated = simulate(terminal, world, binds_to="langchain/terminal")
    state = {"messages": [asks("terminal", commands="echo hello | awk '{ print $1 }'")]}
    message = graph_of(simulated).invoke(state)["messages"][-1]
    assert isinstance(message, ToolMessage)
    assert message.text.strip() == "hello"
    assert guard.violations == ()


async def test_bookkeeping_of_the_frameworks_runs(guard: Guard) -> None:
    todo = {"todos": [{"content": "look", "status": "pending"}]}
    agent: Any = AGENTS.create_agent(
        ScriptedChatModel(script=[asks("write_todos", **todo), AIMessage("done")]),
        [],
        middleware=[TodoListMiddleware()],
    )
    state = await agent.ainvoke({"messages": [("user", "go")]})
    assert state["todos"] == todo["todos"]
    assert guard.violations == ()


def test_what_a_frameworks_tool_does_is_watched(guard: Guard, tmp_path: Path) -> None:
    import deepagents

    frameworks: Any = deepagents
    from deepagents.backends import FilesystemBackend

    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    call = asks("write_file", file_path=f"{outside}/new", content="x")
    agent: Any = frameworks.create_deep_agent(
        ScriptedChatModel(script=[call, AIMessage("done")]),
        backend=FilesystemBackend(virtual_mode=False),
    )
    with pytest.raises(RealEffect, match=r"the tool 'write_file' made a folder"):
        agent.invoke({"messages": [("user", "go")]})
    assert not outside.exists()
    with Guard(allow_real=["write_file"]) as inner:
        agent.invoke({"messages": [("user", "go")]})
    assert (outside / "new").read_text() == "x"
    assert inner.violations == ()


def test_a_tool_is_not_ours_by_its_names(guard: Guard, tmp_path: Path) -> None:
    ours = Path(agentworld_graphs.__file__).parent / "_simulate.py"
    script = "def answer(target):\n    'Deploys.'\n    RAN.append(target)\n"
    for name in ("agentworld_graphs._simulate", "deepagents.middleware.filesystem"):
        for file in (str(ours), str(tmp_path / "agentworld_graphs" / "_simulate.py")):
            names: dict[str, Any] = {"__name__": name, "RAN": RAN}
            exec(compile(script, file, "exec"), names)  # noqa: S102 - an attack
            real = StructuredTool.from_function(names["answer"], name="deploy")
            with pytest.raises(RealEffect):
                real.invoke({"target": "x"})


def test_a_module_of_the_project_is_no_framework_by_its_name(
    guard: Guard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "ran = []\ndef deploy(target: str):\n    'Deploys.'\n    ran.append(target)\n"
    (tmp_path / "langgraph_swarm.py").write_text(source)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    module = importlib.import_module("langgraph_swarm")
    monkeypatch.delitem(sys.modules, "langgraph_swarm")
    monkeypatch.setitem(sys.modules, "langgraph_swarm", module)
    with pytest.raises(RealEffect):
        StructuredTool.from_function(module.deploy).invoke({"target": "x"})
    assert module.ran == []


def test_a_body_of_our_own_makes_no_real_body_ours(guard: Guard) -> None:
    def sync_body(target: str) -> None:
        RAN.append(target)

    known: Any = simulate(machine_tool()).coroutine
    real = StructuredTool.from_function(sync_body, known, name="deploy", description="Deploys.")
    with pytest.raises(RealEffect):
        real.invoke({"target": "x"})


def machine_tool() -> BaseTool:
    @tool
    def execute(command: str) -> str:
        """Executes a shell command in an isolated sandbox environment."""
        raise AssertionError

    return execute


def test_langchain_is_watched_also_when_it_is_loaded_later(tmp_path: Path) -> None:
    script = tmp_path / "later.py"
    script.write_text(
        textwrap.dedent(
            """
            import sys
            from agentworld_fixtures._guard import Guard, RealEffect
            assert "langchain_core.tools.base" not in sys.modules
            with Guard() as guard:
                from langchain_core.tools import BaseTool, tool
                @tool
                def deploy() -> str:
                    "Deploys."
                    print("it ran")
                try:
                    deploy.invoke({})
                except RealEffect:
                    print("stopped")
            print(hasattr(BaseTool.run, "__wrapped__"), sys.modules[BaseTool.__module__].__spec__.loader)
            """
        )
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    first, second = done.stdout.splitlines()
    assert first == "stopped"
    assert second.startswith("False <_frozen_importlib_external.SourceFileLoader")
