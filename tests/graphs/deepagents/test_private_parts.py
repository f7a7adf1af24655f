"""What the sandbox relies on that LangGraph does not promise."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import AIMessage

from agentworld_graphs import SimulatedSandbox, _call_site, _deepagents_backend  # pyright: ignore[reportPrivateUsage]
from agentworld_graphs._call_site import ParentGraph, parent_graphs

if TYPE_CHECKING:
    from conftest import Deep


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
async def test_langgraph_still_shows_the_graphs_around_a_call(
    deep: Deep, go: Any, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[ParentGraph]] = []

    def look() -> list[ParentGraph]:
        seen.append(parent_graphs())
        return seen[-1]

    monkeypatch.setattr(_deepagents_backend, "parent_graphs", look)
    agent = deep.agent(
        SimulatedSandbox(),
        deep.delegates("a"),
        deep.writes("/srv/x", id="main"),
        AIMessage("done"),
        helpers={"a": [deep.writes("/srv/a", id="inner"), AIMessage("helped")]},
    )
    await deep.run(agent, way, go)
    inner, main = seen
    assert [level.call for level in inner] == ["inner", "a"]
    assert [level.call for level in main] == ["main"]
    assert all(level.task is not None and level.has() for level in [*inner, *main])
    assert inner[1].info.task_id in inner[0].info.checkpoint_ns


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
async def test_without_that_calls_are_still_answered(
    deep: Deep, go: Any, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_call_site, "LOOP_ARGUMENT", "gone")
    agent = deep.agent(
        SimulatedSandbox(),
        deep.delegates("a"),
        deep.asks(deep.call("execute", "later", command="ls /srv")),
        AIMessage("done"),
        helpers={"a": [deep.writes("/srv/a"), deep.writes("/srv/b"), AIMessage("helped")]},
    )
    final = await deep.run(agent, way, go)
    assert deep.answers(final)[-1].startswith("a\nb\n")


def test_outside_of_a_graph_there_are_none() -> None:
    assert parent_graphs() == []


def test_a_missing_deepagents_is_named_with_what_to_install() -> None:
    code = "import sys; sys.modules['deepagents'] = None\nfrom agentworld_graphs import SimulatedSandbox"
    failed = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True
    )
    assert "pip install 'agentworld-sim[deepagents]'" in failed.stderr
