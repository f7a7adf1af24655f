"""What the tools of a world do together: inferred, and corrected by what a scenario says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, cast, get_args

from agentworld_sim.engines.table.argument_roles import fixed_values, roles
from agentworld_sim.engines.table.describing import (
    describe,
    keys_of,
    table_name_of,
)
from agentworld_sim.engines.table.json_schemas import item_of, kind_of, properties
from agentworld_sim.engines.table.operation import (
    EVERY,
    SAID,
    Argument,
    Does,
    Operation,
    Output,
    Plan,
)
from agentworld_sim.engines.table.outputs import read_output_schema
from agentworld_sim.engines.table.reading import READS, Reading, read_tool
from agentworld_sim.engines.table.tool_groups import (
    STRONG,
    WEAK,
    ToolGroup,
    group_tools,
    key_arguments,
    link_problem,
)
from agentworld_sim.engines.table.words import singulars, snake
from agentworld_sim.relational.layout import DEFAULT_KEY, Table
from agentworld_sim.types.tools import ToolSpec


def with_key(operation: Operation, table: Table) -> Operation:
    """The operation, its key arguments naming the table's key.

    `ticket_id: key` says that the argument names a record, and no field. Where the records have no
    `ticket_id`, it names them by their only key; looked for under its own name, none would be found.
    """
    keys = {name: one for name, one in operation.arguments.items() if one.role == "key"}
    known = {*table.fields, *table.scope, *table.key}
    own = [name for name, one in keys.items() if one.field in ("", name) and name not in known]
    named = any(one.field in table.key for one in keys.values())
    if len(table.key) != 1 or len(own) != 1 or named:
        return operation
    key = replace(keys[own[0]], field=table.key[0])
    return replace(operation, arguments={**operation.arguments, own[0]: key})


_REASONS = {
    "scope": "says to what it belongs, as in the table's other tools",
    "records": "holds whole records",
}
"""Role of arguments to what is said of them."""


def reasons_of(read: Reading, operation: Operation, *, beside: list[str]) -> tuple[str, ...]:
    """Short sentences, the most important first; `beside` are the tools of the same table."""
    reasons = [f"{read.verb!r} in the name"]
    by_role: dict[str, list[str]] = {}
    for name, argument in operation.arguments.items():
        by_role.setdefault(argument.role, []).append(name)
    if keys := by_role.get("key"):
        fields = sorted({operation.arguments[name].field for name in keys})
        reasons.append(f"{_list(keys)} names a record by its {_list(fields)}")
    reasons += [
        f"{_list(by_role[role])} {one}" for role, one in _REASONS.items() if role in by_role
    ]
    if fields := by_role.get("field"):
        what = "are compared with" if operation.does in ("list", "search", "count") else "become"
        reasons.append(f"{_list(fields)} {what} fields")
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


def _link_listed_tools(groups: list[ToolGroup]) -> None:
    """Moves tools without a table of their own to the one whose records their output lists:
    `list_emails_metadata` lists `emails`."""
    made = {_bare(group): group for group in groups if group.select("create", "upsert")}
    for group in [one for one in groups if _bare(one) not in made]:
        for read in group.select("list", "search"):
            target = _listed_group(group.answers[read.name].lists, made)
            if target is not None:
                group.readings.remove(read)
                read.stated_noun = target.noun
                target.readings.append(read)
                target.readings.sort(key=lambda one: one.name)
                target.answers[read.name] = read_output_schema(read)
    groups[:] = [group for group in groups if group.readings]


def _bare(group: ToolGroup) -> str:
    return group.name.rpartition("__")[2]


def _listed_group(
    lists: Mapping[str, dict[str, Any]], made: Mapping[str, ToolGroup]
) -> ToolGroup | None:
    """The table whose name stands over a list in the output, if its records look alike."""
    for path, item in lists.items():
        target = made.get(snake(path.rpartition(".")[2]))
        if target is None:
            continue
        makers = target.select("create", "upsert")
        taken = {snake(name) for maker in makers for name in maker.arguments}
        if len(taken & {snake(name) for name in properties(item)}) > 1:
            return target
    return None


PREFIX = "table/"
"""Of the table engine's bindings: `table/create:issues`."""

_NO_OPERATIONS: Mapping[str, Operation] = {}


def is_candidate(tool: ToolSpec, operations: Mapping[str, Operation]) -> bool:
    """Whether a tool may work on tables at all: no other engine has it, or the scenario says so."""
    if tool.name in operations:
        return True
    bound = tool.binds_to
    if bound is None:
        return tool.domain == "mcp"
    return bound.startswith(PREFIX)


def infer(tool: ToolSpec) -> Operation | None:
    """What one tool seems to do, by itself; `None` when that cannot be told.

    It is a guess that other tools may bear out: a world goes by `plan_of`.
    """
    known = replace(tool, domain="mcp", binds_to=tool.binds_to or PREFIX)
    return plan_of([known]).operations.get(tool.name)


