"""Tools that work on the same records, and what they together say of these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentworld_sim.engines.table.json_schemas import enum_of, kind_of, properties
from agentworld_sim.engines.table.outputs import OutputReading, read_output_schema
from agentworld_sim.engines.table.reading import Reading
from agentworld_sim.engines.table.words import plural, singulars, snake, words

STRONG = ("id", "uuid", "guid", "number", "key", "slug", "ref", "sid", "iid")
"""Kinds of name that only ever name a record."""

WEAK = ("name", "email", "username", "login", "handle", "code", "sku", "uri", "path")
"""Kinds of name that are as often a value."""

_SHORT_NOUNS: Mapping[tuple[str, ...], frozenset[tuple[str, ...]]] = {
    ("pull", "request"): frozenset([("pull",), ("pr",)]),
    ("merge", "request"): frozenset([("merge",), ("mr",)]),
}

_ARRANGES = frozenset("schedule book submit place raise".split())
"""Verbs that make something, or do something with what is there."""

PRODUCT = 3
"""Tools whose names begin with one word before the verb, from which on that is a product's name."""

_NEAR = {"repository": "repo", "repo": "repository", "organization": "org", "org": "organization"}

_SHORT = {"num": "number", "no": "number", "identifier": "id"}


@dataclass(slots=True)
class ToolGroup:
    """Tools of one table."""

    noun: tuple[str, ...]
    readings: list[Reading]
    space: str = ""
    """The name of the server that has the tools, where there are several: tables are its own."""
    answers: dict[str, OutputReading] = field(default_factory=dict[str, OutputReading])
    child: bool = False
    """Whether its records belong to those of another table."""
    parent: bool = False
    """Whether records of another table belong to its records."""
    fields: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """Field to its shape."""
    required: list[str] = field(default_factory=list[str])
    key: tuple[str, ...] = ("id",)
    scope: tuple[str, ...] = ()
    generated_key: bool = True
    things: frozenset[tuple[str, ...]] = frozenset()
    """What the tools of its server speak of: the nouns, and to what those belong."""
    described: bool = False
    """Whether an output schema describes the record."""

    @property
    def name(self) -> str:
        """The table's name."""
        name = "_".join((*self.noun[:-1], plural(self.noun[-1])))
        return f"{self.space}__{name}" if self.space else name

    def select(self, *does: str) -> list[Reading]:
        return [read for read in self.readings if read.does in does]

    def field_named(self, name: str) -> str | None:
        """The field that an argument of that name is about, whatever its case and prefix."""
        wanted = singulars(name)
        for one in self.fields:
            if snake(one) == snake(name):
                return one
        bare = wanted[len(self.noun) :] if wanted[: len(self.noun)] == self.noun else ()
        last = wanted[1:] if wanted[:1] == self.noun[-1:] else ()
        for one in self.fields:
            if singulars(one) in (wanted, bare or None, last or None):
                return one
        return None

    def add_fields(self, shape: dict[str, Any]) -> None:
        """Takes the properties of a record's shape that are not known yet."""
        for name, one in properties(shape).items():
            self.add_field(name, one)

    def add_field(self, name: str, shape: dict[str, Any]) -> str:
        known = next((one for one in self.fields if snake(one) == snake(name)), None)
        if known is None:
            self.fields[name] = shape
            return name
        if not self.fields[known]:
            self.fields[known] = shape
        elif enum_of(shape) and not enum_of(self.fields[known]):
            # A filter or an input lists what an output calls a string.
            values = [value for value in enum_of(shape) if value not in ("all", "any")]
            if values and kind_of(self.fields[known]) == kind_of(shape) == "string":
                self.fields[known] = {**self.fields[known], "enum": values}
        return known


def group_tools(readings: list[Reading]) -> list[ToolGroup]:
    """The tools by what they work on: `issue`, `issues` and `repository_issues` are one."""
    by_space: dict[str, list[Reading]] = {}
    for read in readings:
        by_space.setdefault(read.space, []).append(read)
    return [
        group for space in sorted(by_space) for group in _group_in_space(space, by_space[space])
    ]


def _group_in_space(space: str, readings: list[Reading]) -> list[ToolGroup]:
    by_noun: dict[tuple[str, ...], list[Reading]] = {}
    for read in readings:
        by_noun.setdefault(read.stated_noun or (*read.belongs, *read.noun), []).append(read)
    for noun in sorted(by_noun, key=len, reverse=True):
        target = _shorter(noun, by_noun)
        if target is not None:
            by_noun[target] += by_noun.pop(noun)
    by_noun = _separate_products(by_noun)
    things = frozenset(one for read in readings for one in (read.noun, read.belongs) if one)
    groups = [
        ToolGroup(noun, reads, space, things=things) for noun, reads in sorted(by_noun.items())
    ]
    for group in groups:
        group.readings.sort(key=lambda read: (words(read.name), read.name))
        _read_or_list(group)
        group.answers = {read.name: read_output_schema(read) for read in group.readings}
    return groups


