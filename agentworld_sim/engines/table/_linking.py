"""Tools whose names do not say on what they work, and whose output schemas do."""

from __future__ import annotations

from agentworld_sim.engines.table._groups import Group
from agentworld_sim.engines.table._outputs import answers_of
from agentworld_sim.engines.table._reading import Reading
from agentworld_sim.engines.table._shapes import properties
from agentworld_sim.engines.table._words import snake


def link(groups: list[Group]) -> None:
    """Moves such tools to the table whose records they list: `read_graph` lists `entities`."""
    made = {group.name: group for group in groups if group.doing("create", "upsert")}
    for group in [one for one in groups if one.name not in made]:
        for read in list(group.readings):
            if read.does not in ("read", "list", "search"):
                continue
            target = _listed(read, group, made)
            if target is None:
                continue
            group.readings.remove(read)
            if read.does == "read" and not read.required:
                read.does = "list"
            read.noun = target.noun
            target.readings.append(read)
            target.readings.sort(key=lambda one: one.name)
            target.answers[read.name] = answers_of(read)
    groups[:] = [group for group in groups if group.readings]


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
