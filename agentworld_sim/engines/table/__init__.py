"""Tables of records: any tool that creates, reads, lists, searches, changes or deletes them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agentworld_sim.engines.table.operation import (
    Argument,
    Does,
    Operation,
    Output,
    Plan,
    Role,
    Table,
)

if TYPE_CHECKING:
    from agentworld_sim.engines.table.inference import infer, plan_of
    from agentworld_sim.engines.table.layout import tables_in
    from agentworld_sim.engines.table.seeds import records_from, with_records
    from agentworld_sim.engines.table.table_changes import record_changes, records_in, records_view
    from agentworld_sim.engines.table.table_engine import TableEngine

__all__ = [
    "Argument",
    "Does",
    "Operation",
    "Output",
    "Plan",
    "Role",
    "Table",
    "TableEngine",
    "infer",
    "plan_of",
    "record_changes",
    "records_from",
    "records_in",
    "records_view",
    "tables_in",
    "with_records",
]

_LATE = {
    "TableEngine": "table_engine",
    "tables_in": "layout",
    **dict.fromkeys(("infer", "plan_of"), "inference"),
    **dict.fromkeys(("record_changes", "records_in", "records_view"), "table_changes"),
    **dict.fromkeys(("records_from", "with_records"), "seeds"),
}
"""Imported when they are first asked for: they load what carries calls out, which a world that never
touches a table does not need."""


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATE[name]}"), name)
