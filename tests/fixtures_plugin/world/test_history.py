"""Forks, rewinding, faults, and the calls of graphs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import (  # pyright: ignore[reportMissingTypeStubs]  langgraph is a namespace
    END,
    START,
    MessagesState,
    StateGraph,
)

from agentworld_fixtures._call_log import merge_turns
from agentworld_fixtures._sim_world import FaultList, SimWorld
from agentworld_graphs import SimToolNode
from agentworld_sim import SqliteStore, StateDiff, ToolCall, UsageError, World
from agentworld_sim.types.turns import Turn
from tests.fixtures_plugin.world.types_of_fixtures import Failure


def bash(command: str) -> str:
    """Runs a command."""
    raise AssertionError("the real tool ran")


def commands(turns: list[Turn]) -> list[str]:
    return [turn.call.arguments["command"] for turn in turns]


# Forks and rewinding


def test_a_fork_has_calls_faults_and_differences_of_its_own(sim: SimWorld) -> None:
    fault = sim.fail("bash", error="no", times=2)
    sim.call("bash", command="echo 1")
    fork = sim.fork()
    assert (fork.ref, fork.calls(), fork.diff()) == (sim.ref, [], StateDiff())
    assert [fork.call("bash", command="echo x > new; echo 2").text for _ in range(2)] == [
        "no\n",
        "2\n",
    ]
    fork.fail("bash", error="never again")
    assert fork.call("bash", command="pwd").text == "never again\n"
    assert [sim.call("bash", command="echo 3").text for _ in range(2)] == ["no\n", "3\n"]
    assert commands(fork.calls()) == ["echo x > new; echo 2", "echo x > new; echo 2", "pwd"]
    assert commands(sim.calls()) == ["echo 1", "echo 3", "echo 3"]
    assert [str(change) for change in fork.diff().files] == ["A /srv/app/new"]
    assert not sim.diff()
    assert fault.fired == 2


def test_a_fork_can_have_another_seed_and_another_beginning(sim: SimWorld) -> None:
    start = sim.ref
    sim.call("bash", command="echo x > new")
    one, other = sim.fork(at=start, seed=1), sim.fork(at=start, seed=2)
    numbers = [world.call("bash", command="echo $RANDOM").text for world in (one, other)]
    assert numbers[0] != numbers[1]
    one.assert_state(files={"new": None})
    one.assert_not_called("Read")


def test_calls_before_rewinding_stay_calls_of_the_test(sim: SimWorld) -> None:
    sim.call("bash", command="rm README.md")
    point = sim.ref
    sim.call("bash", command="echo x > new")
    sim.rewind(point)
    assert [str(change) for change in sim.diff().files] == ["D /srv/app/README.md"]
    sim.rewind()
    assert not sim.diff()
    sim.assert_called("bash", times=2)
    with pytest.raises(AssertionError, match=r"removed /srv/app/README\.md"):
        sim.assert_no_destructive()


def test_a_second_one_over_the_same_world_begins_where_it_is_made(sim: SimWorld) -> None:
    sim.call("bash", command="rm README.md")
    later = SimWorld(sim.world, FaultList())
    later.call("bash", command="echo x > new")
    assert commands(later.calls()) == ["echo x > new"]
    assert [str(change) for change in later.diff().files] == ["A /srv/app/new"]
    later.assert_no_destructive()
    assert len(sim.calls()) == 2


# Async tests


async def test_all_of_it_works_in_async_tests(sim: SimWorld) -> None:
    await asyncio.gather(*(sim.acall("bash", command=f"echo {number}") for number in range(5)))
    assert sim.call("bash", command="pwd").text == "/srv/app\n"
    sim.assert_called("bash", times=6)
    sim.assert_state(files={"README.md": ...})
    assert not sim.fork().diff()


# Faults


def test_a_fault_that_is_removed_strikes_no_more(sim: SimWorld) -> None:
    fault = sim.fail("bash", when={"command": "pwd"}, error="no")
    assert repr(fault) == "<fault of 'bash', fired: 0>"
    assert sim.call("bash", command="pwd").text == "no\n"
    assert sim.call("bash", command="echo 1").text == "1\n"
    fault.remove()
    fault.remove()
    assert sim.call("bash", command="pwd").text == "/srv/app\n"
    assert fault.fired == 1


def test_of_several_faults_the_first_that_answers_does(sim: SimWorld) -> None:
    slow = sim.fail("bash", latency=2)
    first = sim.fail("bash", when=lambda arguments: "rm" in arguments["command"], error="one")
    second = sim.fail("bash", error="two", latency=100)
    before = sim.calls("bash")
    assert before == []
    assert sim.call("bash", command="rm x").text == "one\n"
    assert sim.call("bash", command="ls").text == "two\n"
    assert [fault.fired for fault in (slow, first, second)] == [2, 1, 1]
    clocks = [turn.change.clock_us for turn in sim.calls()]
    assert [clocks[0] - sim.world.scenario.clock_us, clocks[1] - clocks[0]] == [
        2_000_000,
        102_000_000,
    ]


def test_a_fault_that_would_do_nothing_is_an_error(sim: SimWorld) -> None:
    with pytest.raises(UsageError) as error:
        sim.fail("bash")
    assert str(error.value) == (
        "fail('bash') was not told what happens: give error='…' (the text the agent reads), latency=…"
        " (seconds on the world's clock), or both."
    )
    with pytest.raises(UsageError, match="times=0: a fault strikes once or more often"):
        sim.fail("bash", error="x", times=0)
    with pytest.raises(UsageError, match="latency=-1: the world's clock does not go back"):
        sim.fail("bash", latency=-1)


# What others do in the same world


async def test_calls_of_another_process_are_seen_in_their_place(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "worlds.sqlite")
    async with await World.create(id="w", store=store) as world:
        await world.step(ToolCall("bash", {"command": "echo before"}))
        sim = SimWorld(world, FaultList())
        sim.call("bash", command="echo 1")
        async with await World.open("w", store=SqliteStore(store.path)) as other:
            await other.step(ToolCall("bash", {"command": "echo 2"}))
        sim.call("bash", command="echo 3")
        async with await World.open("w", store=SqliteStore(store.path)) as other:
            await other.step(ToolCall("bash", {"command": "echo 4"}))
        sim.call("bash", command="echo 5")
        assert commands(sim.calls()) == ["echo 1", "echo 2", "echo 3", "echo 4", "echo 5"]


def test_what_was_noted_and_what_the_history_shows_are_merged() -> None:
    def turn(ref: str) -> Turn:
        made = object.__new__(Turn)
        object.__setattr__(made, "ref", ref)
        return made

    noted, line = [turn(ref) for ref in "axcxe"], [turn(ref) for ref in "abcdef"]
    assert [one.ref for one in merge_turns(noted, line)] == list("axbcxdef")
    assert [one.ref for one in merge_turns([], line)] == list("abcdef")
    assert [one.ref for one in merge_turns(noted, [])] == list("axcxe")
    assert [one.ref for one in merge_turns([turn("c"), turn("a"), turn("c")], line)] == list(
        "abcacdef"
    )


# Graphs


def graph_of(sim: SimWorld, *steps: str) -> Any:
    """A graph that runs these commands, one after another."""

    def model(state: MessagesState) -> dict[str, Any]:
        done = sum(isinstance(message, ToolMessage) for message in state["messages"])
        if done == len(steps):
            return {"messages": [AIMessage("Done.")]}
        call = {"name": "bash", "args": {"command": steps[done]}, "id": f"call-{done}"}
        return {"messages": [AIMessage("", tool_calls=[call])]}

    def more(state: MessagesState) -> str:
        return "tools" if cast("AIMessage", state["messages"][-1]).tool_calls else END

    builder = cast("Any", StateGraph(MessagesState))
    builder.add_node("model", model)
    builder.add_node("tools", SimToolNode([bash], world=sim.world))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", more)
    builder.add_edge("tools", "model")
    return builder.compile(checkpointer=InMemorySaver())


def in_thread(name: str) -> Any:
    return {"configurable": {"thread_id": name}}


START_OF = {"messages": [HumanMessage("go")]}


def test_calls_of_all_threads_of_a_graph_are_seen(sim: SimWorld, failure: Failure) -> None:
    graph = graph_of(sim, "echo 1 >> log", "cat log")
    for thread in ("a", "b"):
        graph.invoke(START_OF, in_thread(thread))
    # Both threads began where the world stood, so that they made the same two turns.
    assert commands(sim.calls()) == ["echo 1 >> log", "cat log"] * 2
    assert [turn.observation.text for turn in sim.calls()] == ["", "1\n"] * 2
    sim.assert_called("bash", args={"command": "cat log"}, times=2)


def test_a_thread_that_goes_back_makes_a_branch(sim: SimWorld) -> None:
    graph = graph_of(sim, "rm README.md", "echo x > new")
    graph.invoke(START_OF, in_thread("a"))
    history = graph.get_state_history(in_thread("a"))
    after_first = next(state for state in history if len(state.values["messages"]) == 3)
    other = {"name": "bash", "args": {"command": "echo y > other"}, "id": "other"}
    instead = {"messages": [AIMessage("", tool_calls=[other])]}
    graph.update_state(after_first.config, instead, as_node="model")
    graph.invoke(None, in_thread("a"))
    assert commands(sim.calls())[:3] == ["rm README.md", "echo x > new", "echo y > other"]
    branch = sim.calls()[2]
    sim.assert_state(files={"new": ..., "other": None, "README.md": None}, at=sim.ref)
    sim.assert_state(files={"new": None, "other": ..., "README.md": None}, at=branch.ref)


def test_where_the_last_call_left_the_line_it_must_be_said_where_to_look(sim: SimWorld) -> None:
    one, other = graph_of(sim, "rm README.md"), graph_of(sim, "echo y > other", "cat other")
    one.invoke(START_OF, in_thread("a"))
    sim.assert_state(files={"README.md": None})
    other.invoke(START_OF, in_thread("b"))
    looks: list[Callable[[], object]] = [
        lambda: sim.assert_state(files={"other": None}),
        lambda: sim.read_text("other"),
        sim.tables,
        sim.diff,
        sim.patch,
        sim.goals,
        sim.assert_goals,
        sim.fork,
    ]
    for look in looks:
        with pytest.raises(UsageError) as told:
            look()
        assert str(told.value) == (
            f"the world stands at {sim.ref[:16]}, and the last call of this test,"
            " bash(command='cat other'), was answered on another branch of its history: its run began"
            " where its tools were made, or a thread went back. Say where to look:"
            " at=world.calls()[-1].ref for what that call left, at=world.ref for where the world stands."
            " Or give the run tools of its own, sim_tools(…) again, so that it goes on where the world"
            " stands."
        )
    sim.assert_state(files={"other": "y\n"}, at=sim.calls()[-1].ref)
    sim.call("bash", command="echo z > third")
    sim.assert_state(files={"other": None, "third": "z\n", "README.md": None})
    sim.rewind()
    sim.assert_state(files={"third": None, "README.md": ...})


def test_a_fault_of_a_graph_is_what_its_agent_reads(sim: SimWorld) -> None:
    fault = sim.fail("bash", error="disk full", times=1)
    graph = graph_of(sim, "echo 1", "echo 2")
    for thread in ("a", "b"):
        messages = graph.invoke(START_OF, in_thread(thread))["messages"]
        told = [message.content for message in messages if isinstance(message, ToolMessage)]
        # Each thread is a line of history of its own.
        assert told == ["disk full\n", "2\n"]
    assert fault.fired == 2
