"""One tool by itself: what its name, its schemas and its annotations say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agentworld_sim.engines.table.json_schemas import (
    enum_of,
    properties,
    required_properties,
    shape,
    unsaid_result,
)
from agentworld_sim.engines.table.operation import Does
from agentworld_sim.engines.table.words import (
    ACTIONS,
    GENERIC,
    LINKS,
    MACHINERY,
    SKIPPED,
    SWITCHES,
    VERBS,
    is_plural,
    singular,
    snake,
    words,
)
from agentworld_sim.types.tools import ToolSpec

WRITES = frozenset[Does](("create", "update", "upsert", "delete"))
READS = frozenset[Does](("read", "list", "search", "count"))

_ENTRIES = frozenset("kv key value entry pair".split())


@dataclass(slots=True)
class Reading:
    """What one tool says about itself."""

    tool: ToolSpec
    does: Does
    verb: str
    noun: tuple[str, ...]
    """What it works on, each word for one."""
    several: bool
    """Whether the noun is in the plural."""
    states: tuple[str, ...]
    """What it is marked as: `mark_task_as_done`."""
    belongs: tuple[str, ...]
    """To what the record belongs: `add_comment_to_issue`."""
    arguments: dict[str, dict[str, Any]]
    """By name, their shapes."""
    required: tuple[str, ...]
    output: dict[str, Any] | None
    """The shape of its output schema."""
    prefix: tuple[str, ...] = ()
    """The words before the verb, where the noun follows it: `jira` of `jira_add_comment`."""
    space: str = ""
    """The server it belongs to, where there are several: what stands before `__`."""
    stated_noun: tuple[str, ...] = ()
    """What it works on, where a scenario or a binding says so."""

    @property
    def name(self) -> str:
        return self.tool.name

    def argument_named(self, *names: str) -> str | None:
        """The argument that has one of these names, in any case style."""
        for wanted in names:
            for argument in self.arguments:
                if snake(argument) == wanted:
                    return argument
        return None


def read_tool(tool: ToolSpec, does: Does | None = None) -> Reading | str:
    """What a tool says about itself, or why that is not enough. `does` is given where it is known."""
    space, _, name = tool.name.rpartition("__")
    parts = words(name)
    at = _verb_at(parts)
    if at is None and does is None:
        return "no word of its name says what it does to records"
    verb = "" if at is None else parts[at]
    after = list(parts) if at is None else list(parts[at + 1 :])
    states, belongs = _cut(after)
    noun = _noun(after)
    prefix = parts[:at] if noun and at else ()
    if not noun and at:
        # `directory.users.list`: what stands right before the verb.
        after = list(parts[at - 1 : at])
        noun = _noun(after)
    found = does or VERBS.get(verb) or "update"
    schema = shape(tool.input_schema)
    read = Reading(
        tool=tool,
        does=found,
        verb=verb,
        noun=noun,
        several=any(is_plural(word) for word in after),
        states=states,
        belongs=belongs,
        arguments=properties(schema),
        required=required_properties(schema),
        output=_output(tool),
        prefix=prefix,
        space=space,
    )
    _key_value(read)
    _mark(read)
    if does is None:
        if read.noun[-1:] == ("count",) and len(read.noun) > 1 and "counts" not in parts:
            read.does, read.noun = "count", read.noun[:-1]
        if (problem := _problem(read)) is not None:
            return problem
    return read


def _output(tool: ToolSpec) -> dict[str, Any] | None:
    """The shape of a tool's output schema, if that says anything of what it gives."""
    if tool.output_schema is None:
        return None
    found = shape(tool.output_schema)
    return None if unsaid_result(found) is not None else found


def _verb_at(parts: tuple[str, ...]) -> int | None:
    return next((at for at, word in enumerate(parts) if word in VERBS or word in ACTIONS), None)


def _cut(after: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Takes what follows `by`, `as`, and `to`, `from`, `for` off the words after the verb: what a record
    is marked as, and to what it belongs."""
    for number, word in enumerate(after):
        if number == 0 and word in ("for", "of"):
            # `search_for_issues`, and not `save_to_mailbox`
            continue
        if word in ("by", "as") or word in LINKS:
            rest = tuple(singular(one) for one in after[number + 1 :] if one not in SKIPPED)
            del after[number:]
            return rest if word == "as" else (), rest if word in LINKS else ()
    return (), ()


def _noun(after: list[str]) -> tuple[str, ...]:
    kept = [singular(word) for word in after if word not in SKIPPED | LINKS]
    while len(kept) > 1 and kept[-1] in GENERIC:
        kept.pop()
    return tuple(kept)


def _key_value(read: Reading) -> None:
    """A store of values by key has no noun, or calls its records keys and values."""
    bare = not read.noun or set(read.noun) <= _ENTRIES
    if bare and (
        read.argument_named("key", "keys") or read.noun in (("key",), ("entry",), ("kv",))
    ):
        read.noun = ("entry",)
        if read.verb == "set":
            read.does = "upsert"


def _mark(read: Reading) -> None:
    """`mark_task_done`: what follows the noun is no part of it."""
    if read.verb == "mark" and len(read.noun) > 1 and not read.states:
        read.states, read.noun = read.noun[-1:], read.noun[:-1]


def _problem(read: Reading) -> str | None:
    if not read.noun:
        return f"{read.verb!r} in the name, and no word that says what it works on"
    if read.tool.annotations.get("readOnlyHint") is True and read.does in WRITES:
        return f"{read.verb!r} in the name writes, and its annotations say that it only reads"
    if read.noun[-1] in MACHINERY:
        return f"{read.noun[-1]!r} names no stored record"
    for argument, one in read.arguments.items():
        if snake(argument) in SWITCHES and (argument in read.required or enum_of(one)):
            return f"its argument {argument!r} chooses what it does"
    return None
