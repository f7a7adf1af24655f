"""How checks are asked."""

from __future__ import annotations

from collections.abc import Sequence

from agentworld_sim.errors import ObservationRejected
from agentworld_sim.ports.checks import Check, CheckInput
from agentworld_sim.types.tools import ToolCall
from agentworld_sim.types.turns import CheckVerdict


def judge_all(
    checks: Sequence[Check], given: CheckInput, *, attempt: int = 1
) -> tuple[CheckVerdict, ...]:
    """The verdict of every check that the observation is in the scope of, in order.

    Args:
        checks: The rules.
        given: What they look at.
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
