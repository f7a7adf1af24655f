"""A next-observation prediction as a task of the rollout engine: one turn, no tools."""

from __future__ import annotations

from agentworld_sim.imagination.parsing import THINKING_TAG
from agentworld_sim.rollouts.tasks import EnvironmentReply, Opening
from agentworld_sim.scoring.prediction_reward import RewardFunction
from agentworld_sim.scoring.samples import PredictionSample, Reward

UNFINISHED = Reward(
    0.0,
    {"form": 0.0, "exact": 0.0, "agreement": 0.0},
    "cut: the turn reached its limit of tokens",
)
"""Of a turn that the engine did not let end."""


def opening_tag(prompt: str) -> str:
    """What the end of a prompt already writes of the policy's turn: an opened thinking tag, or nothing."""
    end = len(prompt.rstrip())
    tag = f"<{THINKING_TAG}>"
    return prompt[end - len(tag) :] if prompt[:end].endswith(tag) else ""


class PredictionTask:
    """Implements `Task` over one sample. The policy is shown the prompt and never the truth."""

    def __init__(
        self, sample: PredictionSample, reward: RewardFunction, *, opened: str = ""
    ) -> None:
        """
        Args:
            reward: What an answer earns.
            opened: What the prompt already writes of the policy's turn: `<think>` and a line break for
                chat templates that begin the thinking themselves. The reward is given it with the text.
        """
        self._sample = sample
        self._reward = reward
        self._opened = opened

    @property
    def name(self) -> str:
        return self._sample.id

    async def environment(self, *, seed: int) -> _Prediction:
        return _Prediction(self._sample, self._reward, self._opened)

    async def close(self) -> None:
        pass


class _Prediction:
    """Implements `Environment`: the first turn ends it."""

    world_ref = ""

    def __init__(self, sample: PredictionSample, reward: RewardFunction, opened: str) -> None:
        self._sample = sample
        self._judge = reward
        self._opened = opened
        self._text: str | None = None

    async def open(self) -> Opening:
        return Opening(messages=self._sample.messages)

    async def answer(self, text: str) -> EnvironmentReply:
        self._text = self._opened + text
        return EnvironmentReply(done=True)

    async def reward(self) -> Reward | None:
        if self._text is None:
            return UNFINISHED
        return await self._judge(self._sample, self._text)

    async def close(self) -> None:
        pass
