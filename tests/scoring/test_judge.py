"""The judge: what it is shown, what of its answers is read, and what its failures are."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentworld_sim.errors import ModelFailure, ModelRefused, ModelUnavailable, UsageError
from agentworld_sim.llm import ModelSettings
from agentworld_sim.llm.scripted import ErrorReply, ScriptedModelServer, ScriptedReply
from agentworld_sim.scoring import (
    DIMENSIONS,
    Judge,
    Judgement,
    PredictionReward,
    Reward,
    read_judgement,
)
from tests.scoring.samples import (
    TRUTH,
    WRONG,
    answer,
    judge_server,
    rated,
    sample,
    verdict,
)

FIVES = dict.fromkeys(DIMENSIONS, 5)


async def rewarded(reply: str | ScriptedReply, text: str, **settings: Any) -> Reward:
    with ScriptedModelServer([reply], model="judge") as server:
        judge = Judge.at(server.url)
        reward = await PredictionReward(judge=judge, **settings)(sample(), text)
        await judge.close()
        return reward


async def test_a_wrong_answer_earns_nine_tenths_of_the_rubric() -> None:
    scores = {"format": 5, "factuality": 2, "consistency": 3, "realism": 4, "quality": 1}
    reward = await rewarded(verdict(scores), answer(WRONG))
    assert reward.value == pytest.approx(0.9 * 15.0)
    assert reward.parts["rubric"] == 15.0
    assert {name: reward.parts[name] for name in DIMENSIONS} == scores
    assert reward.parts["exact"] == 0.0


async def test_an_exact_answer_earns_the_rubric_and_the_rule() -> None:
    reward = await rewarded(verdict(4), answer(TRUTH))
    assert reward.value == pytest.approx(0.9 * 20.0 + 0.1 * 25.0)


async def test_the_weight_of_the_rubric_is_a_setting() -> None:
    reward = await rewarded(verdict(4), answer(TRUTH), judge_weight=0.5)
    assert reward.value == pytest.approx(0.5 * 20.0 + 0.5 * 25.0)


UNREADABLE = {
    "prose": "This is quite good.",
    "empty": "",
    "no tag": json.dumps({"scores": FIVES}),
    "tag not closed": verdict(5).removesuffix("</final_evaluation>"),
    "two blocks": verdict(5) + verdict(2),
    "a quoted block first": f"It says <final_evaluation>5</final_evaluation>. {verdict(2)}",
    "no json": "<final_evaluation>\nfive\n</final_evaluation>",
    "no scores": '<final_evaluation>{"format": 5}</final_evaluation>',
    "a list": "<final_evaluation>[5, 5, 5, 5, 5]</final_evaluation>",
    "out of range": verdict({**FIVES, "quality": 6}),
    "negative": verdict({**FIVES, "quality": -1}),
    "zero": verdict({**FIVES, "quality": 0}),
    "huge": verdict({**FIVES, "quality": 10**400}),
    "NaN": verdict({**FIVES, "quality": math.nan}),
    "infinity": verdict({**FIVES, "quality": math.inf}),
    "a string": verdict({**FIVES, "quality": "5"}),
    "a truth value": verdict({**FIVES, "quality": True}),
    "null": verdict({**FIVES, "quality": None}),
    "a missing dimension": verdict({name: 5 for name in DIMENSIONS[1:]}),
    "two values for one dimension": verdict(5).replace(
        '"quality": 5', '"quality": 1, "quality": 5'
    ),
    "in its thinking only": f"<think>{verdict(5)}</think>Good.",
}


@pytest.mark.parametrize("name", UNREADABLE)
async def test_a_judgement_that_cannot_be_read_scores_0_and_says_why(name: str) -> None:
    reward = await rewarded(UNREADABLE[name], answer(WRONG))
    assert reward.value == 0.0
    assert (reward.parts["rubric"], reward.parts["unreadable"]) == (0.0, 1.0)
    assert "unreadable" in reward.reason


async def test_the_rule_counts_where_the_judgement_cannot_be_read() -> None:
    reward = await rewarded("Nice.", answer(TRUTH))
    assert reward.value == pytest.approx(2.5)


async def test_a_judgement_that_was_cut_off_is_unreadable() -> None:
    reward = await rewarded(ScriptedReply(verdict(5), finish_reason="length"), answer(WRONG))
    assert reward.value == 0.0


@pytest.mark.parametrize(
    "reply",
    [
        verdict(3),
        f"Some thoughts first.\n{verdict(3)}\nThat is all.",
        f"<think>Is it <final_evaluation>? Perhaps.</think>{verdict(3)}",
        verdict(3).replace("```json\n", "").replace("\n```", ""),
        verdict({**dict.fromkeys(DIMENSIONS, 3), "humour": 9}),
    ],
)
def test_a_judgement_is_read_with_whatever_stands_around_its_block(reply: str) -> None:
    assert read_judgement(reply) == Judgement(dict.fromkeys(DIMENSIONS, 3.0))


@given(st.text())
def test_no_reply_breaks_the_reader(reply: str) -> None:
    read_judgement(reply)
    read_judgement(f"<final_evaluation>{reply}</final_evaluation>")


@given(st.lists(st.floats(1, 5), min_size=5, max_size=5))
def test_the_rubric_lies_between_5_and_25(scores: list[float]) -> None:
    found = read_judgement(verdict(dict(zip(DIMENSIONS, scores, strict=True))))
    assert isinstance(found, Judgement)
    assert 5.0 <= found.rubric <= 25.0 + 1e-9


async def test_the_judge_sees_the_earlier_turns_the_action_both_answers_and_no_thinking() -> None:
    with judge_server(verdict(3)) as server:
        judge = Judge.at(server.url)
        await PredictionReward(judge=judge)(sample(), answer(WRONG, "secret thought"))
        await judge.close()
        (request,) = server.requests
    assert rated(request) == WRONG
    for shown in ("ls -l", "notes.txt", "cat notes.txt", TRUTH):
        assert shown in request.last_user
    assert "secret thought" not in request.prompt
    assert "You are a shell" not in request.prompt
    assert "final_evaluation" in request.system


@given(st.text(alphabet="`~ab\n", max_size=40))
def test_no_prediction_closes_its_fence(text: str) -> None:
    judge = Judge(ModelSettings(url="http://127.0.0.1:1/v1"))
    question = judge.request(sample(), text).messages[-1].content
    section = question.split("## The prediction that you rate\n")[1]
    fence, _, rest = section.partition("\n")
    assert rest.startswith(f"{text}\n{fence}\n\n## What really happened")
    assert fence not in text


async def test_equal_questions_are_asked_once() -> None:
    with judge_server(verdict(3)) as server:
        judge = Judge.at(server.url)
        reward = PredictionReward(judge=judge)
        first = await reward(sample(), answer(WRONG))
        assert await reward(sample(), answer(WRONG, "other thoughts")) == first
        await judge.close()


async def test_a_judge_that_is_down_raises() -> None:
    with judge_server() as server:
        url = server.url
    judge = Judge(ModelSettings(url=url, model="judge", retries=0))
    with pytest.raises(ModelUnavailable, match=r"127\.0\.0\.1"):
        await PredictionReward(judge=judge)(sample(), answer(WRONG))
    with pytest.raises(ModelFailure):
        await Judge(ModelSettings(url=url, retries=0)).ready()
    await judge.close()


async def test_a_judge_that_refuses_raises() -> None:
    with ScriptedModelServer([ErrorReply(400, "no")], model="judge") as server:
        judge = Judge.at(server.url)
        with pytest.raises(ModelRefused):
            await PredictionReward(judge=judge)(sample(), answer(WRONG))
        await judge.close()


async def test_the_judge_s_key_comes_from_the_environment_and_is_shown_nowhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AGENTWORLD_API_KEY", "sk-very-secret")
    with ScriptedModelServer([verdict(3)], model="judge", api_key="sk-very-secret") as server:
        judge = Judge.at(server.url)
        assert await judge.ready() == "judge"
        reward = await PredictionReward(judge=judge)(sample(), answer(WRONG))
        await judge.close()
    assert "sk-very-secret" not in repr((judge, judge.settings, reward))
    monkeypatch.setenv("AGENTWORLD_API_KEY", "sk-another-one")
    with ScriptedModelServer([], model="judge", api_key="sk-very-secret") as server:
        wrong = Judge.at(server.url)
        with pytest.raises(ModelRefused) as caught:
            await wrong.ready()
        await wrong.close()
    assert "sk-another-one" not in str(caught.value)


async def test_a_domain_s_own_judge_prompt_is_taken_from_a_folder(tmp_path: Path) -> None:
    (tmp_path / "swe").mkdir()
    (tmp_path / "swe" / "judge_system_prompt.txt").write_text("Be strict.")
    judge = Judge(ModelSettings(url="http://127.0.0.1:1/v1"), prompts=tmp_path)
    assert judge.request(sample(), "a").messages[0].content == "Be strict."
    with pytest.raises(UsageError, match="no folder of judge prompts"):
        Judge(ModelSettings(url="http://127.0.0.1:1/v1"), prompts=tmp_path / "gone")
