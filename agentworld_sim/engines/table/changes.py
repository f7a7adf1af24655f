"""Which records differ between two points of a world, for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from agentworld_sim.engines.table._engine import TableEngine
from agentworld_sim.engines.table.initial_rows import beginning, begun_values
from agentworld_sim.engines.table.layout import Stored, stored_in, table_in, table_path, tables_in
from agentworld_sim.types.json import canonical_json
from agentworld_sim.types.state import WorldState
from agentworld_sim.types.tools import ToolSpec

if TYPE_CHECKING:
    from agentworld_sim.scenario import Scenario


@dataclass(frozen=True, slots=True)
class RecordChange:
    """One record that differs. Its text form is one line: `D orders/2  {"id":2,"item":"chair"}`."""

    table: str
    key: str
    kind: Literal["added", "removed", "modified"]
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None

    def __str__(self) -> str:
        letter = {"added": "A", "removed": "D", "modified": "M"}[self.kind]
        shown = [canonical_json(one) for one in (self.before, self.after) if one is not None]
        return f"{letter} {self.table}/{self.key}  {' → '.join(shown)}"


def record_changes(
    before: WorldState, after: WorldState, *, tools: Iterable[ToolSpec], scenario: Scenario
) -> list[RecordChange]:
    """The records that differ, by table and in the order of insertion.

    A table that was not touched before has the records all the same that it begins with.

    Args:
        before: The older state.
        after: A state that the older one led to.
        tools: The tools of the world.
        scenario: Its scenario.
    """
    changes: list[RecordChange] = []
    for name in tables_in(after.values):
        old = {one.key: one for one in _records(before, after, name, tools, scenario)}
        new = {one.key: one for one in stored_in(after.values, name)}
        for key in {**old, **new}:
            was, now = _record(old.get(key)), _record(new.get(key))
            if was != now:
                kind = "added" if was is None else "removed" if now is None else "modified"
                changes.append(RecordChange(name, key, kind, was, now))
    return changes


def _records(
    before: WorldState,
    after: WorldState,
    name: str,
    tools: Iterable[ToolSpec],
    scenario: Scenario,
) -> list[Stored]:
    if table_path(name) in before.values:
        return stored_in(before.values, name)
    operations = {name: spec.to_operation(name) for name, spec in scenario.operations.items()}
    tables = {name: spec.to_table(name) for name, spec in scenario.tables.items()}
    plan = TableEngine(operations=operations, tables=tables).plan(tools)
    table = table_in(after.values, plan, name)
    first = beginning(plan, table, seed=before.seed, clock_us=before.clock_us)
    return stored_in(begun_values(table, first), name)


def _record(stored: Stored | None) -> Mapping[str, Any] | None:
    return None if stored is None else stored.record
