"""What a world model's thinking is made of: self-corrections, care that nothing leaks to the agent, causal chains.

The report on Qwen-AgentWorld (arXiv 2606.24597) names the three; we found no published rule to count by. The rules here
are of words in English sentences, the same for every model, so that traces can be compared and not more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from agentworld_sim.bench.predict import Row

PATTERNS: Mapping[str, re.Pattern[str]] = {
    "self-correction": re.compile(
        r"^(no|wait|hmm|hold on|actually)\b[,.:—-]?|\b(on second thought|let me (re|correct|fix)\w*"
        r"|(i|that) (was|is|'s) (wrong|mistaken|not right)|i (misread|made a mistake|forgot)|scratch that)\b",
        re.IGNORECASE,
    ),
    "leak prevention": re.compile(
        r"\b(not|never|n't|avoid|without) (\w+ ){0,3}(reveal|leak|disclos|expos|giv\w* away|hint|spoil)\w*"
        r"|\bagent (\w+ ){0,2}(not|never|n't|cannot) (yet )?(know|see|be told|learn)",
        re.IGNORECASE,
    ),
    "causal chain": re.compile(
        r"\b(because|since|so|therefore|thus|hence|consequently|as a result|which means|this means|implies"
        r"|leads? to|due to)\b",
        re.IGNORECASE,
    ),
}
"""What a sentence of each kind has. A causal chain is two such sentences or more, one after another."""

_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")


@dataclass(frozen=True, slots=True)
class Passage:
    """Sentences of one kind that stand one after another."""

    kind: str
    words: int


@dataclass(frozen=True, slots=True)
class Trace:
    """One reply's thinking."""

    words: int
    passages: tuple[Passage, ...]


def trace_of(thinking: str) -> Trace:
    """Finds the passages of a text; a sentence may belong to several kinds."""
    sentences = [one.strip() for one in _SENTENCE.findall(thinking) if one.strip()]
    found: list[Passage] = []
    for kind, pattern in PATTERNS.items():
        least = 2 if kind == "causal chain" else 1
        held: list[str] = []
        for sentence in (*sentences, ""):
            if sentence and pattern.search(sentence):
                held.append(sentence)
                continue
            if len(held) >= least:
                found.append(Passage(kind, sum(len(one.split()) for one in held)))
            held = []
    return Trace(len(thinking.split()), tuple(found))


def traces_of(rows: Sequence[Row]) -> list[Trace]:
    """The traces of all replies of a run that thought."""
    replies = (reply for row in rows for reply in row.replies)
    return [trace_of(reply["thinking"]) for reply in replies if reply.get("thinking")]


def counts_of(traces: Sequence[Trace]) -> dict[str, dict[str, float]]:
    """By kind: the share of traces that have it in percent, how often a trace has it, and the words of one."""
    found: dict[str, dict[str, float]] = {}
    for kind in PATTERNS:
        passages = [[one for one in trace.passages if one.kind == kind] for trace in traces]
        words = [one.words for some in passages for one in some]
        found[kind] = {
            "share": 100 * mean(bool(some) for some in passages),
            "count": mean(map(len, passages)),
            "words": mean(words) if words else 0.0,
        }
    return found


def by_length(traces: Sequence[Trace]) -> dict[str, list[tuple[float, float]]]:
    """By kind: words of thinking, and the share of traces in percent that have it, for fifths of the traces."""
    ordered = sorted(traces, key=lambda trace: trace.words)
    size = -(-len(ordered) // 5)
    parts = [ordered[place : place + size] for place in range(0, len(ordered), size)]
    shares = [(mean(one.words for one in part), counts_of(part)) for part in parts]
    return {kind: [(words, count[kind]["share"]) for words, count in shares] for kind in PATTERNS}
