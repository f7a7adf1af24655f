"""What we rely on that LangGraph does not promise, and what we promise of the import."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

import agentworld_graphs
from agentworld_graphs import SimToolNode, _call_site

if TYPE_CHECKING:
    from conftest import Lab


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
@pytest.mark.parametrize("sent", [False, True])
async def test_langgraph_still_shows_the_tasks_of_a_step(
    lab: Lab, go: Any, sent: bool, way: str
) -> None:
    places: list[_call_site.CallSite | None] = []

    def wrap(request: Any, execute: Any) -> Any:
        places.append(_call_site.call_site_of(request.runtime, "messages"))
        return execute(request)

    node = SimToolNode(lab.tools(), world=lab.world(), wrap_tool_call=wrap)
    graph = lab.agent(node, lab.adds("a", "b", "c"), lab.asks(), sent=sent)
    assert graph.invoke(go) if way == "invoke" else await graph.ainvoke(go)
    found = [place for place in places if place is not None]
    assert len(found) == 3
    assert {place.call for place in found} == {"a", "b", "c"}
    # Where each call is a task, the tasks before it are seen, unless they are through already.
    assert all((place.tasks is not None) is sent for place in found)
    assert all(set(place.tasks or ()) <= {call for call, _ in place.earlier} for place in found)
    assert len({id(place.step_attempt) for place in found}) == 1
    assert None not in {place.step_attempt for place in found if not sent}


async def test_langgraph_still_shows_what_a_resumed_run_goes_on_from(lab: Lab, go: Any) -> None:
    seen: list[dict[str, Any]] = []

    def wrap(request: Any, execute: Any) -> Any:
        seen.append(request.runtime.config["configurable"])
        return execute(request)

    saver = InMemorySaver()
    node = SimToolNode(lab.tools(), world=lab.world(), wrap_tool_call=wrap)
    graph = lab.agent(node, lab.adds("a"), lab.adds("b"), lab.asks(), saver=saver, sent=True)
    graph.invoke(go, lab.thread(), interrupt_before=["tools"])
    graph.invoke(None, lab.thread())
    resumed, later = seen
    assert resumed[_call_site.RESUMING_KEY] is True and not later.get(_call_site.RESUMING_KEY)
    for one in seen:
        assert one[_call_site.CHECKPOINTER_KEY] is saver
        assert [*one[_call_site.CHECKPOINTS_KEY]] == [""]
        assert one[_call_site.READ_KEY]("messages")[0].content == "go"


@pytest.mark.parametrize("sent", [False, True])
async def test_without_that_calls_are_still_answered(
    lab: Lab, go: Any, sent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_call_site, "RUNNER_KEY", "gone")
    graph = lab.agent(
        SimToolNode(lab.tools(), world=lab.world()), lab.adds("a", "b"), lab.asks(), sent=sent
    )
    for final in (graph.invoke(go), await graph.ainvoke(go)):
        assert lab.answers(final) == ["a", "a,b"]


def test_importing_the_package_loads_no_framework() -> None:
    code = "import sys, agentworld_graphs; print(sorted({m.split('.')[0] for m in sys.modules}))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    for heavy in ("langgraph", "langchain", "langchain_core", "pydantic", "torch"):
        assert f"'{heavy}'" not in loaded.stdout


def test_a_missing_framework_is_named_with_what_to_install() -> None:
    code = "import sys; sys.modules['langgraph'] = None\nfrom agentworld_graphs import SimToolNode"
    failed = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True
    )
    assert "pip install 'agentworld-sim[graphs]'" in failed.stderr


def test_names_that_are_not_there_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="attribute SimNode"):
        _ = agentworld_graphs.SimNode  # pyright: ignore  the point
    assert "SimToolNode" in dir(agentworld_graphs)
