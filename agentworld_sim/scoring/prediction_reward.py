"""The reward of a predicted observation: a rule, and optionally a judge.

After Qwen-AgentWorld's report (arXiv 2606.24597): rule 0 or 25, rubric the mean of five dimensions times
5, in [5, 25], and 0.9 rubric + 0.1 rule. What the report leaves open is decided here:

* Checks gate everything. What a world would refuse at run time earns 0, and no judge is asked.
* A judgement that cannot be read makes the rubric 0; the rule still counts. What is not equal to the
  truth then earns nothing, so that confusing the judge does not pay.
* A check that refuses what the environment really said is wrong about this sample and is left out.
* Where an engine computed the truth, all of it is deterministic, and the rubric may not exceed what the
  words agree: at most 5 + 20 skill, where skill is the overlap with the truth beyond that of the
  observation before. So a judge that can be talked round gives nothing that was not earned. (The report
  has no such limit; `capped=False` leaves it out.)
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from agentworld_sim.checks import (
    Check,
    CheckInput,
    NoPraiseCheck,
    NoPretenceCheck,
    judge_all,
)
from agentworld_sim.imagination.parsing import ANSWER_TAG, MARKER, THINKING_TAG, parse_reply
from agentworld_sim.imagination.reply_validation import reply_fault
from agentworld_sim.llm.chat import ChatReply
from agentworld_sim.scoring.evidence import (
    check_input,
    checks_of,
    read_observation,
    turns_of_prompt,
)
from agentworld_sim.scoring.judge import DIMENSIONS, Judge, Unreadable
from agentworld_sim.scoring.judge_appeals import NoAppealCheck, fold_text
from agentworld_sim.scoring.samples import PredictionSample, Reward
from agentworld_sim.scoring.similarity import agreement, is_exact
from agentworld_sim.types.files import FileTree, MemoryBlobs
from agentworld_sim.types.state import WorldState
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Observation

LENGTH_FACTOR, LENGTH_FLOOR = 4, 2_000
"""An answer may have four times the characters of the truth and 2,000 more. Longer ones earn nothing and
reach no judge: one that overflows the judge's context would not be judged at all."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a text earns nothing."""

    name: str
    """`no-tag`, `cut`, `unreadable`, `form`, `too-long`, `empty`, `copied`, or a check's name."""
    why: str

    def __str__(self) -> str:
        return f"{self.name}: {self.why}"


def answer_of(sample: PredictionSample, text: str) -> str | Refusal:
    """The text inside the answer's tag, the last one that was opened.

    Stricter than a world is: the tag must be there and closed, and thinking must have ended before it.
    A policy is trained on the whole form, where a world takes what it can get.

    Args:
        text: What the policy wrote, thinking included.
    """
    if _is_lost_in_thought(text):
        return Refusal("cut", "the thinking does not end")
    known = "\n".join(one["content"] for one in sample.messages if one["role"] != "system")
    parsed = parse_reply(text, known=known)
    if not parsed.tagged:
        return Refusal("no-tag", f"nothing stands inside <{ANSWER_TAG}>")
    if not parsed.closed:
        return Refusal("cut", f"<{ANSWER_TAG}> is not closed")
    fault = reply_fault(ChatReply(content=text, finish_reason="stop"), parsed, known=known)
    if fault is not None:
        return Refusal("unreadable", fault)
    most = LENGTH_FACTOR * len(sample.observation) + LENGTH_FLOOR
    if len(parsed.text) > most:
        return Refusal("too-long", f"{len(parsed.text)} characters, and {most} are enough")
    return parsed.text


def _is_lost_in_thought(text: str) -> bool:
    lowered = text.lstrip()[: len(THINKING_TAG) + 2].lower()
    return lowered == f"<{THINKING_TAG}>" and f"</{THINKING_TAG}>" not in text.lower()


def observation_of(sample: PredictionSample, text: str) -> Observation | Refusal:
    """A text as the domain reads it: its normalisation is the one that a world's answers get."""
    try:
        return read_observation(sample, text)
    except ValueError as error:
        return Refusal("form", str(error))


def last_observation(sample: PredictionSample) -> str | None:
    """What the environment said on the turn before; `None` on the first."""
    for message in reversed(sample.messages):
        if message["role"] == "assistant":
            return message["content"].removeprefix(MARKER).removeprefix("\n")
    return None


def is_computed(sample: PredictionSample) -> bool:
    """Whether an engine computed the truth: all of its content is deterministic."""
    return sample.evidence is not None and sample.evidence.get("provenance") == "computed"


FULL = 25.0
"""The most that a prediction can earn."""

LEAST_RUBRIC = 5.0
"""The least that a readable judgement can give."""

RewardFunction = Callable[[PredictionSample, str], Awaitable[Reward | None]]
"""Judges what a policy wrote for a sample. `None` leaves the rollout out of training."""

_SPEAKING: tuple[Check, ...] = (NoPretenceCheck(), NoPraiseCheck(), NoAppealCheck())
"""Checks of sentences in which an observation speaks of itself: asked of the folded text as well."""


