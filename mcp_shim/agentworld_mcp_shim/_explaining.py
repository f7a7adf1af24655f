"""Who would answer each tool, and why: what `agentworld mcp explain` shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentworld_sim.engines.table import Argument, Operation, Plan, Table, TableEngine
from agentworld_sim.errors import nearest
from agentworld_sim.types.tools import ToolSpec

if TYPE_CHECKING:
    from agentworld_sim.world import World

_ABOUT = ("key", "scope", "field")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswer:
    """Who answers one tool."""

    name: str
    access: str
    by: str
    """`table`, `toolkit`, `model`, `real` or `nobody`."""
    what: str
    """The table operation (`create issues`) or the binding; empty when nobody answers."""
    why: tuple[str, ...]
    operation: Operation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableShown:
    """One table."""

    table: Table
    records: int
    """How many records there are at the start."""
    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """All of it."""

    tools: tuple[ToolAnswer, ...]
    tables: tuple[TableShown, ...]
    unasked: Mapping[str, str] = field(default_factory=dict[str, str])
    """What a scenario says of tools that are not there."""
    doubts: tuple[str, ...] = ()
    """What a scenario's operations name that their tools and tables do not have."""

    def to_json(self) -> dict[str, Any]:
        """The same for programs."""
        return {
            "tools": [_tool_json(tool) for tool in self.tools],
            "tables": [
                {
                    "name": shown.table.name,
                    "key": list(shown.table.key),
                    "scope": list(shown.table.scope),
                    "fields": list(shown.table.fields),
                    "parents": dict(shown.table.parents),
                    "generated_key": shown.table.generated_key,
                    "records": shown.records,
                    "tools": list(shown.tools),
                }
                for shown in self.tables
            ],
            "not_there": sorted(self.unasked),
            "doubts": list(self.doubts),
        }


def explained(world: World, names: Sequence[str], problems: Mapping[str, str]) -> Explanation:
    """Who answers the tools of a world.

    Args:
        world: The world; it has the tools already.
        names: Which tools, in order.
        problems: Why tools cannot be answered whatever they bind to.
    """
    engine = TableEngine(
        operations={n: spec.to_operation(n) for n, spec in world.scenario.operations.items()},
        tables={n: spec.to_table(n) for n, spec in world.scenario.tables.items()},
    )
    tools = world.tools
    plan = engine.plan(tools.values())
    answers = tuple(
        _refused(name, problems[name]) if name in problems else _answer(world, tools[name], plan)
        for name in names
    )
    return Explanation(
        tools=answers,
        tables=_tables(world, plan, answers),
        unasked={name: "" for name in world.scenario.operations if name not in tools},
        doubts=tuple(_doubts(engine.operations, tools, plan)),
    )


def _doubts(
    said: Mapping[str, Operation], tools: Mapping[str, ToolSpec], plan: Plan
) -> Iterator[str]:
    from agentworld_sim.engines.table.expressions import names_in

    for name, operation in said.items():
        if name not in tools:
            continue
        taken: Mapping[str, Any] = tools[name].input_schema.get("properties", {})
        for argument in operation.arguments:
            if argument not in taken:
                yield (
                    f"The scenario's operation {name!r} speaks of an argument {argument!r}, which the"
                    f" tool does not take.{nearest(argument, taken)}"
                )
        table = plan.tables.get(operation.table)
        if table is None or not table.fields:
            continue
        fields = {*table.fields, *table.key, *table.scope}
        told = {*operation.changes} | {
            used
            for expression in (*operation.changes.values(), *operation.requires)
            for used in names_in(expression)
        }
        for field_name in sorted(told - fields - {*taken}):
            yield (
                f"The scenario's operation {name!r} reckons with {field_name!r}, which is no field of"
                f" {operation.table!r} and no argument.{nearest(field_name, {*fields, *taken})}"
            )


def _refused(name: str, problem: str) -> ToolAnswer:
    return ToolAnswer(name=name, access="refuse", by="nobody", what="", why=(problem,))


