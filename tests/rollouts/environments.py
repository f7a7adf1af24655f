"""Tasks of these tests that are no worlds: what they do is written by the test."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import cast

from agentworld_sim.rollouts import Completion, Environment, EnvironmentReply, Opening
from agentworld_sim.scoring import Reward

Answer = Callable[[str, int], Awaitable[EnvironmentReply]]
"""Given what the policy wrote, and the seed of the rollout."""


class ToldTask:
    """Implements `Task` with a function that answers, and counts what is open."""

    def __init__(
        self,
        name: str,
        answer: Answer,
        *,
        reward: Callable[[], Awaitable[Reward | None]] | None = None,
        begin: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.name = name
        self.open = 0
        self.most_open = 0
        self.made = 0
        self.closed = 0
        self._answer = answer
        self._reward = reward
        self._begin = begin

    async def environment(self, *, seed: int) -> Environment:
        if self._begin is not None:
            await self._begin()
        self.open += 1
        self.made += 1
        self.most_open = max(self.most_open, self.open)
        return _Told(self, seed)

    async def close(self) -> None:
        self.closed += 1

    async def judged(self) -> Reward | None:
        return Reward(1.0) if self._reward is None else await self._reward()

    async def answered(self, text: str, seed: int) -> EnvironmentReply:
        return await self._answer(text, seed)


class _Told:
    world_ref = ""

    def __init__(self, task: ToldTask, seed: int) -> None:
        self._task = task
        self._seed = seed

    async def open(self) -> Opening:
        return Opening(messages=({"role": "user", "content": "go"},))

    async def answer(self, text: str) -> EnvironmentReply:
        return await self._task.answered(text, self._seed)

    async def reward(self) -> Reward | None:
        return await self._task.judged()

    async def close(self) -> None:
        self._task.open -= 1


def goes_on(text: str = "more") -> EnvironmentReply:
    """A reply after which the policy writes again."""
    return EnvironmentReply(messages=({"role": "user", "content": text},), metrics={"steps": 1})


async def ends(text: str, seed: int) -> EnvironmentReply:
    """Answers so that the rollout is over."""
    return EnvironmentReply(done=True)


async def goes_on_for_ever(text: str, seed: int) -> EnvironmentReply:
    """Answers so that it never is."""
    return goes_on()


async def hangs(text: str, seed: int) -> EnvironmentReply:
    """Never answers."""
    await asyncio.Event().wait()
    raise AssertionError("nobody sets it")


class Says:
    """Implements `Policy`: every turn the same tokens."""

    def __init__(self, *ids: int, cut: bool = False) -> None:
        self._ids = ids
        self._cut = cut
        self.asked: list[tuple[tuple[int, ...], int, int]] = []

    async def complete(self, prompt_ids: object, *, max_tokens: int, seed: int) -> Completion:
        ids = cast("tuple[int, ...]", prompt_ids)
        self.asked.append((ids, max_tokens, seed))
        return Completion(
            token_ids=self._ids,
            logprobs=(-0.5,) * len(self._ids),
            finish="length" if self._cut else "stop",
        )
