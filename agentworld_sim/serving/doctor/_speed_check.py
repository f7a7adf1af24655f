"""How fast it is: one stream, and four at a time."""

from __future__ import annotations

import time

from agentworld_sim.serving.doctor._answer_checks import SAMPLING, THINKING
from agentworld_sim.serving.doctor._connection import Connection, Timing
from agentworld_sim.serving.doctor._findings import Finding

TOKENS = 128

FEWEST = 8
"""Tokens from which on a rate means something."""

STREAMS = 4

USUAL_ANSWER = 4_300
"""Tokens a language world model thinks for on average (technical report, arXiv 2606.24597)."""

SLOW_SECONDS = 300.0
"""An answer that takes longer is worth a warning."""


def check_speed(connection: Connection, model: str) -> list[Finding]:
    """Measures.

    Raises:
        Trouble: a stream did not come to its end.
    """
    (one,) = _streams(connection, model, 0)
    if one.tokens < FEWEST:
        return [
            Finding(
                check="speed",
                verdict="warning",
                summary=f"cannot tell: the answer ended after {one.tokens} tokens",
            )
        ]
    alone = (one.tokens - 1) / max(one.whole - one.first_token, 1e-6)
    began = time.perf_counter()
    several = _streams(connection, model, *range(1, STREAMS + 1))
    together = sum(each.tokens for each in several) / (time.perf_counter() - began)
    slowest = max(each.first_token for each in several)
    seconds = USUAL_ANSWER / alone
    slow = seconds > SLOW_SECONDS
    return [
        Finding(
            check="speed",
            verdict="warning" if slow else "ok",
            summary=f"{alone:,.0f} tokens/s, first after {_seconds(one.first_token)}; an answer of"
            f" {USUAL_ANSWER:,} tokens takes {_seconds(seconds)}",
            advice="Quantised weights, more cards, or several worlds at a time." if slow else None,
            data={"tokens_per_second": alone, "first_token_seconds": one.first_token},
        ),
        Finding(
            check=f"speed, {STREAMS} at a time",
            verdict="ok",
            summary=f"{together:,.0f} tokens/s together, first after {_seconds(slowest)}",
            data={"tokens_per_second": together, "first_token_seconds": slowest},
        ),
    ]


def _streams(connection: Connection, model: str, *numbers: int) -> list[Timing]:
    asked = [
        [{"role": "user", "content": f"Describe file system number {number} in many words."}]
        for number in numbers
    ]
    fields = {"max_tokens": TOKENS, "ignore_eos": True, **SAMPLING, **THINKING}
    return connection.times(model, asked, **fields)


def _seconds(value: float) -> str:
    return f"{value * 1000:,.0f} ms" if value < 1 else f"{value:,.0f} s"
