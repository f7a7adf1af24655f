"""Whether a tool of the user's is one of the well-known ones: by name and by schema.

A name alone is not enough, because an unknown tool may do anything behind a familiar name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from agentworld_sim.types.tools import ToolSpec


def plain_name(tool: ToolSpec) -> str:
    """A tool's name without that of the server before it, as `SERVER__TOOL` has it."""
    return tool.name.rpartition("__")[2] if tool.domain == "mcp" else tool.name


def schema_fits(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> bool:
    """Whether calls that fit the user's schema can be answered by an operation written for ours.

    All that ours requires must be there, all that theirs has must be understood, and no argument may
    be of a type that ours does not take. An argument that would be ignored is one too many: its
    answers would be wrong.
    """
    mine, given = properties(ours), properties(theirs)
    if not set(ours.get("required", ())) <= set(given) <= set(mine):
        return False
    return all(
        not types(given[name])
        or not types(mine[name])
        or _widened(types(given[name])) & _widened(types(mine[name]))
        for name in given
    )


def properties(schema: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """The arguments that a schema names."""
    return cast("Mapping[str, Mapping[str, Any]]", schema.get("properties", {}))


def types(schema: Mapping[str, Any]) -> set[str]:
    """The JSON types a schema allows; empty when it does not say."""
    named = schema.get("type")
    if isinstance(named, str):
        return {named}
    if isinstance(named, list):
        return set(cast("list[str]", named))
    found: set[str] = set()
    for key in ("anyOf", "oneOf"):
        for option in cast("list[Mapping[str, Any]]", schema.get(key, [])):
            found |= types(option)
    return found


def _widened(kinds: set[str]) -> set[str]:
    """A whole number is a number."""
    return kinds | {"number"} if "integer" in kinds else kinds
