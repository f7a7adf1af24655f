"""`RolloutEngine`: many rollouts at a time."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence

from agentworld_sim.errors import UsageError, WorldFailure
from agentworld_sim.rollouts.policies import Policy
from agentworld_sim.rollouts.rollout import (
    OnHeartbeat,
    Progress,
    Rollout,
    RolloutPlan,
    RolloutSettings,
    WaitsForAll,
    seed_of,
    slowest_of,
)
from agentworld_sim.rollouts.rollout_log import RolloutRecord
from agentworld_sim.rollouts.tasks import Task
from agentworld_sim.rollouts.turn_tokens import ChatTokenizer, TurnTokens

FEWEST_FAILURES = 8
"""So many failures in a row end a batch, or as many as there are rollouts at a time if those are more."""

OnRollout = Callable[[RolloutRecord], None]

logger = logging.getLogger(__name__)


class RolloutFailed(WorldFailure):
    """Rollouts failed one after another: the infrastructure is down."""

    records: tuple[RolloutRecord, ...] = ()
    """Of the rollouts that had ended, if there are any."""


class RolloutEngine:
    """Plays groups of rollouts against tasks.

    Can be used again and again, and in several event loops one after another.
    """

    def __init__(
        self,
        policy: Policy,
        tokenizer: ChatTokenizer,
        settings: RolloutSettings | None = None,
        *,
        on_heartbeat: OnHeartbeat | None = None,
    ) -> None:
        """
        Args:
            policy: Samples the turns.
            tokenizer: The policy's, with its chat template.
            on_heartbeat: Is told how far a batch is, every `heartbeat_seconds`. The log says it too.
        """
        self.settings = settings or RolloutSettings()
        self.tokens = TurnTokens(tokenizer, self.settings.template)
        self.policy = policy
        self._on_heartbeat = on_heartbeat

    async def run(
        self,
        tasks: Sequence[Task],
        *,
        group_size: int,
        seed: int,
        policy_version: int = 0,
        on_rollout: OnRollout | None = None,
    ) -> list[RolloutRecord]:
        """Plays `group_size` rollouts of every task.

        A task is closed when the last of its rollouts has ended. Seeds depend on `seed`, the task's name
        and the rollout's place in its group, so that a rollout is the same whatever is played beside
        it.

        Args:
            tasks: One group each.
            group_size: Rollouts of a group.
            seed: Of the policy's sampling.
            policy_version: The optimiser step of the policy's weights.
            on_rollout: Is given every record as soon as its rollout has ended, also those of
                cancelled rollouts.

        Returns:
            The records, task by task and index by index.

        Raises:
            RolloutFailed: rollouts failed one after another; its `records` are those that had ended.
            UsageError: a task, its opening or its reward is set up wrongly.
            CancelledError: every rollout under way has been closed, and its record handed out.
        """
        if group_size < 1:
            raise UsageError(f"group_size must be 1 or more, not {group_size!r}.")
        plans = _plans(tasks, group_size, seed, policy_version)
        batch = _Batch(plans, self.policy, self.tokens, self.settings, on_rollout)
        beating = asyncio.create_task(self._beat(batch))
        try:
            return await batch.play()
        finally:
            beating.cancel()
            await asyncio.gather(beating, return_exceptions=True)

    async def _beat(self, batch: _Batch) -> None:
        while True:
            await asyncio.sleep(self.settings.heartbeat_seconds)
            progress = batch.progress()
            logger.info("%s", progress)
            if self._on_heartbeat is not None:
                self._on_heartbeat(progress)


class _Batch:
    """One run of the engine."""

    def __init__(
        self,
        plans: list[RolloutPlan],
        policy: Policy,
        tokens: TurnTokens,
        settings: RolloutSettings,
        on_rollout: OnRollout | None,
    ) -> None:
        self._plans = plans
        self._waiting = deque(enumerate(plans))
        self._records: dict[int, RolloutRecord] = {}
        self._policy = policy
        self._tokens = tokens
        self._settings = settings
        self._on_rollout = on_rollout
        self._under_way: dict[int, Rollout] = {}
        self._left = Counter(id(plan.task) for plan in plans)
        self._failed = 0
        self._in_a_row = 0
        self._places = 0
        self._began = time.monotonic()

    async def play(self) -> list[RolloutRecord]:
        places = min(self._settings.in_flight, len(self._plans))
        self._take_places(places)
        workers = [asyncio.create_task(self._work()) for _ in range(places)]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            # A worker that was cancelled before it began gives nothing back.
            self._take_places(-self._places)
            await self._close_tasks()
        return self._finished_records()

    def progress(self) -> Progress:
        under_way = [rollout.under_way for rollout in self._under_way.values()]
        return Progress(
            finished=len(self._records),
            failed=self._failed,
            total=len(self._plans),
            seconds=time.monotonic() - self._began,
            slowest=slowest_of(under_way),
        )

    async def _work(self) -> None:
        while self._waiting:
            place, plan = self._waiting.popleft()
            await self._play(place, plan)
        self._take_places(-1)

    def _take_places(self, change: int) -> None:
        """Tells a policy that waits for all rollouts how many there are."""
        self._places += change
        if isinstance(self._policy, WaitsForAll):
            for _ in range(change):
                self._policy.rollout_began()
            for _ in range(-change):
                self._policy.rollout_ended()

    async def _play(self, place: int, plan: RolloutPlan) -> None:
        rollout = Rollout(plan, self._policy, self._tokens, self._settings)
        self._under_way[place] = rollout
        try:
            record = await rollout.play()
        except asyncio.CancelledError:
            self._note(place, rollout.cancelled_record())
            raise
        finally:
            del self._under_way[place]
        self._note(place, record)
        self._give_up_if_hopeless(record)
        self._left[id(plan.task)] -= 1
        if not self._left[id(plan.task)]:
            await _close_task(plan.task)

    def _note(self, place: int, record: RolloutRecord) -> None:
        self._records[place] = record
        if self._on_rollout is not None:
            self._on_rollout(record)

    def _give_up_if_hopeless(self, record: RolloutRecord) -> None:
        if record.stop_reason != "env_error":
            self._in_a_row = 0
            return
        self._failed += 1
        self._in_a_row += 1
        many = max(self._settings.in_flight, FEWEST_FAILURES)
        if self._in_a_row < min(many, len(self._plans)):
            return
        failure = RolloutFailed(
            f"the batch was stopped: {self._in_a_row} rollouts failed one after another, the last"
            f" one ({record.task} number {record.index}) with {record.error} Nothing was trained on"
            " them; when the cause is gone, the run can be resumed."
        )
        failure.records = tuple(self._finished_records())
        raise failure

    def _finished_records(self) -> list[RolloutRecord]:
        return [self._records[place] for place in sorted(self._records)]

    async def _close_tasks(self) -> None:
        """Those whose rollouts did not all end."""
        begun = {id(plan.task): plan.task for plan in self._plans[: self._started_count]}
        for key, task in begun.items():
            if self._left[key]:
                await _close_task(task)

    @property
    def _started_count(self) -> int:
        return len(self._plans) - len(self._waiting)


def _plans(tasks: Sequence[Task], group_size: int, seed: int, version: int) -> list[RolloutPlan]:
    names: Counter[str] = Counter()
    plans: list[RolloutPlan] = []
    for task in tasks:
        names[task.name] += 1
        number = names[task.name]
        group = f"{version}/{task.name}" + (f"#{number}" if number > 1 else "")
        plans += [
            RolloutPlan(
                task=task,
                name=task.name,
                group=group,
                index=index,
                seed=seed_of(seed, task.name, number, index),
                version=version,
            )
            for index in range(group_size)
        ]
    return plans


async def _close_task(task: Task) -> None:
    try:
        await task.close()
    except Exception as error:
        logger.error("the task %s could not be closed", task.name, exc_info=error)
