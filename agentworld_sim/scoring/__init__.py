"""Scoring: how good a predicted observation is, by rules, by similarity and by a judge.

| name | meaning |
|---|---|
| `PredictionSample` | one next-observation prediction: the prompt, the truth, and the evidence that checks need |
| `BenchRow` | a row in AgentWorldBench form, read as it is given |
| `is_exact`, `agreement` | rule and similarity |
| `Judge`, `Judgement` | a model that rates a prediction in five dimensions |
| `PredictionReward` | rule, checks and judge in one number |
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentworld_sim.scoring.bench_rows import (
        BENCH_FIELDS,
        BenchRow,
        domain_of_file,
        is_bench_row,
    )
    from agentworld_sim.scoring.evidence import (
        EVIDENCE_BYTES,
        check_input,
        checks_of,
        evidence_of,
        read_observation,
        turns_of_prompt,
    )
    from agentworld_sim.scoring.judge import (
        DIMENSIONS,
        Judge,
        Judgement,
        Unreadable,
        read_judgement,
    )
    from agentworld_sim.scoring.judge_appeals import NoAppealCheck
    from agentworld_sim.scoring.prediction_reward import (
        FULL,
        PredictionReward,
        RewardFunction,
        is_computed,
    )
    from agentworld_sim.scoring.samples import Message, PredictionSample, Reward
    from agentworld_sim.scoring.similarity import agreement, is_exact
    from agentworld_sim.scoring.wire_text import parse_action, parse_call, strip_marker

_MODULES = """
bench_rows: BENCH_FIELDS BenchRow domain_of_file is_bench_row
evidence: EVIDENCE_BYTES check_input checks_of evidence_of read_observation turns_of_prompt
judge: DIMENSIONS Judge Judgement Unreadable read_judgement
judge_appeals: NoAppealCheck
prediction_reward: FULL PredictionReward RewardFunction is_computed
samples: Message PredictionSample Reward
similarity: agreement is_exact
wire_text: parse_action parse_call strip_marker
"""

__all__ = [
    "BENCH_FIELDS",
    "DIMENSIONS",
    "EVIDENCE_BYTES",
    "FULL",
    "BenchRow",
    "Judge",
    "Judgement",
    "Message",
    "NoAppealCheck",
    "PredictionReward",
    "PredictionSample",
    "Reward",
    "RewardFunction",
    "Unreadable",
    "agreement",
    "check_input",
    "checks_of",
    "domain_of_file",
    "evidence_of",
    "is_bench_row",
    "is_computed",
    "is_exact",
    "parse_action",
    "parse_call",
    "read_judgement",
    "read_observation",
    "strip_marker",
    "turns_of_prompt",
]


def __getattr__(name: str) -> Any:
    # Most of them bring the client of a model server; nobody who only reads rows should wait for it.
    for line in _MODULES.split("\n"):
        module, _, names = line.partition(": ")
        if name in names.split():
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
