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
    from agentworld_sim.scoring.judge import Judge, Unreadable
    from agentworld_sim.scoring.judge_appeals import NoAppealCheck
    from agentworld_sim.scoring.judgement import DIMENSIONS, Judgement, read_judgement
    from agentworld_sim.scoring.prediction_reward import FULL, PredictionReward, RewardFunction
    from agentworld_sim.scoring.prediction_text import is_computed
    from agentworld_sim.scoring.reward import Reward
    from agentworld_sim.scoring.samples import Message, PredictionSample
    from agentworld_sim.scoring.similarity import agreement, is_exact
    from agentworld_sim.scoring.wire_text import parse_action, parse_call, strip_marker

_MODULES = {
    "BENCH_FIELDS": "bench_rows",
    "DIMENSIONS": "judgement",
    "EVIDENCE_BYTES": "evidence",
    "FULL": "prediction_reward",
    "BenchRow": "bench_rows",
    "Judge": "judge",
    "Judgement": "judgement",
    "Message": "samples",
    "NoAppealCheck": "judge_appeals",
    "PredictionReward": "prediction_reward",
    "PredictionSample": "samples",
    "Reward": "reward",
    "RewardFunction": "prediction_reward",
    "Unreadable": "judge",
    "agreement": "similarity",
    "check_input": "evidence",
    "checks_of": "evidence",
    "domain_of_file": "bench_rows",
    "evidence_of": "evidence",
    "is_bench_row": "bench_rows",
    "is_computed": "prediction_text",
    "is_exact": "similarity",
    "parse_action": "wire_text",
    "parse_call": "wire_text",
    "read_judgement": "judgement",
    "read_observation": "evidence",
    "turns_of_prompt": "evidence",
    "strip_marker": "wire_text",
}

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
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
