"""What a scenario's corrections leave unsaid, filled in from the tables they are about."""

from __future__ import annotations

from dataclasses import replace

from agentworld_sim.engines.table.operation import Argument, Operation, Table


def with_key(operation: Operation, table: Table) -> Operation:
    """The operation, its key arguments naming the table's key.

    `ticket_id: key` says that the argument names a record, and no field. Where the records have no
    `ticket_id`, it names them by their only key; looked for under its own name, none would be found.
    """
    if len(table.key) != 1:
        return operation
    [key] = table.key
    known = {*table.fields, *table.scope, key}
    own = {
        name: Argument("key", field=key, compare=one.compare, values=one.values)
        for name, one in operation.arguments.items()
        if one.role == "key" and one.field in ("", name) and name not in known
    }
    if len(own) != 1 or any(
        one.role == "key" and one.field == key for one in operation.arguments.values()
    ):
        return operation
    return replace(operation, arguments={**operation.arguments, **own})


__all__ = ["with_key"]