def _answer(world: World, tool: ToolSpec, plan: Plan) -> ToolAnswer:
    bound = tool.binds_to or ""
    if tool.access == "real":
        return ToolAnswer(
            name=tool.name, access="real", by="real", what="the upstream", why=("access says so",)
        )
    if tool.access == "refuse":
        why = plan.unbound.get(tool.name)
        if why is None:
            why = world.refusal(tool.name).removeprefix(f"{tool.name!r} is refused").lstrip(":, ")
        return ToolAnswer(name=tool.name, access="refuse", by="nobody", what="", why=(why,))
    if bound.startswith("table/"):
        operation = plan.operations.get(tool.name)
        what = bound.removeprefix("table/").replace(":", " ")
        reasons = () if operation is None else operation.reasons
        return ToolAnswer(
            name=tool.name,
            access="simulate",
            by="table",
            what=what,
            why=reasons,
            operation=operation,
        )
    if bound.startswith("model/"):
        why = plan.unbound.get(tool.name, "nothing computes it")
        return ToolAnswer(
            name=tool.name, access="simulate", by="model", what="imagined", why=(why,)
        )
    return ToolAnswer(
        name=tool.name,
        access="simulate",
        by="toolkit",
        what=bound,
        why=("its name and its arguments are those of a tool that is known",),
    )


def _tables(world: World, plan: Plan, answers: Sequence[ToolAnswer]) -> tuple[TableShown, ...]:
    from agentworld_sim.engines.table.initial_rows import beginning

    used: dict[str, list[str]] = {}
    for answer in answers:
        if answer.by == "table" and answer.operation is not None:
            used.setdefault(answer.operation.table, []).append(answer.name)
    scenario = world.scenario
    return tuple(
        TableShown(
            table=table,
            records=len(beginning(plan, table, seed=scenario.seed, clock_us=scenario.clock_us)),
            tools=tuple(used.get(name, ())),
        )
        for name, table in plan.tables.items()
        if name in used or name in scenario.tables
    )


def _tool_json(tool: ToolAnswer) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": tool.name,
        "access": tool.access,
        "answered_by": tool.by,
        "what": tool.what,
        "why": list(tool.why),
    }
    if tool.operation is not None:
        found["operation"] = {
            "does": tool.operation.does,
            "table": tool.operation.table,
            "arguments": {
                name: argument_json(one) for name, one in tool.operation.arguments.items()
            },
            "fixed": dict(tool.operation.fixed),
        }
    return found


def argument_json(argument: Argument) -> str | dict[str, Any]:
    """An argument as a scenario writes it: the role alone, or a mapping."""
    found: dict[str, Any] = {"role": argument.role}
    if argument.role in _ABOUT:
        found["field"] = argument.field
    if argument.compare != "equal":
        found["compare"] = argument.compare
    if argument.role == "page" and argument.first != 1:
        found["first"] = argument.first
    if argument.values:
        found["values"] = dict(argument.values)
    if argument.fields:
        found["fields"] = dict(argument.fields)
    return argument.role if len(found) == 1 else found


def stub(explanation: Explanation, specs: Mapping[str, ToolSpec]) -> str:
    """The `operations` of a scenario for tools that are refused, imagined or not wholly clear.

    Args:
        explanation: Who answers.
        specs: The tools, as the world is given them.
    """
    import yaml

    lines: list[str] = []
    active = False
    for tool in explanation.tools:
        spec = specs.get(tool.name)
        unclear = tool.operation is not None and any(
            one.role == "unknown" for one in tool.operation.arguments.values()
        )
        if spec is None or not (tool.by in ("nobody", "model") or unclear):
            continue
        entry = {spec.name: _entry(spec, tool.operation)}
        written = yaml.safe_dump(entry, sort_keys=False, allow_unicode=True, width=1000)
        # A guess that nobody has looked at must not bind a tool when it is pasted.
        mark = "  " if unclear else "  # "
        active = active or unclear
        lines += [f"  # {line}" for line in _wrapped(tool.why[-1] if tool.why else "")]
        lines += [f"{mark}{line}" for line in written.splitlines()]
    head = "operations:" if active else "# operations:"
    return "".join(f"{line}\n" for line in (head, *lines))


def _entry(spec: ToolSpec, operation: Operation | None) -> dict[str, Any]:
    from agentworld_sim.engines.table import infer
    from agentworld_sim.engines.table.reading import reading
    from agentworld_sim.engines.table.words import plural

    known = operation or infer(spec)
    if known is not None:
        return {
            "does": known.does,
            "table": known.table,
            "arguments": {name: argument_json(one) for name, one in known.arguments.items()},
        }
    read = reading(spec)
    arguments: Mapping[str, Any] = spec.input_schema.get("properties") or {}
    does, table = "read", "records"
    if not isinstance(read, str):
        does, table = read.does, "_".join((*read.noun[:-1], plural(read.noun[-1])))
    return {"does": does, "table": table, "arguments": dict.fromkeys(arguments, "unknown")}


def _wrapped(text: str) -> list[str]:
    import textwrap

    plain = "".join(sign if sign.isprintable() else " " for sign in text)
    return textwrap.wrap(plain, 76) or ["say what it does"]
