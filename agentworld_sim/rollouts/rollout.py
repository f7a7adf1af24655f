"""One rollout: a policy and an environment take turns until something ends it. With its limits, and how far it is."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import math
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

from agentworld_sim.errors import AccessRefused, EngineFailure, UsageError, WorldFailure
from agentworld_sim.rollouts.policies import Completion, Policy
from agentworld_sim.rollouts.rollout_log import RolloutRecord, StopReason
from agentworld_sim.rollouts.tasks import Environment, EnvironmentReply, Opening, Task
from agentworld_sim.rollouts.turn_tokens import TurnTokens
from agentworld_sim.scoring.samples import Message, Reward


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutSettings:
    """Limits of rollouts, and how many there are at a time."""

    max_turns: int = 8
    """Turns of the policy. The environment still answers the last one: it takes effect."""
    max_turn_tokens: int = 1024
    """Tokens of one turn. A turn that reaches them ends its rollout with `max_tokens` and is not
    answered: what was cut off says nothing that could be acted on."""
    max_rollout_tokens: int = 8192
    """Tokens of the prompt and of everything after it."""
    in_flight: int = 64
    """Rollouts under way at a time."""
    rollout_seconds: float = 600.0
    """Deadline of one rollout, on the host's clock."""
    heartbeat_seconds: float = 30.0
    """How often a batch reports how far it is."""
    template: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Variables of the chat template, for example `{"enable_thinking": False}`."""

    def __post_init__(self) -> None:
        for name in ("max_turns", "max_turn_tokens", "max_rollout_tokens", "in_flight"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be 1 or more, not {getattr(self, name)!r}.")
        for name in ("rollout_seconds", "heartbeat_seconds"):
            if not getattr(self, name) > 0:
                raise UsageError(f"{name} must be more than 0, not {getattr(self, name)!r}.")


@dataclass(slots=True, eq=False)
class RunningRollout:
    """A rollout that has begun and not ended."""

    task: str
    index: int
    began: float = field(default_factory=time.monotonic)
    """Host time, seconds."""
    waits_for: Literal["environment", "policy"] = "environment"
    since: float = field(default_factory=time.monotonic)
    """When it began to wait for that."""
    turns: int = 0

    def note_wait(self, what: Literal["environment", "policy"]) -> None:
        """Notes what it waits for from now on."""
        self.waits_for = what
        self.since = time.monotonic()


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a batch of rollouts stands."""

    finished: int
    failed: int
    """Of those, with `env_error`."""
    total: int
    seconds: float
    """Since it began."""
    slowest: tuple[str, ...]
    """The rollouts that have been waiting longest, in words."""

    def __str__(self) -> str:
        text = f"batch: {self.finished} of {self.total} rollouts after {self.seconds:.0f} s"
        if self.failed:
            text += f", {self.failed} failed"
        if self.slowest:
            text += "; waiting: " + ", ".join(self.slowest)
        return text


OnHeartbeat = Callable[[Progress], None]

_SHOWN = 3


def slowest_of(under_way: list[RunningRollout]) -> tuple[str, ...]:
    """Those that have been waiting longest."""
    now = time.monotonic()
    return tuple(
        f"{one.task} number {one.index} (turn {one.turns + 1}, for the {one.waits_for},"
        f" {now - one.since:.0f} s)"
        for one in sorted(under_way, key=lambda one: one.since)[:_SHOWN]
    )


T = TypeVar("T")

CLOSE_SECONDS = 30.0
"""How long an environment may take to free what it holds before it is left alone."""

logger = logging.getLogger(__name__)


