"""The records of a world for an engine that imagines: what it is shown, and what it may change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentworld_sim.engines.table._inference import plan_of
from agentworld_sim.engines.table.operation import Operation, Plan, Table
from agentworld_sim.types.state import WorldState
from agentworld_sim.types.tools import ToolCall, ToolSpec


class TableRecords:
    """Implements the model's `Records` on the tables of a world."""

    def __init__(
        self,
        *,
        operations: Mapping[str, Operation] | None = None,
        tables: Mapping[str, Table] | None = None,
    ) -> None:
        """
        Args:
            operations: As for `TableEngine`.
            tables: As for `TableEngine`.
        """
        self._operations = operations
        self._tables = tables

    def view(
        self,
        state: WorldState,
        call: ToolCall,
        tool: ToolSpec,
        tools: Mapping[str, ToolSpec],
        *,
        max_characters: int,
    ) -> str:
        """The records that matter for a call, as text; empty when the world keeps none."""
        plan = self._plan(tools)
        if not plan.tables and not any(key.startswith("tables/") for key in state.values):
            return ""
        from agentworld_sim.engines.table._records import records_view

        return records_view(state, plan, about=call, tool=tool, max_characters=max_characters)

    def changes(
        self,
        state: WorldState,
        tools: Mapping[str, ToolSpec],
        operations: Sequence[Mapping[str, Any]],
    ) -> Mapping[str, Any]:
        """The values that operations change. Raises `ValueError` when one cannot be carried out."""
        from agentworld_sim.engines.table._records import record_changes

        return record_changes(state, self._plan(tools), operations)

    def _plan(self, tools: Mapping[str, ToolSpec]) -> Plan:
        known = [tool for tool in tools.values() if tool.domain == "mcp"]
        return plan_of(known, operations=self._operations, tables=self._tables)
