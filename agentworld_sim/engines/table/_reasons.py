"""Why a tool was understood as it was, in words for people."""

from __future__ import annotations

from agentworld_sim.engines.table.operation import Operation
from agentworld_sim.engines.table.reading import Reading


def reasons_of(read: Reading, operation: Operation, *, beside: list[str]) -> tuple[str, ...]:
    """Short sentences, the most important first.

    Args:
        read: The tool.
        operation: What it was understood to do.
        beside: The tools of the same table.
    """
    reasons = [f"{read.verb!r} in the name"]
    by_role: dict[str, list[str]] = {}
    for name, argument in operation.arguments.items():
        by_role.setdefault(argument.role, []).append(name)
    if keys := by_role.get("key"):
        fields = sorted({operation.arguments[name].field for name in keys})
        reasons.append(f"{_list(keys)} names a record by its {_list(fields)}")
    if scope := by_role.get("scope"):
        reasons.append(f"{_list(scope)} says to what it belongs, as in the table's other tools")
    if fields := by_role.get("field"):
        what = "are compared with" if operation.does in ("list", "search", "count") else "become"
        reasons.append(f"{_list(fields)} {what} fields")
    if records := by_role.get("records"):
        reasons.append(f"{_list(records)} holds whole records")
    for name, value in operation.fixed.items():
        reasons.append(f"the name says {name} = {value!r}")
    if operation.output.schema is not None and operation.output.records:
        reasons.append(f"its output has the records at {operation.output.records!r}")
    others = [name for name in beside if name != read.name]
    if others:
        shown = ", ".join(others[:3]) + (" …" if len(others) > 3 else "")
        reasons.append(f"borne out by {shown}")
    if unknown := by_role.get("unknown"):
        reasons.append(f"calls that give {_list(unknown)} cannot be computed")
    return tuple(reasons)


def _list(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names)
