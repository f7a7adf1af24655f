"""`TableEngine`: answers tools that work on records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from agentworld_sim.engines.table._inference import PREFIX, is_candidate, plan_of
from agentworld_sim.engines.table.operation import Operation, Plan, Table
from agentworld_sim.ports import EngineSession, Imaginer
from agentworld_sim.types.files import Blobs
from agentworld_sim.types.state import WorldState
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Turn

VIEW_CHARACTERS = 24_000
"""Most of the records that one prompt shows."""


class TableEngine:
    """Implements `Engine` and `Records` on tables of records in the world's state.

    It answers tools of the domain `mcp` whose names and schemas say what they do, and any tool that
    the scenario's `operations` describe.
    """

    name = "table"
    route: Literal["compute"] = "compute"

    def __init__(
        self,
        *,
        operations: Mapping[str, Operation] | None = None,
        tables: Mapping[str, Table] | None = None,
        imaginer: Imaginer | None = None,
        recorded: Sequence[Turn] = (),
    ) -> None:
        """
        Args:
            operations: What tools do, where it is not left to inference, by tool name.
            tables: What is known of tables.
            imaginer: Answers calls that cannot be computed.
            recorded: Turns of the real server: its errors are told in its own words.
        """
        self.operations = dict(operations or {})
        self.tables = dict(tables or {})
        self.imaginer = imaginer
        self.recorded = tuple(recorded)

    def bind(self, tool: ToolSpec) -> ToolSpec | None:
        return self.binder((tool,))(tool)

    def binder(self, among: Sequence[ToolSpec]) -> Callable[[ToolSpec], ToolSpec | None]:
        """Implements `BindsTogether`: one tool alone rarely shows that it works on records."""
        plan = self.plan(among)

        def bind(tool: ToolSpec) -> ToolSpec | None:
            operation = plan.operations.get(tool.name)
            if operation is None or not is_candidate(tool, self.operations):
                return None
            bound = f"{PREFIX}{operation.does}:{operation.table}"
            return replace(tool, domain=tool.domain or "mcp", binds_to=bound)

        return bind

    def plan(self, tools: Iterable[ToolSpec]) -> Plan:
        """What the tools of a world do together."""
        return plan_of(tools, operations=self.operations, tables=self.tables)

    def refusal(self, tool: ToolSpec) -> str:
        return "If it works on records, a scenario can say how under `operations`."

    async def open(self, state: WorldState, blobs: Blobs) -> EngineSession:
        # Imported late: most worlds start before a table is touched.
        from agentworld_sim.engines.model import CallImagining
        from agentworld_sim.engines.table._session import TableSession

        imagining = None if self.imaginer is None else CallImagining(self.imaginer, self)
        return TableSession(self.plan, imagining, self.recorded)

    # `Records`, for what is imagined

    def view(
        self, state: WorldState, call: ToolCall, tool: ToolSpec, tools: Mapping[str, ToolSpec]
    ) -> str:
        """The records that matter for a call, as text; empty when the world keeps none."""
        plan = self._plan_of_servers(tools)
        if not plan.tables and not any(key.startswith("tables/") for key in state.values):
            return ""
        from agentworld_sim.engines.table._records import records_view

        return records_view(state, plan, about=call, tool=tool, max_characters=VIEW_CHARACTERS)

    def changes(
        self,
        state: WorldState,
        tools: Mapping[str, ToolSpec],
        operations: Sequence[Mapping[str, Any]],
    ) -> Mapping[str, Any]:
        """The values that operations change. Raises `ValueError` when one cannot be carried out."""
        from agentworld_sim.engines.table._records import record_changes

        return record_changes(state, self._plan_of_servers(tools), operations)

    def _plan_of_servers(self, tools: Mapping[str, ToolSpec]) -> Plan:
        return self.plan(tool for tool in tools.values() if tool.domain == "mcp")
