"""Whatever a schema allows gets an answer that is valid, an error of the tool, or a refusal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from hypothesis import HealthCheck, given, settings, strategies as st

from agentworld_sim import ToolCall, ToolSpec
from agentworld_sim.engines.table import Argument, Does, Operation, Output, Plan, Role, Table
from agentworld_sim.errors import AgentworldError, CannotCompute
from agentworld_sim.schema.validate import schema_problem
from tests.properties import examples

from .desk import opened

FIELDS = st.sampled_from(
    ["id", "name", "state", "owner", "tags", "a.b", "weird field", "created_at"]
)

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=3),
    max_leaves=5,
)

COMPARES: tuple[Literal["equal", "contains", "at_least", "before", "one_of"], ...] = (
    "equal",
    "contains",
    "at_least",
    "before",
    "one_of",
)

FIELD_SCHEMAS = st.sampled_from(
    [
        {"type": "string"},
        {"type": "integer"},
        {"type": "string", "enum": ["open", "closed"]},
        {"type": "array", "items": {"type": "string"}},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        {"type": "object", "properties": {"login": {"type": "string"}}, "required": ["login"]},
        {"type": "string", "format": "date-time"},
        {"type": "number", "minimum": 0},
        {},
    ]
)


@st.composite
def plans(draw: st.DrawFn) -> tuple[Plan, tuple[ToolSpec, ...]]:
    """One table, and tools with any arguments that do anything to it."""
    fields: dict[str, Mapping[str, Any]] = draw(st.dictionaries(FIELDS, FIELD_SCHEMAS, max_size=5))
    item: Mapping[str, Any] = {
        "type": "object",
        "properties": fields,
        "required": sorted(fields)[::2],
        "additionalProperties": draw(st.booleans()),
    }
    table = Table(
        name="things",
        key=tuple(draw(st.lists(FIELDS, min_size=1, max_size=2, unique=True))),
        scope=tuple(draw(st.lists(FIELDS, max_size=1))),
        fields=fields,
        required=tuple(sorted(fields)[::2]),
        generated_key=draw(st.booleans()),
    )
    operations: dict[str, Operation] = {}
    tools: list[ToolSpec] = []
    for does in get_args(Does):
        names = draw(st.lists(st.sampled_from("abcdef"), max_size=5, unique=True))
        arguments = {
            name: Argument(
                draw(st.sampled_from(get_args(Role))),
                draw(FIELDS | st.just("")),
                compare=draw(st.sampled_from(COMPARES)),
            )
            for name in names
        }
        listed = {"type": "object", "properties": {"items": {"type": "array", "items": item}}}
        schema = draw(st.sampled_from([None, item, listed, {"type": "object"}]))
        output = Output(
            records=draw(st.sampled_from(["", "items"])),
            record=draw(st.sampled_from(["", "thing"])),
            total=draw(st.sampled_from([None, "total"])),
            cursor=draw(st.sampled_from([None, "next"])),
            message=draw(st.sampled_from([None, "message"])),
            values=draw(st.sampled_from(["", "", "id"])),
            schema=schema,
        )
        tool = f"{does}_things"
        operations[tool] = Operation(
            tool=tool, does=does, table="things", arguments=arguments, output=output
        )
        tools.append(
            ToolSpec(
                name=tool,
                domain="mcp",
                input_schema={"type": "object", "properties": {name: {} for name in names}},
                output_schema=schema,
            )
        )
    return Plan(operations=operations, tables={"things": table}), tuple(tools)


@settings(
    max_examples=examples(150),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(plan=plans(), data=st.data())
async def test_any_call_gets_an_answer_an_error_or_a_refusal(
    plan: tuple[Plan, tuple[ToolSpec, ...]], data: st.DataObject
) -> None:
    found, tools = plan
    async with await opened(found, tools=tools) as world:
        for _ in range(6):
            tool = data.draw(st.sampled_from(tools))
            names = list(tool.input_schema["properties"])
            arguments = data.draw(
                st.dictionaries(st.sampled_from(names), JSON) if names else st.just({})
            )
            before = world.ref
            try:
                turn = await world.step(ToolCall(tool.name, arguments))
            except AgentworldError as error:
                assert isinstance(error, CannotCompute), error
                assert world.ref == before
                continue
            answer = turn.observation
            if tool.output_schema is not None and not answer.is_error:
                assert schema_problem(tool.output_schema, answer.structured) is None
