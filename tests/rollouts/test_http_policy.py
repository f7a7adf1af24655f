"""A policy on a server, and all that can go wrong between."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from agentworld_sim.errors import (
    ContextOverflow,
    ModelFailure,
    ModelRefused,
    ModelUnavailable,
    UsageError,
)
from agentworld_sim.rollouts import (
    Completion,
    EnvironmentReply,
    HttpPolicy,
    HttpPolicySettings,
    PolicyDrifted,
    RolloutEngine,
    RolloutFailed,
    RolloutSettings,
    verify_policy,
)
from tests.rollouts.environments import ToldTask, ends, goes_on
from tests.rollouts.server import CUT, CompletionServer, completion, serve
from tests.rollouts.tokenizers import ByteTokenizer

KEY = "sk-very-secret"


async def no_pause(seconds: float) -> None:
    """Does not wait between two attempts."""


def policy(server: CompletionServer | str, **settings: Any) -> HttpPolicy:
    url = server if isinstance(server, str) else server.url
    return HttpPolicy(
        HttpPolicySettings(url=url, stop_ids=(2,), **settings),
        environment={"AGENTWORLD_API_KEY": KEY},
        sleep=no_pause,
    )


async def asked(server: CompletionServer, **settings: Any) -> Completion:
    made = policy(server, **settings)
    try:
        return await made.complete((5, 6), max_tokens=9, seed=3)
    finally:
        await made.close()


async def well(request: dict[str, Any]) -> tuple[int, object]:
    return 200, completion([7, 8, 2])


async def test_ids_go_out_and_come_back() -> None:
    async with serve(well) as server:
        found = await asked(server)
    assert found == Completion(token_ids=(7, 8, 2), logprobs=(-0.25, -0.5, -0.75), finish="stop")
    assert server.asked == [
        {
            "model": "tiny",
            "prompt": [5, 6],
            "max_tokens": 9,
            "seed": 3,
            "temperature": 1.0,
            "top_p": 1.0,
            "top_k": -1,
            "min_p": 0.0,
            "repetition_penalty": 1.0,
            "stop_token_ids": [2],
            "logprobs": 0,
            "return_token_ids": True,
        }
    ]
    assert server.headers[-1]["authorization"] == f"Bearer {KEY}"


async def test_a_cut_turn_is_told_from_one_that_ended() -> None:
    async def cut(request: dict[str, Any]) -> tuple[int, object]:
        return 200, completion([7, 8], finish="length")

    async with serve(cut) as server:
        assert (await asked(server)).finish == "length"


async def test_a_version_is_on_every_completion() -> None:
    async with serve(well) as server:
        made = policy(server, model="tiny")
        made.version = 12
        assert (await made.complete((5,), max_tokens=9, seed=3)).version == 12
        await made.close()


@pytest.mark.parametrize("status", [CUT, 429, 500, 503])
async def test_a_passing_failure_is_tried_again_with_the_same_seed(status: int) -> None:
    async def fails_twice(request: dict[str, Any]) -> tuple[int, object]:
        if len(server.asked) < 3:
            return status, {"error": {"message": "busy"}}
        return await well(request)

    async with serve(fails_twice) as server:
        found = await asked(server)
    assert found.token_ids == (7, 8, 2)
    assert len(server.asked) == 3
    assert len({json.dumps(request) for request in server.asked}) == 1


async def test_a_failure_that_stays_is_told_with_how_often_it_was_tried() -> None:
    async def fails(request: dict[str, Any]) -> tuple[int, object]:
        return 503, {"error": {"message": f"out of memory, {KEY}"}}

    async with serve(fails) as server:
        with pytest.raises(ModelUnavailable, match=r"503: out of memory.*tried 3 times") as failed:
            await asked(server, retries=2)
    assert KEY not in str(failed.value)


async def test_a_server_that_is_not_there_is_told_without_the_worlds_variables() -> None:
    async with serve(well) as server:
        url = server.url
    with pytest.raises(ModelUnavailable, match="nothing listens there") as failed:
        await policy(url, retries=0).complete((5,), max_tokens=9, seed=3)
    assert "correct the policy's url" in str(failed.value)
    assert "AGENTWORLD_MODEL_URL" not in str(failed.value)


async def test_a_server_that_says_nothing_is_given_up() -> None:
    async def never(request: dict[str, Any]) -> tuple[int, object]:
        await asyncio.Event().wait()
        return 200, None

    async with serve(never) as server:
        with pytest.raises(ModelUnavailable, match=r"sent nothing for 0\.05 s"):
            await asked(server, model="tiny", silence_seconds=0.05)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"token_ids": None}, "answers without token ids.*vLLM 0.10.2 or newer"),
        ({"token_ids": []}, "answers without token ids"),
        ({"token_ids": ["7"]}, "answers without token ids"),
        ({"logprobs": None}, "tells no log-probabilities for 2 tokens"),
        ({"logprobs": {"token_logprobs": [-1.0]}}, "tells 1 log-probabilities for 2 tokens"),
        ({"logprobs": {"token_logprobs": [None, -1.0]}}, "tells no log-probabilities"),
        ({"finish_reason": "abort"}, "ended a turn for the reason 'abort'"),
    ],
)
async def test_an_answer_that_cannot_be_trained_on_is_refused(
    change: dict[str, Any], message: str
) -> None:
    async def wrong(request: dict[str, Any]) -> tuple[int, object]:
        return 200, completion([7, 2], **change)

    async with serve(wrong) as server:
        with pytest.raises(ModelFailure, match=message):
            await asked(server)


@pytest.mark.parametrize("value", [{"choices": []}, [], {"choices": ["x"]}, {}])
async def test_json_that_is_no_completion_is_refused(value: object) -> None:
    async def wrong(request: dict[str, Any]) -> tuple[int, object]:
        return 200, value

    async with serve(wrong) as server:
        with pytest.raises(ModelFailure, match="is no completion"):
            await asked(server)


async def test_a_page_is_no_answer() -> None:
    async def page(request: dict[str, Any]) -> tuple[int, object]:
        return 200, b"<html><title>Sign in</title></html>"

    async with serve(page) as server:
        with pytest.raises(ModelFailure, match="sends an HTML page titled 'Sign in'"):
            await asked(server)


async def test_a_prompt_that_is_too_long_is_told_as_such() -> None:
    async def refuses(request: dict[str, Any]) -> tuple[int, object]:
        text = "This model's maximum context length is 8 tokens. However, you requested 11 tokens"
        return 400, {"error": {"message": text, "code": 400}}

    async with serve(refuses) as server:
        with pytest.raises(ContextOverflow, match="maximum context length is 8 tokens"):
            await asked(server)
    assert len(server.asked) == 1


async def test_a_wrong_key_is_not_tried_again() -> None:
    async def refuses(request: dict[str, Any]) -> tuple[int, object]:
        return 401, {"error": "Unauthorized"}

    async with serve(refuses) as server:
        with pytest.raises(ModelRefused, match="AGENTWORLD_API_KEY is set, but to the wrong key"):
            await asked(server)
    assert len(server.asked) == 1


async def test_a_server_with_several_models_wants_a_name() -> None:
    async with serve(well) as server:
        server.models = ("a", "b")
        with pytest.raises(ModelRefused, match="Set the policy's model to one of them"):
            await asked(server)


def test_a_temperature_needs_log_probabilities_after_it() -> None:
    with pytest.raises(UsageError, match="--logprobs-mode processed_logprobs"):
        HttpPolicySettings(url="http://localhost/v1", temperature=0.7)
    HttpPolicySettings(url="http://localhost/v1", temperature=0.7, processed_logprobs=True)


def test_the_key_is_not_shown() -> None:
    made = policy("http://localhost/v1")
    assert KEY not in repr(made.settings)
    assert KEY not in repr(vars(made))


async def test_weights_that_are_the_trainers_pass() -> None:
    async def told(request: dict[str, Any]) -> tuple[int, object]:
        assert (request["max_tokens"], request["prompt_logprobs"]) == (1, 0)
        values = [None, {"6": {"logprob": -1.5}}, {"7": {"logprob": -2.5}}]
        return 200, completion([2], prompt_logprobs=values)

    async with serve(told) as server:
        made = policy(server)
        assert await verify_policy(made, (5, 6, 7), (-1.5, -2.4999), 1e-3) == pytest.approx(5e-5)
        # One token far off, as a router that rounding tips over makes it, is no other model.
        assert await verify_policy(made, (5, 6, 7), (-1.5, -2.3), 0.15) == pytest.approx(0.1)
        with pytest.raises(
            PolicyDrifted, match=r"the 2 tokens of the probe differ by 0\.2 nat on th"
        ):
            await verify_policy(made, (5, 6, 7), (-1.5, -2.1), 0.15)
        with pytest.raises(PolicyDrifted, match="differ by nan nat"):
            await verify_policy(made, (5, 6, 7), (float("nan"), -2.5), 1e-3)
        with pytest.raises(UsageError, match="at least two tokens"):
            await verify_policy(made, (5,), ())
        await made.close()


async def test_a_server_that_does_not_tell_of_prompts_cannot_be_verified() -> None:
    async with serve(well) as server:
        made = policy(server)
        with pytest.raises(ModelFailure, match="does not tell prompt_logprobs"):
            await verify_policy(made, (5, 6, 7), (-1.5, -2.5))
        await made.close()


async def test_a_server_that_dies_in_mid_rollout_leaves_what_was_played() -> None:
    made = ByteTokenizer()
    end: int = made.eos_token_id

    async def dies(request: dict[str, Any]) -> tuple[int, object]:
        if len(server.asked) > 20:
            return 503, {"error": "gone"}
        return 200, completion([7, end])

    async def answer(text: str, seed: int) -> EnvironmentReply:
        return goes_on() if seed % 2 else EnvironmentReply(done=True)

    async with serve(dies) as server:
        asks = policy(server, retries=0, model="tiny")
        engine = RolloutEngine(asks, made, RolloutSettings(max_turns=4, in_flight=4))
        with pytest.raises(RolloutFailed, match="503: gone") as failed:
            await engine.run([ToldTask("t", answer)], group_size=64, seed=1)
        await asks.close()
    reasons = [record.stop_reason for record in failed.value.records]
    assert {"done", "env_error"} <= set(reasons)
    for record in failed.value.records:
        if record.stop_reason == "env_error":
            assert record.reward is None
            assert "gone" in record.error
            assert not any("gone" in message["content"] for message in record.messages)


async def test_rollouts_share_a_server_in_every_event_loop() -> None:
    made = ByteTokenizer()

    async def answers(request: dict[str, Any]) -> tuple[int, object]:
        return 200, completion([7, made.eos_token_id])

    async with serve(answers) as server:
        asks = policy(server)
        engine = RolloutEngine(asks, made)

        def whole_rollout() -> list[str]:
            async def rollout() -> list[str]:
                records = await engine.run([ToldTask("t", ends)], group_size=8, seed=1)
                await asks.close()
                return [record.stop_reason for record in records]

            return asyncio.run(rollout())

        assert await asyncio.to_thread(whole_rollout) == ["done"] * 8
        assert await asyncio.to_thread(whole_rollout) == ["done"] * 8
