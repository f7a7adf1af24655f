"""Checks: rules that say whether an observation is acceptable.

One mechanism with three uses: it gates answers at run time, it is the rule part of a training reward,
and it is the rule part of the benchmark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from agentworld_sim.errors import ObservationRejected
from agentworld_sim.state._changes import WorldState
from agentworld_sim.state._files import Blobs
from agentworld_sim.tools import ToolCall, ToolSpec, schema_problem
from agentworld_sim.turns import CheckVerdict, Observation


@dataclass(frozen=True, slots=True)
class CheckInput:
    """What a check may look at."""

    call: ToolCall
    tool: ToolSpec
    observation: Observation
    before: WorldState
    after: WorldState
    blobs: Blobs


class Check(Protocol):
    """One rule."""

    @property
    def name(self) -> str: ...

    def judge(self, given: CheckInput) -> str | None:
        """`None` when acceptable, otherwise the reason, written for whoever must answer again."""
        ...


class OutputSchemaCheck:
    """Structured content fits the tool's output schema; error results are exempt."""

    name = "output-schema"

    def judge(self, given: CheckInput) -> str | None:
        if given.tool.output_schema is None or given.observation.is_error:
            return None
        problem = schema_problem(given.tool.output_schema, given.observation.structured)
        return problem and f"structured content does not fit the output schema: {problem}"


def judge_all(checks: Sequence[Check], given: CheckInput) -> tuple[CheckVerdict, ...]:
    """Every check's verdict, in order."""
    verdicts: list[CheckVerdict] = []
    for check in checks:
        reason = check.judge(given)
        verdicts.append(CheckVerdict(check.name, reason is None, reason or ""))
    return tuple(verdicts)


def require_accepted(verdicts: Sequence[CheckVerdict], call: ToolCall) -> None:
    """Raises `ObservationRejected` with the reasons of the checks that refused."""
    refused = [f"{verdict.check}: {verdict.reason}" for verdict in verdicts if not verdict.accepted]
    if refused:
        raise ObservationRejected(
            f"no acceptable answer to {call.name!r}: {'; '.join(refused)}. The world is unchanged."
        )
