"""A run that is resumed by another process: what was answered stays answered."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from agentworld_graphs import SimulationInterrupted, ref_in
from agentworld_graphs._thread_refs import marks_of
from agentworld_sim import MemoryStore, SqliteStore
from tests.graphs.shapes import SHAPES, Setting, asks_a_person, world_in

if TYPE_CHECKING:
    from conftest import Lab

ROOT = Path(__file__).resolve().parents[2]
WAYS = pytest.mark.parametrize("way", ["invoke", "ainvoke"])
EVERY = pytest.mark.parametrize("shape", sorted(SHAPES))


async def run(graph: Any, way: str, given: Any, config: Any) -> Any:
    return graph.invoke(given, config) if way == "invoke" else await graph.ainvoke(given, config)


def refs(state: Any) -> list[Any]:
    marks = [marks_of(one) for one in state["messages"] if one.type == "tool"]
    return [mark and mark["ref"] for mark in marks]


def in_a_process(*arguments: str) -> tuple[int, list[Any]]:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.graphs.elsewhere", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode in (0, 9), done.stderr
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "way"),
    [
        ("channel", "invoke"),
        ("plain", "ainvoke"),
        ("sent_marks", "invoke"),
        ("create_agent", "ainvoke"),
        ("subgraph", "ainvoke"),
        ("functional", "invoke"),
    ],
)
def test_a_process_that_died_between_two_answers_is_followed_by_another(
    tmp_path: Path, shape: str, way: str
) -> None:
    code, before = in_a_process(shape, way, str(tmp_path))
    assert code == 9
    code, (*after, final) = in_a_process(shape, way, str(tmp_path), "resume")
    assert code == 0
    answered = [one["answered"] for one in (*before, *after)]
    assert [said.partition("-")[0] for said in answered] == ["0", "a", "a2", "b", "c"]
    assert final["answers"] == [*answered, ",".join(answered)]
    # Each call was answered where the one before it left the world.
    chain = final["chain"]
    assert [parent for parent, _ in chain[1:]] == [ref for _, ref in chain[:-1]]


@WAYS
@EVERY
@pytest.mark.parametrize("kept", ["memory", "sqlite"])
async def test_after_a_person_was_asked_another_process_goes_on(
    lab: Lab, go: Any, shape: str, way: str, kept: str, tmp_path: Path
) -> None:
    store = MemoryStore() if kept == "memory" else SqliteStore(tmp_path / "worlds")
    calls = (
        lab.call("add", "a", item="a"),
        lab.call("ask", "q", question="sure?"),
        lab.call("add", "b", item="b"),
        # The same call once more: another one, since its id is another.
        lab.call("add", "c", item="b"),
    )
    said = [lab.adds("0"), lab.asks(*calls), lab.asks(lab.call("look", "l")), AIMessage("done")]
    saver = InMemorySaver()
    for given in (go, Command(resume="yes")):
        world = await world_in(store, lab)
        graph = SHAPES[shape](Setting(lab, world, said, saver, [asks_a_person(lab)]))
        final = await run(graph, way, given, lab.thread())
        # A plain `ToolNode` leaves its other calls under way when one of them stops the run.
        await asyncio.gather(
            *(asyncio.all_tasks() - {asyncio.current_task()}), return_exceptions=True
        )
    assert lab.answers(final) == ["0", "0,a", "sure? yes", "0,a,b", "0,a,b,b", "0,a,b,b"]
    assert lab.answered == ["0", "a", "b", "b"]
    store.close()


@WAYS
@EVERY
async def test_after_a_failure_another_process_goes_on(
    lab: Lab, go: Any, shape: str, way: str
) -> None:
    store, saver = MemoryStore(), InMemorySaver()
    said = [lab.adds("0"), lab.adds("a", "b", "c"), lab.asks(lab.call("look")), AIMessage("done")]

    async def graph() -> Any:
        return SHAPES[shape](Setting(lab, await world_in(store, lab), said, saver))

    lab.down.add("b")
    for given in (go, None):
        with pytest.raises(SimulationInterrupted, match="no answer for b"):
            await run(await graph(), way, given, lab.thread())
    lab.down.clear()
    final = await run(await graph(), way, None, lab.thread())
    assert lab.answers(final) == ["0", "0,a", "0,a,b", "0,a,b,c", "0,a,b,c"]
    assert lab.answered == ["0", "a", "b", "b", "b", "c"]
    world = await world_in(None, lab, "alone")
    alone = SHAPES[shape](Setting(lab, world, said, None if shape != "functional" else saver))
    lab.answered.clear()
    assert refs(await run(alone, way, go, lab.thread("alone"))) == refs(final)


@WAYS
async def test_what_a_task_asked_again_is_told_apart_elsewhere(lab: Lab, go: Any, way: str) -> None:
    """A wrapper that tries again asks twice; another process that takes another way asks anew."""
    store, saver = MemoryStore(), InMemorySaver()
    items = ["x", "y"]

    def twice(request: Any, execute: Any) -> Any:
        result: Any = None
        for item in items:
            call = {**request.tool_call, "args": {"item": item}}
            result = execute(request.override(tool_call=call))
        return result

    async def graph() -> Any:
        setting = Setting(
            lab,
            await world_in(store, lab),
            [lab.adds("a", "b"), AIMessage("done")],
            saver,
            options={"wrap_tool_call": twice},
        )
        return SHAPES["marks"](setting)

    lab.down.add("y")
    with pytest.raises(SimulationInterrupted):
        await run(await graph(), way, go, lab.thread())
    assert lab.answered == ["x", "y"]
    lab.down.clear()
    items[:] = ["x", "z"]
    final = await run(await graph(), way, None, lab.thread())
    # The world went on after each question: what was asked stays asked.
    assert lab.answers(final) == ["x,z", "x,z,x,z"]
    assert lab.answered == ["x", "y", "z", "x", "z"]


async def test_a_replay_elsewhere_is_answered_anew(lab: Lab, go: Any) -> None:
    store, saver = MemoryStore(), InMemorySaver()
    said = [lab.adds("a", "b"), AIMessage("done")]
    graph = SHAPES["channel"](Setting(lab, await world_in(store, lab), said, saver))
    first = graph.invoke(go, lab.thread())
    elsewhere = SHAPES["channel"](Setting(lab, await world_in(store, lab), said, saver))
    point = next(one for one in elsewhere.get_state_history(lab.thread()) if "tools" in one.next)
    again = await elsewhere.ainvoke(None, point.config)
    assert refs(again) == refs(first) and ref_in(again) == ref_in(first)
    assert lab.answered == ["a", "b", "a", "b"]


async def test_without_a_thread_nothing_is_kept_of_who_asked(lab: Lab, go: Any) -> None:
    store = MemoryStore()
    asked: list[object] = []
    keep = store.commit

    def commit(*arguments: Any, **options: Any) -> bool:
        asked.append(options.get("origin"))
        return keep(*arguments, **options)

    store.commit = commit
    for saver, kept in ((None, False), (InMemorySaver(), True)):
        asked.clear()
        graph = SHAPES["marks"](
            Setting(lab, await world_in(store, lab), [lab.adds("a"), AIMessage("done")], saver)
        )
        await graph.ainvoke(go, lab.thread() if saver else None)
        assert [one is not None for one in asked] == [kept]
