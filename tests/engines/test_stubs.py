"""Stubs: answers that a test or a scenario gives to tools."""

from __future__ import annotations

from typing import Any

import pytest

from agentworld_sim import (
    AccessRefused,
    EngineFailure,
    FunctionEngine,
    Observation,
    Scenario,
    ScenarioError,
    ToolCall,
    ToolSpec,
    UsageError,
    World,
    bind,
)
from agentworld_sim.controls import Fault


def bash(command: str) -> str: ...
def get_weather(city: str) -> str: ...
def send_email(to: str) -> str: ...
def pay(amount: int) -> str: ...


async def forecast(city: str) -> dict[str, str]:
    return {"city": city, "sky": "clear"}


def rain(city: str) -> str:
    return f"rain in {city}"


def unknown_city(city: str) -> ValueError:
    return ValueError("no such city")


def no_arguments() -> str: ...
def another_function(city: str) -> object:
    return rain


async def answered(value: object, **arguments: Any) -> Observation:
    async with await World.create(answers={"get_weather": value}) as world:
        (tool,) = bind(world, [get_weather])
        return await tool.observe(arguments or {"city": "Oslo"})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("sunny", "sunny"),
        ("", ""),
        ({"sky": "grün"}, '{"sky": "grün"}'),
        (None, "null"),
        (rain, "rain in Oslo"),
        (forecast, '{"city": "Oslo", "sky": "clear"}'),
    ],
)
async def test_texts_values_and_functions_are_answers(value: object, text: str) -> None:
    assert await answered(value) == Observation(text=text, provenance="computed")


@pytest.mark.parametrize("value", [ValueError("no such city"), unknown_city])
async def test_the_tool_fails_with_an_exception(value: object) -> None:
    assert await answered(value) == Observation(text="no such city", is_error=True)
    assert await answered(KeyError) == Observation(text="KeyError", is_error=True)


async def test_structured_content_comes_where_the_tool_promises_it() -> None:
    schema = {"type": "object", "properties": {"sky": {"type": "string"}}, "required": ["sky"]}
    tool = ToolSpec(name="get_weather", output_schema=schema)
    async with await World.create(answers={"get_weather": {"sky": "clear"}}) as world:
        (bound,) = bind(world, [tool])
        assert (await bound.observe()).structured == {"sky": "clear"}
        world.answer("get_weather", "clear")
        with pytest.raises(
            EngineFailure, match="has an output schema, and the answer is not valid"
        ):
            await bound.observe()


async def test_what_a_function_raises_is_no_answer() -> None:
    def broken(city: str) -> str:
        raise RuntimeError("the stub is wrong")

    with pytest.raises(
        EngineFailure, match=r"RuntimeError: the stub is wrong\. To have the tool fail"
    ):
        await answered(broken)
    with pytest.raises(EngineFailure, match="raised TypeError"):
        await answered(no_arguments)
    with pytest.raises(EngineFailure, match="gave another function"):
        await answered(another_function)


async def test_a_stub_wins_over_every_engine_and_stands_beside_them() -> None:
    engine = FunctionEngine({"pay": lambda arguments, values: "paid"})
    async with await World.create(engines=[engine], answers={"pay": "declined"}) as world:
        (tool,) = bind(world, [pay])
        assert await tool({"amount": 3}) == "declined"
    scenario = Scenario.model_validate(
        {"name": "m", "domains": ["terminal"], "routes": {"tools": {"pay": "imagine"}}}
    )
    async with await World.create(scenario, answers={"pay": "declined"}) as world:
        run, paying = bind(world, [bash, pay])
        assert [await run({"command": "echo a > f; cat f"}), await paying({"amount": 3})] == [
            "a\n",
            "declined",
        ]
        assert paying.spec.binds_to == "stub/pay"
        assert await run({"command": "cat f"}) == "a\n"


async def test_controls_and_access_rules_hold_for_stubs() -> None:
    fault = Fault(name="down", tool="pay", error="503", times=1)
    async with await World.create(answers={"pay": "paid"}, controls=[fault]) as world:
        (tool,) = bind(world, [pay])
        assert [await tool({"amount": 1}) for _ in range(2)] == ["503", "paid"]
    async with await World.create(answers={"pay": "paid"}, access={"pay": "refuse"}) as world:
        with pytest.raises(AccessRefused, match="the access rules say so"):
            bind(world, [pay])
        world.add_tools([ToolSpec(name="pay")])
        with pytest.raises(AccessRefused, match="the access rules say so"):
            world.answer("pay", "paid")


