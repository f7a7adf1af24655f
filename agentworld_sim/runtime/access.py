"""Access rules: who may answer a tool, by its name, by a pattern, or by what its annotations say."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, TypeVar, cast, get_args

from agentworld_sim.errors import UsageError, nearest
from agentworld_sim.types.tools import Access, ToolSpec

R = TypeVar("R")

HINTS: Mapping[str, tuple[str, bool]] = {
    "@read-only": ("readOnlyHint", False),
    "@destructive": ("destructiveHint", True),
    "@idempotent": ("idempotentHint", False),
    "@open-world": ("openWorldHint", True),
}
"""Rule to annotation, and what a tool without that annotation counts as. (Model Context Protocol,
specification 2025-06-18, ToolAnnotations.)"""


def rule_for(name: str, rules: Mapping[str, R]) -> R | None:
    """What rules say of a name: its own entry first, then the first pattern that fits."""
    if name in rules:
        return rules[name]
    return next((rule for glob, rule in rules.items() if fnmatchcase(name, glob)), None)


def access_for(tool: ToolSpec, rules: Mapping[str, Access]) -> Access | None:
    """What access rules say of a tool: its name, then patterns, then annotations; `None` for nothing.

    Annotations are hints of a server that nobody vouches for, so no rule lets them open anything:
    `checked_access` refuses `real` for them.
    """
    named = rule_for(tool.name, rules)
    if named is not None:
        return named
    return next(
        (access for rule, access in rules.items() if rule in HINTS and _has(tool, rule)), None
    )


def access_problem(rule: str, access: str) -> str | None:
    """What is wrong with one access rule; `None` when it may stand."""
    if rule.startswith("@"):
        if rule not in HINTS:
            return f"there is no annotation rule {rule!r}.{nearest(rule, HINTS)} There are: {', '.join(HINTS)}."
        if access == "real":
            return (
                "found 'real' for an annotation; allowed: simulate, refuse. A server's annotations are"
                " hints: real tools are named one by one, in full."
            )
    elif access == "real" and any(sign in rule for sign in "*?["):
        return (
            "found 'real' for a pattern; allowed: simulate, refuse. Real tools are named one by one,"
            " in full."
        )
    return None


def checked_access(rules: Mapping[str, str]) -> dict[str, Access]:
    """The rules as access rules.

    Raises:
        UsageError: one may not stand, or is no access.
    """
    checked: dict[str, Access] = {}
    for rule, access in rules.items():
        if access not in get_args(Access):
            raise UsageError(
                f"access rule {rule}={access}: {access!r} is no access.{nearest(access, get_args(Access))}"
                f" There are: {', '.join(get_args(Access))}."
            )
        if (problem := access_problem(rule, access)) is not None:
            raise UsageError(f"access rule {rule}={access}: {problem}")
        checked[rule] = cast("Access", access)
    return checked


def _has(tool: ToolSpec, rule: str) -> bool:
    key, default = HINTS[rule]
    annotations: Mapping[str, Any] = tool.annotations
    if key == "destructiveHint" and annotations.get("readOnlyHint") is True:
        return False
    value = annotations.get(key)
    return value if isinstance(value, bool) else default
