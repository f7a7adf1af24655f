"""The records of a world, whatever computes them, and what differs between two of its points."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from agentworld_sim.diff.state_diff import RecordChange, StateDiff, ValueChange, tree_diff
from agentworld_sim.types.json import canonical_json
from agentworld_sim.types.state import WorldState
from agentworld_sim.types.tools import ToolSpec
from agentworld_sim.types.values import changed_keys

if TYPE_CHECKING:
    from agentworld_sim.scenario import Scenario

Records = Mapping[str, Mapping[str, Any]]
"""The records of one table, by a key of their own."""

_INTERNAL = re.compile(r"(tables|memory|sqlite|browser|sites|replay|control|condition)(@[^/]*)?/")
"""How the keys of values begin that engines and controls keep for themselves."""


def records_of(
    state: WorldState, *, scenario: Scenario, tools: Iterable[ToolSpec]
) -> dict[str, Records]:
    """Every table's records at a point; one that was never touched as it would begin."""
    return _records(state, scenario, list(tools))


def state_diff(
    before: WorldState, after: WorldState, *, scenario: Scenario, tools: Iterable[ToolSpec]
) -> StateDiff:
    """What differs between two points, of which `before` is the older."""
    keys = sorted(changed_keys(before.values, after.values))
    records: list[RecordChange] = []
    if any(_INTERNAL.match(key) for key in keys):
        from agentworld_sim.relational.layout import tables_in

        bound = list(tools)
        # One that was never touched has not changed, whatever its records would be on another day.
        touched = tables_in(dict.fromkeys(keys))
        old = _records(before, scenario, bound, touched)
        new = _records(after, scenario, bound, touched)
        for table in sorted({*old, *new}):
            records += _record_changes(table, old.get(table, {}), new.get(table, {}))
    values = [
        ValueChange(key, before.values.get(key), after.values.get(key))
        for key in keys
        if not _INTERNAL.match(key)
    ]
    return StateDiff(tuple(tree_diff(before.files, after.files)), tuple(records), tuple(values))


def _records(
    state: WorldState,
    scenario: Scenario,
    tools: list[ToolSpec],
    tables: Iterable[str] | None = None,
) -> dict[str, Records]:
    # Imported late: most worlds have no records.
    from agentworld_sim.engines.table import TableEngine, records_in
    from agentworld_sim.engines.toolkits import kept_tables

    plan = TableEngine(**scenario.table_options()).plan(tools)
    return {**kept_tables(state.values, tools), **records_in(state, plan, tables=tables)}


def _record_changes(table: str, before: Records, after: Records) -> list[RecordChange]:
    return [
        RecordChange(table, key, before.get(key), after.get(key))
        for key in {**before, **after}
        if canonical_json(before.get(key)) != canonical_json(after.get(key))
    ]
