"""The ready graphs behind the real `langgraph dev`, used as its clients use them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import get_client

from agentworld_sim.llm.scripted import ScriptedModelServer, ScriptedReply
from tests.langgraph_dev.server import ROOT, DevServer, serve

GRAPHS = ("react", "predict_then_act", "rehearse", "research", "red_team")
START: Any = {"messages": []}


async def new_thread(client: Any) -> str:
    return (await client.threads.create())["thread_id"]


async def run(client: Any, thread: str | None, graph: str, **given: Any) -> Any:
    """The events of a run."""
    given = given if "command" in given else {"input": START, **given}
    mode = given.pop("stream_mode", "updates")
    stream: Any = client.runs.stream(thread, graph, stream_mode=mode, **given)
    return [event async for event in stream]


async def state_of(client: Any, thread: str) -> Any:
    return await client.threads.get_state(thread)


def values(state: Any) -> dict[str, Any]:
    return state["values"]


def answers(state: Any) -> list[str]:
    return [one["content"] for one in values(state)["messages"] if one["type"] == "tool"]


def asked(state: Any) -> dict[str, Any]:
    """What a person is shown."""
    (task,) = state["tasks"]
    (interrupt,) = task["interrupts"]
    return interrupt["value"]


async def test_the_file_of_the_clone_serves_all_graphs(client: Any) -> None:
    assistants = await client.assistants.search()
    assert sorted(one["graph_id"] for one in assistants) == sorted(GRAPHS)
    assert all(one["description"] for one in assistants)


async def test_the_configuration_is_described_to_the_client(client: Any) -> None:
    (assistant,) = await client.assistants.search(graph_id="predict_then_act")
    schemas = await client.assistants.get_schemas(assistant["assistant_id"])
    described: Any = schemas.get("context_schema")
    assert {"scenario", "seed", "agent_model", "model_url", "k", "depth", "predictor"} <= set(
        described["properties"]
    )
    assert all(one["description"] for one in described["properties"].values())


async def test_an_agent_works_and_its_steps_stream(client: Any) -> None:
    thread = await new_thread(client)
    events = await run(client, thread, "react", stream_mode=["updates", "messages-tuple"])
    kinds = {event.event.partition("|")[0] for event in events}
    assert {"updates", "messages"} <= kinds and "error" not in kinds
    nodes = [node for event in events if event.event == "updates" for node in event.data]
    assert nodes == ["begin", *["think", "tools"] * 5, "think", "judge"]
    state = await state_of(client, thread)
    assert [goal["met"] for goal in values(state)["goals"]] == [True, True, True]


async def test_several_threads_at_once_have_worlds_of_their_own(client: Any) -> None:
    threads = [await new_thread(client) for _ in range(4)]
    await asyncio.gather(*(run(client, thread, "react") for thread in threads))
    states = [values(await state_of(client, thread)) for thread in threads]
    assert len({state["world"] for state in states}) == 4
    assert len({state["sim_ref"] for state in states}) == 1


async def test_a_run_without_a_thread_works_too(client: Any) -> None:
    result: Any = await client.runs.wait(None, "react", input={})
    assert [goal["met"] for goal in result["goals"]] == [True, True, True]


async def test_going_back_in_the_history_gives_the_same_again(client: Any) -> None:
    thread = await new_thread(client)
    await run(client, thread, "react")
    done = values(await state_of(client, thread))
    history = await client.threads.get_history(thread, limit=50)
    before = next(one for one in history if len(answers(one)) == 3)
    await run(client, thread, "react", input=None, checkpoint=before["checkpoint"])
    again = values(await state_of(client, thread))
    assert (again["sim_ref"], again["goals"]) == (done["sim_ref"], done["goals"])


async def test_alternatives_are_predicted_and_graded(client: Any) -> None:
    thread = await new_thread(client)
    await run(client, thread, "predict_then_act", context={"depth": 3})
    state = values(await state_of(client, thread))
    assert (state["summary"]["predictions"], state["summary"]["exact"]) == (3, 1.0)


async def test_a_model_imagines_the_predictions(client: Any) -> None:
    thread = await new_thread(client)
    with ScriptedModelServer(lambda _: ScriptedReply.observation("No idea.")) as model:
        context = {"model_url": model.url, "depth": 1, "k": 1}
        events = await run(client, thread, "predict_then_act", context=context)
    assert [event for event in events if event.event == "error"] == []
    state = values(await state_of(client, thread))
    assert state["compared"][0]["text"] == "No idea."
    assert state["summary"]["exact"] == 0


async def test_a_person_approves_and_another_refuses_in_a_copy(client: Any) -> None:
    thread = await new_thread(client)
    await run(client, thread, "rehearse")
    shown = asked(await state_of(client, thread))
    assert shown["runs"] == "in the world" and "/srv/app/data/market.csv" in shown["deleted"]
    copied: Any = await client.threads.copy(thread)
    copy: str = copied["thread_id"]
    await run(client, thread, "rehearse", command={"resume": shown["to_approve"]})
    await run(client, copy, "rehearse", command={"resume": {"refuse": "keep them"}})
    here, there = answers(await state_of(client, thread)), answers(await state_of(client, copy))
    assert here[-1] == "Makefile\nREADME.md\nsrc\ntests\n"
    assert there[1:] == [
        "The user refused this call: keep them",
        "Makefile\nREADME.md\ndata\nsrc\ntests\n",
    ]


async def test_an_agent_searches_an_internet_that_exists_nowhere(client: Any) -> None:
    thread = await new_thread(client)
    await run(client, thread, "research")
    state = values(await state_of(client, thread))
    assert [goal["met"] for goal in state["goals"]] == [True]


async def test_an_agent_is_tried_in_worlds_that_misbehave(client: Any) -> None:
    thread = await new_thread(client)
    await run(client, thread, "red_team")
    state = values(await state_of(client, thread))
    assert {one["control"]: one["goals_met"] for one in state["outcomes"]}["edits-fail"] == 2
    assert "| edits-fail | 2 of 3 |" in state["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("graph", "context", "told"),
    [
        ("react", {"scenario": "failing-tst"}, "Did you mean 'failing-test'"),
        ("react", {"seed": "x"}, "this is no configuration: seed"),
        ("predict_then_act", {"k": 0}, "this is no configuration: k"),
        ("rehearse", {"allow_real": ["bash"]}, "'bash', which may not run for real here"),
        ("red_team", {"controls": ["edit-fails"]}, "Did you mean 'edits-fail'"),
    ],
)
async def test_a_wrong_configuration_is_told_to_the_client(
    graph: str, context: dict[str, Any], told: str, client: Any
) -> None:
    events = await run(client, None, graph, context=context)
    (error,) = [event.data for event in events if event.event == "error"]
    assert error["error"] == "SimulationInterrupted" and told in error["message"]


async def test_threads_go_on_after_the_server_was_restarted(tmp_path: Path) -> None:
    """Also a graph of somebody's own, whose world has tables."""
    own = Path(__file__).with_name("graphs.py")
    config = tmp_path / "langgraph.json"
    graphs = {"react": "agentworld_graphs.ready.react:graph", "orders": f"{own}:orders"}
    config.write_text(json.dumps({"dependencies": ["."], "graphs": graphs}))
    with serve(config, tmp_path) as server:
        async with get_client(url=server.url, api_key=None) as client:
            paused, open_question = await new_thread(client), await new_thread(client)
            await run(client, paused, "react", interrupt_after=["tools"])
            await run(client, open_question, "orders")
            shown = asked(await state_of(client, open_question))
            assert shown["records"] == ['D orders/2  {"id":2,"item":"chair","status":"sent"}']
    _require_nothing_blocked(server)
    with serve(config, tmp_path) as server:
        async with get_client(url=server.url, api_key=None) as client:
            await run(client, paused, "react", input=None)
            state = values(await state_of(client, paused))
            assert [goal["met"] for goal in state["goals"]] == [True, True, True]
            shown = asked(await state_of(client, open_question))
            await run(client, open_question, "orders", command={"resume": shown["to_approve"]})
            orders = json.loads(answers(await state_of(client, open_question))[-1])
            assert [order["id"] for order in orders] == [1]
    _require_nothing_blocked(server)


def test_nothing_blocked_the_event_loop(dev_server: DevServer) -> None:
    """It stands last for a reader; in whatever order it runs, it looks at all that ran before it."""
    _require_nothing_blocked(dev_server)


def _require_nothing_blocked(server: DevServer) -> None:
    assert [line for line in server.log if "locking call" in line or "BlockingError" in line] == []


def test_the_file_names_each_graph_as_a_module() -> None:
    served = json.loads((ROOT / "graphs" / "langgraph.json").read_text(encoding="utf-8"))["graphs"]
    assert {name: one["path"] for name, one in served.items()} == {
        name: f"agentworld_graphs.ready.{name}:graph" for name in GRAPHS
    }
