"""Whether the tools of a table bear each other out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentworld_sim.engines.table.describing import IGNORED, keys_of
from agentworld_sim.engines.table.json_schemas import item_of, kind_of, properties
from agentworld_sim.engines.table.reading import READS, Reading
from agentworld_sim.engines.table.tool_groups import STRONG, ToolGroup
from agentworld_sim.engines.table.words import snake

_SUMS = frozenset(
    "total subtotal grand_total total_price total_amount total_cost tax price amount cost".split()
)


def support_problem(read: Reading, left: list[Reading], group: ToolGroup) -> str | None:
    """Why a tool is not understood, given the other tools of its table; `None` when it is. `left` are
    the tools of the table that are understood so far, this one among them."""
    makers = [one for one in left if one.does in ("create", "upsert")]
    readers = [one for one in left if one.does in READS and not _poor_search(one, group)]
    if read.does in ("create", "upsert") and _is_only_an_address(read, group):
        return "an address alone makes no record"
    if not readers and not group.shown:
        return f"no other tool shows {group.name}, so it may be no table at all"
    if makers:
        if readers and not any(_shares(maker, one, group) for maker in makers for one in readers):
            return f"what creates and what shows {group.name} have nothing in common"
        if (
            not group.described
            and not group.child
            and not any(
                keys_of(one, group) for one in left if one.does not in ("create", "list", "search")
            )
        ):
            return f"no tool names a single one of the {group.name}"
        if read.verb in ("send", "submit", "post") and read in makers:
            return _sending_problem(read, readers, group)
        return None
    if not group.described:
        return f"no tool creates {group.name}, and no output schema describes one"
    if any(one.does == "read" for one in left) and any(
        one.does in ("list", "search") for one in left
    ):
        return None
    listed = [one for one in left if one.does == "list"]
    named = any(snake(name) in STRONG for name in group.fields)
    if listed and read in listed and (group.parent or (read.verb == "list" and named)):
        return None
    return f"there is no tool that lists {group.name} beside one that reads a single one"


def derived_total_problem(read: Reading, record: Mapping[str, Any] | None) -> str | None:
    """Why what is created cannot be known: its total follows from prices that nobody gave."""
    if read.does not in ("create", "upsert") or record is None:
        return None
    for name, shape in properties(record).items():
        numeric = kind_of(shape) in ("number", "integer") and "default" not in shape
        if numeric and snake(name) in _SUMS and read.argument_named(snake(name)) is None:
            inside = [
                properties(one) or properties(item_of(one)) for one in read.arguments.values()
            ]
            if not any(snake(given) == snake(name) for one in inside for given in one):
                return f"its output has {name!r}, which is worked out, and nothing says how"
    return None


def _poor_search(read: Reading, group: ToolGroup) -> bool:
    """A search whose output schema shows no records may search for anything, by any rule."""
    return read.does == "search" and group.answers[read.name].record is None


def _is_only_an_address(read: Reading, group: ToolGroup) -> bool:
    """`new_page(url)` opens something; only a described record is kept."""
    given = {snake(name) for name in read.arguments} - IGNORED
    return not group.described and given <= {"url", "uri", "link", "address", "path"}


def _shares(maker: Reading, reader: Reading, group: ToolGroup) -> bool:
    """Whether what is created can be recognised in what is shown."""
    if keys_of(reader, group) and reader.does == "read":
        return True
    taken = {snake(name) for name in maker.arguments}
    shown = {snake(name) for name in reader.arguments}
    if taken & shown or reader.does == "list":
        return True
    record = group.answers[reader.name].record
    return record is not None


def _sending_problem(read: Reading, readers: list[Reading], group: ToolGroup) -> str | None:
    """What is sent is only found again where both name the same place, or it is shown in full."""
    if read.noun[-1] not in ("email", "mail", "message", "sms", "notification"):
        return None
    if group.scope or group.described:
        return None
    return f"nothing says that what is sent is among the {group.name} that are shown"