@runtime_checkable
class WaitsForAll(Protocol):
    """A policy that answers when all rollouts under way wait for it, all of them at once.

    The deadline of a rollout does not run while it waits for such a policy: it would be the slowest
    rollout that all others are ended for.
    """

    def rollout_began(self) -> None:
        """One more is under way."""
        ...

    def rollout_ended(self) -> None:
        """One less is."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutPlan:
    """A rollout that is to be played."""

    task: Task
    name: str
    group: str
    index: int
    seed: int
    version: int


def seed_of(*parts: object) -> int:
    """A seed made of anything that can be written, from 0 to 2**31 - 1."""
    text = "\0".join(map(str, parts))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) >> 1


class Rollout:
    """Plays one plan, once."""

    def __init__(
        self, plan: RolloutPlan, policy: Policy, tokens: TurnTokens, settings: RolloutSettings
    ) -> None:
        self.plan = plan
        self.under_way = RunningRollout(plan.name, plan.index)
        self._policy = policy
        self._tokens = tokens
        self._settings = settings
        self._environment: Environment | None = None
        self._prompt: tuple[int, ...] = ()
        self._response: list[int] = []
        self._mask: list[int] = []
        self._logprobs: list[float] = []
        self._spans: list[tuple[int, int]] = []
        self._messages: list[Message] = []
        self._metrics: Counter[str] = Counter()
        self._seconds: dict[str, float] = {"environment": 0.0, "policy": 0.0}
        self._left = settings.rollout_seconds
        self._policy_is_timed = not isinstance(policy, WaitsForAll)

    async def play(self) -> RolloutRecord:
        """Plays it to its end.

        A failure of the policy or the environment ends the rollout and not its batch: it is a record
        with `env_error`. So is a mistake in their code, which is logged with its trace as well.

        Raises:
            CancelledError: the environment is closed; `cancelled_record()` is the record.
            UsageError: the task, its opening or its reward is set up wrongly: the next rollout would
                fail in the same way.
        """
        try:
            stop = await self._converse()
            reward = await self._final_reward()
            return self._record(stop, reward)
        except UsageError:
            raise
        except Exception as error:  # noqa: BLE001 -- one rollout's failure, whatever it is, is not the others'
            return self._record("env_error", None, self._error_text(error))
        finally:
            await self._close()

    def cancelled_record(self) -> RolloutRecord:
        """The record of what was played when its batch was cancelled."""
        return self._record("cancelled", None, "the rollout was cancelled")

    async def _converse(self) -> StopReason:
        await self._open()
        for turn in range(1, self._settings.max_turns + 1):
            completion = await self._complete_turn(turn)
            if completion.finish == "length":
                return "max_tokens"
            reply = await self._ask_environment()
            self.under_way.turns = turn
            self._messages += reply.messages
            for name, value in reply.metrics.items():
                self._metrics[name] += value  # pyright: ignore[reportArgumentType]  # a Counter of floats
            if reply.done:
                return "done"
            if turn == self._settings.max_turns:
                break
            ids = self._tokens.reply_ids(reply.messages, ended_by=completion.token_ids[-1])
            if self._room <= len(ids):
                return "max_tokens"
            self._append(ids, [0.0] * len(ids), wrote=0)
        return "max_turns"

    async def _open(self) -> None:
        opening = await self._wait_for("environment", self._begin())
        self._messages += opening.messages
        self._prompt = self._tokens.opening_ids(opening)
        if self._room <= 0:
            raise WorldFailure(
                f"the prompt of {self.plan.name!r} has {len(self._prompt)} tokens, and a rollout may"
                f" have {self._settings.max_rollout_tokens}. Set max_rollout_tokens higher."
            )

    async def _begin(self) -> Opening:
        self._environment = await self.plan.task.environment(seed=self.plan.seed)
        return await self._environment.open()

    async def _complete_turn(self, turn: int) -> Completion:
        most = min(self._settings.max_turn_tokens, self._room)
        context = (*self._prompt, *self._response)
        asked = self._policy.complete(context, max_tokens=most, seed=seed_of(self.plan.seed, turn))
        completion = await self._wait_for("policy", asked)
        ids, logprobs = completion.token_ids, completion.logprobs
        if not ids or len(ids) != len(logprobs):
            raise EngineFailure(
                f"the policy gave {len(ids)} tokens and {len(logprobs)} log-probabilities for a turn;"
                " at least one token is wanted, and one log-probability for each."
            )
        begin = len(self._response)
        self._append(ids, logprobs, wrote=1)
        self._spans.append((begin, len(self._response)))
        self._messages.append({"role": "assistant", "content": self._tokens.text(ids)})
        return completion

    async def _ask_environment(self) -> EnvironmentReply:
        try:
            text = self._messages[-1]["content"]
            return await self._wait_for("environment", self._running_environment.answer(text))
        except UsageError as error:
            # What a policy writes is no mistake of the user's.
            raise EngineFailure(f"the environment did not take the turn: {error}") from error

    async def _final_reward(self) -> Reward | None:
        reward = await self._wait_for("environment", self._running_environment.reward())
        if reward is not None and not math.isfinite(reward.value):
            raise EngineFailure(
                f"the reward is {reward.value}, not a number to train on ({reward.reason})"
            )
        return reward

    @property
    def _running_environment(self) -> Environment:
        assert self._environment is not None
        return self._environment

    @property
    def _room(self) -> int:
        return self._settings.max_rollout_tokens - len(self._prompt) - len(self._response)

    def _append(
        self, ids: tuple[int, ...], logprobs: list[float] | tuple[float, ...], *, wrote: int
    ) -> None:
        self._response += ids
        self._mask += [wrote] * len(ids)
        self._logprobs += logprobs

    async def _wait_for(self, what: Literal["environment", "policy"], answer: Awaitable[T]) -> T:
        """The answer. Counts the time, and ends the wait at the deadline."""
        timed = what == "environment" or self._policy_is_timed
        self.under_way.note_wait(what)
        began = time.monotonic()
        limit = asyncio.timeout(max(self._left, 0.0) if timed else None)
        try:
            async with limit:
                return await answer
        except TimeoutError:
            if not limit.expired():
                raise
            raise WorldFailure(
                f"the rollout was given up after {self._settings.rollout_seconds:g} s: it was waiting"
                f" for the {what} in turn {self.under_way.turns + 1}. Look into what is slow there, or"
                " set rollout_seconds higher."
            ) from None
        finally:
            taken = time.monotonic() - began
            self._seconds[what] += taken
            if timed:
                self._left -= taken

    def _error_text(self, error: Exception) -> str:
        """What is kept of a failure. A mistake in somebody's code is shown with its trace."""
        ours = isinstance(error, (WorldFailure, AccessRefused))
        logger.log(
            logging.WARNING if ours else logging.ERROR,
            "rollout %d of %s failed: %s: %s",
            self.plan.index,
            self.plan.group,
            type(error).__name__,
            error,
            exc_info=None if ours else error,
        )
        return f"{type(error).__name__}: {error}"

    def _record(self, stop: StopReason, reward: Reward | None, error: str = "") -> RolloutRecord:
        metrics: Mapping[str, float] = {
            **self._metrics,
            "turns": len(self._spans),
            "env_seconds": round(self._seconds["environment"], 6),
            "policy_seconds": round(self._seconds["policy"], 6),
        }
        return RolloutRecord(
            task=self.plan.name,
            group=self.plan.group,
            index=self.plan.index,
            seed=self.plan.seed,
            prompt_ids=self._prompt,
            response_ids=tuple(self._response),
            loss_mask=tuple(self._mask),
            logprobs=tuple(self._logprobs),
            turn_spans=tuple(self._spans),
            reward=None if reward is None else reward.value,
            reward_parts={} if reward is None else dict(reward.parts),
            stop_reason=stop,
            error=error,
            policy_version=self.plan.version,
            messages=tuple(self._messages),
            world_ref="" if self._environment is None else self._environment.world_ref,
            env_metrics=metrics,
        )

    async def _close(self) -> None:
        if self._environment is None:
            return
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._environment.close()
        except Exception as error:
            # What the rollout was worth does not depend on it.
            logger.error(
                "the environment of rollout %d of %s could not be closed",
                self.plan.index,
                self.plan.group,
                exc_info=error,
            )
