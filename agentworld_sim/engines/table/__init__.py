"""Tables of records: any tool that creates, reads, lists, searches, changes or deletes them."""

from agentworld_sim.engines.table._engine import TableEngine
from agentworld_sim.engines.table._inference import infer, plan_of
from agentworld_sim.engines.table._operation import (
    Argument,
    Does,
    Operation,
    Output,
    Plan,
    Role,
    Table,
)

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
]
