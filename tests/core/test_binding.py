"""`bind`: tools for any framework, and for none."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from agentworld_sim import (
    AccessRefused,
    ArgumentsError,
    EngineFailure,
    FunctionEngine,
    Observation,
    Scenario,
    ToolSpec,
    UsageError,
    World,
    WorldFailure,
    bind,
)
from agentworld_sim.binding import BoundTool, openai_answers, openai_tools


def bash(command: str) -> str:
    """Runs a command."""
    raise AssertionError(f"the real tool ran {command}")


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with await World.create() as made:
        yield made


def functions(**answers: Callable[..., Any]) -> FunctionEngine:
    return FunctionEngine(answers)


async def test_a_bound_tool_is_a_schema_and_a_callable(world: World) -> None:
    (tool,) = bind(world, [bash])
    assert (tool.spec.name, tool.spec.description) == ("bash", "Runs a command.")
    assert tool.spec.binds_to == "terminal/bash"
    assert await tool({"command": "echo hi"}) == "hi\n"
    assert await tool('{"command": "echo ho"}', id="call-1") == "ho\n"
    assert await tool.observe({"command": "pwd"}) == Observation(text="/root\n")
    ids = [turn.call.id for turn in await world.trajectory()]
    assert ids == ["", "call-1", ""]


async def test_the_tools_of_the_world_are_bound_by_default(world: World) -> None:
    assert [tool.spec.name for tool in bind(world)][:2] == ["keystrokes", "bash"]
    scenario = Scenario.model_validate(
        {"name": "m", "domains": ["terminal"], "access": {"bash": "refuse"}}
    )
    async with await World.create(scenario) as other:
        assert [tool.spec.name for tool in bind(other)] == ["keystrokes"]


async def test_what_holds_a_world_can_be_bound_to(world: World) -> None:
    (tool,) = bind(world, [bash])
    assert bind(tool)[1].world is world


async def test_arguments_that_are_wrong_are_a_text_for_the_agent(world: World) -> None:
    (tool,) = bind(world, [bash])
    assert await tool("{") == (
        "Error: the arguments of 'bash' are not JSON: Expecting property name enclosed in double"
        " quotes: line 1 column 2 (char 1)"
    )
    assert await tool("[1]") == "Error: the arguments of 'bash' are not a JSON object, but list"
    assert await tool("[" * 100_000) == "Error: the arguments of 'bash' are nested too deeply"
    assert await tool({"comand": "ls"}) == (
        "Error: 'bash' does not take these arguments: Additional properties are not allowed ('comand'"
        " was unexpected). It takes 'command'. Did you mean 'command'?"
    )
    assert len(await world.trajectory()) == 0


async def test_who_wants_to_know_is_told_by_an_exception(world: World) -> None:
    (tool,) = bind(world, [bash])
    with pytest.raises(ArgumentsError, match="are not JSON"):
        await tool.observe("{")
    with pytest.raises(ArgumentsError, match="Did you mean 'command'"):
        await tool.observe({"comand": "ls"})


async def test_our_failures_are_raised_and_never_a_text() -> None:
    def pay(arguments: Mapping[str, Any], values: Mapping[str, Any]) -> Observation:
        raise EngineFailure("the disk is full")

    scenario = Scenario.model_validate(
        {"name": "m", "domains": ["mcp"], "tools": [{"name": "pay"}]}
    )
    async with await World.create(scenario, engines=[functions(pay=pay)]) as world:
        (tool,) = bind(world)
        with pytest.raises(WorldFailure, match="the disk is full"):
            await tool()
        with pytest.raises(WorldFailure, match="the disk is full"):
            await openai_answers(
                [tool], [{"id": "1", "type": "function", "function": {"name": "pay"}}]
            )


async def test_tools_that_bind_to_nothing_are_refused_all_at_once(world: World) -> None:
    def book_flight(number: str) -> str: ...
    def cancel_flight(number: str) -> str: ...

    with pytest.raises(AccessRefused) as refused:
        bind(world, [bash, book_flight, cancel_flight])
    lines = str(refused.value).split("\n")
    assert [line.partition(",")[0] for line in lines] == [
        "'book_flight' is refused",
        "'cancel_flight' is refused",
    ]
    assert "book_flight" not in [tool.spec.name for tool in bind(world)]
    assert world.tools["bash"].description.startswith("Runs a command in one bash session")


async def test_functions_that_work_on_records_are_answered_from_tables(world: World) -> None:
    def create_ticket(title: str) -> str: ...
    def get_ticket(id: int) -> str: ...
    def list_tickets() -> str: ...
    def delete_ticket(id: int) -> str: ...

    create, get, *_ = tools = bind(world, [create_ticket, get_ticket, list_tickets, delete_ticket])
    assert [tool.spec.binds_to for tool in tools] == [
        "table/create:tickets",
        "table/read:tickets",
        "table/list:tickets",
        "table/delete:tickets",
    ]
    made = json.loads(await create({"title": "Lamp"}))
    assert json.loads(await get({"id": made["id"]})) == made


async def test_real_tools_are_not_called_through_a_world() -> None:
    scenario = Scenario.model_validate(
        {"name": "m", "domains": ["terminal"], "access": {"bash": "real"}}
    )
    async with await World.create(scenario) as world:
        with pytest.raises(AccessRefused, match="'bash' is set to 'real'"):
            bind(world, [bash])


async def test_two_tools_of_one_name_are_refused(world: World) -> None:
    with pytest.raises(UsageError) as error:
        bind(world, [bash, ToolSpec(name="bash")])
    assert str(error.value) == "2 of the tools are named 'bash'. Rename all but one."


# Functions


@dataclass
class Seat:
    row: int
    letter: Literal["A", "B"]


class Passenger(BaseModel):
    name: str
    age: int | None = None


def book(
    flight: str,
    seats: list[Seat],
    passenger: Passenger,
    bags: int = 0,
    json: bool = False,
    when: Annotated[str, Field(description="A day.")] = "today",
) -> str:
    """Books seats on a flight.

    The seats are held for ten minutes.

    Args:
        flight: The flight's number,
            as it is printed.
        bags (int, optional): Pieces: at most two.
        when: Is told already.
        nothing: No such argument.

    Returns:
        What was booked.
    """
    raise AssertionError("the real tool ran")


async def no_docs(a: int) -> None: ...


def open_ended(a: int, **others: str) -> None:
    """Takes more."""


class Desk:
    def close_ticket(self, number: int) -> None:
        """Closes a ticket."""


def imagining(*names: str) -> FunctionEngine:
    def answer(arguments: Mapping[str, Any], values: Mapping[str, Any]) -> Observation:
        return Observation(text=json.dumps(arguments))

    return functions(**dict.fromkeys(names, answer))


async def spec(function: Callable[..., Any]) -> ToolSpec:
    engine = imagining(function.__name__)
    async with await World.create(
        Scenario.model_validate({"name": "m", "domains": ["terminal"], "tools": ["terminal"]}),
        engines=[engine],
    ) as world:
        return bind(world, [function])[0].spec


async def test_a_function_says_what_it_takes_by_its_signature_and_its_docstring() -> None:
    made = await spec(book)
    assert made.name == "book"
    assert made.description == "Books seats on a flight.\n\nThe seats are held for ten minutes."
    assert made.input_schema["required"] == ["flight", "seats", "passenger"]
    assert made.input_schema["additionalProperties"] is False
    properties = made.input_schema["properties"]
    assert properties["flight"] == {
        "type": "string",
        "description": "The flight's number, as it is printed.",
    }
    assert properties["bags"] == {
        "type": "integer",
        "default": 0,
        "description": "Pieces: at most two.",
    }
    assert properties["json"] == {"type": "boolean", "default": False}
    assert properties["when"]["description"] == "A day."
    assert properties["seats"] == {"type": "array", "items": {"$ref": "#/$defs/Seat"}}
    assert "nothing" not in properties
    assert dataclasses.replace(made, description="").to_json()["input_schema"]["$defs"].keys() == {
        "Seat",
        "Passenger",
    }


async def test_functions_of_every_kind_can_be_bound() -> None:
    assert (await spec(no_docs)).input_schema["properties"] == {"a": {"type": "integer"}}
    assert (await spec(Desk().close_ticket)).input_schema["properties"] == {
        "number": {"type": "integer"}
    }
    more = (await spec(open_ended)).input_schema["additionalProperties"]
    assert more == {"type": "string"}


def positional(a: int, /) -> None: ...
def many(*a: int) -> None: ...
def odd(a: int) -> None: ...


class Opaque: ...


def opaque(a: Opaque) -> None: ...


odd.__annotations__["a"] = "Unheard"
NO_NAMES = "{}() takes arguments without names, which a model cannot give. Name them all."


WRONG: list[tuple[Any, str]] = [
    (positional, NO_NAMES.format("positional")),
    (many, NO_NAMES.format("many")),
    (odd, "it cannot be told what odd() takes: name 'Unheard' is not defined. Annotate"),
    (
        opaque,
        "it cannot be told what opaque() takes: Unable to generate pydantic-core schema for",
    ),
    (partial(bash), "has no name that a tool could have. Define it with `def`."),
    (3, "3 is no tool. Give a function, an object as it is sent to a model, or a ToolSpec."),
]


@pytest.mark.parametrize(("function", "message"), WRONG)
async def test_what_cannot_be_told_of_a_function_is_an_error(
    world: World, function: Any, message: str
) -> None:
    with pytest.raises(UsageError) as error:
        bind(world, [function])
    assert message in str(error.value)


# Objects that are sent to a model

SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}


@pytest.mark.parametrize(
    "tool",
    [
        {
            "type": "function",
            "function": {"name": "bash", "description": "D", "parameters": SCHEMA},
        },
        {"type": "function", "name": "bash", "description": "D", "parameters": SCHEMA},
        {"name": "bash", "description": "D", "input_schema": SCHEMA},
        {"name": "bash", "description": "D", "inputSchema": SCHEMA},
    ],
    ids=["chat completions", "responses", "messages", "mcp"],
)
async def test_the_objects_of_model_apis_can_be_bound(world: World, tool: dict[str, Any]) -> None:
    (bound,) = bind(world, [tool])
    assert (bound.spec.name, bound.spec.description) == ("bash", "D")
    assert bound.spec.input_schema == SCHEMA
    assert await bound({"command": "echo hi"}) == "hi\n"


async def test_what_a_provider_runs_itself_is_refused(world: World) -> None:
    with pytest.raises(UsageError) as error:
        bind(world, [{"type": "web_search"}])
    assert str(error.value) == (
        "a tool of the type 'web_search' has no name: what a provider runs itself cannot be bound. Leave"
        " it out, or give a function in its place."
    )
    with pytest.raises(UsageError, match="the schema of the tool 'x' is not an object: 'y'"):
        bind(world, [{"name": "x", "input_schema": "y"}])


# Loops of one's own


async def test_tools_as_a_chat_completion_takes_them(world: World) -> None:
    assert openai_tools(bind(world, [bash])) == [
        {
            "type": "function",
            "function": {
                "name": "bash",
                "description": "Runs a command.",
                "parameters": {**SCHEMA, "additionalProperties": False},
            },
        }
    ]


def call(name: str, arguments: str, id: str) -> Any:
    function = SimpleNamespace(name=name, arguments=arguments)
    return SimpleNamespace(id=id, type="function", function=function)


async def test_the_calls_of_a_message_are_answered_in_order(world: World) -> None:
    calls = [
        call("bash", '{"command": "echo a > f"}', "1"),
        call("bash", '{"command": "cat f"}', "2"),
        call("bsh", "{}", "3"),
        call("bash", "", "4"),
    ]
    missing = "Error: 'bash' does not take these arguments: 'command' is a required property."
    assert await openai_answers(bind(world, [bash]), calls) == [
        {"role": "tool", "tool_call_id": "1", "content": ""},
        {"role": "tool", "tool_call_id": "2", "content": "a\n"},
        {
            "role": "tool",
            "tool_call_id": "3",
            "content": "Error: there is no tool 'bsh'. Did you mean 'bash'? There are: bash.",
        },
        {"role": "tool", "tool_call_id": "4", "content": f"{missing} It takes 'command'."},
    ]
    assert await openai_answers(bind(world, [bash]), None) == []


async def test_the_items_of_a_response_are_answered(world: World) -> None:
    items: list[dict[str, Any]] = [
        {"type": "reasoning", "summary": []},
        {
            "type": "function_call",
            "call_id": "1",
            "name": "bash",
            "arguments": '{"command": "pwd"}',
        },
    ]
    assert await openai_answers(bind(world, [bash]), items) == [
        {"type": "function_call_output", "call_id": "1", "output": "/root\n"}
    ]


def test_binding_is_only_loaded_when_it_is_asked_for() -> None:
    code = "import sys, agentworld_sim; print('agentworld_sim.binding' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
    assert isinstance(BoundTool, type)
