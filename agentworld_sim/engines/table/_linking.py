"""Tools whose names do not say on what they work, and whose output schemas do."""

from __future__ import annotations

from agentworld_sim.engines.table._groups import Group
from agentworld_sim.engines.table._outputs import answers_of
from agentworld_sim.engines.table.json_schemas import properties
from agentworld_sim.engines.table.reading import Reading
from agentworld_sim.engines.table.words import snake


def link(groups: list[Group]) -> None:
    """Moves such tools to the table whose records they list: `read_graph` lists `entities`."""
    made = {_bare(group): group for group in groups if group.doing("create", "upsert")}
    for group in [one for one in groups if _bare(one) not in made]:
        for read in list(group.readings):
            if read.does not in ("read", "list", "search"):
                continue
            target = _listed(read, group, made)
            if target is None:
                continue
            group.readings.remove(read)
            if read.does == "read" and not read.required:
                read.does = "list"
            read.told = target.noun
            target.readings.append(read)
            target.readings.sort(key=lambda one: one.name)
            target.answers[read.name] = answers_of(read)
    for group in groups:
        for read in group.doing("list"):
            shown = {
                snake(path.rpartition(".")[2])
                for path in group.answers[read.name].lists
                if not read.arguments
            }
            for other in made.values():
                other.shown = other.shown or (other is not group and _bare(other) in shown)
    _facets(groups)
    groups[:] = [group for group in groups if group.readings]


def _bare(group: Group) -> str:
    return group.name.rpartition("__")[2]


def _facets(groups: list[Group]) -> None:
    """`get_order_status` reads an order, if its output has nothing but an order's fields."""
    by_noun = {(group.space, group.noun): group for group in groups}
    for group in groups:
        whole = by_noun.get((group.space, group.noun[:-1]))
        if whole is None or any(read.does != "read" for read in group.readings):
            continue
        records = [answers.record for answers in whole.answers.values() if answers.record]
        known = {snake(name) for record in records for name in properties(record)}
        for read in list(group.readings):
            record = group.answers[read.name].record
            if record is not None and {snake(name) for name in properties(record)} <= known:
                group.readings.remove(read)
                whole.readings.append(read)
                whole.answers[read.name] = group.answers[read.name]


def _listed(read: Reading, group: Group, made: dict[str, Group]) -> Group | None:
    """The table whose name stands first over a list in the output, if its records look alike."""
    for path, item in group.answers[read.name].lists.items():
        target = made.get(snake(path.rpartition(".")[2]))
        if target is None:
            continue
        taken = {
            snake(name)
            for maker in target.doing("create", "upsert")
            for shape in maker.arguments.values()
            for name in (properties(shape) or properties(shape.get("items") or {}))
        } | {snake(name) for maker in target.doing("create", "upsert") for name in maker.arguments}
        shown = {snake(name) for name in properties(item)}
        if len(taken & shown) > 1:
            return target
    return None
