"""`predict_then_act`: alternatives are tried on forks, and predictions are held against what came."""

from __future__ import annotations

from typing import Any

import pytest

from agentworld_graphs import ScriptedChatModel, SimulationInterrupted
from agentworld_graphs.ready import predict_then_act
from agentworld_graphs.ready._agent import store_of_process, worlds
from agentworld_sim import ToolCall, World
from agentworld_sim.llm.scripted import (
    ErrorReply,
    ModelRequest,
    ScriptedModelServer,
    ScriptedReply,
)
from tests.graphs.ready.conftest import START, THREAD, RealBash, answers, call, kept, says

Agent = predict_then_act.Agent


async def test_the_best_alternative_is_chosen_and_not_the_first() -> None:
    graph = kept(predict_then_act.graph)
    done = await graph.ainvoke(START, THREAD)
    chosen = [call["id"] for message in done["messages"] for call in _calls(message)]
    assert chosen == ["call-1-1", "call-2-3", "call-3-1"]
    compared = [
        {one["call"]["id"]: one["score"] for one in state.values["compared"]}
        async for state in graph.aget_state_history(THREAD)
        if state.next == ("act",)
    ]
    assert compared[1] == {"call-2-3": 3.0, "call-2-1": 1.0, "call-2-2": 2.0}
    assert "14 passed, 0 failed" in answers(done)[-1]


async def test_a_fork_that_computes_predicts_exactly() -> None:
    done = await predict_then_act.graph.ainvoke(START)
    assert done["summary"] == {
        "predictions": 3,
        "exact": 1.0,
        "similarity": 1.0,
        "same_outcome": 1.0,
        "passed_checks": 1.0,
    }


async def test_no_alternative_that_was_not_chosen_ever_happens() -> None:
    before = len(store_of_process().worlds())
    done = await predict_then_act.graph.ainvoke(START)
    world = await World.open(done["world"], store=store_of_process())
    async with world:
        calls = [turn.call.name for turn in await world.trajectory(done["sim_ref"])]
        changed = [change.path for change in (await world.diff(at=done["sim_ref"])).files]
    assert (calls, changed) == (["bash", "edit_file", "bash"], ["/srv/app/src/csv.sh"])
    assert len(store_of_process().worlds()) == before + 1


async def test_looking_further_ahead_finds_what_one_step_does_not_show() -> None:
    """Only the second step of an alternative leads to the goal."""
    lead = call("bash", "lead", command="cp src/csv.sh /tmp/csv.sh")
    fix = "sed -i 's/read -r record; do/read -r record || [ -n \"$record\" ]; do/' src/csv.sh"
    break_ = call("bash", "break", command="echo >> tests/run.sh")
    agent = Agent(
        script=[says("", break_, lead), says("", call("bash", "fix", command=fix)), says("Done.")]
    )
    graph = kept(predict_then_act.build(agent))
    scores: dict[int, Any] = {}
    for depth in (1, 2):
        thread = {"configurable": {"thread_id": str(depth)}}
        context = {"depth": depth}
        state = await graph.ainvoke(START, thread, context=context, interrupt_before=["act"])
        scores[depth] = {one["call"]["id"]: one["score"] for one in state["compared"]}
    assert scores == {1: {"lead": 2.0, "break": 1.0}, 2: {"lead": 3.0, "break": 2.0}}


async def test_only_so_many_alternatives_are_compared_as_the_configuration_says() -> None:
    done = await predict_then_act.graph.ainvoke(START, context={"k": 2, "depth": 1})
    chosen = [call["id"] for message in done["messages"] for call in _calls(message)]
    assert chosen[1] == "call-2-2"


async def test_a_model_predicts_and_is_graded_against_what_the_world_computes() -> None:
    told: list[ModelRequest] = []

    def reply(request: ModelRequest) -> ScriptedReply:
        told.append(request)
        wrong = "seq" in request.last_user
        return ScriptedReply.observation("1\n2\n4" if wrong else "hello")

    script = [
        says("", call("bash", "c1", command="echo hello")),
        says("", call("bash", "c2", command="seq 3")),
        says("Done."),
    ]
    graph = predict_then_act.build(Agent(script=script))
    with ScriptedModelServer(reply) as server:
        state = await graph.ainvoke(START, context={"model_url": server.url, "depth": 1})
        await worlds.close()
    assert answers(state) == ["hello\n", "1\n2\n3\n"]
    first, second = state["grades"]
    assert (first["exact"], second["exact"]) == (True, False)
    assert 0.5 < second["similarity"] < 1 and second["same_outcome"] and second["passed_checks"]
    assert state["summary"]["exact"] == 0.5
    # What really came of the first call is what the model is told before the second.
    assert len(told) == 2 and "hello" in str(told[1].messages)


