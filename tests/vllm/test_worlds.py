"""Worlds whose answers the real server imagines: the whole way, from a call to a committed turn."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import httpx2
import jsonschema
import pytest

from agentworld_sim import Scenario, ToolCall, Turn, World
from agentworld_sim.errors import ModelRefused, UnusableReply
from agentworld_sim.imagination import usage_of
from tests.vllm.asking import counter
from tests.vllm.conftest import Open
from tests.vllm.tools import ENDLESS, ORDER, TYPED, order

RUNNING = "vllm:num_requests_running"
WORKSHOP = Scenario.parse("name: workshop\ndomains: [swe]\nmachine: {workdir: /srv/app}\n")


async def session(world: World, turns: int) -> list[Turn]:
    return [await world.step(order(number)) for number in range(turns)]


async def test_a_tool_is_imagined_from_the_call_to_the_turn(imagining: Open) -> None:
    turns = await session(await imagining(ORDER), 5)
    used = [turn.exchanges[-1] for turn in turns]
    # The tiny model forgets its tag now and then, and such an answer is used as well.
    assert sum(asked.tagged for asked in used) >= 3
    for turn, asked in zip(turns, used, strict=True):
        assert (turn.observation.provenance, turn.observation.is_error) == ("imagined", False)
        assert asked.thinking and asked.finish_reason == "stop"
        assert turn.observation.text in asked.content
        assert "predicted_observation" not in turn.observation.text
        assert asked.thinking not in turn.observation.text
        assert set(asked.usage) == {
            *("prompt_tokens", "completion_tokens", "cached_tokens", "thinking_tokens"),
        }
        assert 0 < asked.usage["thinking_tokens"] < asked.usage["completion_tokens"]
    assert all(asked.usage["cached_tokens"] > 0 for asked in used[1:])
    assert usage_of(turns).requests == sum(len(turn.exchanges) for turn in turns)


async def test_an_equal_world_gives_equal_answers_and_another_seed_others(imagining: Open) -> None:
    one, same, other = [await session(await imagining(ORDER, seed=seed), 3) for seed in (3, 3, 4)]
    assert [turn.ref for turn in one] == [turn.ref for turn in same]
    assert [turn.observation.text for turn in one] != [turn.observation.text for turn in other]
    # Both were answered by the server: each world had a client, and a cache, of its own.
    assert {turn.exchanges[0].source for turn in (*one, *same)} == {"server"}


@pytest.mark.parametrize("thinking", [True, False])
async def test_a_tool_with_an_output_schema_is_answered_in_it(
    imagining: Open, thinking: bool
) -> None:
    worlds = [await imagining(TYPED, seed=seed, thinking=thinking) for seed in range(3)]
    turns = [turn for world in worlds for turn in await session(world, 2)]
    for turn in turns:
        used = turn.exchanges[-1]
        assert "response_format" in used.parameters
        assert bool(used.thinking) == thinking
        if not turn.observation.is_error:
            jsonschema.validate(turn.observation.structured, TYPED.output_schema or {})
    assert any(turn.observation.structured is not None for turn in turns)


async def test_thinking_can_be_switched_off(imagining: Open) -> None:
    for turn in await session(await imagining(ORDER, thinking=False), 2):
        assert turn.exchanges[-1].thinking == ""
        assert turn.exchanges[-1].usage["thinking_tokens"] == 0
        assert turn.observation.provenance == "imagined"


async def test_thinking_is_ended_at_its_limit_and_the_answer_follows(imagining: Open) -> None:
    # With a grammar: the tiny model babbles when its thought is cut.
    for turn in await session(await imagining(TYPED, thinking_tokens=6), 2):
        asked = turn.exchanges[-1]
        assert asked.parameters["thinking_token_budget"] == 6
        assert asked.thinking
        assert asked.usage["thinking_tokens"] <= 6
        assert asked.finish_reason == "stop"


async def test_a_command_is_imagined_in_the_middle_of_a_pipe(imagining: Open) -> None:
    turns: list[Turn] = []
    for seed in range(6):
        world = await imagining(scenario=WORKSHOP, seed=seed)
        call = ToolCall("Bash", {"command": "kubectl get pods 2>/dev/null | wc -l"})
        try:
            turns.append(await world.step(call))
        except UnusableReply as failure:
            # What the grammar forces is JSON of the right form; the tiny model cannot know that it
            # must not move files that are not there.
            assert all(one.problem for one in failure.exchanges)
            assert world.ref == world.root
    assert turns
    for turn in turns:
        assert turn.inner[0].argv == ("kubectl", "get", "pods")
        assert turn.observation.text.strip().isdigit()


async def test_a_reply_that_cannot_be_used_is_asked_for_again_and_then_fails_loudly(
    imagining: Open,
) -> None:
    # Without a grammar the tiny model writes its tag and no JSON.
    world = await imagining(scenario=WORKSHOP, structured="off", reasks=1)
    with pytest.raises(UnusableReply, match=r"about '\$ kubectl get pods' in 2 tries") as told:
        await world.step(ToolCall("Bash", {"command": "kubectl get pods"}))
    first, second = told.value.exchanges
    assert first.problem and second.problem
    assert first.content or first.thinking
    assert first.parameters["seed"] != second.parameters["seed"]
    # The second was told what was wrong with the first.
    assert second.usage["prompt_tokens"] > first.usage["prompt_tokens"]
    assert world.ref == world.root
    (failed,) = await world.failures()
    assert failed.exchanges == told.value.exchanges


async def test_a_history_beyond_its_budget_is_cut_in_blocks_and_goes_on(imagining: Open) -> None:
    world = await imagining(ORDER, context_tokens=2900, thinking=False, max_tokens=200)
    turns = await session(world, 24)
    used = [turn.exchanges[0].usage for turn in turns]
    prompts = [usage["prompt_tokens"] for usage in used]
    cuts = [place for place in range(1, 24) if prompts[place] < prompts[place - 1]]
    assert max(prompts) <= 2700
    assert 1 <= len(cuts) <= 4
    for place in set(range(1, 24)) - set(cuts):
        assert used[place]["cached_tokens"] >= 0.95 * prompts[place - 1]


async def test_a_prompt_that_the_server_refuses_as_too_long_is_cut(imagining: Open) -> None:
    # The world believes in a longer context than there is. With a grammar, and patience: after so long
    # a prompt the tiny model babbles its tag, which is refused as an answer.
    world = await imagining(TYPED, context_tokens=100_000, thinking=False, reasks=8)
    long = "the order of a user is open or closed or shipped " * 40
    turns = [await world.step(order(number, q=long)) for number in range(16)]
    prompts = [turn.exchanges[0].usage["prompt_tokens"] for turn in turns]
    assert max(prompts) > 4000
    assert any(after < before for before, after in pairwise(prompts))


async def test_a_cancelled_step_frees_the_server(imagining: Open, http: httpx2.Client) -> None:
    world = await imagining(ENDLESS, ORDER, max_tokens=6000)
    step = asyncio.ensure_future(world.step(ToolCall("chain", {})))
    while not step.done() and await asyncio.to_thread(counter, http, RUNNING) == 0:
        pass
    step.cancel()
    with pytest.raises(asyncio.CancelledError):
        await step
    # 6,000 tokens would take a minute; each look takes the server's time, not a sleep.
    for _ in range(500):
        if await asyncio.to_thread(counter, http, RUNNING) == 0:
            break
    else:
        pytest.fail("the server went on")
    assert world.ref == world.root
    assert (await world.step(order(1))).observation.provenance == "imagined"


async def test_sixteen_worlds_are_imagined_side_by_side(imagining: Open) -> None:
    worlds = [await imagining(ORDER, seed=seed) for seed in range(16)]
    sessions = await asyncio.gather(*(session(world, 3) for world in worlds))
    assert [len(await world.trajectory()) for world in worlds] == [3] * 16
    assert len({turn.ref for turns in sessions for turn in turns}) == 48
    for world, turns in zip(worlds, sessions, strict=True):
        assert world.ref == turns[-1].ref


async def test_a_wrong_name_lists_what_is_served(imagining: Open) -> None:
    world = await imagining(ORDER, model="tinny")
    with pytest.raises(ModelRefused, match=r"Did you mean 'tiny'\? It serves 'tiny'\."):
        await world.step(order(1))
    assert world.ref == world.root


async def test_a_wrong_key_is_said_and_not_shown(imagining: Open) -> None:
    world = await imagining(ORDER, api_key="sk-of-somebody-else")
    with pytest.raises(ModelRefused, match="refuses the key") as told:
        await world.step(order(1))
    assert "sk-of-somebody-else" not in str(told.value)
    assert world.ref == world.root
