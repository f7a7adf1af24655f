"""A table engine brought up on one world."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal
from urllib.parse import unquote

from agentworld_sim.engines.model import CallImagining
from agentworld_sim.engines.table.answers import observation
from agentworld_sim.engines.table.call_execution import Execution, Outcome
from agentworld_sim.engines.table.generate import Maker
from agentworld_sim.engines.table.inference import PREFIX, is_candidate, plan_of
from agentworld_sim.engines.table.initial_rows import initial_records, initial_values
from agentworld_sim.engines.table.operation import Operation, Plan
from agentworld_sim.engines.table.plausible import SeededRandom
from agentworld_sim.engines.table.query import order_fields
from agentworld_sim.engines.table.record_index import RecordIndex
from agentworld_sim.engines.table.request import NotComputed, TableRequest
from agentworld_sim.engines.table.table_errors import ToolError, server_text
from agentworld_sim.errors import CannotCompute
from agentworld_sim.ports import Answer, EngineSession, Imaginer, StepContext
from agentworld_sim.relational.layout import (
    HIGHEST,
    ROOT,
    StoredRecord,
    Table,
    records_of_table,
    table_path,
)
from agentworld_sim.types.files import Blobs
from agentworld_sim.types.state import StateChange, WorldState
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Observation
from agentworld_sim.types.values import changed_keys

TURN_US = 1_000_000
"""What a call takes on the world's clock."""

_DAY_US = 86_400_000_000