async def test_an_answer_can_be_given_and_changed_in_a_running_world() -> None:
    async with await World.create() as world:
        world.answer("send_email", "sent")
        run, send = bind(world, [bash, send_email])
        assert await send({"to": "a"}) == "sent"
        world.answer("bash", "nothing runs")
        world.answer("send_email", TimeoutError("no route to host"))
        assert [await run({"command": "ls"}), await send({"to": "a"})] == [
            "nothing runs",
            "no route to host",
        ]
        async with await world.fork() as fork:
            fork.answer("bash", "in the fork")
            call = ToolCall("bash", {"command": "ls"})
            texts = [(await one.step(call)).observation.text for one in (fork, world)]
            assert texts == ["in the fork", "nothing runs"]
            again = await fork.step(ToolCall("send_email", {"to": "b"}), at=fork.root)
            assert again.observation == Observation(text="no route to host", is_error=True)


async def test_plain_answers_are_part_of_the_scenario_and_functions_by_name() -> None:
    async def root(**answers: object) -> str:
        async with await World.create(answers=answers) as world:
            return world.root

    def other(city: str) -> str: ...

    assert await root(pay="a") == await root(pay="a") != await root(pay="b")
    assert await root(pay=forecast) == await root(pay=forecast) != await root(pay=other)
    assert await root(pay=ValueError("a")) != await root(pay="a")
    assert await root() not in {await root(pay="a"), await root(pay=forecast)}
    async with await World.create() as plain:
        assert await root() == plain.root


async def test_a_reopened_world_has_its_answers_and_is_given_its_functions_again() -> None:
    answers = {"pay": {"paid": True}, "get_weather": forecast}
    async with await World.create(answers=answers) as world:
        async with await World.open(world.id, store=world.store) as again:
            paying, weather = bind(again, [pay, get_weather])
            assert await paying({"amount": 1}) == '{"paid": true}'
            with pytest.raises(AccessRefused) as refused:
                await weather({"city": "Oslo"})
            assert str(refused.value) == (
                f"'get_weather' was answered by the function '{__name__}:forecast' of another process. Give"
                " it again: answers={'get_weather': …}."
            )
        async with await World.open(
            world.id, store=world.store, answers={"get_weather": forecast}
        ) as again:
            (weather,) = bind(again, [get_weather])
            assert await weather({"city": "Oslo"}) == '{"city": "Oslo", "sky": "clear"}'


async def test_what_is_no_answer_and_what_misspells_a_tool_is_an_error() -> None:
    with pytest.raises(UsageError, match="the answer for 'pay' is <object object"):
        await World.create(answers={"pay": object()})
    async with await World.create(answers={"bsh": "x"}) as world:
        (tool,) = bind(world, [bash])
        with pytest.raises(UsageError) as error:
            await tool({"command": "ls"})
        assert str(error.value) == (
            "there is an answer for 'bsh', and no tool of that name. Did you mean 'bash'? If it is another"
            " tool, add that first."
        )
    async with await World.create(answers={"send_emial": "sent"}) as world:
        with pytest.raises(UsageError, match="Did you mean 'bash'"):
            world.answer("bassh", "x")
        with pytest.raises(
            AccessRefused, match=r"no answer for 'send_email'\. Did you mean 'send_emial'"
        ):
            bind(world, [send_email])


def test_a_scenario_gives_answers_as_data() -> None:
    text = "name: m\ndomains: [mcp]\nanswers:\n  pay: paid\n  look: {value: [1]}\n  go: {error: shut}\n"
    answers = Scenario.parse(text).answers
    assert {name: one.data() for name, one in answers.items()} == {
        "pay": {"text": "paid"},
        "look": {"value": [1]},
        "go": {"error": "shut"},
    }
    with pytest.raises(ScenarioError) as error:
        Scenario.parse("name: m\ndomains: [mcp]\nanswers:\n  a: 3\n  b: {text: x, error: y}\n")
    assert (
        str(error.value).count("a text, or a mapping with one of the keys text, value and error")
        == 2
    )
