"""Threads, checkpoints and subagents: the machine goes where the thread goes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import deepagents
import pytest
from deepagents.backends.protocol import SandboxBackendProtocol
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from agentworld_graphs import (
    ScriptedChatModel,
    SimDeepAgentState,
    SimulatedSandbox,
    SimulationInterrupted,
    simulate,
)
from agentworld_sim import SqliteStore, UsageError, World

if TYPE_CHECKING:
    from conftest import Deep

WAYS = pytest.mark.parametrize("way", ["invoke", "ainvoke"])
LIST = "cd /srv; ls"


def listed(*names: str) -> str:
    return "".join(f"{name}\n" for name in names) + "\n[Command succeeded with exit code 0]"


def writes_in_turn(deep: Deep, *names: str) -> list[AIMessage]:
    """Writes a file and lists all, once per name."""
    said: list[AIMessage] = []
    for name in names:
        said.append(deep.writes(f"/srv/{name}", id=f"w{name}"))
        said.append(deep.asks(deep.call("execute", f"l{name}", command=LIST)))
    return [*said, AIMessage("done")]


def before(agent: Any, answers: int, thread: str = "thread") -> Any:
    """The config of the checkpoint before the tools were run for the next time."""
    config = {"configurable": {"thread_id": thread}}
    for snapshot in agent.get_state_history(config):
        messages = snapshot.values.get("messages", ())
        done = sum(message.type == "tool" for message in messages)
        if "tools" in snapshot.next and done == answers:
            return snapshot.config
    raise AssertionError("no such checkpoint")


@WAYS
async def test_files_written_after_a_checkpoint_are_not_there_after_going_back(
    deep: Deep, go: Any, way: str
) -> None:
    sandbox = SimulatedSandbox()
    agent = deep.agent(sandbox, *writes_in_turn(deep, "a", "b", "c"), saver=InMemorySaver())
    first = await deep.run(agent, way, go)
    again = await deep.run_at(agent, way, None, before(agent, 3))
    assert deep.answers(first)[1::2] == [listed("a"), listed("a", "b"), listed("a", "b", "c")]
    assert deep.answers(again) == deep.answers(first)
    assert again["sim_ref"] == first["sim_ref"]


@WAYS
async def test_a_fork_of_a_thread_forks_the_machine(deep: Deep, go: Any, way: str) -> None:
    agent = deep.agent(SimulatedSandbox(), *writes_in_turn(deep, "a", "b"), saver=InMemorySaver())
    first = await deep.run(agent, way, go)
    config = before(agent, 2)
    asked = agent.get_state(config).values["messages"][-1]
    other = deep.writes("/srv/other").model_copy(update={"id": asked.id})
    forked = agent.update_state(config, {"messages": [other]})
    final = await deep.run_at(agent, way, None, forked)
    assert deep.answers(final)[-1] == listed("a", "other")
    assert deep.answers(first)[-1] == listed("a", "b")


@WAYS
async def test_threads_begin_where_the_sandbox_was_made(deep: Deep, go: Any, way: str) -> None:
    sandbox = SimulatedSandbox()
    agent = deep.agent(sandbox, *writes_in_turn(deep, "a"), saver=InMemorySaver())
    ends = [await deep.run(agent, way, go, thread) for thread in ("one", "two")]
    assert [deep.answers(end)[-1] for end in ends] == [listed("a"), listed("a")]
    assert ends[0]["sim_ref"] == ends[1]["sim_ref"]


async def test_threads_that_run_at_the_same_time_do_not_meet(deep: Deep, go: Any) -> None:
    sandbox = SimulatedSandbox()
    agents = [
        deep.agent(sandbox, *writes_in_turn(deep, name, name * 2), saver=InMemorySaver())
        for name in "abcd"
    ]
    ends = await asyncio.gather(*(deep.run(agent, "ainvoke", go) for agent in agents))
    for name, end in zip("abcd", ends, strict=True):
        assert deep.answers(end)[-1] == listed(name, name * 2)


@WAYS
async def test_a_thread_goes_on_where_it_was_with_the_world_opened_anew(
    deep: Deep, go: Any, way: str, tmp_path: Path
) -> None:
    saver, store = InMemorySaver(), SqliteStore(tmp_path / "worlds.db")
    world = await World.create(store=store)
    agent = deep.agent(SimulatedSandbox(world), *writes_in_turn(deep, "a"), saver=saver)
    await deep.run(agent, way, go)
    await SimulatedSandbox(world).aexecute("touch /srv/other")
    await world.close()
    # The same world, opened anew: nothing is known of the thread but what its checkpoint says.
    sandbox = SimulatedSandbox(world.id, store=store)
    script = [*writes_in_turn(deep, "a"), *writes_in_turn(deep, "b")]
    final = await deep.run(deep.agent(sandbox, *script, saver=saver), way, go)
    assert deep.answers(final)[-1] == listed("a", "b")
    store.close()


@WAYS
async def test_calls_of_one_message_are_done_in_its_order(deep: Deep, go: Any, way: str) -> None:
    calls = [
        deep.call("execute", str(number), command=f"sleep 1; echo {number} >> /srv/log")
        for number in range(6)
    ]
    last = deep.call("execute", "last", command="cat /srv/log")
    refs: set[str] = set()
    for _ in range(3):
        agent = deep.agent(SimulatedSandbox(), deep.asks(*calls, last), AIMessage("done"))
        final = await deep.run(agent, way, go)
        assert deep.answers(final)[-1].startswith("0\n1\n2\n3\n4\n5\n")
        refs.add(final["sim_ref"])
    assert len(refs) == 1


def helpers(deep: Deep, *names: str) -> dict[str, Sequence[AIMessage]]:
    """Subagents that each write twice and look."""
    return {
        name: [
            deep.writes(f"/srv/{name}1"),
            deep.writes(f"/srv/{name}2"),
            deep.asks(deep.call("execute", command=LIST)),
            AIMessage(f"{name} is done"),
        ]
        for name in names
    }


@WAYS
async def test_subagents_of_one_message_share_the_machine_in_its_order(
    deep: Deep, go: Any, way: str
) -> None:
    refs: set[str] = set()
    for saver in (None, InMemorySaver(), None):
        both = deep.delegates("a", "b")
        both.tool_calls.insert(0, deep.writes("/srv/0").tool_calls[0])
        both.tool_calls += deep.asks(deep.call("execute", "all", command=LIST)).tool_calls
        agent = deep.agent(
            SimulatedSandbox(),
            both,
            deep.asks(deep.call("execute", "later", command=LIST)),
            AIMessage("done"),
            helpers=helpers(deep, "a", "b"),
            saver=saver,
        )
        final = await deep.run(agent, way, go)
        everything = listed("0", "a1", "a2", "b1", "b2")
        assert deep.answers(final)[1:3] == ["a is done", "b is done"]
        assert deep.answers(final)[3:] == [everything, everything]
        refs.add(final["sim_ref"])
    assert len(refs) == 1


@WAYS
async def test_going_back_before_a_subagent_undoes_what_it_did(
    deep: Deep, go: Any, way: str
) -> None:
    sandbox = SimulatedSandbox()
    agent = deep.agent(
        sandbox,
        deep.delegates("a"),
        deep.asks(deep.call("execute", "later", command=LIST)),
        AIMessage("done"),
        helpers=helpers(deep, "a"),
        saver=InMemorySaver(),
    )
    first = await deep.run(agent, way, go)
    again = await deep.run_at(agent, way, None, before(agent, 0))
    assert deep.answers(again) == deep.answers(first) == ["a is done", listed("a1", "a2")]
    assert again["sim_ref"] == first["sim_ref"]


@WAYS
async def test_what_was_done_before_an_interrupt_is_done_once(
    deep: Deep, go: Any, way: str
) -> None:
    asks = deep.asks(
        deep.call("execute", "1", command="echo a >> /srv/log"),
        deep.call("edit_file", "2", file_path="/srv/log", old_string="a", new_string="b"),
        deep.call("execute", "3", command="echo c >> /srv/log; cat /srv/log"),
    )
    agent = deep.agent(
        SimulatedSandbox(),
        asks,
        AIMessage("done"),
        saver=InMemorySaver(),
        interrupt_on={"edit_file": True},
    )
    paused = await deep.run(agent, way, go)
    assert paused["__interrupt__"]
    final = await deep.run(agent, way, Command(resume={"decisions": [{"type": "approve"}]}))
    assert deep.answers(final)[-1].startswith("b\nc\n")


class LogsEachTurn(AgentMiddleware):
    """Uses the backend outside of a tool."""

    def __init__(self, backend: SandboxBackendProtocol) -> None:
        super().__init__()
        self._backend = backend

    def before_model(self, state: Any, runtime: Any) -> None:
        self._backend.execute("echo turn >> /srv/turns")

    async def abefore_model(self, state: Any, runtime: Any) -> None:
        await self._backend.aexecute("echo turn >> /srv/turns")


@WAYS
async def test_what_a_middleware_does_is_part_of_the_thread(deep: Deep, go: Any, way: str) -> None:
    sandbox = SimulatedSandbox()
    count = deep.asks(deep.call("execute", "1", command="wc -l < /srv/turns"))
    more = deep.asks(deep.call("execute", "2", command="wc -l < /srv/turns"))
    agent = deep.agent(
        sandbox,
        count,
        more,
        AIMessage("done"),
        saver=InMemorySaver(),
        middleware=[LogsEachTurn(sandbox)],
    )
    first = await deep.run(agent, way, go)
    again = await deep.run_at(agent, way, None, before(agent, 1))
    assert [answer[0] for answer in deep.answers(first)] == ["1", "2"]
    assert deep.answers(again) == deep.answers(first)


@WAYS
async def test_a_thread_whose_state_cannot_carry_the_ref_is_stopped(
    deep: Deep, go: Any, way: str
) -> None:
    sandbox = SimulatedSandbox()
    for name, arguments in (("execute", {"command": "true"}), ("glob", {"pattern": "*"})):
        asks = deep.asks(deep.call(name, **arguments))
        agent = deep.agent(sandbox, asks, saver=InMemorySaver(), state=None)
        with pytest.raises(SimulationInterrupted, match="state_schema=SimDeepAgentState") as told:
            await deep.run(agent, way, go)
        assert isinstance(told.value.error, UsageError)
    assert not (await sandbox.world.trajectory()).turns


@WAYS
async def test_without_checkpoints_and_channel_it_goes_on_like_a_real_machine(
    deep: Deep, go: Any, way: str
) -> None:
    sandbox = SimulatedSandbox()
    agent = deep.agent(sandbox, *writes_in_turn(deep, "a"), state=None)
    await deep.run(agent, way, go)
    await sandbox.aexecute("touch /srv/b")
    final = await deep.run(agent, way, go)
    assert deep.answers(final)[-1] == listed("a", "b")


async def test_updates_keep_their_form(deep: Deep, go: Any) -> None:
    asks = deep.asks(deep.call("execute", command="true"))
    agent = deep.agent(SimulatedSandbox(), asks, AIMessage("done"))
    updates = [
        one["tools"] async for one in agent.astream(go, stream_mode="updates") if "tools" in one
    ]
    (update,) = updates
    assert set(update) == {"messages", "sim_ref"}


@WAYS
async def test_simulated_tools_of_the_same_world_work_on_the_same_machine(
    deep: Deep, go: Any, way: str
) -> None:
    def bash(command: str) -> str:
        """Runs a command."""
        raise AssertionError("the real tool ran")

    for saver in (None, InMemorySaver()):
        sandbox = SimulatedSandbox()
        own = simulate(bash, sandbox)
        helper = [
            deep.asks(deep.call("bash", command="echo 5 >> /srv/log")),
            AIMessage("helped"),
        ]
        agent = deep.agent(
            sandbox,
            deep.asks(
                deep.call("bash", "1", command="echo 1 >> /srv/log"),
                deep.call("execute", "2", command="echo 2 >> /srv/log"),
                deep.call("bash", "3", command="echo 3 >> /srv/log"),
            ),
            deep.asks(deep.call("execute", "4", command="echo 4 >> /srv/log")),
            deep.delegates("a"),
            deep.asks(deep.call("execute", "6", command="cat /srv/log")),
            AIMessage("done"),
            helpers={"a": helper},
            saver=saver,
            tools=[own],
        )
        final = await deep.run(agent, way, go)
        assert deep.answers(final)[-1].startswith("1\n2\n3\n4\n5\n\n")
        assert final["sim_ref"] == (await sandbox.world.trajectory()).turns[-1].ref


@WAYS
async def test_a_subagent_that_waits_for_a_person_goes_on_where_it_was(
    deep: Deep, go: Any, way: str
) -> None:
    asks = deep.asks(deep.call("execute", "2", command="echo asked >> /srv/log"))
    helper = {
        "name": "a",
        "description": "helps",
        "system_prompt": "Help.",
        "model": ScriptedChatModel(
            script=[
                deep.writes("/srv/log", "before\n"),
                asks,
                deep.asks(deep.call("execute", "3", command="echo after >> /srv/log")),
                AIMessage("helped"),
            ]
        ),
        "interrupt_on": {"execute": True},
    }
    agent = cast("Any", deepagents).create_deep_agent(
        model=ScriptedChatModel(
            script=[
                deep.delegates("a"),
                deep.asks(deep.call("execute", "later", command="cat /srv/log")),
                AIMessage("done"),
            ]
        ),
        backend=SimulatedSandbox(),
        subagents=[helper],
        checkpointer=InMemorySaver(),
        state_schema=SimDeepAgentState,
    )
    final = await deep.run(agent, way, go)
    for _ in range(2):
        assert final["__interrupt__"]
        final = await deep.run(agent, way, Command(resume={"decisions": [{"type": "approve"}]}))
    assert deep.answers(final)[-1].startswith("before\nasked\nafter\n\n")


@WAYS
async def test_a_compiled_subagent_without_the_channel_writes_into_the_graph_around_it(
    deep: Deep, go: Any, way: str
) -> None:
    sandbox = SimulatedSandbox()
    inner = deep.agent(
        sandbox, deep.writes("/srv/a"), deep.writes("/srv/b"), AIMessage("helped"), state=None
    )
    agent = cast("Any", deepagents).create_deep_agent(
        model=ScriptedChatModel(
            script=[
                deep.delegates("c"),
                deep.asks(deep.call("execute", "later", command=LIST)),
                AIMessage("done"),
            ]
        ),
        backend=sandbox,
        subagents=[{"name": "c", "description": "helps", "runnable": inner}],
        checkpointer=InMemorySaver(),
        state_schema=SimDeepAgentState,
    )
    first = await deep.run(agent, way, go)
    again = await deep.run_at(agent, way, None, before(agent, 0))
    for final in (first, again):
        assert deep.answers(final)[-1] == listed("a", "b")
    assert again["sim_ref"] == first["sim_ref"]


@WAYS
@pytest.mark.parametrize("compiled", [False, True])
async def test_an_interrupted_subagent_goes_on_with_the_world_opened_anew(
    deep: Deep, go: Any, way: str, compiled: bool, tmp_path: Path
) -> None:
    saver, store = InMemorySaver(), SqliteStore(tmp_path / "worlds.db")

    def agent(sandbox: SimulatedSandbox) -> Any:
        script = [
            deep.writes("/srv/log", "before\n"),
            deep.asks(deep.call("execute", "2", command="echo after >> /srv/log")),
            AIMessage("helped"),
        ]
        helper: dict[str, Any] = {"name": "a", "description": "helps"}
        if compiled:
            # Without the channel, only the world's store knows what it did.
            inner = deep.agent(sandbox, *script, state=None, interrupt_on={"execute": True})
            helper["runnable"] = inner
        else:
            model = ScriptedChatModel(script=script)
            helper |= {"system_prompt": "Help.", "model": model, "interrupt_on": {"execute": True}}
        return cast("Any", deepagents).create_deep_agent(
            model=ScriptedChatModel(
                script=[
                    deep.delegates("a"),
                    deep.asks(deep.call("execute", "later", command="cat /srv/log")),
                    AIMessage("done"),
                ]
            ),
            backend=sandbox,
            subagents=[helper],
            checkpointer=saver,
            state_schema=SimDeepAgentState,
        )

    world = await World.create(store=store)
    paused = await deep.run(agent(SimulatedSandbox(world)), way, go)
    assert paused["__interrupt__"]
    await SimulatedSandbox(world).aexecute("touch /srv/other")
    await world.close()
    resumed = agent(SimulatedSandbox(world.id, store=store))
    final = await deep.run(resumed, way, Command(resume={"decisions": [{"type": "approve"}]}))
    assert deep.answers(final)[-1].startswith("before\nafter\n\n")
    store.close()