async def test_a_model_can_be_left_out_of_the_predictions() -> None:
    with ScriptedModelServer([]) as server:
        context = {"model_url": server.url, "predictor": "computed"}
        state = await predict_then_act.graph.ainvoke(START, context=context)
        await worlds.close()
    assert state["summary"]["exact"] == 1.0


async def test_nothing_is_imagined_without_a_model() -> None:
    with pytest.raises(SimulationInterrupted, match="nothing can be imagined without"):
        await predict_then_act.graph.ainvoke(START, context={"predictor": "imagined"})


async def test_a_model_that_fails_ends_the_run() -> None:
    graph = kept(predict_then_act.graph)
    with ScriptedModelServer([ErrorReply(status=400)]) as server:
        with pytest.raises(SimulationInterrupted):
            await graph.ainvoke(START, THREAD, context={"model_url": server.url})
        await worlds.close()
    # The thread can go on, also without that model.
    state = await graph.ainvoke(None, THREAD, context={"predictor": "computed"})
    assert state["summary"]["exact"] == 1.0


async def test_a_call_that_the_tool_turns_down_loses() -> None:
    script = [
        says("", call("bash", "bad", comand="ls"), call("bash", "good", command="ls /srv")),
        says("Done."),
    ]
    model = ScriptedChatModel(script=script, checks_calls=False)
    state = await predict_then_act.build(Agent(chat_model=model)).ainvoke(START)
    assert answers(state) == ["app\n"]


async def test_a_scorer_of_ones_own_decides() -> None:
    async def shortest(fork: World, turns: Any) -> float:
        return -len(turns[0].observation.text)

    script = [
        says("", call("bash", "long", command="seq 3"), call("bash", "short", command="true")),
        says("Done."),
    ]
    state = await predict_then_act.build(Agent(script=script), scorer=shortest).ainvoke(START)
    assert answers(state) == [""]


async def test_a_real_tool_is_called_once_and_the_world_goes_along(real: RealBash) -> None:
    graph = kept(predict_then_act.build(real.agent("touch /tmp/x", allow_real=frozenset(["bash"]))))
    context = {"allow_real": ["bash"]}
    state = await graph.ainvoke(START, THREAD, context=context)
    assert (real.ran, answers(state)) == (["touch /tmp/x"], ["really ran touch /tmp/x"])
    assert [one["exact"] for one in state["grades"]] == [False]
    world = await World.open(state["world"], store=store_of_process())
    async with world:
        assert "/tmp/x" in (await world.state(state["sim_ref"])).files
    # Going back in time does not undo it, and so does not do it again.
    past = [one async for one in graph.aget_state_history(THREAD) if one.next == ("act",)]
    with pytest.raises(SimulationInterrupted, match="was really made before"):
        await graph.ainvoke(None, past[0].config, context=context)
    assert real.ran == ["touch /tmp/x"]


async def test_no_tool_is_real_unless_both_sides_say_so(real: RealBash) -> None:
    graph = predict_then_act.build(real.agent("ls /srv", allow_real=frozenset(["bash"])))
    state = await graph.ainvoke(START)
    assert (real.ran, answers(state)) == ([], ["app\n"])
    graph = predict_then_act.build(real.agent("ls /srv"))
    with pytest.raises(SimulationInterrupted, match="may not run for real here"):
        await graph.ainvoke(START, context={"allow_real": ["bash"]})
    assert real.ran == []


def _calls(message: Any) -> list[Any]:
    return getattr(message, "tool_calls", [])


def test_calls_are_handed_on_as_they_are() -> None:
    given: Any = call("bash", "c1", command="ls")
    assert predict_then_act.call_of(given) == ToolCall("bash", {"command": "ls"}, "c1")
