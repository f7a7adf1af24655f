"""Rollouts against the real server: token ids in both directions, and the weights behind them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import httpx2
import pytest

from agentworld_sim import Scenario
from agentworld_sim.errors import ContextOverflow
from agentworld_sim.rollouts import (
    HttpPolicy,
    HttpPolicySettings,
    PolicyDrifted,
    RolloutEngine,
    RolloutSettings,
    WorldTask,
    verify_policy,
)
from tests.vllm.server import VllmServer

MESSAGES = [{"role": "user", "content": "### Turn 1\n**Action:**\nls"}]


class ServersTokenizer:
    """Implements `ChatTokenizer` with the server's own: this environment has no tokenizers."""

    chat_template = "the server's"

    def __init__(self, http: httpx2.Client) -> None:
        self._http = http
        (self.eos_token_id,) = self.encode("<|im_end|>")
        self.all_special_ids = [self.eos_token_id]

    def apply_chat_template(self, conversation: Any, **options: Any) -> str:
        fields = {"messages": conversation, "add_special_tokens": False}
        asked = {**fields, "add_generation_prompt": options["add_generation_prompt"]}
        response = self._http.post("/tokenize", json={"model": "tiny", **asked})
        if response.status_code != 200:
            raise ValueError(response.json()["error"]["message"])
        return self.decode(response.json()["tokens"])

    def encode(self, text: Any, **options: Any) -> list[int]:
        asked = {"model": "tiny", "prompt": text, "add_special_tokens": False}
        return self._http.post("/tokenize", json=asked).raise_for_status().json()["tokens"]

    def decode(self, token_ids: Any, **options: Any) -> str:
        asked = {"model": "tiny", "tokens": list(token_ids)}
        return self._http.post("/detokenize", json=asked).raise_for_status().json()["prompt"]


@pytest.fixture
def tokenizer(http: httpx2.Client) -> ServersTokenizer:
    return ServersTokenizer(http)


@pytest.fixture
async def policy(vllm_server: VllmServer, tokenizer: ServersTokenizer) -> AsyncIterator[HttpPolicy]:
    made = HttpPolicy(
        HttpPolicySettings(
            url=vllm_server.url, stop_ids=(tokenizer.eos_token_id,), connect_seconds=30
        ),
        environment={"AGENTWORLD_API_KEY": vllm_server.api_key},
    )
    yield made
    await made.close()


@pytest.fixture
def prompt(tokenizer: ServersTokenizer) -> list[int]:
    return tokenizer.encode(tokenizer.apply_chat_template(MESSAGES, add_generation_prompt=True))


async def test_a_turn_comes_as_token_ids_with_the_one_that_ended_it(
    policy: HttpPolicy, tokenizer: ServersTokenizer, prompt: Sequence[int]
) -> None:
    done = await policy.complete(prompt, max_tokens=300, seed=1)
    assert done.finish == "stop"
    assert done.token_ids[-1] == tokenizer.eos_token_id
    assert tokenizer.eos_token_id not in done.token_ids[:-1]
    assert len(done.logprobs) == len(done.token_ids)
    assert max(done.logprobs) <= 0


async def test_a_limit_cuts_a_turn(policy: HttpPolicy, prompt: Sequence[int]) -> None:
    done = await policy.complete(prompt, max_tokens=3, seed=1)
    assert (done.finish, len(done.token_ids)) == ("length", 3)


async def test_a_seed_fixes_the_tokens(policy: HttpPolicy, prompt: Sequence[int]) -> None:
    first, again, other = [
        (await policy.complete(prompt, max_tokens=50, seed=seed)).token_ids for seed in (3, 3, 4)
    ]
    assert first == again
    assert first != other


async def test_sampled_log_probabilities_are_those_the_weights_give_the_tokens(
    policy: HttpPolicy, prompt: Sequence[int]
) -> None:
    done = await policy.complete(prompt, max_tokens=50, seed=5)
    whole = (*prompt, *done.token_ids)
    told = await policy.prompt_logprobs(whole)
    assert len(told) == len(whole) - 1
    assert told[len(prompt) - 1 :] == pytest.approx(done.logprobs, abs=1e-4)
    assert await verify_policy(policy, whole, told, 1e-4) < 1e-4
    with pytest.raises(PolicyDrifted, match=r"differ by 0\.3 nat on the mean"):
        await verify_policy(policy, whole, tuple(one + 0.3 for one in told), 0.15)


async def test_a_conversation_that_is_too_long_is_told_as_such(policy: HttpPolicy) -> None:
    with pytest.raises(ContextOverflow, match="context"):
        await policy.complete([5] * 9_000, max_tokens=10, seed=1)


async def test_groups_of_rollouts_are_played_in_worlds(
    policy: HttpPolicy, tokenizer: ServersTokenizer
) -> None:
    scenario = Scenario.model_validate(
        {
            "name": "anything",
            "instruction": "Make /srv/out.txt.",
            "domains": ["terminal"],
            "tools": ["shell"],
            "goals": [{"file": "/srv/out.txt", "exists": True}],
        }
    )
    engine = RolloutEngine(
        policy,
        tokenizer,
        RolloutSettings(max_turns=3, max_turn_tokens=200, max_rollout_tokens=4000),
    )
    records = await engine.run([WorldTask(scenario)], group_size=8, seed=1, policy_version=2)
    assert [record.index for record in records] == list(range(8))
    assert {record.stop_reason for record in records} <= {"done", "max_tokens", "max_turns"}
    assert {record.reward for record in records} == {0.0}
    assert len({record.response_ids for record in records}) > 1
    again = await engine.run([WorldTask(scenario)], group_size=1, seed=1, policy_version=2)
    assert again[0].prompt_ids == records[0].prompt_ids
