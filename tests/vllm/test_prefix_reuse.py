"""How much of a world's prompt the server's prefix cache knows, turn by turn."""

from __future__ import annotations

from collections.abc import Callable

from agentworld_sim import ToolCall, ToolSpec
from tests.vllm.conftest import Open
from tests.vllm.tools import ORDER_INPUT

TURNS = 20
TICKET = ToolSpec(name="get_ticket", description="A ticket.", input_schema=ORDER_INPUT)
"""No other test asks for one, so that the cache holds nothing but what this session put there."""


async def test_over_twenty_turns_the_previous_prompt_comes_from_the_cache(
    imagining: Open, record_property: Callable[[str, object], None]
) -> None:
    world = await imagining(TICKET, seed=20)
    turns = [await world.step(ToolCall("get_ticket", {"id": number})) for number in range(TURNS)]
    used = [turn.exchanges[0].usage for turn in turns]
    shares: list[float] = []
    print("\nturn  prompt  cached  of the previous prompt")
    for place, usage in enumerate(used):
        prompt, cached = usage["prompt_tokens"], usage["cached_tokens"]
        if place:
            shares.append(cached / used[place - 1]["prompt_tokens"])
        print(f"{place + 1:4}  {prompt:6}  {cached:6}  " + (f"{shares[-1]:.1%}" if place else ""))
    whole = sum(usage["cached_tokens"] for usage in used[1:]) / sum(
        usage["prompt_tokens"] for usage in used[1:]
    )
    print(f"least {min(shares):.1%}; of all prompt tokens after the first turn {whole:.1%}")
    record_property("least_share_of_previous_prompt", round(min(shares), 4))
    record_property("share_of_all_prompt_tokens", round(whole, 4))
    assert 0.95 <= min(shares) <= max(shares) <= 1
