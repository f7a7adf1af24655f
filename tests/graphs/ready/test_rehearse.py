"""`rehearse`: nothing is destroyed, and nothing runs for real, before a person has seen it."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from agentworld_graphs import ScriptedChatModel, SimulationInterrupted
from agentworld_graphs.ready import rehearse
from agentworld_graphs.ready._agent import store_of_process, worlds
from agentworld_sim import World
from tests.graphs.ready.conftest import START, THREAD, RealBash, answers, kept
from tests.langgraph_dev.graphs import orders

REAL: Any = {"allow_real": ["bash"]}
BASH = frozenset(["bash"])


def asked(state: Any) -> dict[str, Any]:
    """What a person is shown."""
    (one,) = state["__interrupt__"]
    return one.value


def approve(state: Any) -> Command[Any]:
    return Command(resume=asked(state)["to_approve"])


async def exists(state: Any, path: str) -> bool:
    world = await World.open(state["world"], store=store_of_process())
    async with world:
        return path in (await world.state(state["sim_ref"])).files


async def test_a_destructive_call_is_shown_before_it_happens() -> None:
    graph = kept(rehearse.graph)
    state = await graph.ainvoke(START, THREAD)
    shown = asked(state)
    assert shown["question"] == "Run bash in the world?"
    assert shown["call"]["args"] == {"command": "cd /srv/app && rm -r data"}
    assert "/srv/app/data/market.csv" in shown["deleted"]
    assert "D /srv/app/data/orders.csv" in shown["changed"]
    assert "-M-31,2026-02-09,12,3150\n" in shown["patch"]
    # What destroys nothing has happened without a question; this has not happened.
    assert len(answers(state)) == 1
    assert await exists(state, "/srv/app/data/market.csv")


async def test_what_is_approved_happens_in_the_world() -> None:
    graph = kept(rehearse.graph)
    state = await graph.ainvoke(START, THREAD)
    state = await graph.ainvoke(approve(state), THREAD)
    assert answers(state)[-1] == "Makefile\nREADME.md\nsrc\ntests\n"
    assert not await exists(state, "/srv/app/data/market.csv")


async def test_what_is_refused_does_not_happen_and_the_agent_is_told() -> None:
    graph = kept(rehearse.graph)
    await graph.ainvoke(START, THREAD)
    state = await graph.ainvoke(Command(resume={"refuse": "we need them"}), THREAD)
    assert answers(state)[1] == "The user refused this call: we need them"
    assert await exists(state, "/srv/app/data/market.csv")


@pytest.mark.parametrize("answer", [True, "approve", {"approve": True}, {"approve": "0" * 32}, []])
async def test_anything_else_is_no_approval(answer: Any, real: RealBash) -> None:
    graph = kept(rehearse.build(real.agent("rm -r /srv", allow_real=BASH)))
    await graph.ainvoke(START, THREAD, context=REAL)
    state = await graph.ainvoke(Command(resume=answer), THREAD, context=REAL)
    assert "neither approved this very call nor refused it" in asked(state)["note"]
    assert real.ran == []


@pytest.mark.promise("approved-calls")
async def test_a_real_tool_runs_with_the_arguments_that_were_shown(real: RealBash) -> None:
    graph = kept(rehearse.build(real.agent("rm -r /srv/app/data", "ls", allow_real=BASH)))
    state = await graph.ainvoke(START, THREAD, context=REAL)
    shown = asked(state)
    assert (shown["question"], real.ran) == ("Run bash for real?", [])
    state = await graph.ainvoke(approve(state), THREAD, context=REAL)
    assert real.ran == [shown["call"]["args"]["command"]]
    assert answers(state) == ["really ran rm -r /srv/app/data"]
    # The world went along; and the next call is asked about although it destroys nothing.
    assert not await exists(state, "/srv/app/data/market.csv")
    assert asked(state)["call"]["args"] == {"command": "ls"}


@pytest.mark.parametrize(
    ("allow_real", "context"),
    [(None, {}), (BASH, {}), (frozenset(["other"]), {}), (frozenset(["bas", "Bash"]), {})],
)
async def test_an_approved_call_that_is_not_allowed_to_be_real_happens_in_the_world(
    allow_real: frozenset[str] | None, context: Any, real: RealBash
) -> None:
    graph = kept(rehearse.build(real.agent("rm -r /srv/app/data", allow_real=allow_real)))
    state = await graph.ainvoke(START, THREAD, context=context)
    assert asked(state)["runs"] == "in the world"
    state = await graph.ainvoke(approve(state), THREAD, context=context)
    assert real.ran == []
    assert not await exists(state, "/srv/app/data/market.csv")


@pytest.mark.promise("approved-calls")
async def test_a_configuration_cannot_allow_more_than_the_server_does(
    real: RealBash, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTWORLD_ALLOW_REAL", "deploy, other")
    graph = kept(rehearse.build(real.agent("ls")))
    with pytest.raises(SimulationInterrupted, match=r"'bash', which .* Allowed are: deploy, other"):
        await graph.ainvoke(START, THREAD, context=REAL)
    monkeypatch.setenv("AGENTWORLD_ALLOW_REAL", "deploy,bash")
    state = await graph.ainvoke(None, THREAD, context=REAL)
    assert asked(state)["runs"] == "for real"


async def test_an_approval_is_for_the_way_it_was_shown(real: RealBash) -> None:
    """Approved for the world, and meanwhile the configuration says real: asked again."""
    graph = kept(rehearse.build(real.agent("rm -r /srv/app/data", allow_real=BASH)))
    state = await graph.ainvoke(START, THREAD)
    assert asked(state)["runs"] == "in the world"
    state = await graph.ainvoke(approve(state), THREAD, context=REAL)
    assert (asked(state)["runs"], real.ran) == ("for real", [])


@pytest.mark.promise("approved-calls")
async def test_a_call_that_was_changed_needs_a_new_approval(real: RealBash) -> None:
    graph = kept(rehearse.build(real.agent("rm /srv/app/README.md", allow_real=BASH)))
    state = await graph.ainvoke(START, THREAD, context=REAL)
    old = approve(state)
    message = state["messages"][-1]
    changed = AIMessage(
        "",
        id=message.id,
        tool_calls=[{**message.tool_calls[0], "args": {"command": "rm -r /srv"}}],
    )
    await graph.aupdate_state(THREAD, {"messages": [changed]}, as_node="rehearse")
    state = await graph.ainvoke(old, THREAD, context=REAL)
    assert (asked(state)["call"]["args"], real.ran) == ({"command": "rm -r /srv"}, [])
    assert "/srv/app/src/csv.sh" in asked(state)["deleted"]
    state = await graph.ainvoke(old, THREAD, context=REAL)
    assert real.ran == []
    await graph.ainvoke(approve(state), THREAD, context=REAL)
    assert real.ran == ["rm -r /srv"]


@pytest.mark.promise("approved-calls")
async def test_going_back_in_time_asks_again_before_it_runs_again(real: RealBash) -> None:
    graph = kept(rehearse.build(real.agent("deploy", allow_real=BASH)))
    state = await graph.ainvoke(START, THREAD, context=REAL)
    first = approve(state)
    await graph.ainvoke(first, THREAD, context=REAL)
    assert real.ran == ["deploy"]
    past = [one async for one in graph.aget_state_history(THREAD) if one.next == ("decide",)]
    state = await graph.ainvoke(None, past[-1].config, context=REAL)
    assert "__interrupt__" in state and real.ran == ["deploy"]
    # The old approval is used up, and says nothing of another run.
    state = await graph.ainvoke(first, THREAD, context=REAL)
    assert (asked(state)["note"], real.ran) == (
        "This call was approved and begun before. Approve it again to make it again.",
        ["deploy"],
    )
    await graph.ainvoke(approve(state), THREAD, context=REAL)
    assert real.ran == ["deploy", "deploy"]


@pytest.mark.promise("approved-calls")
async def test_an_approval_is_good_once_for_all_who_have_the_thread(
    real: RealBash, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in another process, or in a copy of the thread: the same checkpoints, the same store."""
    monkeypatch.setenv("AGENTWORLD_STORE", str(tmp_path / "worlds.sqlite"))
    one = kept(rehearse.build(real.agent("deploy", allow_real=BASH)))
    state = await one.ainvoke(START, THREAD, context=REAL)
    saver = InMemorySaver()
    for name in ("storage", "writes", "blobs"):
        getattr(saver, name).update(deepcopy(dict(getattr(one.checkpointer, name))))
    await one.ainvoke(approve(state), THREAD, context=REAL)
    await worlds.close()
    other = one.copy({"checkpointer": saver})
    there = await other.ainvoke(approve(state), THREAD, context=REAL)
    assert (asked(there)["note"], real.ran) == (rehearse.BEGUN, ["deploy"])