def _separate_products(
    by_noun: dict[tuple[str, ...], list[Reading]],
) -> dict[tuple[str, ...], list[Reading]]:
    """Keeps apart what two products call the same: `jira_add_comment`, `wiki_add_comment`."""
    used: dict[tuple[str, ...], int] = {}
    for read in (one for reads in by_noun.values() for one in reads):
        used[read.prefix] = used.get(read.prefix, 0) + 1
    products = {prefix for prefix, count in used.items() if prefix and count >= PRODUCT}
    found: dict[tuple[str, ...], list[Reading]] = {}
    for noun, reads in by_noun.items():
        several = {read.prefix for read in reads if not read.stated_noun} & products
        for read in reads:
            own = len(several) > 1 and read.prefix in several
            found.setdefault((*read.prefix, *noun) if own else noun, []).append(read)
    return found


def _shorter(
    noun: tuple[str, ...], by_noun: dict[tuple[str, ...], list[Reading]]
) -> tuple[str, ...] | None:
    """The shorter noun that means the same records: `issue` for `repository issue`."""
    for length in range(1, len(noun)):
        rest = noun[length:]
        if rest not in by_noun:
            continue
        leading = noun[:length]
        owned = any(_names(read, leading) for read in by_noun[rest])
        if not owned and any(one[-len(leading) :] == leading for one in by_noun):
            continue
        if all(_qualifies(read, noun, leading) for read in by_noun[noun]):
            return rest
    # `set_task_status`: the last word is what changes.
    head, last = noun[:-1], noun[-1]
    if head in by_noun and all(
        read.does == "update" and read.argument_named(last, f"new_{last}", f"{noun[-2]}_{last}")
        for read in by_noun[noun]
    ):
        return head
    return None


def _qualifies(read: Reading, noun: tuple[str, ...], leading: tuple[str, ...]) -> bool:
    """Whether the words before a noun only say where: `list_repository_issues(owner, repo)`.

    For a list they may also say which: `list_open_issues`.
    """
    if not set(leading) - where_words(read, noun):
        return True
    return read.does in ("list", "search", "count", "read") and len(leading) == 1


def where_words(read: Reading, noun: tuple[str, ...]) -> set[str]:
    """The words in the names of arguments that do not themselves name a record of `noun`."""
    names = [singulars(argument) for argument in read.arguments]
    found = {word for parts in names if parts[: len(noun)] != noun for word in parts}
    return found | {_NEAR[word] for word in found if word in _NEAR} | set(read.belongs)


def _names(read: Reading, noun: tuple[str, ...]) -> bool:
    """Whether a tool takes what names a record of `noun`."""
    return any(singulars(argument)[:1] == noun[-1:] for argument in read.arguments)


def _read_or_list(group: ToolGroup) -> None:
    """Settles what depends on the arguments: `get_users()` lists, `find_user(email)` reads."""
    for read in group.readings:
        keys = list(key_arguments(read, group.noun))
        needed = [name for name, _, _ in keys if name in read.required]
        if read.does == "read" and read.several and not needed:
            certain = any(certain for _, _, certain in keys)
            read.does = "read" if certain else "list"
        elif (read.does == "search" and read.verb == "find" and not read.several and needed) or (
            read.does == "create" and read.verb == "open" and keys
        ):
            read.does = "read"
        elif read.does == "create" and read.verb in _ARRANGES:
            # `schedule_task(id, due)`: what has its key is there already.
            named = any(certain and name in read.required for name, _, certain in keys)
            read.does = "update" if named else "create"


def key_arguments(read: Reading, noun: tuple[str, ...]) -> Iterator[tuple[str, str, bool]]:
    """The arguments that may name a record: argument, kind (`id`, `number`, `name`), certain."""
    nouns = {noun, noun[-1:]} | _SHORT_NOUNS.get(noun, frozenset())
    for argument, shape in read.arguments.items():
        parts = singulars(argument)
        if not parts or kind_of(shape) in ("object", "boolean"):
            continue
        last = _SHORT.get(parts[-1], parts[-1])
        if last in (*STRONG, *WEAK) and parts[:-1] in {*nouns, ()}:
            yield argument, last, last in STRONG


def link_problem(read: Reading) -> str | None:
    """Why a tool makes no record: `add_task_to_section(task_id, section_id)` only joins two."""
    if read.stated_noun or not read.belongs or read.verb not in ("add", "move", "remove"):
        return None
    for name, _, certain in key_arguments(read, read.noun):
        joined = certain and len(singulars(name)) > 1 and name in read.required
        if joined and read.does == "create":
            return f"its argument {name!r} names one that is there already, so it makes none"
    return None
