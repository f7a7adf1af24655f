"""Checks: rules that say whether an observation is acceptable.

One mechanism with three uses: it gates answers at run time, it is the rule part of a training reward,
and it is the rule part of the benchmark.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast

from agentworld_sim.checks.file_agreement import FileAgreementCheck
from agentworld_sim.checks.self_reference import NoPraiseCheck, NoPretenceCheck, praise, pretence
from agentworld_sim.checks.stable_ids import IdentityCheck
from agentworld_sim.errors import ObservationRejected
from agentworld_sim.ports.steps import Check, CheckInput
from agentworld_sim.registry import Registry
from agentworld_sim.schema.validate import schema_problem
from agentworld_sim.types.tools import ToolCall
from agentworld_sim.types.turns import CheckVerdict

__all__ = [
    "DEFAULT_CHECKS",
    "Check",
    "CheckInput",
    "FileAgreementCheck",
    "IdentityCheck",
    "NoPraiseCheck",
    "NoPretenceCheck",
    "OutputSchemaCheck",
    "judge_all",
    "known_checks",
    "praise",
    "pretence",
    "refusals",
    "require_accepted",
]


class OutputSchemaCheck:
    """Structured content fits the tool's output schema; error results are exempt.

    The reason names the place in the content and what the schema wants there.
    """

    name = "output-schema"
    scope: Literal["all"] = "all"

    def judge(self, given: CheckInput) -> str | None:
        schema, content = given.tool.output_schema, given.observation.structured
        if schema is None or given.observation.is_error:
            return None
        problem = schema_problem(schema, content)
        if problem is None:
            return None
        if content is None:
            return (
                "structured content is missing, and the tool promises it: JSON of type"
                f" {schema.get('type', 'object')!r} that fits its output schema"
            )
        return f"structured content does not fit the output schema: {problem}"


DEFAULT_CHECKS: tuple[Check, ...] = (
    OutputSchemaCheck(),
    FileAgreementCheck(),
    IdentityCheck(),
    NoPretenceCheck(),
    NoPraiseCheck(),
)
"""What a world asks of every answer unless told otherwise; a domain adds its own."""


def _read(value: object) -> Check:
    if isinstance(value, type) or not all(
        hasattr(value, one) for one in ("name", "scope", "judge")
    ):
        raise TypeError(f"{value!r} is no check: an object with `name`, `scope` and `judge`")
    return cast("Check", value)


known_checks = Registry[Check](
    "agentworld.checks",
    what="check",
    builtin=lambda: {check.name: check for check in DEFAULT_CHECKS},
    read=_read,
)
"""The checks by name: the library's own, and those of packages with an entry point in the group
`agentworld.checks`."""


def judge_all(
    checks: Sequence[Check], given: CheckInput, *, attempt: int = 1
) -> tuple[CheckVerdict, ...]:
    """The verdict of every check that the observation is in the scope of, in order.

    Args:
        attempt: Which answer of the turn it is, from 1.
    """
    imagined = given.observation.provenance == "imagined"
    verdicts: list[CheckVerdict] = []
    for check in checks:
        if check.scope == "imagined" and not imagined:
            continue
        reason = check.judge(given)
        verdicts.append(CheckVerdict(check.name, reason is None, reason or "", attempt))
    return tuple(verdicts)


def refusals(verdicts: Sequence[CheckVerdict]) -> tuple[str, ...]:
    """The reasons of the checks that refused, each with the check's name."""
    return tuple(f"{one.check}: {one.reason}" for one in verdicts if not one.accepted)


def require_accepted(verdicts: Sequence[CheckVerdict], call: ToolCall) -> None:
    """Raises `ObservationRejected` with the reasons of the checks that refused."""
    refused = refusals(verdicts)
    if refused:
        rejected = ObservationRejected(
            f"no acceptable answer to {call.name!r}: {'; '.join(refused)}. The world is unchanged."
        )
        rejected.reasons = refused
        raise rejected
