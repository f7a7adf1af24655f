"""Cached tokens are counted as vLLM's prefix cache counts them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx2
from hypothesis import given, strategies as st

from agentworld_sim.llm.scripted import ScriptedModelServer, ScriptedReply, count_tokens
from agentworld_sim.llm.scripted.tokens import PrefixCache

Ask = Callable[..., httpx2.Response]
Message = dict[str, Any]


def cached(response: httpx2.Response) -> int:
    return response.json()["usage"]["prompt_tokens_details"]["cached_tokens"]


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def assistant(text: str) -> Message:
    return {"role": "assistant", "content": text}


def test_a_token_is_four_bytes() -> None:
    assert [count_tokens(text) for text in ("", "a", "abcd", "abcde", "äöü", "\ud800")] == [
        0,
        1,
        1,
        2,
        2,
        1,
    ]


def test_whole_blocks_of_a_repeated_prompt_come_from_the_cache(ask: Ask) -> None:
    # 17 bytes before the text, 33 behind it: 450 bytes are 113 tokens, of which 7 blocks of 16
    # are whole.
    with ScriptedModelServer(lambda _: "a") as server:
        assert [cached(ask(server, "x" * 400)) for _ in range(3)] == [0, 112, 112]
        assert [request.cached_tokens for request in server.requests] == [0, 112, 112]


def test_the_last_token_is_always_computed(ask: Ask) -> None:
    # 78 bytes of text make 128 bytes, which are two whole blocks; the second one holds the last
    # token.
    with ScriptedModelServer(lambda _: "a") as server:
        assert [cached(ask(server, "x" * 78)) for _ in range(2)] == [0, 16]
        assert server.requests[0].prompt_tokens == 32


def test_a_conversation_that_grows_finds_its_prompt_and_its_answer(ask: Ask) -> None:
    answer = "y" * 4000
    with ScriptedModelServer(lambda _: answer, block_size=1) as server:
        history = [user("x" * 4000)]
        first = ask(server, history).json()["usage"]
        history += [assistant(answer), user("z" * 40)]
        second = ask(server, history).json()["usage"]
    # All but the piece of a token at the end of the answer.
    total = first["total_tokens"]
    assert second["prompt_tokens_details"]["cached_tokens"] in (total - 1, total)


def test_thinking_that_the_client_leaves_out_ends_the_shared_prefix(ask: Ask) -> None:
    reply = ScriptedReply("y" * 4000, thinking="t" * 4000)
    with ScriptedModelServer(lambda _: reply, block_size=1) as server:
        history = [user("x" * 4000)]
        first = ask(server, history).json()["usage"]["prompt_tokens"]
        history += [assistant("y" * 4000), user("z")]
        second = cached(ask(server, history))
    assert second in (first - 1, first)


def test_a_prompt_that_changes_at_its_beginning_finds_nothing(ask: Ask) -> None:
    with ScriptedModelServer(lambda _: "a") as server:
        assert cached(ask(server, [user("x" * 400), user("tail " * 100)])) == 0
        assert cached(ask(server, [user("y" * 400), user("tail " * 100)])) == 0


def test_a_salt_keeps_caches_apart(ask: Ask) -> None:
    with ScriptedModelServer(lambda _: "a") as server:
        counts = [cached(ask(server, "x" * 400, cache_salt=salt)) for salt in ("a", "b", "a")]
    assert counts == [0, 0, 112]


def test_refused_requests_leave_nothing_in_the_cache(ask: Ask) -> None:
    with ScriptedModelServer(lambda _: "a") as server:
        ask(server, "x" * 400, model="another")
        assert cached(ask(server, "x" * 400)) == 0


def test_the_cache_can_be_off_or_silent(ask: Ask) -> None:
    with ScriptedModelServer(lambda _: "a", prefix_caching=False) as server:
        assert [cached(ask(server, "x" * 400)) for _ in range(2)] == [0, 0]
    with ScriptedModelServer(lambda _: "a", report_cached_tokens=False) as server:
        for _ in range(2):
            assert ask(server, "x" * 400).json()["usage"]["prompt_tokens_details"] is None
        assert server.requests[1].cached_tokens == 112


def test_the_metrics_page_counts_what_the_cache_did(ask: Ask, client: httpx2.Client) -> None:
    with ScriptedModelServer(lambda _: "abcd", model="tiny") as server:
        for _ in range(2):
            ask(server, "x" * 400)
        lines = client.get(f"{server.root_url}/metrics").text.splitlines()
    counters = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    labels = '{engine="0",model_name="tiny"}'
    assert counters == {
        f"vllm:prefix_cache_queries_total{labels}": "226.0",
        f"vllm:prefix_cache_hits_total{labels}": "112.0",
        f"vllm:prompt_tokens_total{labels}": "226.0",
        f"vllm:generation_tokens_total{labels}": "2.0",
    }


@given(
    prompts=st.lists(st.text(alphabet="ab", max_size=40), min_size=1, max_size=8),
    block_size=st.integers(1, 5),
)
def test_cached_tokens_are_the_longest_known_prefix_in_whole_blocks(
    prompts: list[str], block_size: int
) -> None:
    cache = PrefixCache(block_size=block_size)
    size = 4 * block_size
    for position, prompt in enumerate(prompts):
        longest = max(
            (
                blocks
                for earlier in prompts[:position]
                for blocks in range(len(prompt) // size + 1)
                if earlier[: blocks * size] == prompt[: blocks * size]
                and len(earlier) >= blocks * size
                and blocks * block_size < max(count_tokens(prompt), 1)
            ),
            default=0,
        )
        assert cache.look_up(prompt) == longest * block_size
