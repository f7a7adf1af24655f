"""Goals that hold the table that an agent hands in against the right one."""

from __future__ import annotations

from typing import Any

import pytest

from agentworld_sim import Episode, Scenario, ScenarioError, ToolCall, World
from agentworld_sim.goals import check_goals
from agentworld_sim.rollouts import RolloutEngine, RolloutSettings, ScriptedPolicy, WorldTask
from tests.rollouts.tokenizers import ByteTokenizer

TABLE = "| maker | founded |\n| --- | --- |\n| Orvane | 1931 |\n| Tellun | 1950 |\n"
TEXT = """
name: makers
domains: [search]
tools: [answer]
instruction: Which makers are there? Answer with a table.
goals:
  - answer: [maker, founded]
    rows: [[Orvane, 1931], [Tellun, 1950]]
    unique: [maker]
    metrics: {founded: {metric: exact_match}}
"""


def scenario(**changes: Any) -> Scenario:
    return Scenario.parse(TEXT + "".join(f"    {key}: {one}\n" for key, one in changes.items()))


async def result(*answers: str, **changes: Any) -> str:
    async with await World.create(scenario(**changes), model=False) as world:
        for answer in answers:
            turn = await world.step(ToolCall("submit_answer", {"answer": answer}))
            assert turn.observation.text == "Answer submitted."
            assert turn.observation.provenance == "computed"
        (checked,) = await check_goals(world)
        assert checked.goal == "answer: 2 rows of maker, founded"
        assert checked.met == (not checked.reason)
        return checked.reason


async def test_the_right_table_meets_the_goal_and_the_last_one_counts() -> None:
    assert await result(f"Here it is:\n\n{TABLE}") == ""
    assert await result("wrong", TABLE) == ""
    assert await result(TABLE, "wrong") != ""


async def test_near_misses_do_not() -> None:
    assert await result() == "no answer was handed in"
    for wrong in (
        TABLE.replace("1931", "1932"),
        TABLE.replace("Orvane", "Orvan"),
        TABLE.replace("| Tellun | 1950 |\n", ""),
        TABLE + "| Marro | 1950 |\n",
        TABLE.replace("founded", "year"),
        "Orvane 1931, Tellun 1950",
    ):
        assert await result(wrong), wrong


async def test_a_goal_may_ask_for_less_than_all() -> None:
    partly = TABLE.replace("1931", "1932")
    assert await result(partly) == "its items have an F1 of 0.750, its rows 0.500"
    assert await result(partly, at_least=0.75) == ""
    assert await result(partly, at_least=0.8) != ""


async def test_what_an_agent_says_last_is_its_answer_unless_it_handed_one_in() -> None:
    episode = Episode(scenario())
    await episode.reset()
    step = await episode.step(f"I found them.\n\n{TABLE}")
    assert step.terminated and step.reward is not None and step.reward.value == 1
    await episode.reset()
    met = await episode.step(ToolCall("submit_answer", {"answer": TABLE}))
    assert met.terminated and met.reward is not None and met.reward.value == 1
    await episode.reset()
    await episode.step(ToolCall("submit_answer", {"answer": "none"}))
    step = await episode.step(TABLE)
    assert step.reward is not None and step.reward.value == 0
    await episode.close()


async def test_what_a_rollout_says_last_is_its_answer_and_what_it_thinks_is_not() -> None:
    wrong = TABLE.replace("1931", "1932")
    for said, reward in (
        (f"<think>{wrong}</think>{TABLE}", 1.0),
        (f"<think>{TABLE}</think>No.", 0.0),
    ):
        policy = ScriptedPolicy(ByteTokenizer(), [said])
        engine = RolloutEngine(policy, ByteTokenizer(), RolloutSettings())
        (record,) = await engine.run([WorldTask(scenario())], group_size=1, seed=1)
        assert (record.reward, record.stop_reason) == (reward, "done")


async def test_words_are_no_answer_in_a_world_that_takes_none() -> None:
    text = "name: x\ndomains: [terminal]\ngoals: [{file: /x, exists: false}]"
    episode = Episode(Scenario.parse(text))
    await episode.reset()
    before = episode.world.ref
    assert (await episode.step("done")).terminated
    assert episode.world.ref == before
    await episode.close()


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("[Orvane, 1931]", "[Orvane]", "goals[0].rows[0]: found 1 values; allowed: 2"),
        ("unique: [maker]", "unique: [makers]", "no column 'makers'. Did you mean 'maker'?"),
        ("unique: [maker]", "unique: []", "goals[0].unique"),
        ("exact_match", "llm_judge", "goals[0].metrics.founded.metric"),
        ("{founded: {metric: exact_match}}", "{}", "'founded' of the gold table has no metric"),
    ],
)
def test_a_goal_that_contradicts_itself_is_refused(old: str, new: str, told: str) -> None:
    assert old in TEXT
    with pytest.raises(ScenarioError) as caught:
        Scenario.parse(TEXT.replace(old, new))
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("right", "answers", "others"),
    [
        (
            1250,
            ["1250", "1,250.00", "$1,250", "It is 1250 units."],
            ["1251", "1250 of 1300", "none"],
        ),
        (-2.5, ["-2.5", "-2.50 points"], ["2.5", "-2"]),
        (
            "quiet_harbor",
            ["Quiet_Harbor", " quiet_harbor. "],
            ["quiet", "quiet_harbor or saltmarsh"],
        ),
    ],
)
async def test_one_value_can_be_asked_for(
    right: str | float, answers: list[str], others: list[str]
) -> None:
    about = {
        "name": "value",
        "domains": ["search"],
        "tools": ["answer"],
        "goals": [{"answer": right}],
    }
    asked = Scenario.model_validate(about, strict=False)
    async with await World.create(asked, model=False) as world:
        (checked,) = await check_goals(world)
        assert checked.reason == "no answer was handed in"
        for answer in answers + others:
            await world.step(ToolCall("submit_answer", {"answer": answer}))
            (checked,) = await check_goals(world)
            assert checked.met == (answer in answers), answer
