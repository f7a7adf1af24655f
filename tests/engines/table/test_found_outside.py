"""What real servers' tools showed to be wrong, in listings of our own words."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest

from agentworld_sim import Scenario, ToolSpec, World
from agentworld_sim.engines.table import plan_of
from agentworld_sim.schema.validate import schema_problem

from .desk import TEXT, takes
from .test_real_kinds import opened, said, shown

ID: Mapping[str, Any] = {"type": "string", "pattern": "^[1-9][0-9]*$", "maxLength": 4}


def tool(
    named: str, /, *required: str, gives: Mapping[str, Any] | None = None, **inputs: Any
) -> ToolSpec:
    schema = takes(*required, **inputs)
    return ToolSpec(name=named, domain="mcp", input_schema=schema, output_schema=gives)


def gives(**properties: Mapping[str, Any]) -> Mapping[str, Any]:
    return takes(*properties, **properties)


LETTER = gives(letter_id=TEXT, subject=TEXT)
LETTERS = (
    tool("create_letter", "subject", subject=TEXT, gives=LETTER),
    tool("get_letter", "letter_id", letter_id=ID, gives=LETTER),
    tool(
        "list_letters",
        subject=TEXT,
        gives=takes(
            "letters",
            "subject",
            letters={"type": "array", "items": LETTER},
            subject={"anyOf": [TEXT, {"type": "null"}]},
        ),
    ),
)

CARDS = (
    tool("create_list", "name", name=TEXT),
    tool("get_lists"),
    tool("get_list", "list_id", list_id=TEXT),
    tool("create_card", "list_id", "title", list_id=TEXT, title=TEXT),
    tool("list_cards", "list_id", list_id=TEXT),
    tool("get_card", "card_id", card_id=TEXT),
    tool("move_card", "card_id", "list_id", card_id=TEXT, list_id=TEXT),
)


async def test_a_made_up_key_is_one_that_the_tools_take() -> None:
    async with await opened(LETTERS) as world:
        made = await shown(world, "create_letter", subject="Rent")
        listed = (await shown(world, "list_letters"))["letters"]
        assert made in listed
        for letter in listed:
            assert schema_problem(ID, letter["letter_id"]) is None
            assert await shown(world, "get_letter", letter_id=letter["letter_id"]) == letter


@pytest.mark.parametrize(
    "schema",
    [
        {"maxLength": 6},
        {"maxLength": 3},
        {"maxLength": 8, "format": "uuid"},
        {"maxLength": 5, "pattern": "^[A-Za-z]+$"},
    ],
)
async def test_keys_are_not_longer_than_they_may_be(schema: Mapping[str, Any]) -> None:
    key = {"type": "string", **schema}
    tools = (
        tool("create_letter", "subject", subject=TEXT),
        tool("get_letter", "letter_id", letter_id=key),
        tool("list_letters"),
    )
    async with await opened(tools) as world:
        made = [(await shown(world, "create_letter", subject="Rent"))["id"] for _ in range(12)]
        listed = [letter["id"] for letter in await shown(world, "list_letters")]
    assert len({*listed}) == len(listed)
    assert {*made} <= {*listed}
    assert all(len(one) <= schema["maxLength"] for one in listed)


async def test_a_filter_that_an_answer_repeats_is_the_calls_own() -> None:
    async with await opened(LETTERS) as world:
        await shown(world, "create_letter", subject="Rent is due")
        found = await shown(world, "list_letters", subject="Rent is due")
        assert [letter["subject"] for letter in found["letters"]] == ["Rent is due"]
        assert found["subject"] == "Rent is due"
        for letter in (await shown(world, "list_letters"))["letters"]:
            one = await shown(world, "list_letters", subject=letter["subject"])
            assert one["subject"] == letter["subject"]
        assert (await shown(world, "list_letters"))["subject"] is None


async def test_a_record_is_not_moved_to_what_is_not_there() -> None:
    async with await opened(CARDS) as world:
        here = (await shown(world, "create_list", name="Now"))["id"]
        there = (await shown(world, "create_list", name="Then"))["id"]
        card = await shown(world, "create_card", list_id=here, title="Paint")
        lost = await said(world, "move_card", card_id=card["id"], list_id="nowhere")
        assert lost.is_error
        assert lost.text == "List nowhere not found"
        assert await shown(world, "list_cards", list_id=here) == [card]
        await shown(world, "move_card", card_id=card["id"], list_id=there)
        assert [one["id"] for one in await shown(world, "list_cards", list_id=there)] == [
            card["id"]
        ]


def test_a_request_that_records_belong_to_is_no_id_of_the_call() -> None:
    rows = {"type": "array", "items": {"type": "object", "properties": {"title": TEXT}}}
    tools = (
        tool("add_tasks_to_request", "requestId", "tasks", requestId=TEXT, tasks=rows),
        tool("get_task", "taskId", taskId=TEXT),
        tool("delete_task", "requestId", "taskId", requestId=TEXT, taskId=TEXT),
    )
    plan = plan_of(tools)
    assert plan.tables["tasks"].scope == ("requestId",)
    assert plan.operations["delete_task"].arguments["requestId"].role == "scope"
    alone = (
        tool("create_task", "title", title=TEXT, requestId=TEXT),
        tool("get_task", "taskId", taskId=TEXT),
        tool("delete_task", "requestId", "taskId", requestId=TEXT, taskId=TEXT),
    )
    assert plan_of(alone).operations["delete_task"].arguments["requestId"].role == "ignored"


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        (r"^\p{L}+$", "héllo", "h1"),
        (r"^(?<year>\d{4})-(?<month>\d\d)$", "2024-01", "2024"),
        (r"^(?=.)(?<quote>[\"']).\k<quote>$", "'a'", "'a\""),
        (r"^(?=\p{L})a", "a", None),
    ],
)
def test_what_javascript_calls_a_pattern_is_one(pattern: str, good: str, bad: str | None) -> None:
    schema = {"type": "string", "pattern": pattern}
    assert schema_problem(schema, good) is None
    if bad is not None:
        assert re.search("does not match", schema_problem(schema, bad) or "")


async def test_a_key_is_made_of_letters_of_any_language() -> None:
    letters = {"type": "string", "pattern": r"^\p{L}{3}\p{N}$"}
    tools = (
        tool("create_letter", "subject", subject=TEXT),
        tool("get_letter", "letter_id", letter_id=letters),
        tool("list_letters"),
    )
    async with await opened(tools) as world:
        made = await shown(world, "create_letter", subject="Rent")
    assert schema_problem(letters, made["id"]) is None, json.dumps(made)


TASKS = (
    tool(
        "create_task",
        "title",
        title=TEXT,
        due=TEXT,
        priority={"type": "integer"},
    ),
    tool("get_task", "task_id", task_id=TEXT),
    tool("list_tasks"),
)


async def test_what_is_made_up_looks_like_what_its_field_is_called() -> None:
    async with await opened(TASKS) as world:
        tasks = await shown(world, "list_tasks")
    assert len(tasks) == 5
    for task in tasks:
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", task["due"])
        assert task["priority"] in range(1, 5)


async def test_a_scenario_begins_all_tables_without_made_up_records() -> None:
    described = {"notes": {"generate": 2}, "*": {"generate": 0}}
    scenario = Scenario.model_validate({"name": "bare", "domains": ("mcp",), "tables": described})
    notes = (
        tool("create_note", "text", text=TEXT),
        tool("get_note", "note_id", note_id=TEXT),
        tool("list_notes"),
    )
    async with await World.create(scenario) as world:
        world.add_tools([*TASKS, *notes])
        assert await shown(world, "list_tasks") == []
        assert len(await shown(world, "list_notes")) == 2


def test_what_is_said_of_all_tables_is_how_they_begin() -> None:
    content = {"name": "bare", "domains": ("mcp",), "tables": {"*": {"key": ["id"]}}}
    with pytest.raises(ValueError, match="it is about all tables and takes `generate` alone"):
        Scenario.model_validate(content)


def test_what_is_scheduled_by_its_key_is_there_already() -> None:
    planned = tool("schedule_task", "id", "due", id=TEXT, due=TEXT)
    operations = plan_of([*TASKS, planned]).operations
    assert operations["schedule_task"].does == "update"
    assert operations["schedule_task"].arguments["due"].role == "field"
    unnamed = tool("schedule_task", "title", "due", title=TEXT, due=TEXT)
    assert plan_of([*TASKS, unnamed]).operations["schedule_task"].does == "create"


def test_what_is_saved_to_a_box_is_no_box() -> None:
    saved = tool("save_to_list", "name", "title", name=TEXT, title=TEXT)
    plan = plan_of([*CARDS, saved])
    assert (
        plan.unbound["save_to_list"] == "'save' in the name, and no word that says what it works on"
    )
    assert plan_of([*TASKS, tool("search_for_tasks", title=TEXT)]).operations["search_for_tasks"]


async def test_a_read_of_several_says_how_many_were_asked_for() -> None:
    batch = tool(
        "get_letters",
        "letter_ids",
        letter_ids={"type": "array", "items": ID},
        gives=gives(
            letters={"type": "array", "items": LETTER},
            requested_count={"type": "integer"},
            retrieved_count={"type": "integer"},
            failed_ids={"type": "array", "items": TEXT},
        ),
    )
    async with await opened([*LETTERS, batch]) as world:
        made = [(await shown(world, "create_letter", subject=one))["letter_id"] for one in "ab"]
        found = await shown(world, "get_letters", letter_ids=made)
    assert (found["requested_count"], found["retrieved_count"]) == (2, 2)
    assert found["failed_ids"] == []
