"""Parallel calls of one message are answered in the order of the message, however they come."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from langchain_core.messages import ToolMessage
from langgraph.prebuilt import ToolNode

from agentworld_graphs import SimToolNode, _call_order, simulate
from tests.properties import examples

if TYPE_CHECKING:
    from conftest import Lab

ITEMS = "abcde"
"""As many as a pool of threads surely runs at the same time."""

ORDERS = given(order=st.permutations(ITEMS))

# The lab only builds: examples share nothing that could tell them apart.
EXAMPLES = settings(
    max_examples=examples(25),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

EXPECTED = ["a", "a,b", "a,b,c", "a,b,c,d", "a,b,c,d,e"]

Wrappers = dict[str, Callable[..., Any]]


def gates(order: Sequence[str], answered_by_wrapper: frozenset[str] = frozenset()) -> Wrappers:
    """Wrappers that let the calls reach their tools in the given order."""
    after = dict(zip(order, [*order[1:], None], strict=True))
    opened = {item: threading.Event() for item in order}
    opened_async = {item: asyncio.Event() for item in order}
    opened[order[0]].set()
    opened_async[order[0]].set()

    def skips(item: str) -> ToolMessage | None:
        return ToolMessage("skipped", tool_call_id=item) if item in answered_by_wrapper else None

    def wrap(request: Any, execute: Any) -> Any:
        item = request.tool_call["id"]
        assert opened[item].wait(60)
        if (following := after[item]) is not None:
            opened[following].set()
        return skips(item) or execute(request)

    async def awrap(request: Any, execute: Any) -> Any:
        item = request.tool_call["id"]
        await opened_async[item].wait()
        if (following := after[item]) is not None:
            opened_async[following].set()
        return skips(item) or await execute(request)

    return {"wrap_tool_call": wrap, "awrap_tool_call": awrap}


def node_of(lab: Lab, kind: str, wrappers: Any) -> ToolNode:
    if kind == "sim":
        return SimToolNode(lab.tools(), world=lab.world(), **wrappers)
    world = lab.world()
    return ToolNode([simulate(tool, world) for tool in lab.tools()], **wrappers)


def run(graph: Any, way: str, go: Any) -> Any:
    return graph.invoke(go) if way == "invoke" else asyncio.run(graph.ainvoke(go))


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
@pytest.mark.parametrize("sent", [False, True])
@pytest.mark.parametrize("kind", ["sim", "plain"])
@EXAMPLES
@ORDERS
def test_calls_are_answered_in_order_however_they_come(
    lab: Lab, go: Any, kind: str, sent: bool, way: str, order: Sequence[str]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        # All come in the end; a slow machine must not make the test give one up.
        patch.setattr(_call_order, "PATIENCE_S", 60)
        node = node_of(lab, kind, gates(order))
        graph = lab.agent(node, lab.adds(*ITEMS), lab.asks(), sent=sent)
        assert lab.answers(run(graph, way, go)) == EXPECTED


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
@pytest.mark.parametrize(("kind", "sent"), [("sim", False), ("sim", True), ("plain", True)])
@EXAMPLES
@given(order=st.permutations(ITEMS), skipped=st.frozensets(st.sampled_from(ITEMS)))
def test_nobody_waits_for_calls_that_a_wrapper_answers(
    lab: Lab, go: Any, kind: str, sent: bool, way: str, order: Sequence[str], skipped: Any
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_call_order, "PATIENCE_S", None)
        node = node_of(lab, kind, gates(order, skipped))
        graph = lab.agent(node, lab.adds(*ITEMS), lab.asks(), sent=sent)
        answers = lab.answers(run(graph, way, go))
    left = [item for item in ITEMS if item not in skipped]
    assert [answer for answer in answers if answer != "skipped"] == [
        ",".join(left[: number + 1]) for number in range(len(left))
    ]


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
def test_in_a_plain_node_patience_ends(
    lab: Lab, go: Any, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_call_order, "PATIENCE_S", 0.001)
    node = node_of(lab, "plain", gates("ba", frozenset("a")))
    graph = lab.agent(node, lab.adds("a", "b"), lab.asks())
    assert lab.answers(run(graph, way, go)) == ["skipped", "b"]


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
@pytest.mark.parametrize("kind", ["sim", "plain"])
def test_nobody_waits_for_calls_with_wrong_arguments(
    lab: Lab, go: Any, kind: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_call_order, "PATIENCE_S", None)
    asked = lab.asks(
        lab.call("add", "1", thing="a"),
        lab.call("sing", "2"),
        lab.call("add", "3", item="b"),
        lab.call("add", "4", item="c"),
    )
    answers = lab.answers(run(lab.agent(node_of(lab, kind, {}), asked, lab.asks()), way, go))
    assert answers[2:] == ["b", "b,c"]


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
def test_one_thread_is_enough(lab: Lab, go: Any, way: str) -> None:
    for sent in (False, True):
        graph = lab.agent(node_of(lab, "sim", {}), lab.adds(*ITEMS), lab.asks(), sent=sent)
        config = {"max_concurrency": 1}
        final = (
            graph.invoke(go, config) if way == "invoke" else asyncio.run(graph.ainvoke(go, config))
        )
        assert lab.answers(final) == EXPECTED


def test_more_calls_than_threads_are_answered_in_order(lab: Lab, go: Any) -> None:
    items = [f"{number:03}" for number in range(100)]
    for sent in (False, True):
        graph = lab.agent(node_of(lab, "sim", {}), lab.adds(*items), lab.asks(), sent=sent)
        assert lab.answers(graph.invoke(go))[-1] == ",".join(items)
        assert lab.answers(asyncio.run(graph.ainvoke(go)))[-1] == ",".join(items)


def test_calls_that_share_an_id_are_all_answered(lab: Lab, go: Any) -> None:
    graph = lab.agent(node_of(lab, "sim", {}), lab.adds("a", "a", "a"), lab.asks())
    assert sorted(lab.answers(graph.invoke(go))) == ["a", "a,a", "a,a,a"]


async def test_many_agents_work_on_one_world_at_the_same_time(lab: Lab, go: Any) -> None:
    world = lab.world()
    graphs = [
        lab.agent(
            SimToolNode(lab.tools(), world=world),
            lab.adds(f"{name}1", f"{name}2"),
            lab.asks(lab.call("look")),
            lab.asks(),
        )
        for name in "xyz"
    ]
    finals = await asyncio.gather(*(graph.ainvoke(go) for graph in graphs))
    assert [lab.answers(final)[-1] for final in finals] == ["x1,x2", "y1,y2", "z1,z2"]