class PredictionReward:
    """Implements `RewardFunction`: exact content, the checks of a world, and a judge if there is one."""

    def __init__(
        self,
        *,
        checks: Sequence[Check] | None = None,
        judge: Judge | None = None,
        judge_weight: float = 0.9,
        capped: bool = True,
    ) -> None:
        """
        Args:
            checks: Rules that gate the reward; those of a world and of the sample's domain by default.
                `NoAppealCheck` is always asked as well.
            judge: Who rates; without one the rule is all.
            judge_weight: Of the rubric, in [0, 1]; the rest is the rule's.
            capped: Whether the rubric of computed content is limited by its agreement with the truth.
        """
        self._checks = checks
        self._judge = judge
        self._weight = judge_weight
        self._capped = capped

    async def __call__(self, sample: PredictionSample, text: str) -> Reward:
        """Judges what the policy wrote.

        Args:
            sample: What was asked, and what the environment really said.
            text: All that the policy wrote, thinking included.

        Raises:
            ModelFailure: the judge's server is down or refuses.
        """
        reward, prediction = self._rule_reward(sample, text)
        if self._judge is None:
            return reward
        if prediction is None:
            return replace(reward, parts={**reward.parts, "rubric": 0.0})
        return await self._judge_reward(self._judge, sample, prediction, reward)

    def rule(self, sample: PredictionSample, text: str) -> Reward:
        """The rule alone, without a judge: 25 for what is exact, 0 for everything else.

        The parts `form` (a world could read and would accept it), `exact` (0 or 1) and `agreement` (0 to
        1) are those of the whole reward too.
        """
        return self._rule_reward(sample, text)[0]

    def _rule_reward(self, sample: PredictionSample, text: str) -> tuple[Reward, str | None]:
        """The rule's reward, and the text for a judge if one is to be asked."""
        prediction = answer_of(sample, text)
        if isinstance(prediction, Refusal):
            return _zero_reward(prediction), None
        answer = observation_of(sample, prediction)
        if isinstance(answer, Refusal):
            return _zero_reward(answer), None
        truth = observation_of(sample, sample.observation)
        known = "\n".join(one["content"] for one in sample.messages)
        if isinstance(truth, Refusal):
            # A recorded answer that breaks its tool's own promise can only be repeated as it was.
            exact = prediction == sample.observation
        else:
            exact = is_exact(answer, truth, known)
        if exact:
            return Reward(FULL, {"form": 1.0, "exact": 1.0, "agreement": 1.0}, "exact"), prediction
        refused = self._refusal(sample, answer, prediction)
        if refused is not None:
            return _zero_reward(refused), None
        share = agreement(prediction, sample.observation, last_observation(sample))
        parts = {"form": 1.0, "exact": 0.0, "agreement": share}
        return Reward(0.0, parts, "not what the environment said"), prediction

    def _refusal(
        self, sample: PredictionSample, answer: Observation, prediction: str
    ) -> Refusal | None:
        if not prediction.strip() and sample.observation.strip():
            return Refusal("empty", "the environment said something")
        before = last_observation(sample)
        if before is not None and before.strip() and prediction.strip() == before.strip():
            return Refusal("copied", "it is the observation before")
        checks = (*(self._checks or checks_of(sample.domain)), NoAppealCheck())
        return _first_refusal(checks, sample, answer) or _first_refusal(
            _SPEAKING, sample, answer, folds=True
        )

    async def _judge_reward(
        self, judge: Judge, sample: PredictionSample, prediction: str, ruled: Reward
    ) -> Reward:
        found = await judge.rate(sample, prediction)
        rule = (1.0 - self._weight) * ruled.value
        if isinstance(found, Unreadable):
            parts = {**ruled.parts, "rubric": 0.0, "unreadable": 1.0}
            return Reward(rule, parts, f"the judgement is unreadable: {found.why}")
        rubric = found.rubric
        reason = ruled.reason
        if self._capped and is_computed(sample):
            most = LEAST_RUBRIC + (FULL - LEAST_RUBRIC) * ruled.parts["agreement"]
            if rubric > most:
                rubric, reason = most, f"{reason}; the rubric of {rubric:g} is limited to {most:g}"
        parts = {**ruled.parts, "rubric": rubric, "unreadable": 0.0}
        parts |= {name: found.scores[name] for name in DIMENSIONS}
        return Reward(self._weight * rubric + rule, parts, reason)


def _zero_reward(refused: Refusal) -> Reward:
    return Reward(0.0, {"form": 0.0, "exact": 0.0, "agreement": 0.0}, str(refused))


def _first_refusal(
    checks: Sequence[Check], sample: PredictionSample, answer: Observation, *, folds: bool = False
) -> Refusal | None:
    """What the first check that refuses says, unless it refuses the truth as well."""
    truth = observation_of(sample, sample.observation)
    if folds:
        answer = replace(answer, text=fold_text(answer.text))
    given = check_input(sample, answer) or _without_evidence(sample, answer)
    for check in checks:
        for verdict in judge_all((check,), given):
            if verdict.accepted or _refuses_truth(check, given, truth, folds=folds):
                continue
            return Refusal(verdict.check, verdict.reason)
    return None


def _refuses_truth(
    check: Check, given: CheckInput, truth: Observation | Refusal, *, folds: bool
) -> bool:
    if isinstance(truth, Refusal):
        return False
    told = replace(truth, text=fold_text(truth.text)) if folds else truth
    return check.judge(replace(given, observation=told)) is not None


def _without_evidence(sample: PredictionSample, answer: Observation) -> CheckInput:
    """What checks can be told where nothing was kept but the prompt: what was said before."""
    said = "\n".join(one["content"] for one in sample.messages if one["role"] == "system")
    action = sample.messages[-1]["content"] if sample.messages else ""
    tool = ToolSpec(name="", description=f"{said}\n{action}", domain=sample.domain)
    state = WorldState(files=FileTree({}), clock_us=0, seed=0)
    history = turns_of_prompt(sample.messages)
    return CheckInput(ToolCall(""), tool, answer, state, state, MemoryBlobs(), history)
