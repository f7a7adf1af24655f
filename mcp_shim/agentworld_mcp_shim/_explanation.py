"""Who would answer each tool, and why: what `agentworld mcp explain` shows."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

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
    access: str = "refuse"
    by: str = "nobody"
    """One of `ANSWERERS`."""
    what: str = ""
    """The table operation (`create issues`) or the binding; empty when nobody answers."""
    why: tuple[str, ...]
    operation: Operation | None = None

    def to_json(self) -> dict[str, Any]:
        """The same for programs."""
        found: dict[str, Any] = {
            "name": self.name,
            "access": self.access,
            "answered_by": self.by,
            "what": self.what,
            "why": list(self.why),
        }
        if self.operation is not None:
            found["operation"] = {
                **_operation_json(self.operation),
                "fixed": dict(self.operation.fixed),
            }
        return found


class TableSummary(NamedTuple):
    """One table, how many records it has at the start, and the tools that work on it."""

    table: Table
    records: int
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
            "tools": [tool.to_json() for tool in self.tools],
            "tables": [
                {
                    "name": table.name,
                    "key": list(table.key),
                    "scope": list(table.scope),
                    "fields": list(table.fields),
                    "parents": dict(table.parents),
                    "generated_key": table.generated_key,
                    "records": records,
                    "tools": list(tools),
                }
                for table, records, tools in self.tables
            ],
            "not_there": sorted(self.missing),
            "doubts": list(self.doubts),
        }


async def explain_tools(settings: ShimSettings, started: Mapping[str, Upstream]) -> Explanation:
    """Who answers the tools of upstreams, or of the world itself when there are none.

    `started` are upstreams that run already.
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
    """Who answers the tools of a world, which has them already.

    `problems` has the tools in order, and why one cannot be answered whatever it binds to.
    """
    engine = TableEngine(**world.scenario.table_options())
    tools = world.tools
    plan = engine.plan(tools.values())
    answers = tuple(
        ToolAnswer(name=name, why=(problem,)) if problem else _answer(world, tools[name], plan)
        for name, problem in problems.items()
    )
    tables = tuple(_tables(world, plan, answers))
    return Explanation(
        tools=answers,
        tables=tables,
        specs=dict(specs),
        missing=tuple(name for name in world.scenario.operations if name not in tools),
        doubts=(*_table_doubts(tables), *_operation_doubts(engine.operations, tools)),
    )


def _table_doubts(tables: Sequence[TableSummary]) -> Iterator[str]:
    for table, _, tools in tables:
        others = [one.table.name for one in tables if one.table is not table and one.table.fields]
        close = nearest(table.name, others)
        if not tools:
            yield f"No tool works on the scenario's table {table.name!r}.{close}"
        elif not table.fields and close:
            yield f"{tools[0]!r} works on a table {table.name!r} that has no fields.{close}"


def _operation_doubts(
    said: Mapping[str, Operation], tools: Mapping[str, ToolSpec]
) -> Iterator[str]:
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


def _answer(world: World, tool: ToolSpec, plan: Plan) -> ToolAnswer:
    name, bound, operation = tool.name, tool.binds_to or "", None
    if tool.access == "refuse":
        why = plan.unbound.get(name)
        if why is None:
            why = world.refusal(name).removeprefix(f"{name!r} is refused").lstrip(":, ")
        return ToolAnswer(name=name, why=(why,))
    if tool.access == "real":
        by, what, why = "real", "the upstream", ("access says so",)
    elif bound.startswith("table/"):
        operation = plan.operations.get(name)
        by, what = "table", bound.removeprefix("table/").replace(":", " ")
        why = () if operation is None else operation.reasons
    elif bound.startswith("model/"):
        by, what, why = "model", "imagined", (plan.unbound.get(name, "nothing computes it"),)
    else:
        by, what = "toolkit", bound
        why = ("its name and its arguments are those of a tool that is known",)
    return ToolAnswer(name=name, access=tool.access, by=by, what=what, why=why, operation=operation)


def _tables(world: World, plan: Plan, answers: Sequence[ToolAnswer]) -> Iterator[TableSummary]:
    from agentworld_sim.engines.table.initial_rows import initial_records

    scenario = world.scenario
    for name, table in plan.tables.items():
        tools = tuple(
            one.name for one in answers if one.operation is not None and one.operation.table == name
        )
        if tools or name in scenario.tables:
            first = initial_records(plan, table, seed=scenario.seed, clock_us=scenario.clock_us)
            yield TableSummary(table, len(first), tools)


def _operation_json(operation: Operation) -> dict[str, Any]:
    """What a tool does, as a scenario writes it."""
    arguments = {name: _argument_json(one) for name, one in operation.arguments.items()}
    return {"does": operation.does, "table": operation.table, "arguments": arguments}


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
    import textwrap

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
        reason = printable(tool.why[-1]) if tool.why else "say what it does"
        lines += [f"  # {line}" for line in textwrap.wrap(reason, 76)]
        lines += [f"{mark}{line}" for line in written.splitlines()]
    head = "operations:" if active else "# operations:"
    return "".join(f"{line}\n" for line in (head, *lines))


def _entry(spec: ToolSpec, operation: Operation | None) -> dict[str, Any]:
    from agentworld_sim.engines.table import infer
    from agentworld_sim.engines.table.reading import read_tool
    from agentworld_sim.engines.table.words import plural

    known = operation or infer(spec)
    if known is not None:
        return _operation_json(known)
    read = read_tool(spec)
    arguments: Mapping[str, Any] = spec.input_schema.get("properties") or {}
    does, table = "read", "records"
    if not isinstance(read, str):
        does, table = read.does, "_".join((*read.noun[:-1], plural(read.noun[-1])))
    return {"does": does, "table": table, "arguments": dict.fromkeys(arguments, "unknown")}


def printable(text: str) -> str:
    """Without signs that would drive a terminal or end a comment: a server chooses what it says."""
    return "".join(sign if sign.isprintable() else " " for sign in text)
