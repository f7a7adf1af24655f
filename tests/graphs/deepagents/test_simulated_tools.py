"""A deep agent with both: a backend that is a world, and middleware that lets the same world answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from deepagents.backends import CompositeBackend, FilesystemBackend, StateBackend
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from agentworld_graphs import SimulatedSandbox, SimulatedTools, simulate_graph
from agentworld_sim import AccessRefused, World
from tests.graphs.deepagents.conftest import Deep


@tool
def get_weather(city: str) -> str:
    """What the weather is like."""
    raise AssertionError("the real tool ran")


def script(deep: Deep) -> list[AIMessage]:
    return [
        deep.asks(
            deep.call("write_file", "a", file_path="/srv/a", content="1"),
            deep.call("get_weather", "b", city="Oslo"),
            deep.call("execute", "c", command="cat /srv/a; rm /srv/a"),
            deep.call("ls", "d", path="/srv"),
        ),
        AIMessage("done"),
    ]


ANSWERS = [
    "Updated file /srv/a",
    "rain",
    "1\n[Command succeeded with exit code 0]",
    "No files found",
]


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
async def test_tools_of_the_backend_work_in_the_world_as_they_are(
    deep: Deep, go: Any, way: str, keeps: bool
) -> None:
    world = await World.create()
    simulated = SimulatedTools(world, answers={"get_weather": "rain"})
    agent = deep.agent(
        SimulatedSandbox(world),
        *script(deep),
        saver=InMemorySaver() if keeps else None,
        state=None,
        tools=[get_weather],
        middleware=[simulated],
    )
    state = await deep.run(agent, way, go)
    assert deep.answers(state) == ANSWERS
    turns = await world.trajectory(state["sim_ref"])
    assert [turn.call.name for turn in turns] == ["write_file", "get_weather", "execute", "ls"]


async def test_a_whole_graph_with_such_a_backend_is_simulated(deep: Deep, go: Any) -> None:
    world = await World.create()
    backend = CompositeBackend(SimulatedSandbox(world), {"/memories/": StateBackend()})
    agent = deep.agent(backend, *script(deep), tools=[get_weather])
    graph = simulate_graph(agent, world, answers={"get_weather": "rain"})
    assert deep.answers(await deep.run(graph, "ainvoke", go)) == ANSWERS


@pytest.mark.parametrize("virtual", [True, False])
def test_a_sandbox_begins_with_the_files_of_a_backend_of_real_files(
    tmp_path: Path, deep: Deep, virtual: bool
) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "main.sh").write_text("echo hello\n")
    real = FilesystemBackend(root_dir=tmp_path, virtual_mode=virtual)
    sandbox = SimulatedSandbox.with_files_of(real)
    assert sandbox.execute("bash app/main.sh").output == "hello\n"
    path = "/app/main.sh" if virtual else str(tmp_path / "app/main.sh")
    for backend in (real, sandbox):
        assert (backend.read(path).file_data or {})["content"].rstrip() == "echo hello"
    sandbox.write(path, "rm -rf /")
    assert (tmp_path / "app" / "main.sh").read_text() == "echo hello\n"
    with pytest.raises(AccessRefused, match=r"SimulatedSandbox\.with_files_of\(backend\)"):
        simulate_graph(deep.agent(real))
