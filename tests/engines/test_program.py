"""Programs in place of imagined tools: what a program may do, what it is given, and what becomes of one that fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentworld_sim import ToolCall, ToolSpec, World
from agentworld_sim.assembly import PROGRAMS_VARIABLE
from agentworld_sim.engines.program import CompiledEngine, Program, load_programs, write_programs
from agentworld_sim.engines.sandbox import ProgramFailure, run_program
from agentworld_sim.engines.table import TableEngine
from agentworld_sim.errors import CannotCompute, UsageError
from agentworld_sim.imagination import WorldModel
from agentworld_sim.llm.scripted import ScriptedModelServer
from agentworld_sim.llm.settings import ModelSettings
from agentworld_sim.scenario import Scenario
from agentworld_sim.testing import check_engine

SCHEMA = {"type": "object", "properties": {"order_id": {"type": "string"}}}
TOOLS = [ToolSpec(name=name, input_schema=SCHEMA) for name in ("close_order", "open_order")]
CLOSE = """
def answer(arguments, tables, now, seed):
    order = tables["orders"].get(arguments["order_id"])
    if order is None:
        return {"error": "no order " + arguments["order_id"]}
    if order["status"] == "lost":
        raise NotImplementedError("lost orders")
    order = {**order, "status": "closed"}
    return {"value": order, "operations": [{"kind": "put", "table": "orders", "record": order}]}
"""
OPEN = """
import random

def answer(arguments, tables, now, seed):
    order = {"order_id": str(random.Random(seed).randint(1000, 9999)), "status": "open since " + now}
    return {"value": order, "operations": [{"kind": "put", "table": "orders", "record": order}]}
"""
SHOP = Scenario.model_validate(
    {
        "name": "shop",
        "domains": ["mcp"],
        "tools": [],
        "tables": {
            "orders": {
                "key": ["order_id"],
                "records": [
                    {"order_id": "4711", "status": "open"},
                    {"order_id": "13", "status": "lost"},
                ],
            }
        },
    }
)


def program(code: str, *kinds: str) -> Program:
    usual = ["dict order_id status", "failure no order"]
    return Program(
        input_schema=SCHEMA, output_schema=None, code=code, kinds=[*kinds] or usual, held_out=8
    )


PROGRAMS = {"close_order": program(CLOSE), "open_order": program(OPEN)}


def engine() -> CompiledEngine:
    return CompiledEngine(PROGRAMS, TableEngine(tables=SHOP.table_options()["tables"]))


def run(body: str, tables: Any = None, **limits: float) -> Any:
    code = "def answer(arguments, tables, now, seed):\n    " + body
    clock_us = 1_700_000_000_000_000
    return run_program(code, {"a": 1}, tables or {}, clock_us=clock_us, seed=7, **limits)


@pytest.mark.parametrize(
    "body",
    [
        "open('/etc/passwd').read()",
        "open('/tmp/found', 'w').write('x')",
        "import os; return {'value': os.environ['PATH']}",
        "import os; os.listdir('/')",
        "import socket",
        "import subprocess",
        "import agentworld_sim",
        "__import__('os')",
        "return {'value': ().__class__.__mro__[1].__subclasses__()}",
        "import os; return {'value': len(os.urandom(4))}",
    ],
)
def test_a_program_reaches_nothing_of_the_machine(body: str) -> None:
    with pytest.raises(ProgramFailure):
        run(body)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("while True: pass", "TimeoutError"),
        ("return {'text': 'x' * 10**10}", "MemoryError"),
        ("return answer(arguments, tables, now, seed)", "RecursionError"),
        ("print('x' * 20_000_000)", "MemoryError"),
        ("return {'text': 'x' * 2_000_000}", "more than 1,000,000 characters"),
        ("x = []\n    for _ in range(9999): x = [x]\n    return {'value': x}", "RecursionError"),
    ],
)
def test_a_program_that_grows_or_never_ends_is_ended(body: str, why: str) -> None:
    with pytest.raises(ProgramFailure, match=why):
        run(body, **({"seconds": 0.3} if why == "TimeoutError" else {}))
    assert run("return {'text': 'next'}") == ({"text": "next"}, [])


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("return 5", "not an object"),
        ("return {}", "keys none"),
        ("return {'text': 'a', 'value': 1}", "one of text, value and error"),
        ("return {'text': 5}", "are strings"),
        ("return {'value': float('nan')}", "NaN is no JSON"),
        ("return {'value': {1, 2}}", "not JSON serializable"),
        ("return {'text': '', 'operations': [{'kind': 'drop'}]}", "not of the form"),
        ("return {'text': arguments", "SyntaxError|expected|unexpected"),
    ],
)
def test_an_answer_of_another_form_is_none(body: str, why: str) -> None:
    with pytest.raises(ProgramFailure, match=why):
        run(body)


def test_time_and_chance_come_from_the_world_alone() -> None:
    body = """
    import datetime, random, time
    drawn = [random.random(), random.Random(seed).random(), hash("a"), str(set("abcdef"))]
    return {"value": [now, str(datetime.datetime.now()), time.time(), time.process_time(), *drawn]}"""
    first = run(body)
    assert run(body) == first
    assert first[0]["value"][:4] == [
        "2023-11-14T22:13:20+00:00",
        "2023-11-14 22:13:20",
        1_700_000_000.0,
        0.0,
    ]


def test_nothing_is_left_from_one_call_to_the_next() -> None:
    code = """
