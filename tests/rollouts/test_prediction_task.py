"""A prediction as a task of the rollout engine."""

from __future__ import annotations

import pytest

from agentworld_sim.errors import UsageError
from agentworld_sim.llm.scripted import ScriptedModelServer
from agentworld_sim.llm.settings import ModelSettings
from agentworld_sim.rollouts import (
    PredictionTask,
    RolloutEngine,
    RolloutFailed,
    RolloutRecord,
    RolloutSettings,
    ScriptedPolicy,
)
from agentworld_sim.scoring import FULL, Judge, PredictionReward, PredictionSample, Reward
from tests.rollouts.tokenizers import ByteTokenizer
from tests.scoring.samples import TRUTH, WRONG, answer, sample, verdict

TOKENIZER = ByteTokenizer()


async def played(
    tasks: list[PredictionTask], *texts: str, settings: RolloutSettings | None = None
) -> list[RolloutRecord]:
    """One rollout of each task, by a policy that writes the texts in order of the seeds."""
    left = iter(texts)
    policy = ScriptedPolicy(TOKENIZER, lambda prompt, seed: next(left))
    engine = RolloutEngine(policy, TOKENIZER, settings or RolloutSettings(in_flight=1))
    return await engine.run(tasks, group_size=1, seed=0)


async def test_the_first_turn_ends_it_and_earns_the_reward_with_its_parts() -> None:
    right, wrong = await played(
        [PredictionTask(sample(), PredictionReward())] * 2, answer(TRUTH, "I see."), answer(WRONG)
    )
    assert (right.reward, right.stop_reason, len(right.turn_spans)) == (FULL, "done", 1)
    assert right.reward_parts["exact"] == 1.0
    assert (wrong.reward, wrong.reward_parts["form"]) == (0.0, 1.0)


async def test_a_turn_that_was_cut_earns_nothing() -> None:
    settings = RolloutSettings(max_turn_tokens=4)
    (record,) = await played(
        [PredictionTask(sample(), PredictionReward())], answer(TRUTH), settings=settings
    )
    assert (record.reward, record.stop_reason) == (0.0, "max_tokens")


async def test_the_policy_is_never_shown_the_truth_or_the_thinking() -> None:
    shown: list[str] = []

    def write(prompt: str, seed: int) -> str:
        shown.append(prompt)
        return "?"

    asked = sample(thinking="the secret thought")
    engine = RolloutEngine(ScriptedPolicy(TOKENIZER, write), TOKENIZER)
    await engine.run([PredictionTask(asked, PredictionReward())], group_size=2, seed=0)
    assert len(shown) == 2
    for prompt in shown:
        assert "cat notes.txt" in prompt
        assert not {"secret thought", *TRUTH.split("\n")} & {*prompt.split("\n")}
        assert "epsilon" not in prompt


async def test_what_the_prompt_wrote_of_the_turn_belongs_to_the_answer() -> None:
    task = PredictionTask(sample(), PredictionReward(), opened="<think>\n")
    closed, lost = await played(
        [task, task], f"I see.\n</think>\n\n{answer(TRUTH)}", f"Perhaps {answer(TRUTH)}"
    )
    assert (closed.reward, lost.reward) == (FULL, 0.0)


async def undecided(sample: PredictionSample, text: str) -> Reward | None:
    return None


async def broken(sample: PredictionSample, text: str) -> Reward | None:
    raise UsageError("the reward function is broken")


async def test_a_reward_that_cannot_be_told_leaves_the_rollout_out() -> None:
    (record,) = await played([PredictionTask(sample(), undecided)], answer(TRUTH))
    assert (record.reward, record.stop_reason, record.error) == (None, "done", "")


async def test_a_broken_reward_function_ends_the_run() -> None:
    with pytest.raises(UsageError, match="is broken"):
        await played([PredictionTask(sample(), broken)] * 2, answer(TRUTH), answer(TRUTH))


async def test_a_judge_that_dies_excludes_the_rollouts_it_did_not_rate() -> None:
    with ScriptedModelServer(lambda _: verdict(3), model="judge") as server:
        judge = Judge(ModelSettings(url=server.url, model="judge", retries=0))
        reward = PredictionReward(judge=judge)
        (rated,) = await played([PredictionTask(sample(), reward)], answer(WRONG))
    assert rated.reward == pytest.approx(0.9 * 15)
    tasks = [PredictionTask(sample(), reward)] * 3
    with pytest.raises(RolloutFailed) as caught:
        await played(tasks, *[answer(f"{WRONG} {n}") for n in range(3)])
    await judge.close()
    assert [record.reward for record in caught.value.records] == [None] * 3
    assert {record.stop_reason for record in caught.value.records} == {"env_error"}
