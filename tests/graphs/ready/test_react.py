"""`react`: the agent works in the world of its thread."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import tool

from agentworld_graphs import ScriptedChatModel, SimulationInterrupted
from agentworld_graphs._demo._demo_agent import real_calls
from agentworld_graphs.ready import predict_then_act, react, red_team, rehearse, research
from agentworld_graphs.ready._agent import Agent, model_at, store_of_process, worlds
from agentworld_sim import World
from agentworld_sim.llm.scripted import ErrorReply, ScriptedModelServer, ScriptedReply
from tests.graphs.ready.conftest import START, THREAD, answers, call, kept, says

FIXED = 'while IFS= read -r record || [ -n "$record" ]; do'


async def test_the_agent_meets_the_goals_of_its_scenario_and_runs_no_real_tool() -> None:
    state = await react.graph.ainvoke(START)
    assert state["messages"][0].content.startswith("The project in /srv/app builds monthly")
    assert "14 passed, 0 failed" in answers(state)[-1]
    assert [goal["met"] for goal in state["goals"]] == [True, True, True]
    assert real_calls == []


async def test_it_does_what_it_is_told_when_somebody_says_something_else() -> None:
    state = await react.graph.ainvoke({"messages": [("user", "Make the tests pass.")]})
    assert [one.content for one in state["messages"] if one.type == "human"] == [
        "Make the tests pass."
    ]


async def test_threads_have_worlds_of_their_own() -> None:
    graph = kept(react.graph)
    names = ("one", "two", "three")
    states = await asyncio.gather(
        *(graph.ainvoke(START, {"configurable": {"thread_id": name}}) for name in names)
    )
    assert len({state["world"] for state in states}) == 3
    # The same scenario, seed and calls: the same history.
    assert len({state["sim_ref"] for state in states}) == 1


async def test_going_back_in_time_goes_back_in_the_world() -> None:
    graph = kept(react.graph)
    done = await graph.ainvoke(START, THREAD)
    past = [one async for one in graph.aget_state_history(THREAD)]
    before = next(one for one in past if len(answers(one.values)) == 3)
    world = await World.open(done["world"], store=store_of_process())
    async with world:
        old = await world.read_file("/srv/app/src/csv.sh", at=before.values["sim_ref"])
        new = await world.read_file("/srv/app/src/csv.sh", at=done["sim_ref"])
    assert (FIXED in old.decode(), FIXED in new.decode()) == (False, True)
    again = await graph.ainvoke(None, before.config)
    assert (again["sim_ref"], answers(again)) == (done["sim_ref"], answers(done))


async def test_another_seed_is_another_history() -> None:
    states = [await react.graph.ainvoke(START, context={"seed": seed}) for seed in (1, 2, 2)]
    assert states[0]["sim_ref"] != states[1]["sim_ref"] == states[2]["sim_ref"]


async def test_a_thread_goes_on_when_its_world_is_no_longer_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTWORLD_STORE", str(tmp_path / "worlds.sqlite"))
    graph = kept(react.graph)
    await graph.ainvoke(START, THREAD, interrupt_after=["tools"])
    await worlds.close()
    state = await graph.ainvoke(None, THREAD)
    assert [goal["met"] for goal in state["goals"]] == [True, True, True]


async def test_a_thread_whose_world_is_gone_says_so() -> None:
    graph = kept(react.graph)
    await graph.ainvoke(START, THREAD, interrupt_after=["begin"])
    await graph.aupdate_state(THREAD, {"world": "gone"}, as_node="begin")
    with pytest.raises(SimulationInterrupted, match="AGENTWORLD_STORE names a file"):
        await graph.ainvoke(None, THREAD)


@pytest.mark.parametrize(
    ("context", "told"),
    [
        ({"scenario": "failing-tst"}, "Did you mean 'failing-test'"),
        ({"scenario": "/etc/passwd"}, "no installed scenario '/etc/passwd'"),
        ({"scenario": "nginx-logs"}, "does not know the scenario 'nginx-logs'"),
        ({"seed": "x"}, "this is no configuration: seed: Input should be a valid integer"),
        ({"sed": 1}, "sed: Extra inputs are not permitted. It has: scenario, seed"),
        ({"agent_model": "nobody:x"}, "cannot make the chat model 'nobody:x'"),
        ({"model_url": "localhost"}, "the model URL 'localhost' is not one"),
    ],
)
async def test_a_wrong_configuration_is_told_in_one_message(
    context: dict[str, Any], told: str
) -> None:
    with pytest.raises(SimulationInterrupted) as error:
        await react.graph.ainvoke(START, context=context)
    assert told in str(error.value)


async def test_an_agent_that_leaves_its_script_is_no_internal_error() -> None:
    graph = kept(react.graph)
    await graph.ainvoke(START, THREAD)
    with pytest.raises(SimulationInterrupted, match="the script has 6 replies"):
        await graph.ainvoke({"messages": [("user", "And now?")]}, THREAD)


class ProviderDown(Exception):
    """What a provider's package raises."""


class BrokenModel(ScriptedChatModel):
    """A chat model whose provider fails."""

    def _generate(self, *arguments: Any, **options: Any) -> Any:
        raise ProviderDown

    _agenerate: Any = _generate


@pytest.mark.parametrize("module", [react, predict_then_act, rehearse, research, red_team])
async def test_a_provider_that_fails_is_not_taken_for_a_failure_of_ours(module: Any) -> None:
    graph = module.build(Agent(chat_model=BrokenModel(script=[])))
    with pytest.raises(ProviderDown):
        await graph.ainvoke(START)


@tool
def track_parcel(number: str) -> str:
    """Where a parcel is."""
    raise AssertionError("the real tool ran")


async def test_a_model_that_fails_ends_the_run_and_the_thread_goes_on_later() -> None:
    agent = Agent(
        tools=[track_parcel],
        script=[says("", call("track_parcel", "c1", number="7")), says("Soon.")],
    )
    graph = kept(react.build(agent))
    replies = [ErrorReply(status=400), ScriptedReply.observation("In Utrecht.")]
    with ScriptedModelServer(replies) as server:
        with pytest.raises(SimulationInterrupted):
            await graph.ainvoke(START, THREAD, context={"model_url": server.url})
        state = await graph.ainvoke(None, THREAD, context={"model_url": server.url})
        await worlds.close()
    assert answers(state) == ["In Utrecht."]


def test_the_key_goes_only_to_the_server_it_was_meant_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTWORLD_API_KEY", "sk-secret")
    monkeypatch.setenv("AGENTWORLD_MODEL_URL", "https://model.example/v1")
    keys = {
        url: model.settings.api_key
        for url in (
            None,
            "https://model.example/v1",
            "http://127.0.0.1:9/v1",
            "https://else.example",
        )
        if (model := model_at(url)) is not None
    }
    assert keys == {
        None: "sk-secret",
        "https://model.example/v1": "sk-secret",
        "http://127.0.0.1:9/v1": "sk-secret",
        "https://else.example": "",
    }
