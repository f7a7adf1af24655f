"""What tools do to records, inferred from their names, schemas and annotations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from agentworld_sim.engines.table._operation import Operation, Plan, Table
from agentworld_sim.tools import ToolSpec

PREFIX = "table/"
"""Of the table engine's bindings: `table/create:issues`."""


def is_candidate(tool: ToolSpec, operations: Mapping[str, Operation]) -> bool:
    """Whether a tool may work on tables at all: no other engine has it, or the scenario says so."""
    if tool.name in operations:
        return True
    bound = tool.binds_to
    if bound is None:
        return tool.domain == "mcp"
    return bound.startswith(PREFIX)


def infer(tool: ToolSpec) -> Operation | None:
    """What one tool does, by itself; `None` when that cannot be told."""
    return None


def plan_of(
    tools: Iterable[ToolSpec],
    *,
    operations: Mapping[str, Operation] | None = None,
    tables: Mapping[str, Table] | None = None,
) -> Plan:
    """What the tools of a world do together.

    Args:
        tools: The tools that work on records.
        operations: What a scenario says of single tools; it wins over what is inferred.
        tables: What a scenario says of tables; it wins, field by field.
    """
    return Plan(operations=dict(operations or {}), tables=dict(tables or {}))