found = []

def answer(arguments, tables, now, seed):
    found.append(1)
    return {"value": len(found)}
"""
    for _ in range(2):
        assert run_program(code, {}, {}, clock_us=0, seed=0) == ({"value": 1}, [])


async def test_the_engine_keeps_the_rules_of_engines() -> None:
    calls = [
        ToolCall("open_order", {}),
        ToolCall("close_order", {"order_id": "4711"}),
        ToolCall("close_order", {"order_id": "1"}),
    ]
    await check_engine(engine(), TOOLS, calls, scenario=SHOP)


async def test_a_program_reads_and_changes_the_records_of_the_world_and_a_fork_has_its_own() -> (
    None
):
    async with await World.create(SHOP, engines=[engine()], seed=3) as world:
        world.add_tools(TOOLS)
        fork = await world.fork(seed=4)
        turns = [await one.step(ToolCall("open_order", {})) for one in (world, world, fork)]
        numbers = [json.loads(turn.observation.text)["order_id"] for turn in turns]
        assert len(set(numbers)) == 3
        assert {turn.observation.provenance for turn in turns} == {"computed"}
        said = await world.step(ToolCall("close_order", {"order_id": numbers[1]}))
        assert json.loads(said.observation.text)["status"] == "closed"
        missing = await fork.step(ToolCall("close_order", {"order_id": numbers[1]}))
        assert (missing.observation.is_error, missing.observation.text) == (
            True,
            f"no order {numbers[1]}",
        )
        await fork.close()


async def test_a_call_that_the_program_does_not_answer_is_asked_of_the_model_and_the_record_says_so() -> (
    None
):
    said = '{"result": "It is lost.", "operations": []}'
    reply = f"<predicted_observation>\n{said}\n</predicted_observation>"
    async with ScriptedModelServer(lambda request: reply) as server:
        model = WorldModel(ModelSettings(url=server.url, thinking=False))
        tables = TableEngine(tables=SHOP.table_options()["tables"])
        asking = CompiledEngine(PROGRAMS, tables, model.imaginer())
        async with await World.create(SHOP, engines=[asking]) as world:
            world.add_tools(TOOLS)
            turn = await world.step(ToolCall("close_order", {"order_id": "13"}))
        await model.close()
    assert (turn.observation.text, turn.observation.provenance) == ("It is lost.", "imagined")
    assert "the program failed: NotImplementedError: lost orders" in turn.exchanges[-1].about


async def test_without_a_model_such_a_call_is_refused_and_nothing_changes() -> None:
    async with await World.create(SHOP, engines=[engine()]) as world:
        world.add_tools(TOOLS)
        before = world.ref
        with pytest.raises(CannotCompute, match=r"'close_order' gave no answer.*lost orders"):
            await world.step(ToolCall("close_order", {"order_id": "13"}))
        assert world.ref == before


async def test_an_outcome_that_no_recording_had_is_a_guess_and_no_answer() -> None:
    guessing = program(CLOSE, "dict order_id status")
    tables = TableEngine(tables=SHOP.table_options()["tables"])
    async with await World.create(
        SHOP, engines=[CompiledEngine({"close_order": guessing}, tables)]
    ) as world:
        world.add_tools(TOOLS[:1])
        with pytest.raises(CannotCompute, match="no recording came out like 'no order 1'"):
            await world.step(ToolCall("close_order", {"order_id": "1"}))


def test_a_tool_of_another_version_is_refused_by_name() -> None:
    other = ToolSpec(name="close_order", input_schema={"type": "object"})
    with pytest.raises(
        UsageError, match="'close_order' was accepted for a tool with another input"
    ):
        engine().bind(other)


async def test_a_file_of_programs_named_in_the_environment_answers_in_every_world(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "programs.json"
    write_programs(path, PROGRAMS)
    assert load_programs(path) == PROGRAMS
    monkeypatch.setenv(PROGRAMS_VARIABLE, str(path))
    async with await World.create(SHOP, model=False) as world:
        world.add_tools(TOOLS)
        turn = await world.step(ToolCall("close_order", {"order_id": "4711"}))
    assert json.loads(turn.observation.text) == {"order_id": "4711", "status": "closed"}


@pytest.mark.parametrize("text", ["", "[]", '{"a": {"code": 1}}'])
def test_a_file_that_holds_no_programs_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "programs.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"programs\.json' holds no programs"):
        load_programs(path)
    with pytest.raises(UsageError, match="holds no programs"):
        load_programs(tmp_path / "none.json")


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pydantic_monty", None)
    with pytest.raises(UsageError, match=r"agentworld-sim\[compiled\]"):
        run("return {'text': ''}")
