"""A history that only grows at its end is read from the server's cache."""

from __future__ import annotations

from typing import Any

import httpx2

from tests.vllm.asking import chat, counter

TURNS = 20


def usage(http: httpx2.Client, messages: list[dict[str, str]]) -> dict[str, Any]:
    return chat(http, messages=messages, max_tokens=64).json()["usage"]


def test_a_session_of_twenty_turns_is_read_from_the_cache(http: httpx2.Client) -> None:
    queried = counter(http, "vllm:prefix_cache_queries_total")
    hit = counter(http, "vllm:prefix_cache_hits_total")
    rules = "\n".join(
        f"Rule {n}: the file with the number {n} holds the line {n}." for n in range(60)
    )
    messages = [{"role": "system", "content": rules}]
    shares: list[float] = []
    cached = prompt = previous = 0
    for turn in range(1, TURNS + 1):
        action = f'[{{"keystrokes": "cat file-{turn}.txt\\n", "duration": 0.1}}]'
        text = f"### Turn {turn}\n**Action:**\n```json\n{action}\n```"
        messages.append({"role": "user", "content": text})
        used = usage(http, messages)
        here = used["prompt_tokens_details"]["cached_tokens"]
        if previous:
            shares.append(here / previous)
        previous = used["prompt_tokens"]
        cached, prompt = cached + here, prompt + previous
        seen = f"$ cat file-{turn}.txt\nthe line {turn}\n$ "
        messages.append({"role": "assistant", "content": f"**Environment Observation:**\n{seen}"})
    print("share of the previous prompt:", " ".join(f"{share:.1%}" for share in shares))
    assert min(shares) >= 0.95
    # The counters and the usage tell the same story.
    assert counter(http, "vllm:prefix_cache_hits_total") - hit == cached
    assert counter(http, "vllm:prefix_cache_queries_total") - queried == prompt


def test_usage_tells_what_was_read_and_what_was_put_into_the_cache(http: httpx2.Client) -> None:
    once = [{"role": "user", "content": "one prompt that nobody else sends " * 8}]
    first, again = (usage(http, once)["prompt_tokens_details"] for _ in range(2))
    assert (first["cached_tokens"], again["created_cache_tokens"]) == (0, 0)
    # Whole blocks of 32 tokens.
    assert first["created_cache_tokens"] == again["cached_tokens"] > 0
    assert again["cached_tokens"] % 32 == 0