def plan_of(
    tools: Iterable[ToolSpec],
    *,
    operations: Mapping[str, Operation] | None = None,
    tables: Mapping[str, Table] | None = None,
) -> Plan:
    """What the tools of a world do together, those aside that other engines answer.

    What a scenario says of single tools (`operations`) wins over what is inferred, argument by argument;
    what it says of tables, field by field.
    """
    said = operations or _NO_OPERATIONS
    named = {tool.name: tool for tool in tools if is_candidate(tool, said)}
    unbound: dict[str, str] = {}
    readings: list[Reading] = []
    for tool in named.values():
        read = _read(tool, said.get(tool.name))
        if isinstance(read, str):
            unbound[tool.name] = read
        elif tool.name not in said and (problem := link_problem(read)) is not None:
            unbound[tool.name] = problem
        else:
            readings.append(read)
    groups = group_tools(readings)
    _link_listed_tools(groups)
    found: dict[str, Operation] = {}
    made: dict[str, Table] = {}
    for group in groups:
        describe(group)
    for group in groups:
        for name in group.scope:
            parent = _group_named(groups, group.space, table_name_of(name))
            if parent is not None and parent is not group:
                parent.parent = group.child = True
    for group in groups:
        bound = _operations(
            group, groups, named, said, unbound, is_told=group.name in (tables or ())
        )
        if bound:
            found.update(bound)
            made[group.name] = _table(group, groups)
    for name, operation in said.items():
        if name in named and name not in found:
            found[name] = operation
            made.setdefault(operation.table, Table(name=operation.table))
            unbound.pop(name, None)
    # A scenario may describe a table that no tool of this world works on yet.
    every = (tables or {}).get(EVERY)
    for name, table in (tables or {}).items():
        if table is not every:
            guess = made.get(name)
            made[name] = _override(guess, table)
            if guess is not None:
                _rename_keys(found, guess, made[name])
    for name in said.keys() & found.keys():
        table = found[name].table
        # The scenario may give the tool to another table than its name does.
        found[name] = with_key(found[name], made.setdefault(table, Table(name=table)))
    if every is not None:
        for name, table in made.items():
            if table.generate is None:
                made[name] = replace(table, generate=every.generate)
    order = [name for name in named if name in found]
    return Plan(
        operations={name: found[name] for name in order},
        tables={name: made[name] for name in sorted(made)},
        unbound={name: unbound[name] for name in named if name in unbound},
    )


def _read(tool: ToolSpec, said: Operation | None) -> Reading | str:
    """The reading of a tool, with what a binding or a scenario says of it."""
    does, _, table = (tool.binds_to or "").removeprefix(PREFIX).partition(":")
    if said is not None:
        does, table = said.does, said.table
    if does not in get_args(Does) or not table:
        return read_tool(tool)
    read = read_tool(tool, cast("Does", does))
    if not isinstance(read, str):
        read.stated_noun = singulars(table.rpartition("__")[2])
    return read


def _operations(
    group: ToolGroup,
    groups: list[ToolGroup],
    named: Mapping[str, ToolSpec],
    said: Mapping[str, Operation],
    unbound: dict[str, str],
    *,
    is_told: bool,
) -> dict[str, Operation]:
    """The operations of a group, as far as its tools bear each other out.

    A table that the scenario itself names needs nothing to bear it out.
    """
    found: dict[str, Operation] = {}
    problems: dict[str, str] = {}
    for read in group.readings:
        given = said.get(read.name)
        operation = _operation(read, group, given)
        if isinstance(operation, str):
            problems[read.name] = operation
        else:
            found[read.name] = operation
    sure = {
        name
        for name in found
        if is_told or name in said or (named[name].binds_to or "").startswith(PREFIX)
    }
    # What is left must still bear itself out without what fell away.
    while True:
        left = [read for read in group.readings if read.name in found]
        falls = {
            read.name: problem
            for read in left
            if read.name not in sure
            and (problem := _support_problem(read, left, group)) is not None
        }
        if not falls:
            break
        problems.update(falls)
        found = {name: one for name, one in found.items() if name not in falls}
    unbound.update(problems)
    by_name = {read.name: read for read in group.readings}
    return {
        name: one
        if one.reasons
        else replace(one, reasons=reasons_of(by_name[name], one, beside=sorted(found)))
        for name, one in found.items()
    }


def _operation(read: Reading, group: ToolGroup, said: Operation | None) -> Operation | str:
    answers = group.answers[read.name]
    output, arguments = answers.output, roles(read, group)
    fixed = fixed_values(read, group)
    if said is not None:
        if said.output != Output() or answers.problem is not None:
            output = replace(said.output, schema=read.tool.output_schema)
        return replace(
            said,
            arguments={**arguments, **said.arguments},
            output=output,
            fixed=said.fixed or (fixed if isinstance(fixed, dict) else {}),
            reasons=said.reasons or (SAID,),
        )
    if isinstance(fixed, str):
        return fixed
    problem = answers.problem or _derived_total_problem(read, answers.record)
    problem = problem or _unclear(read, group, arguments, fixed)
    if problem is not None:
        return problem
    if output.values == "?":
        # What a list of plain values shows is named after it, or is the key.
        output = replace(output, values=group.field_named(read.noun[-1]) or group.key[0])
    return Operation(
        tool=read.name,
        does=read.does,
        table=group.name,
        arguments=arguments,
        output=output,
        fixed=fixed,
    )


