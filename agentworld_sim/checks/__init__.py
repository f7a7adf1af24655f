"""Checks: rules that say whether an observation is acceptable.

One mechanism with three uses: it gates answers at run time, it is the rule part of a training reward,
and it is the rule part of the benchmark.
"""

from __future__ import annotations

from agentworld_sim.checks._base import Check, CheckInput, judge_all, refusals, require_accepted
from agentworld_sim.checks._files import FileAgreementCheck
from agentworld_sim.checks._identity import IdentityCheck
from agentworld_sim.checks._praise import NoPraiseCheck, praise
from agentworld_sim.checks._pretence import NoPretenceCheck, pretence
from agentworld_sim.checks._schema import OutputSchemaCheck

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
    "praise",
    "pretence",
    "refusals",
    "require_accepted",
]

DEFAULT_CHECKS: tuple[Check, ...] = (
    OutputSchemaCheck(),
    FileAgreementCheck(),
    IdentityCheck(),
    NoPretenceCheck(),
    NoPraiseCheck(),
)
"""What a world asks of every answer unless told otherwise; a domain adds its own."""