async def test_a_real_tool_that_breaks_is_not_called_again_unasked(real: RealBash) -> None:
    graph = kept(rehearse.build(real.agent("deploy", allow_real=BASH)))
    state = await graph.ainvoke(START, THREAD, context=REAL)
    real.breaks = True
    with pytest.raises(RuntimeError, match="the line went dead"):
        await graph.ainvoke(approve(state), THREAD, context=REAL)
    real.breaks = False
    state = await graph.ainvoke(None, THREAD, context=REAL)
    assert "begun before" in asked(state)["note"]
    assert real.ran == ["deploy"]
    await graph.ainvoke(approve(state), THREAD, context=REAL)
    assert real.ran == ["deploy", "deploy"]


async def test_calls_of_one_message_are_decided_one_by_one(real: RealBash) -> None:
    agent = real.agent("rm /srv/app/Makefile", "rm /srv/app/README.md")
    first, second, last = agent.script
    assert isinstance(first, AIMessage) and isinstance(second, AIMessage)
    both = AIMessage("", tool_calls=[*first.tool_calls, *second.tool_calls])
    graph = kept(rehearse.build(rehearse.Agent(tools=agent.tools, script=[both, last])))
    state = await graph.ainvoke(START, THREAD)
    state = await graph.ainvoke(Command(resume={"refuse": ""}), THREAD)
    assert asked(state)["deleted"] == ["/srv/app/README.md"]
    state = await graph.ainvoke(approve(state), THREAD)
    assert answers(state) == ["The user refused this call: no reason given", ""]
    assert await exists(state, "/srv/app/Makefile")


