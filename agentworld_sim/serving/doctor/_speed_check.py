"""How fast it is: one stream, and four at a time."""

from __future__ import annotations

import time

from agentworld_sim.llm.chat import ChatMessage, ChatReply, ChatRequest
from agentworld_sim.serving.doctor._connection import Connection
from agentworld_sim.serving.doctor._findings import Finding

TOKENS = 128

FEWEST = 8
"""Tokens from which on a rate means something."""

STREAMS = 4

USUAL_ANSWER = 4_300
"""Tokens a language world model thinks for on average (technical report, arXiv 2606.24597)."""

SLOW_SECONDS = 300.0
"""An answer that takes longer is worth a warning."""


def check_speed(connection: Connection) -> list[Finding]:
    """Measures.

    Raises:
        ModelFailure: a stream did not come to its end.
    """
    (one,) = _streams(connection, 0)
    tokens, first = _tokens(one), one.first_token_seconds or 0.0
    if tokens < FEWEST:
        return [
            Finding(
                check="speed",
                verdict="warning",
                summary=f"cannot tell: the answer ended after {tokens} tokens",
            )
        ]
    alone = (tokens - 1) / max(one.seconds - first, 1e-6)
    began = time.perf_counter()
    several = _streams(connection, *range(1, STREAMS + 1))
    together = sum(map(_tokens, several)) / (time.perf_counter() - began)
    slowest = max(each.first_token_seconds or 0.0 for each in several)
    seconds = USUAL_ANSWER / alone
    slow = seconds > SLOW_SECONDS
    return [
        Finding(
            check="speed",
            verdict="warning" if slow else "ok",
            summary=f"{alone:,.0f} tokens/s, first after {_seconds(first)}; an answer of"
            f" {USUAL_ANSWER:,} tokens takes {_seconds(seconds)}",
            advice="Quantised weights, more cards, or several worlds at a time." if slow else None,
            data={"tokens_per_second": alone, "first_token_seconds": first},
        ),
        Finding(
            check=f"speed, {STREAMS} at a time",
            verdict="ok",
            summary=f"{together:,.0f} tokens/s together, first after {_seconds(slowest)}",
            data={"tokens_per_second": together, "first_token_seconds": slowest},
        ),
    ]


def _streams(connection: Connection, *numbers: int) -> list[ChatReply]:
    texts = [f"Describe file system number {number} in many words." for number in numbers]
    return connection.ask(
        *(
            ChatRequest(messages=(ChatMessage("user", text),), max_tokens=TOKENS, seed=0)
            for text in texts
        )
    )


def _tokens(reply: ChatReply) -> int:
    return reply.usage.get("completion_tokens") or reply.pieces


def _seconds(value: float) -> str:
    return f"{value * 1000:,.0f} ms" if value < 1 else f"{value:,.0f} s"
