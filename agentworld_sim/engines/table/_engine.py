"""`TableEngine`: answers tools that work on records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from agentworld_sim.engines._base import Engine, EngineSession
from agentworld_sim.engines.table._inference import infer
from agentworld_sim.engines.table._operation import Operation, Table
from agentworld_sim.errors import UsageError
from agentworld_sim.state._changes import WorldState
from agentworld_sim.state._files import Blobs
from agentworld_sim.tools import ToolSpec

PREFIX = "table/"
"""Of its bindings: `table/create:issues`."""


class TableEngine:
    """Implements `Engine` on tables of records in the world's state.

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
        behind: Engine | None = None,
    ) -> None:
        """
        Args:
            operations: What tools do, where it is not left to inference, by tool name.
            tables: What is known of tables.
            behind: The engine that imagines calls which cannot be computed.
        """
        self.operations = dict(operations or {})
        self.tables = dict(tables or {})
        self.behind = behind

    @property
    def reasks(self) -> int:
        return 0 if self.behind is None else self.behind.reasks

    def bind(self, tool: ToolSpec) -> ToolSpec | None:
        operation = self.operations.get(tool.name)
        if operation is None:
            asked = tool.binds_to is not None and tool.binds_to.startswith(PREFIX)
            if not asked and (tool.domain != "mcp" or tool.binds_to is not None):
                return None
            operation = infer(tool)
            if operation is None:
                return None
        return replace(tool, domain="mcp", binds_to=f"{PREFIX}{operation.does}:{operation.table}")

    def refusal(self, tool: ToolSpec) -> str:
        return (
            f"The table engine cannot tell from its name and schema what {tool.name!r} does to which"
            " records; a scenario can say so under `operations`."
        )

    async def open(self, state: WorldState, blobs: Blobs) -> EngineSession:
        raise UsageError("not built yet")
