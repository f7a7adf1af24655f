"""Who would answer each tool, and why: what `agentworld mcp explain` shows."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentworld_sim.engines.table import Argument, Operation, Plan, Table, TableEngine
from agentworld_sim.errors import nearest
from agentworld_sim.types.tools import ToolSpec

if TYPE_CHECKING:
    from agentworld_mcp_shim._settings import ShimSettings
    from agentworld_mcp_shim._upstream import Upstream
    from agentworld_sim.world import World

ANSWERERS = ("table", "toolkit", "model", "real", "nobody")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswer:
    """Who answers one tool."""

    name: str
    access: str
    by: str
    """One of `ANSWERERS`."""
    what: str
    """The table operation (`create issues`) or the binding; empty when nobody answers."""
    why: tuple[str, ...]
    operation: Operation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSummary:
    """One table."""

    table: Table
    records: int
    """How many records there are at the start."""
    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """All of it."""

    tools: tuple[ToolAnswer, ...]
    tables: tuple[TableSummary, ...]
    specs: Mapping[str, ToolSpec]
    """The tools as the world is given them."""
    missing: tuple[str, ...]
    """Tools that are not there, and a scenario says what they do."""
    doubts: tuple[str, ...]
    """What looks misspelt in a scenario; a world takes it as it stands."""

    def counts(self) -> dict[str, int]:
        """How many tools each of `ANSWERERS` answers."""
        return {by: sum(tool.by == by for tool in self.tools) for by in ANSWERERS}

    def to_json(self) -> dict[str, Any]:
        """The same for programs."""
        return {
            "tools": [_tool_json(tool) for tool in self.tools],
            "tables": [
                {
                    "name": one.table.name,
                    "key": list(one.table.key),
                    "scope": list(one.table.scope),
                    "fields": list(one.table.fields),
                    "parents": dict(one.table.parents),
                    "generated_key": one.table.generated_key,
                    "records": one.records,
                    "tools": list(one.tools),
                }
                for one in self.tables
            ],
            "not_there": sorted(self.missing),
            "doubts": list(self.doubts),
        }


async def explain_tools(settings: ShimSettings, started: Mapping[str, Upstream]) -> Explanation:
    """Who answers the tools of upstreams, or of the world itself when there are none.

    Args:
        settings: The upstreams and the world.
        started: Upstreams that run already.
    """
    from agentworld_mcp_shim._mirrors import mirrors_of
    from agentworld_sim.scenario import Scenario
    from agentworld_sim.world import World

    mirrors = await mirrors_of(settings, dict(started))

    async def open_world() -> World:
        scenario = settings.worlds.scenario
        return await World.create(
            None if scenario is None else Scenario.load(scenario),
            model=await asyncio.to_thread(settings.worlds.model.find),
            access=settings.access,
        )

    if "" not in mirrors:
        async with await open_world() as world:
            return explain_world(world, {name: None for name in world.tools}, world.tools)
    mirror = mirrors[""]
    specs = {spec.name: spec for spec in mirror.specs(settings.binds)}
    problems = {tool.world_name: tool.problem for tool in mirror.tools.values()}
    async with await mirror.bind(await open_world(), list(specs.values())) as world:
        return explain_world(world, problems, specs)


def explain_world(
    world: World, problems: Mapping[str, str | None], specs: Mapping[str, ToolSpec]
) -> Explanation:
    """Who answers the tools of a world.

    Args:
        world: The world; it has the tools already.
        problems: The tools in order, and why one cannot be answered whatever it binds to.
        specs: The tools, as the world is given them.
    """
    engine = TableEngine(
        operations={n: spec.to_operation(n) for n, spec in world.scenario.operations.items()},
        tables={n: spec.to_table(n) for n, spec in world.scenario.tables.items()},
    )
    tools = world.tools
    plan = engine.plan(tools.values())
    answers = tuple(
        _refusal(name, problem) if problem else _answer(world, tools[name], plan)
        for name, problem in problems.items()
    )
    tables = _tables(world, plan, answers)
    return Explanation(
        tools=answers,
        tables=tables,
        specs=dict(specs),
        missing=tuple(name for name in world.scenario.operations if name not in tools),
        doubts=(*_table_doubts(tables), *_operation_doubts(engine.operations, tools, plan)),
    )


def _table_doubts(tables: Sequence[TableSummary]) -> Iterator[str]:
    for one in tables:
        name = one.table.name
        others = [other.table.name for other in tables if other is not one and other.table.fields]
        close = nearest(name, others)
        if not one.tools:
            yield f"No tool works on the scenario's table {name!r}.{close}"
        elif not one.table.fields and close:
            yield f"{one.tools[0]!r} works on a table {name!r} that has no fields.{close}"


def _operation_doubts(
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
        used = {*operation.changes} | {
            word
            for expression in (*operation.changes.values(), *operation.requires)
            for word in names_in(expression)
        }
        for word in sorted(used - fields - {*taken}):
            yield (
                f"The scenario's operation {name!r} reckons with {word!r}, which is no field of"
                f" {operation.table!r} and no argument.{nearest(word, {*fields, *taken})}"
            )


def _refusal(name: str, why: str) -> ToolAnswer:
    return ToolAnswer(name=name, access="refuse", by="nobody", what="", why=(why,))


def _answer(world: World, tool: ToolSpec, plan: Plan) -> ToolAnswer:
    bound = tool.binds_to or ""
    operation = None
    if tool.access == "refuse":
        why = plan.unbound.get(tool.name)
        if why is None:
            why = world.refusal(tool.name).removeprefix(f"{tool.name!r} is refused").lstrip(":, ")
        return _refusal(tool.name, why)
    if tool.access == "real":
        by, what, why = "real", "the upstream", ("access says so",)
    elif bound.startswith("table/"):
        operation = plan.operations.get(tool.name)
        by, what = "table", bound.removeprefix("table/").replace(":", " ")
        why = () if operation is None else operation.reasons
    elif bound.startswith("model/"):
        by, what = "model", "imagined"
        why = (plan.unbound.get(tool.name, "nothing computes it"),)
    else:
        by, what = "toolkit", bound
        why = ("its name and its arguments are those of a tool that is known",)
    return ToolAnswer(
        name=tool.name, access=tool.access, by=by, what=what, why=why, operation=operation
    )


def _tables(world: World, plan: Plan, answers: Sequence[ToolAnswer]) -> tuple[TableSummary, ...]:
    from agentworld_sim.engines.table.initial_rows import initial_records

    used: dict[str, list[str]] = {}
    for answer in answers:
        if answer.by == "table" and answer.operation is not None:
            used.setdefault(answer.operation.table, []).append(answer.name)
    scenario = world.scenario
    return tuple(
        TableSummary(
            table=table,
            records=len(
                initial_records(plan, table, seed=scenario.seed, clock_us=scenario.clock_us)
            ),
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
                name: _argument_json(one) for name, one in tool.operation.arguments.items()
            },
            "fixed": dict(tool.operation.fixed),
        }
    return found


def _argument_json(argument: Argument) -> str | dict[str, Any]:
    """An argument as a scenario writes it: the role alone, or a mapping."""
    found: dict[str, Any] = {"role": argument.role}
    if argument.role in ("key", "scope", "field"):
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


def operations_stub(explanation: Explanation) -> str:
    """The `operations` of a scenario for tools that are refused, imagined or not wholly clear."""
    import yaml

    lines: list[str] = []
    active = False
    for tool in explanation.tools:
        spec = explanation.specs.get(tool.name)
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
        lines += [f"  # {line}" for line in _comment_lines(tool.why[-1] if tool.why else "")]
        lines += [f"{mark}{line}" for line in written.splitlines()]
    head = "operations:" if active else "# operations:"
    return "".join(f"{line}\n" for line in (head, *lines))


def _entry(spec: ToolSpec, operation: Operation | None) -> dict[str, Any]:
    from agentworld_sim.engines.table import infer
    from agentworld_sim.engines.table.reading import read_tool
    from agentworld_sim.engines.table.words import plural

    known = operation or infer(spec)
    if known is not None:
        return {
            "does": known.does,
            "table": known.table,
            "arguments": {name: _argument_json(one) for name, one in known.arguments.items()},
        }
    read = read_tool(spec)
    arguments: Mapping[str, Any] = spec.input_schema.get("properties") or {}
    does, table = "read", "records"
    if not isinstance(read, str):
        does, table = read.does, "_".join((*read.noun[:-1], plural(read.noun[-1])))
    return {"does": does, "table": table, "arguments": dict.fromkeys(arguments, "unknown")}


def _comment_lines(text: str) -> list[str]:
    import textwrap

    plain = "".join(sign if sign.isprintable() else " " for sign in text)
    return textwrap.wrap(plain, 76) or ["say what it does"]