def _unclear(
    read: Reading, group: ToolGroup, arguments: Mapping[str, Argument], fixed: Mapping[str, object]
) -> str | None:
    """Why calls of a tool could never be computed."""
    for name in read.required:
        if name in arguments and arguments[name].role == "unknown":
            return f"nothing says what its argument {name!r} does"
    found = {one.role for one in arguments.values()}
    if read.does in ("read", "update", "delete") and not found & {"key", "records"}:
        return f"none of its arguments names one of the {group.name}"
    if read.does == "update" and not fixed and not found & {"field", "records"}:
        return "none of its arguments says what changes"
    if read.does in ("create", "upsert") and not found & {"field", "records", "key"}:
        return "none of its arguments becomes a field of a record"
    inside = _container_argument(read, group, arguments)
    if inside is not None:
        return f"its argument {inside!r} names one of the {group.name}, so it looks inside that one"
    return None


def _container_argument(
    read: Reading, group: ToolGroup, arguments: Mapping[str, Argument]
) -> str | None:
    """The argument of a list that names a single record: what is listed are no such records."""
    single = [name for name in read.required if kind_of(read.arguments.get(name, {})) != "array"]
    if read.does in ("list", "search", "count"):
        certain = (name for name, _, certain in key_arguments(read, group.noun) if certain)
        own = (one for one in certain if one in single and singulars(one) != ("number",))
        return next((one for one in own if arguments[one].role != "scope"), None)
    if read.does == "read" and read.several and group.answers[read.name].record is None:
        keys = {name: one.field for name, one in arguments.items() if one.role == "key"}
        if keys and set(keys.values()) <= set(WEAK) and len(single) == len(read.required):
            return next(iter(keys))
    return None


_SUMS = frozenset(
    "total subtotal grand_total total_price total_amount total_cost tax price amount cost".split()
)


def _support_problem(read: Reading, left: list[Reading], group: ToolGroup) -> str | None:
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


def _derived_total_problem(read: Reading, record: Mapping[str, Any] | None) -> str | None:
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


def _group_named(groups: list[ToolGroup], space: str, table: str) -> ToolGroup | None:
    name = f"{space}__{table}" if space else table
    return next((group for group in groups if group.name == name), None)


def _table(group: ToolGroup, groups: list[ToolGroup]) -> Table:
    parents: dict[str, str] = {}
    for name in group.scope:
        parent = _group_named(groups, group.space, table_name_of(name))
        if parent is not None and parent is not group and _fits_key(name, parent):
            parents[name] = f"{parent.name}.{parent.key[0]}"
    return Table(
        name=group.name,
        key=group.key,
        scope=group.scope,
        fields=group.fields,
        required=tuple(group.required),
        parents=parents,
        generated_key=group.generated_key,
    )


def _fits_key(name: str, parent: ToolGroup) -> bool:
    """Whether a field such as `ticket_id` holds the keys of `parent`, and not `ticket_slug`."""
    kind, own = singulars(name)[-1], singulars(parent.key[0])[-1:]
    return kind not in (*STRONG, *WEAK) or own == (kind,)


def _rename_keys(operations: dict[str, Operation], guess: Table, table: Table) -> None:
    """Has arguments that name a record by the key that was guessed name it by the table's own."""
    if len(guess.key) != 1 or len(table.key) != 1 or guess.key == table.key:
        return
    for tool, operation in operations.items():
        if operation.table == table.name:
            arguments = {
                name: replace(one, field=table.key[0])
                if one.role == "key" and one.field == guess.key[0]
                else one
                for name, one in operation.arguments.items()
            }
            operations[tool] = replace(operation, arguments=arguments)


def _override(inferred: Table | None, said: Table) -> Table:
    """A table with what a scenario says in place of what was inferred."""
    if inferred is None:
        return said
    key = inferred.key if said.key is DEFAULT_KEY else said.key
    # An `id` that was only taken for the key is no field of records that have another.
    guesses = ({*inferred.key} & {*DEFAULT_KEY}) - {*key, *said.fields}
    fields = {name: field for name, field in inferred.fields.items() if name not in guesses}
    return replace(
        inferred,
        name=said.name,
        key=key,
        scope=said.scope or inferred.scope,
        fields={**fields, **said.fields},
        required=said.required or tuple(one for one in inferred.required if one not in guesses),
        parents=said.parents or inferred.parents,
        generated_key=said.generated_key and inferred.generated_key,
        records=said.records,
        generate=said.generate,
    )


__all__ = ["PREFIX", "infer", "is_candidate", "keys_of", "plan_of"]