class TableSession:
    """Implements `EngineSession`. The world's state is the truth; its index is made when a table is first
    touched, and kept in step with what this session and others change."""

    def __init__(
        self,
        plan_of: Callable[[Iterable[ToolSpec]], Plan],
        imagining: CallImagining | None,
    ) -> None:
        """`plan_of` says what the tools of a world do together, `imagining` asks for what cannot be computed."""
        self._plan_of = plan_of
        self._imagining = imagining
        self._index: RecordIndex | None = None
        self._seen: Mapping[str, Any] = {}
        self._written: Mapping[str, Any] = {}
        self._planned: tuple[list[ToolSpec], Plan] | None = None

    async def answer(self, context: StepContext) -> Answer:
        call, tool = context.call, context.tool
        plan = self._plan({**context.tools, tool.name: tool})
        try:
            operation = plan.operations.get(call.name)
            if operation is None:
                raise NotComputed("its name and schema do not say what it does to which records")
            table = plan.tables.get(operation.table) or Table(name=operation.table)
            asked = TableRequest(operation, table, plan, tool, call.arguments)
            asked.require_known()
            return self._compute(asked, context)
        except NotComputed as reason:
            self._forget()
            return await self._imagine(call, context, str(reason))

    def close(self) -> None:
        self._forget()

    def _compute(self, asked: TableRequest, context: StepContext) -> Answer:
        said, values = self._execute(asked, context)
        if isinstance(said, ToolError):
            said = Observation(text=server_text(str(said), asked.tool), is_error=True)
        self._written = values
        clock_us = context.state.clock_us + TURN_US
        return Answer(said, StateChange(clock_us=clock_us, values=values))

    def _execute(
        self, asked: TableRequest, context: StepContext
    ) -> tuple[Observation | ToolError, Mapping[str, Any]]:
        """What the tool says, and the values that change."""
        index = self._current_index(context.state.values)
        names = {where.partition(".")[0] for where in asked.table.parents.values()}
        parents = [
            asked.plan.tables[name]
            for name in sorted(names - {asked.table.name})
            if name in asked.plan.tables
        ]
        begun: dict[str, Any] = {}
        for table in (asked.table, *parents):
            begun.update(self._bring_up(index, asked.plan, table, context))
        execution = Execution(
            asked=asked,
            index=index,
            values=context.state.values,
            clock_us=context.state.clock_us,
            draw=SeededRandom(context.seed),
        )
        index.mark()
        written: Mapping[str, Any] = {}
        said: Observation | ToolError
        try:
            said = self._observation(asked, execution, context)
        except ToolError as error:
            index.roll_back()
            said = error
        else:
            written = execution.written
        return said, {
            path: value
            for path, value in {**begun, **written}.items()
            if value is not None or path in context.state.values
        }

    def _observation(
        self, asked: TableRequest, execution: Execution, context: StepContext
    ) -> Observation:
        outcome = execution.run()
        return observation(asked, outcome, self._maker(asked, outcome, context))

    def _maker(self, asked: TableRequest, outcome: Outcome, context: StepContext) -> Maker:
        """Fills in what no record says: for one record always the same."""
        about = outcome.keys[0] if len(outcome.keys) == 1 else asked.operation.tool
        return Maker(
            draw=SeededRandom(context.state.seed, asked.table.name, about),
            clock_us=context.state.clock_us // _DAY_US * _DAY_US,
            roots=(asked.tool.output_schema,) if asked.tool.output_schema else (),
            new=True,
        )

    async def _imagine(self, call: ToolCall, context: StepContext, reason: str) -> Answer:
        if self._imagining is None:
            raise CannotCompute(
                f"{call.name!r} cannot be computed: {reason}. Nothing was changed. Say what it does"
                " under `operations` in the scenario, or name a language world model that imagines"
                " it: AGENTWORLD_MODEL_URL."
            )
        return await self._imagining.answer(context)

    def _plan(self, tools: Mapping[str, ToolSpec]) -> Plan:
        offered = list(tools.values())
        # Tools are values: while they are the very same, so is the plan.
        if self._planned is None or list(map(id, self._planned[0])) != list(map(id, offered)):
            self._forget()
            self._planned = (offered, self._plan_of(offered))
        return self._planned[1]

    # The index

    def _current_index(self, values: Mapping[str, Any]) -> RecordIndex:
        """The index, as the state is now."""
        if self._index is None:
            self._index = RecordIndex()
        else:
            paths = changed_keys(self._seen, values) | self._written.keys()
            for path in paths:
                held = self._written[path] if path in self._written else self._seen.get(path)
                now = values.get(path)
                if held is not now and held != now:
                    self._apply(self._index, path, now)
        self._seen, self._written = values, {}
        return self._index

    def _apply(self, index: RecordIndex, path: str, value: Any) -> None:
        """Follows a change that another made."""
        name, _, key = path.removeprefix(ROOT).partition("/")
        table = unquote(name)
        if not path.startswith(ROOT) or not key or not index.has(table):
            return
        if key.startswith(HIGHEST):
            return
        if value is None:
            index.remove(table, key)
            return
        stored = StoredRecord(key, value["n"], value["record"])
        plan = self._planned[1] if self._planned else Plan()
        known = plan.tables.get(table) or Table(name=table)
        index.put(table, order_fields(stored, known))

    def _bring_up(
        self, index: RecordIndex, plan: Plan, table: Table, context: StepContext
    ) -> dict[str, Any]:
        """Makes sure that the table is there; the values that its beginning writes."""
        values = context.state.values
        if table_path(table.name) in values:
            if not index.has(table.name):
                records = records_of_table(values, table.name)
                index.bring_up(table, (order_fields(one, table) for one in records))
            return {}
        records = initial_records(
            plan, table, seed=context.state.seed, clock_us=context.state.clock_us
        )
        if not index.has(table.name):
            index.bring_up(table, (order_fields(one, table) for one in records))
        return initial_values(table, records)

    def _forget(self) -> None:
        self._index = None
        self._seen, self._written = {}, {}


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
    ) -> None:
        """What a scenario says of tools (by name) and of tables goes before what is inferred; `imaginer` answers
        calls that cannot be computed."""
        self.operations = dict(operations or {})
        self.tables = dict(tables or {})
        self.imaginer = imaginer

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

        imagining = None if self.imaginer is None else CallImagining(self.imaginer, self)
        return TableSession(self.plan, imagining)

    # Records, for what is imagined

    def view(
        self, state: WorldState, call: ToolCall, tool: ToolSpec, tools: Mapping[str, ToolSpec]
    ) -> str:
        """The records that matter for a call, as text; empty when the world keeps none."""
        plan = self._plan_of_servers(tools)
        if not plan.tables and not any(key.startswith("tables/") for key in state.values):
            return ""
        from agentworld_sim.engines.table.table_changes import records_view

        return records_view(state, plan, about=call, tool=tool, max_characters=VIEW_CHARACTERS)

    def changes(
        self,
        state: WorldState,
        tools: Mapping[str, ToolSpec],
        operations: Sequence[Mapping[str, Any]],
    ) -> Mapping[str, Any]:
        """The values that operations change. Raises `ValueError` when one cannot be carried out."""
        from agentworld_sim.engines.table.table_changes import record_changes

        return record_changes(state, self._plan_of_servers(tools), operations)

    def _plan_of_servers(self, tools: Mapping[str, ToolSpec]) -> Plan:
        return self.plan(tool for tool in tools.values() if tool.domain == "mcp")
