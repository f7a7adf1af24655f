"""Many rollouts at a time: what ends them, what they leave, and what goes wrong."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from agentworld_sim.errors import EngineFailure, StoreError, UsageError, WorldFailure
from agentworld_sim.rollouts import (
    EnvironmentReply,
    Progress,
    RolloutEngine,
    RolloutFailed,
    RolloutLog,
    RolloutRecord,
    RolloutSettings,
    ScriptedPolicy,
    TurnTokens,
    read_rollouts,
    show,
)
from agentworld_sim.scoring import Reward
from tests.rollouts.environments import (
    Says,
    ToldTask,
    ends,
    goes_on,
    goes_on_for_ever,
    hangs,
)
from tests.rollouts.tokenizers import ByteTokenizer

TOKENIZER = ByteTokenizer()
END: int = TurnTokens(TOKENIZER).stop_ids[0]
HI: list[int] = TOKENIZER.encode("hi", add_special_tokens=False)


def engine(policy: object | None = None, **settings: object) -> RolloutEngine:
    says = policy or Says(*HI, END)
    return RolloutEngine(says, TOKENIZER, RolloutSettings(**settings))  # pyright: ignore[reportArgumentType]


async def played(task: ToldTask, policy: object | None = None, **settings: object) -> RolloutRecord:
    (record,) = await engine(policy, **settings).run([task], group_size=1, seed=1)
    assert task.open == 0
    return record


async def test_a_record_holds_the_tokens_as_they_were_sampled() -> None:
    async def answer(text: str, seed: int) -> EnvironmentReply:
        assert text == "hi"
        return goes_on() if answered.made and len(policy.asked) < 2 else EnvironmentReply(done=True)

    policy = Says(*HI, END)
    answered = ToldTask("two turns", answer)
    record = await played(answered, policy)
    tokens = TurnTokens(TOKENIZER)
    reply = tokens.reply_ids([{"role": "user", "content": "more"}], ended_by=END)
    turn = (*HI, END)
    assert record.response_ids == (*turn, *reply, *turn)
    assert record.loss_mask == (1,) * len(turn) + (0,) * len(reply) + (1,) * len(turn)
    assert record.logprobs == (-0.5,) * len(turn) + (0.0,) * len(reply) + (-0.5,) * len(turn)
    assert record.turn_spans == (
        (0, len(turn)),
        (len(turn) + len(reply), 2 * len(turn) + len(reply)),
    )
    assert policy.asked[1][0] == record.prompt_ids + record.response_ids[: -len(turn)]
    assert [message["content"] for message in record.messages] == ["go", "hi", "more", "hi"]
    assert (record.reward, record.stop_reason, record.error) == (1.0, "done", "")
    assert record.env_metrics["steps"] == 1
    assert record.env_metrics["turns"] == 2


async def test_the_limit_of_turns_ends_a_rollout_after_the_environment_has_answered() -> None:
    record = await played(ToldTask("long", goes_on_for_ever), max_turns=3)
    assert record.stop_reason == "max_turns"
    assert len(record.turn_spans) == 3
    assert record.env_metrics["steps"] == 3
    assert record.loss_mask[-1] == 1
    assert record.reward == 1.0


async def test_a_turn_that_was_cut_is_not_answered() -> None:
    async def never(text: str, seed: int) -> EnvironmentReply:
        raise AssertionError("a cut turn was answered")

    record = await played(ToldTask("cut", never), Says(*HI, cut=True))
    assert (record.stop_reason, record.reward) == ("max_tokens", 1.0)


async def test_a_rollout_never_has_more_tokens_than_it_may() -> None:
    policy = Says(*HI, END)
    record = await played(
        ToldTask("long", goes_on_for_ever), policy, max_turns=100, max_rollout_tokens=120
    )
    assert record.stop_reason == "max_tokens"
    assert len(record.prompt_ids) + len(record.response_ids) <= 120
    assert all(len(prompt) + most <= 120 for prompt, most, _ in policy.asked)
    assert record.loss_mask[-1] == 1


async def test_a_turn_is_asked_for_with_its_own_limit_and_seed() -> None:
    policy = Says(*HI, END)
    await played(ToldTask("long", goes_on_for_ever), policy, max_turns=3, max_turn_tokens=50)
    assert [most for _, most, _ in policy.asked] == [50, 50, 50]
    assert len({seed for _, _, seed in policy.asked}) == 3


async def test_records_come_task_by_task_and_index_by_index() -> None:
    waiting: list[asyncio.Event] = []

    async def last_first(text: str, seed: int) -> EnvironmentReply:
        mine = asyncio.Event()
        waiting.append(mine)
        if len(waiting) == 6:
            for event in reversed(waiting):
                event.set()
        await mine.wait()
        return EnvironmentReply(done=True)

    ended: list[tuple[str, int]] = []
    records = await engine().run(
        [ToldTask("a", last_first), ToldTask("b", last_first)],
        group_size=3,
        seed=1,
        policy_version=7,
        on_rollout=lambda record: ended.append((record.task, record.index)),
    )
    wanted = [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1), ("b", 2)]
    assert [(one.task, one.index) for one in records] == wanted
    assert sorted(ended) == wanted
    assert [one.group for one in records] == ["7/a"] * 3 + ["7/b"] * 3
    assert {one.policy_version for one in records} == {7}


async def test_a_rollouts_seed_does_not_depend_on_what_is_played_beside_it() -> None:
    a, b = ToldTask("a", ends), ToldTask("b", ends)
    together = await engine().run([b, a, a], group_size=2, seed=5)
    alone = await engine().run([a], group_size=2, seed=5)
    assert [one.seed for one in together[2:4]] == [one.seed for one in alone]
    assert together[4].group == "0/a#2"
    assert len({one.seed for one in together}) == 6
    other = await engine().run([a], group_size=2, seed=6)
    assert {one.seed for one in other}.isdisjoint(one.seed for one in alone)


async def test_no_more_rollouts_are_under_way_than_may_be() -> None:
    task = ToldTask("slow", lambda text, seed: slow())

    async def slow() -> EnvironmentReply:
        for _ in range(5):
            await asyncio.sleep(0)
        return EnvironmentReply(done=True)

    await engine(in_flight=3).run([task], group_size=10, seed=1)
    assert (task.made, task.most_open, task.open, task.closed) == (10, 3, 0, 1)


async def test_a_task_is_closed_when_its_last_rollout_has_ended() -> None:
    first, second = ToldTask("first", ends), ToldTask("second", ends)
    seen: list[tuple[str, int]] = []

    def note(record: RolloutRecord) -> None:
        seen.append((record.task, first.closed))

    await engine(in_flight=1).run([first, second], group_size=2, seed=1, on_rollout=note)
    assert seen == [("first", 0), ("first", 0), ("second", 1), ("second", 1)]
    assert second.closed == 1


@pytest.mark.parametrize(
    "error",
    [
        WorldFailure("the store is gone"),
        EngineFailure("no"),
        ValueError("a bug"),
        OSError("a disk"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_a_failure_is_a_record_without_a_reward_and_never_an_observation(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails(text: str, seed: int) -> EnvironmentReply:
        if seed == unlucky:
            raise error
        return EnvironmentReply(done=True)

    unlucky = (await engine().run([ToldTask("t", ends)], group_size=4, seed=1))[2].seed
    task = ToldTask("t", fails)
    records = await engine().run([task], group_size=4, seed=1)
    assert [one.stop_reason for one in records] == ["done", "done", "env_error", "done"]
    failed = records[2]
    assert failed.reward is None
    assert failed.error == f"{type(error).__name__}: {error}"
    assert str(error) not in str(failed.messages)
    assert task.open == 0
    told = [one for one in caplog.records if str(error) in one.getMessage()]
    assert [one.levelno for one in told] == [
        logging.WARNING if isinstance(error, WorldFailure) else logging.ERROR
    ]
    assert bool(told[0].exc_info) is not isinstance(error, WorldFailure)


async def test_nothing_but_failures_stops_the_rollout_with_one_message() -> None:
    async def fails(text: str, seed: int) -> EnvironmentReply:
        raise WorldFailure("the server is down.")

    task = ToldTask("t", fails)
    with pytest.raises(
        RolloutFailed, match=r"8 rollouts failed one after another.*is down"
    ) as failed:
        await engine(in_flight=2).run([task], group_size=100, seed=1)
    assert task.made <= 10
    assert len([one for one in failed.value.records if one.stop_reason == "env_error"]) == 8
    assert (task.open, task.closed) == (0, 1)


async def test_a_single_rollout_that_fails_fails_the_rollout() -> None:
    async def fails(text: str, seed: int) -> EnvironmentReply:
        raise WorldFailure("down")

    with pytest.raises(RolloutFailed, match="down"):
        await engine().run([ToldTask("t", fails)], group_size=1, seed=1)


async def test_a_deadline_ends_its_own_rollout_only() -> None:
    async def some_hang(text: str, seed: int) -> EnvironmentReply:
        return await hangs(text, seed) if seed == stuck else EnvironmentReply(done=True)

    stuck = (await engine().run([ToldTask("t", ends)], group_size=3, seed=1))[1].seed
    records = await engine(rollout_seconds=0.05).run(
        [ToldTask("t", some_hang)], group_size=3, seed=1
    )
    assert [one.stop_reason for one in records] == ["done", "env_error", "done"]
    assert "given up after 0.05 s: it was waiting for the environment in turn 1" in records[1].error


async def test_a_policy_that_hangs_ends_its_own_rollout_only() -> None:
    class Hangs(Says):
        async def complete(self, prompt_ids: object, *, max_tokens: int, seed: int):
            if len(self.asked) == 1:
                self.asked.append(((), 0, 0))
                await asyncio.Event().wait()
            return await super().complete(prompt_ids, max_tokens=max_tokens, seed=seed)

    records = await engine(Hangs(*HI, END), rollout_seconds=0.05).run(
        [ToldTask("t", ends)], group_size=3, seed=1
    )
    assert sorted(one.stop_reason for one in records) == ["done", "done", "env_error"]
    assert "waiting for the policy" in "".join(one.error for one in records)


async def test_a_timeout_of_the_environments_own_is_told_as_such() -> None:
    async def times_out(text: str, seed: int) -> EnvironmentReply:
        raise TimeoutError("theirs")

    with pytest.raises(RolloutFailed, match="TimeoutError: theirs"):
        await played(ToldTask("t", times_out))


async def test_a_cancelled_rollout_hands_out_what_was_under_way_and_closes_it() -> None:
    reached = asyncio.Semaphore(0)

    async def hangs_aloud(text: str, seed: int) -> EnvironmentReply:
        reached.release()
        return await hangs(text, seed)

    task = ToldTask("t", hangs_aloud)
    ended: list[RolloutRecord] = []
    rollout = asyncio.create_task(
        engine(in_flight=3).run([task], group_size=5, seed=1, on_rollout=ended.append)
    )
    for _ in range(3):
        await reached.acquire()
    rollout.cancel()
    with pytest.raises(asyncio.CancelledError):
        await rollout
    assert sorted(one.index for one in ended) == [0, 1, 2]
    assert {(one.stop_reason, one.reward) for one in ended} == {("cancelled", None)}
    assert {one.response_ids for one in ended} == {(*HI, END)}
    assert (task.open, task.closed) == (0, 1)
    assert len(asyncio.all_tasks()) == 1


async def test_a_wrong_set_up_stops_the_rollout_at_once() -> None:
    async def broken() -> Reward:
        raise UsageError("the reward function is not one")

    task = ToldTask("t", ends, reward=broken)
    with pytest.raises(UsageError, match="the reward function is not one"):
        await engine().run([task], group_size=20, seed=1)
    assert (task.open, task.closed) == (0, 1)


async def test_an_environment_that_does_not_take_a_turn_fails_that_rollout() -> None:
    async def refuses(text: str, seed: int) -> EnvironmentReply:
        raise UsageError("not like this")

    with pytest.raises(RolloutFailed, match="did not take the turn: not like this"):
        await played(ToldTask("t", refuses))


async def test_a_rollout_that_cannot_be_judged_has_no_reward() -> None:
    async def nothing() -> None:
        return None

    record = await played(ToldTask("t", ends, reward=nothing))
    assert (record.reward, record.stop_reason, record.error) == (None, "done", "")


async def test_a_reward_that_is_no_number_is_a_failure() -> None:
    async def undefined() -> Reward:
        return Reward(float("nan"), reason="0 / 0")

    with pytest.raises(RolloutFailed, match="the reward is nan"):
        await played(ToldTask("t", ends, reward=undefined))


async def test_a_policy_that_gives_no_tokens_is_a_failure() -> None:
    with pytest.raises(RolloutFailed, match="gave 0 tokens"):
        await played(ToldTask("t", ends), Says())


async def test_a_prompt_that_does_not_fit_is_told() -> None:
    with pytest.raises(
        RolloutFailed, match=r"the prompt of 't' has \d+ tokens.*max_rollout_tokens"
    ):
        await played(ToldTask("t", ends), max_rollout_tokens=5)


async def test_an_environment_that_cannot_be_closed_does_not_cost_its_rollout(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Sticks(ToldTask):
        async def environment(self, *, seed: int):
            made = await super().environment(seed=seed)

            async def sticks() -> None:
                raise OSError("busy")

            made.close = sticks
            return made

    (record,) = await engine().run([Sticks("t", ends)], group_size=1, seed=1)
    assert record.reward == 1.0
    assert "could not be closed" in caplog.text


async def test_a_full_disk_stops_the_rollout() -> None:
    def full(record: RolloutRecord) -> None:
        raise StoreError("no space left")

    task = ToldTask("t", ends)
    with pytest.raises(StoreError, match="no space left"):
        await engine().run([task], group_size=4, seed=1, on_rollout=full)
    assert task.open == 0


async def test_a_heartbeat_says_how_far_a_rollout_is(caplog: pytest.LogCaptureFixture) -> None:
    beats: list[Progress] = []
    free = asyncio.Event()

    async def waits(text: str, seed: int) -> EnvironmentReply:
        await free.wait()
        return EnvironmentReply(done=True)

    def beat(progress: Progress) -> None:
        beats.append(progress)
        free.set()

    settings = RolloutSettings(heartbeat_seconds=0.01)
    with caplog.at_level(logging.INFO):
        await RolloutEngine(Says(*HI, END), TOKENIZER, settings, on_heartbeat=beat).run(
            [ToldTask("t", waits)], group_size=4, seed=1
        )
    assert (beats[0].finished, beats[0].total, beats[0].failed) == (0, 4, 0)
    assert len(beats[0].slowest) == 3
    assert beats[0].slowest[0].startswith("t number 0 (turn 1, for the environment, ")
    assert str(beats[0]) in caplog.text
    assert str(beats[0]).startswith("batch: 0 of 4 rollouts after 0 s; waiting: t number 0")


async def test_no_tasks_are_no_rollouts() -> None:
    assert await engine().run([], group_size=4, seed=1) == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_turns": 0}, "max_turns must be 1 or more, not 0"),
        ({"in_flight": -1}, "in_flight must be 1 or more, not -1"),
        ({"rollout_seconds": 0}, "rollout_seconds must be more than 0, not 0"),
    ],
)
def test_limits_that_let_nothing_happen_are_refused(
    settings: dict[str, float], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        RolloutSettings(**settings)  # pyright: ignore[reportArgumentType]


async def test_a_group_of_nobody_is_refused() -> None:
    with pytest.raises(UsageError, match="group_size must be 1 or more, not 0"):
        await engine().run([], group_size=0, seed=1)


async def test_a_log_of_rollouts_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "rollouts" / "step-1.jsonl"
    with RolloutLog(path) as log:
        first = await engine().run(
            [ToldTask("a", ends)], group_size=2, seed=1, on_rollout=log.write
        )
    with RolloutLog(path) as log:
        second = await engine().run(
            [ToldTask("b", ends)], group_size=2, seed=1, on_rollout=log.write
        )
    assert list(read_rollouts(path)) == [*first, *second]


async def test_a_line_that_a_killed_run_left_unfinished_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "rollouts.jsonl"
    with RolloutLog(path) as log:
        await engine().run([ToldTask("a", ends)], group_size=2, seed=1, on_rollout=log.write)
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    with pytest.raises(UsageError, match=r"rollouts\.jsonl, line 2: not a rollout"):
        list(read_rollouts(path))
    with RolloutLog(path):
        pass
    assert path.read_bytes() == whole[: whole.index(b"\n") + 1]


def test_a_log_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        RolloutLog(tmp_path / "file" / "rollouts.jsonl")
    with pytest.raises(UsageError, match="cannot be read"):
        list(read_rollouts(tmp_path / "nothing"))


def test_a_disk_that_fills_up_leaves_whole_lines() -> None:
    record = RolloutRecord(
        task="t",
        group="0/t",
        index=0,
        seed=1,
        prompt_ids=(),
        response_ids=(),
        loss_mask=(),
        logprobs=(),
        turn_spans=(),
        reward=None,
        stop_reason="cancelled",
    )
    with RolloutLog(Path("/dev/full")) as log, pytest.raises(StoreError, match="No space left"):
        log.write(record)


async def test_a_person_can_read_a_rollout() -> None:
    policy = ScriptedPolicy(TOKENIZER, ["I look.", "Done."])
    turns = iter([goes_on("a.txt"), EnvironmentReply(done=True)])

    async def answer(text: str, seed: int) -> EnvironmentReply:
        return next(turns)

    text = show(await played(ToldTask("look", answer), policy))
    assert text.startswith("look, number 0 of the group 0/look: reward 1, done\nnumbers: steps 1,")
    assert text.endswith(
        "\n--- user\ngo\n\n--- assistant\nI look.\n\n--- user\na.txt\n\n--- assistant\nDone.\n"
    )
