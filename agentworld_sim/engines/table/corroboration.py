"""Whether the tools of a table bear each other out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentworld_sim.engines.table.describing import keys_of
from agentworld_sim.engines.table.json_schemas import item_of, kind_of, properties
from agentworld_sim.engines.table.reading import READS, Reading
from agentworld_sim.engines.table.tool_groups import ToolGroup
from agentworld_sim.engines.table.words import snake

_SUMS = frozenset(
    "total subtotal grand_total total_price total_amount total_cost tax price amount cost".split()
)


def support_problem(read: Reading, left: list[Reading], group: ToolGroup) -> str | None:
    """Why a tool is not understood, given the other tools of its table; `None` when it is. `left` are
    the tools of the table that are understood so far, this one among them."""
    does = {one.does for one in left}
    if not does & READS:
        return f"no other tool shows {group.name}, so it may be no table at all"
    if does & {"create", "upsert"}:
        single = (one for one in left if one.does not in ("create", "list", "search"))
        if group.described or group.child or any(keys_of(one, group) for one in single):
            return None
        return f"no tool names a single one of the {group.name}"
    if not group.described:
        return f"no tool creates {group.name}, and no output schema describes one"
    if "read" in does and does & {"list", "search"}:
        return None
    if read.does == "list" and (group.parent or read.verb == "list"):
        return None
    return f"there is no tool that lists {group.name} beside one that reads a single one"


def derived_total_problem(read: Reading, record: Mapping[str, Any] | None) -> str | None:
    """Why what is created cannot be known: its total follows from prices that nobody gave."""
    if read.does not in ("create", "upsert"):
        return None
    given = {snake(name) for name in read.arguments}
    for one in read.arguments.values():
        given |= {snake(name) for name in properties(one) or properties(item_of(one))}
    for name, shape in properties(record).items():
        if snake(name) in _SUMS - given and kind_of(shape) in ("number", "integer"):
            return f"its output has {name!r}, which is worked out, and nothing says how"
    return None
