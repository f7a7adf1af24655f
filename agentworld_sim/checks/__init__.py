"""Checks: rules that say whether an observation is acceptable.

One mechanism with three uses: it gates answers at run time, it is the rule part of a training reward,
and it is the rule part of the benchmark.
"""

from __future__ import annotations

from typing import cast

from agentworld_sim.checks._base import judge_all, refusals, require_accepted
from agentworld_sim.checks._files import FileAgreementCheck
from agentworld_sim.checks._identity import IdentityCheck
from agentworld_sim.checks._praise import NoPraiseCheck, praise
from agentworld_sim.checks._pretence import NoPretenceCheck, pretence
from agentworld_sim.checks._schema import OutputSchemaCheck
from agentworld_sim.ports.checks import Check, CheckInput
from agentworld_sim.registry import Registry

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
