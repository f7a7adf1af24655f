"""Sampling from a model of this process."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
import torch

from agentworld_sim.errors import UsageError
from agentworld_sim.rollouts import (
    Completion,
    EnvironmentReply,
    RolloutEngine,
    RolloutFailed,
    RolloutSettings,
    TurnTokens,
    WorldTask,
)
from agentworld_trainers._generation_rows import remembers
from agentworld_trainers.in_process_policy import InProcessPolicy
from tests.rollouts.environments import ToldTask, ends, goes_on
from tests.rollouts.worlds import scenario
from tests.trainers.policies.models import VOCABULARY, tiny
from tests.trainers.policies.tokenizers import tokenizer

STOP = 2
PROMPTS: tuple[tuple[int, ...], ...] = tuple(
    tuple((7 * n + 3 * place) % 400 + 5 for place in range(4 + 9 * (n // 3))) for n in range(9)
)
"""Of three lengths, three equal ones of each."""

KINDS = (
    ("qwen3", "sdpa"),
    ("qwen3_moe", "sdpa"),
    ("qwen3", "eager"),
    ("qwen3_5_moe", "sdpa"),
)


def made(kind: str = "qwen3", attention: str = "sdpa", **settings: Any) -> InProcessPolicy:
    return InProcessPolicy(tiny(kind, attention=attention), stop_ids=(STOP,), **settings)


async def together(
    policy: InProcessPolicy, prompts: Sequence[Sequence[int]], *, first: int = 0, most: int = 20
) -> list[Completion]:
    """Completions of prompts that are asked for at the same time; seeds count up from `first`."""
    return await asyncio.gather(
        *(
            policy.complete(prompt, max_tokens=most, seed=first + n)
            for n, prompt in enumerate(prompts)
        )
    )


def fresh(model: Any, prompt: Sequence[int], done: Completion, temperature: float) -> torch.Tensor:
    """What one forward pass says of a completion, token by token."""
    ids = torch.tensor([[*prompt, *done.token_ids]])
    with torch.no_grad():
        logits = model(input_ids=ids).logits[0, len(prompt) - 1 : -1].float()
    found = torch.log_softmax(logits / temperature, dim=-1)
    return found.gather(-1, torch.tensor(done.token_ids)[:, None])[:, 0]


@pytest.mark.parametrize(("kind", "attention"), KINDS)
async def test_log_probabilities_are_those_of_a_fresh_forward_pass(
    kind: str, attention: str
) -> None:
    policy = made(kind, attention, temperature=0.8)
    assert remembers(policy.model) is (attention == "sdpa" and "5" not in kind)
    for prompt, done in zip(PROMPTS, await together(policy, PROMPTS), strict=True):
        assert done.finish == ("stop" if done.token_ids[-1] == STOP else "length")
        wanted = fresh(policy.model, prompt, done, 0.8)
        torch.testing.assert_close(torch.tensor(done.logprobs), wanted, atol=1e-5, rtol=0)


@pytest.mark.parametrize("kind", ["qwen3", "qwen3_moe"])
async def test_later_turns_use_what_was_computed_of_earlier_ones(kind: str) -> None:
    policy = made(kind)
    for _ in PROMPTS:
        policy.rollout_began()
    prompts = PROMPTS
    new = sum(map(len, set(PROMPTS)))
    for turn in range(3):
        before = policy.tokens_read
        done = await together(policy, prompts, first=100 * turn, most=5 + 4 * turn)
        for prompt, one in zip(prompts, done, strict=True):
            wanted = fresh(policy.model, prompt, one, 1.0)
            torch.testing.assert_close(torch.tensor(one.logprobs), wanted, atol=1e-5, rtol=0)
        replies = [(9,) * (n % 4 + 1) for n in range(len(prompts))]
        prompts = tuple(
            (*prompt, *one.token_ids, *reply)
            for prompt, one, reply in zip(prompts, done, replies, strict=True)
        )
        assert policy.tokens_read - before == new
        # The last token of a turn was sampled and not read.
        new = sum(len(reply) + 1 for reply in replies)
    for _ in PROMPTS:
        policy.rollout_ended()
    before = policy.tokens_read
    await together(policy, prompts, most=1)
    assert policy.tokens_read - before == sum(map(len, prompts))


@pytest.mark.parametrize(("kind", "attention"), KINDS)
async def test_what_a_request_is_given_does_not_depend_on_its_neighbours(
    kind: str, attention: str
) -> None:
    policy = made(kind, attention)
    all_at_once = await together(policy, PROMPTS)
    alone = [(await together(policy, [prompt], first=n))[0] for n, prompt in enumerate(PROMPTS)]
    assert [one.token_ids for one in alone] == [one.token_ids for one in all_at_once]
    assert len({one.token_ids for one in alone}) == len(PROMPTS)


async def test_equal_seeds_give_equal_bytes_in_whatever_order_they_are_asked_for() -> None:
    policy = made()
    first = await together(policy, PROMPTS)
    backward = [
        asyncio.ensure_future(policy.complete(prompt, max_tokens=20, seed=n))
        for n, prompt in reversed(list(enumerate(PROMPTS)))
    ]
    assert [await one for one in reversed(backward)] == first
    assert await together(policy, PROMPTS, first=50) != first


async def test_more_requests_than_rows_come_in_several_batches() -> None:
    whole, few = await together(made(), PROMPTS), await together(made(most_rows=2), PROMPTS)
    assert [one.token_ids for one in few] == [one.token_ids for one in whole]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
async def test_tokens_are_drawn_from_the_distribution_at_its_temperature(
    temperature: float,
) -> None:
    policy = made(temperature=temperature)
    draws = 4_000
    done = await together(policy, [PROMPTS[0]] * draws, most=1)
    counts = torch.bincount(torch.tensor([one.token_ids[0] for one in done]), minlength=VOCABULARY)
    with torch.no_grad():
        logits = policy.model(input_ids=torch.tensor([PROMPTS[0]])).logits[0, -1]
    wanted = torch.softmax(logits / temperature, dim=-1) * draws
    often = wanted >= 5
    rest = (counts[~often].sum() - wanted[~often].sum()) ** 2 / wanted[~often].sum().clamp(min=1)
    chi_square = ((counts - wanted) ** 2 / wanted)[often].sum() + rest
    # Its mean is the number of kinds and its variance twice that: five deviations are allowed.
    kinds = int(often.sum())
    assert kinds >= 5
    assert chi_square < kinds + 5 * (2 * kinds) ** 0.5


async def test_no_temperature_takes_the_most_probable_token() -> None:
    policy = made(temperature=0.0)
    first, again = await together(policy, [PROMPTS[0], PROMPTS[0]], most=4)
    with torch.no_grad():
        logits = policy.model(input_ids=torch.tensor([PROMPTS[0]])).logits[0, -1]
    assert first == again
    assert first.token_ids[0] == int(logits.argmax())
    assert set(first.logprobs) == {0.0}


async def test_the_weights_are_those_of_the_moment() -> None:
    policy = made()
    before = await together(policy, PROMPTS)
    weight = policy.model.model.embed_tokens.weight
    kept = weight.detach().clone()
    with torch.no_grad():
        weight.add_(torch.randn(weight.shape, generator=torch.Generator().manual_seed(1)) * 0.2)
    policy.version = 1
    after = await together(policy, PROMPTS)
    wanted = fresh(policy.model, PROMPTS[0], after[0], 1.0)
    with torch.no_grad():
        weight.copy_(kept)
    assert after != before
    assert {one.version for one in after} == {1}
    torch.testing.assert_close(torch.tensor(after[0].logprobs), wanted, atol=1e-5, rtol=0)


async def test_a_model_in_training_is_left_in_training_and_global_chance_is_not_touched() -> None:
    policy = made()
    policy.model.train()
    torch.manual_seed(3)
    state = torch.get_rng_state()
    await together(policy, PROMPTS)
    assert policy.model.training
    assert torch.equal(state, torch.get_rng_state())
    assert torch.is_grad_enabled()


async def test_a_batch_waits_until_all_rollouts_wait() -> None:
    policy = made()
    sizes: list[int] = []

    class Watching(InProcessPolicy):
        async def _answer(self, batch: Any) -> None:
            sizes.append(len(batch))
            await super()._answer(batch)

    policy = Watching(tiny(), stop_ids=(STOP,))

    async def answer(text: str, seed: int) -> EnvironmentReply:
        for _ in range(seed % 7):
            await asyncio.sleep(0)
        return EnvironmentReply(done=True) if seed % 3 == 0 else goes_on()

    made_of = tokenizer()
    engine = RolloutEngine(
        policy, made_of, RolloutSettings(max_turns=3, max_turn_tokens=4, in_flight=6)
    )
    task = ToldTask("t", answer)
    records = await engine.run([task], group_size=9, seed=1)
    again = await engine.run([task], group_size=9, seed=1)
    assert [one.response_ids for one in records] == [one.response_ids for one in again]
    assert [one.logprobs for one in records] == [one.logprobs for one in again]
    assert sizes[0] == 6
    assert sizes[: len(sizes) // 2] == sizes[len(sizes) // 2 :]


async def test_a_rollout_whose_world_hangs_holds_up_the_others_no_longer_than_its_deadline() -> (
    None
):
    policy = made()

    async def answer(text: str, seed: int) -> EnvironmentReply:
        if seed == stuck:
            await asyncio.Event().wait()
        return EnvironmentReply(done=True) if len(seen) > 8 else (seen.append(seed) or goes_on())

    seen: list[int] = []
    made_of = tokenizer()
    settings = RolloutSettings(
        max_turns=3, max_turn_tokens=400, max_rollout_tokens=2000, rollout_seconds=0.3
    )
    engine = RolloutEngine(InProcessPolicy(policy.model, stop_ids=range(100)), made_of, settings)
    stuck = (await engine.run([ToldTask("t", ends)], group_size=4, seed=1))[2].seed
    records = await engine.run([ToldTask("t", answer)], group_size=4, seed=1)
    assert records[2].stop_reason == "env_error"
    assert {records[n].stop_reason for n in (0, 1, 3)} <= {"done", "max_turns", "max_tokens"}


async def test_cancelled_requests_hold_up_nobody() -> None:
    policy = made()
    policy.rollout_began()
    policy.rollout_began()
    one = asyncio.ensure_future(policy.complete(PROMPTS[0], max_tokens=4, seed=1))
    await asyncio.sleep(0)
    one.cancel()
    await asyncio.gather(one, return_exceptions=True)
    policy.rollout_ended()
    done = await policy.complete(PROMPTS[1], max_tokens=4, seed=2)
    policy.rollout_ended()
    assert done == (await together(made(), [PROMPTS[1]], first=2, most=4))[0]


async def test_a_cancelled_rollout_leaves_a_policy_that_can_be_used() -> None:
    began = asyncio.Event()

    class Telling(InProcessPolicy):
        async def _answer(self, batch: Any) -> None:
            began.set()
            await super()._answer(batch)

    policy = Telling(tiny(), stop_ids=(STOP,))
    made_of = tokenizer()
    engine = RolloutEngine(policy, made_of, RolloutSettings(max_turn_tokens=500))
    rollout = asyncio.create_task(engine.run([ToldTask("t", ends)], group_size=4, seed=1))
    await began.wait()
    rollout.cancel()
    with pytest.raises(asyncio.CancelledError):
        await rollout
    records = await engine.run([ToldTask("t", ends)], group_size=4, seed=1)
    assert len(records) == 4


async def test_a_model_that_breaks_fails_every_rollout_with_its_own_words() -> None:
    class Broken(torch.nn.Module):
        config = tiny().config
        device = torch.device("cpu")

        def forward(self, **inputs: Any) -> Any:
            raise RuntimeError("out of memory")

    policy = InProcessPolicy(Broken(), stop_ids=(STOP,))
    engine = RolloutEngine(policy, tokenizer())
    with pytest.raises(RolloutFailed, match="RuntimeError: out of memory"):
        await engine.run([ToldTask("t", ends)], group_size=4, seed=1)


def test_a_policy_works_in_one_event_loop_after_another() -> None:
    policy = made()
    first = asyncio.run(together(policy, PROMPTS))
    assert asyncio.run(together(policy, PROMPTS)) == first


def test_settings_that_cannot_work_are_refused() -> None:
    with pytest.raises(UsageError, match="without stop_ids never ends a turn"):
        InProcessPolicy(tiny(), stop_ids=())
    with pytest.raises(UsageError, match="temperature must be 0 or more, not -1"):
        made(temperature=-1.0)


async def test_a_model_plays_in_a_world() -> None:
    made_of = tokenizer()
    tokens = TurnTokens(made_of)
    policy = InProcessPolicy(tiny(), stop_ids=tokens.stop_ids)
    engine = RolloutEngine(policy, made_of, RolloutSettings(max_turns=2, max_turn_tokens=30))
    records = await engine.run([WorldTask(scenario())], group_size=4, seed=1)
    assert {one.stop_reason for one in records} <= {"done", "max_tokens", "max_turns"}
    assert {one.reward for one in records} == {0.0}
    assert len({one.prompt_ids for one in records}) == 1