async def test_a_tool_that_is_not_there_is_told_to_the_agent(real: RealBash) -> None:
    agent = real.agent("ls")
    lost = AIMessage("", tool_calls=[{"name": "bush", "args": {}, "id": "c0"}])
    model = ScriptedChatModel(script=[lost, agent.script[-1]], checks_calls=False)
    agent = rehearse.Agent(tools=agent.tools, chat_model=model)
    state = await kept(rehearse.build(agent)).ainvoke(START, THREAD)
    assert "bush is not a valid tool" in answers(state)[0]


@pytest.mark.promise("approved-calls")
async def test_what_the_world_turns_down_does_not_happen_for_real(real: RealBash) -> None:
    agent = real.agent()
    bad = AIMessage("", tool_calls=[{"name": "bash", "args": {"comand": "deploy"}, "id": "c0"}])
    model = ScriptedChatModel(script=[bad, agent.script[-1]], checks_calls=False)
    agent = rehearse.Agent(tools=agent.tools, chat_model=model, allow_real=BASH)
    state = await kept(rehearse.build(agent)).ainvoke(START, THREAD, context=REAL)
    assert real.ran == [] and "__interrupt__" not in state
    assert "Field required" in answers(state)[0]


async def test_a_model_that_uses_ids_again_is_answered_each_time(real: RealBash) -> None:
    script = [
        AIMessage("", tool_calls=[{"name": "bash", "args": {"command": word}, "id": "call_0"}])
        for word in ("echo one", "echo two")
    ]
    agent = rehearse.Agent(tools=[real.tool()], script=[*script, AIMessage("Done.")])
    state = await kept(rehearse.build(agent)).ainvoke(START, THREAD)
    assert answers(state) == ["one\n", "two\n"]


async def test_a_record_that_would_be_gone_is_shown() -> None:
    graph = kept(orders)
    state = await graph.ainvoke(START, THREAD)
    shown = asked(state)
    assert shown["question"] == "Run delete_order in the world?"
    assert shown["records"] == ['D orders/2  {"id":2,"item":"chair","status":"sent"}']
    assert (shown["changed"], shown["patch"]) == ([], "")
    state = await graph.ainvoke(approve(state), THREAD)
    assert '"chair"' in answers(state)[0] and '"chair"' not in answers(state)[-1]
