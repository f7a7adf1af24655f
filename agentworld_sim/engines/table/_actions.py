"""Verbs that write one value: `close_issue` writes `state: closed`, where issues have such a state."""

from __future__ import annotations

from typing import Any

from agentworld_sim.engines.table._groups import Group, where_words
from agentworld_sim.engines.table._verbs import ACTIONS, STATES, UNDOES
from agentworld_sim.engines.table.json_schemas import enum_of, kind_of
from agentworld_sim.engines.table.reading import Reading
from agentworld_sim.engines.table.words import singulars, snake

_OPPOSITES = {
    "unread": ("read",),
    "incomplete": ("completed", "complete", "done"),
    "uncompleted": ("completed", "complete", "done"),
    "undone": ("done", "completed", "complete"),
    "unpaid": ("paid",),
}


def fixed_values(read: Reading, group: Group) -> dict[str, Any] | str:
    """What a tool writes or compares beside its arguments, or why that cannot be told."""
    if read.does == "update":
        return _written(read, group)
    leading = _leading(read, group)
    if not leading:
        return {}
    if read.does in ("list", "search", "count") and len(leading) == 1:
        found = _state(leading, group)
        if found is not None:
            return found
        if (flag := _flag(leading, group)) is not None:
            return {flag: True}
    return f"nothing says which {group.name} are {' '.join(leading)!r}"


def _written(read: Reading, group: Group) -> dict[str, Any] | str:
    if read.verb in ACTIONS:
        said: tuple[str, ...] = (*ACTIONS[read.verb],)
    elif read.verb == "mark" and read.states:
        joined = "_".join(read.states)
        near = next((values for verb, values in ACTIONS.items() if joined in (verb, *values)), ())
        said = (joined, *near)
    elif read.verb == "unassign":
        people = [
            one for one in group.fields if singulars(one)[:1] in (("assignee",), ("assigned",))
        ]
        if len(people) == 1:
            return {people[0]: None}
        return f"no field of {group.name} says to whom one is assigned"
    else:
        leading = _leading(read, group)
        return f"nothing says which {group.name} are {' '.join(leading)!r}" if leading else {}
    found = _state(said, group)
    if found is not None:
        return found
    flag = _flag(said, group)
    if flag is not None:
        return {flag: True}
    undone = UNDOES.get(read.verb)
    flag = None if undone is None else _flag(ACTIONS.get(undone, ()), group)
    if flag is not None:
        return {flag: False}
    opposite = _OPPOSITES.get("_".join(read.states))
    if opposite is not None and (flag := _flag(opposite, group)) is not None:
        return {flag: False}
    what = read.verb if read.verb != "mark" else "_".join(read.states)
    return f"no field of {group.name} has a value that means {what!r}"


def has_state(group: Group) -> bool:
    """Whether records have a field that says where they stand."""
    return any(_is_state(one, group) for one in group.fields)


def _is_state(name: str, group: Group) -> bool:
    parts = singulars(name)
    return snake(name) in STATES or (parts[:-1] == group.noun and parts[-1] in STATES)


def _state(said: tuple[str, ...], group: Group) -> dict[str, Any] | None:
    for name, shape in group.fields.items():
        if not _is_state(name, group):
            continue
        for wanted in said:
            for value in enum_of(shape):
                if isinstance(value, str) and snake(value) == wanted:
                    return {name: value}
    return None


def _flag(said: tuple[str, ...], group: Group) -> str | None:
    """The yes-or-no field of one of these names: `done`, `is_archived`."""
    for wanted in said:
        for name, shape in group.fields.items():
            if kind_of(shape) == "boolean" and snake(name) in (wanted, f"is_{wanted}"):
                return name
    return None


def _leading(read: Reading, group: Group) -> tuple[str, ...]:
    """Words before the noun that say which records, and are no name of an argument."""
    extra = read.noun[: len(read.noun) - len(group.noun)]
    if not extra or read.noun[len(extra) :] != group.noun:
        return ()
    taken = where_words(read, read.noun)
    return tuple(word for word in extra if word not in taken)
