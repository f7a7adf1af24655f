"""Is the prefix cache on? A session that grows at its end lives from it."""

from __future__ import annotations

import re
import secrets

from agentworld_sim.errors import ContextOverflow, ModelFailure
from agentworld_sim.llm.chat import ChatMessage, ChatRequest
from agentworld_sim.serving.doctor._connection import Connection
from agentworld_sim.serving.doctor._findings import Finding

PREFIX_CHARACTERS = 20_000
"""About 6,000 tokens: hybrid models such as qwen3_5_moe cache in blocks of up to 2,096 (vLLM)."""

SHORTER = 12
"""A context that does not hold the prefix gets one this much shorter."""

_COUNTERS = {
    "hits": r"vllm:(?:gpu_)?prefix_cache_hits(?:_total)?|sglang:cached_tokens_total",
    "queries": r"vllm:(?:gpu_)?prefix_cache_queries(?:_total)?|sglang:prompt_tokens_total",
}

FLAG = "Start vLLM with --enable-prefix-caching."

DETAILS = (
    "Start vLLM with --enable-prompt-tokens-details (SGLang: --enable-cache-report), so that answers"
    " say what came from the cache."
)


def check_prefix_cache(connection: Connection) -> Finding:
    """Sends two requests that begin alike, and asks what came from the cache.

    Raises:
        ModelFailure: they were not answered.
    """
    before = _counters(connection)
    try:
        cached, prompt = _twice(connection, PREFIX_CHARACTERS)
    except ContextOverflow:
        cached, prompt = _twice(connection, PREFIX_CHARACTERS // SHORTER)
    after = _counters(connection)
    data = {"prompt_tokens": prompt, "cached_tokens": cached}
    if cached:
        share = cached / prompt if prompt else 0.0
        return Finding(
            check="prefix caching",
            verdict="ok" if share >= 0.5 else "warning",
            summary=f"{cached:,} of {prompt:,} prompt tokens came from the cache ({share:.0%})",
            advice=None if share >= 0.5 else "Large blocks hold less: try a smaller --block-size.",
            data=data,
        )
    if before and after and after["queries"] > before["queries"]:
        hits = after["hits"] - before["hits"]
        if hits > 0:
            return Finding(
                check="prefix caching",
                verdict="ok",
                summary=f"on: /metrics counts {hits:,.0f} tokens from the cache",
                advice=DETAILS,
                data={**data, "hits": hits},
            )
        return Finding(
            check="prefix caching",
            verdict="warning",
            summary="nothing came from the cache, says /metrics",
            advice=FLAG,
            data={**data, "hits": 0},
        )
    if cached == 0:
        return Finding(
            check="prefix caching",
            verdict="warning",
            summary="nothing came from the cache",
            advice=FLAG,
            data=data,
        )
    return Finding(
        check="prefix caching",
        verdict="warning",
        summary="cannot tell: neither answers nor /metrics say",
        advice=DETAILS,
        data=data,
    )


def _twice(connection: Connection, characters: int) -> tuple[int | None, int]:
    """Cached and all prompt tokens of the second of two requests that begin alike."""
    # A beginning of its own, or an earlier run would have filled the cache.
    mark = secrets.token_hex(8)
    lines = (f"{number}: nothing was changed." for number in range(characters // 24))
    system = f"Log {mark}\n" + "\n".join(lines)
    _, second = (
        connection.ask(
            ChatRequest(
                messages=(ChatMessage("system", system), ChatMessage("user", question)),
                max_tokens=1,
                seed=0,
                thinking=False,
            )
        )[0]
        for question in ("How many lines?", "Which is the last?")
    )
    return second.usage.get("cached_tokens"), second.usage.get("prompt_tokens", 0)


def _counters(connection: Connection) -> dict[str, float] | None:
    try:
        page = connection.get(f"{connection.root}/metrics")
    except ModelFailure:
        return None
    if page.status != 200 or page.is_html:
        return None
    found = {
        name: sum(
            float(match[1])
            for match in re.finditer(
                rf"^(?:{pattern})(?:\{{[^}}]*\}})? ([0-9.eE+]+)\s*$", page.text, re.MULTILINE
            )
        )
        for name, pattern in _COUNTERS.items()
    }
    return found if found["queries"] else None
