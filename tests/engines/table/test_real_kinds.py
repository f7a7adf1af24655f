"""Sessions with tools as public servers list them: texts for results, titles of SDKs, moved records."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from agentworld_sim import Scenario, ToolCall, ToolSpec, World
from agentworld_sim.engines.table import TableEngine
from agentworld_sim.errors import CannotCompute
from agentworld_sim.types.turns import Observation

from .listings import specs

EMPTY = Scenario.model_validate({"name": "real", "domains": ("mcp",)})


async def opened(tools: Sequence[ToolSpec]) -> World:
    world = await World.create(EMPTY, engines=[TableEngine()], seed=4)
    world.add_tools(tools)
    return world


async def said(world: World, name: str, /, **arguments: Any) -> Observation:
    return (await world.step(ToolCall(name, arguments))).observation


async def shown(world: World, name: str, /, **arguments: Any) -> Any:
    observation = await said(world, name, **arguments)
    assert not observation.is_error, observation.text
    return json.loads(observation.text)


async def test_an_output_schema_of_a_text_holds_the_record_as_text() -> None:
    async with await opened(specs("text_results")) as world:
        made = await said(world, "desk_create_issue", project_key="ENG", summary="Lamp is dark")
        assert made.structured == {"result": made.text}
        issue = json.loads(made.text)
        assert issue["summary"] == "Lamp is dark"
        assert issue["key"] == "ENG-1"
        other = await shown(world, "desk_create_issue", project_key="OPS", summary="Heat")
        assert other["key"] == "OPS-1"
        assert await shown(world, "desk_get_issue", issue_key=issue["key"]) == issue
        listed = await shown(world, "desk_get_project_issues", project_key="ENG")
        assert issue in listed


async def test_what_one_product_calls_a_comment_is_not_the_other_ones() -> None:
    async with await opened(specs("text_results")) as world:
        page = await shown(world, "wiki_create_page", space="A", title="Start")
        made = await shown(world, "wiki_add_comment", page_id=page["id"], body="Good")
        assert await shown(world, "wiki_get_comments", page_id=page["id"]) == [made]


async def test_a_moved_record_is_found_where_it_went_and_keys_are_used_once() -> None:
    async with await opened(specs("board")) as world:
        first, second = [(await shown(world, "create_lane", name=one))["id"] for one in "AB"]
        cards = [
            await shown(world, "add_card_to_lane", lane_id=lane, title=f"Card of {lane}")
            for lane in (first, second, first)
        ]
        assert len({card["id"] for card in cards}) == 3
        moved = await shown(world, "move_card", card_id=cards[0]["id"], lane_id=second)
        assert moved == {**cards[0], "lane_id": second}
        assert [one["id"] for one in await shown(world, "get_cards_by_lane_id", lane_id=first)] == [
            cards[2]["id"]
        ]
        assert await shown(world, "get_card", card_id=cards[0]["id"]) == moved


async def test_an_event_writes_the_state_that_it_leads_to() -> None:
    async with await opened(specs("board")) as world:
        lane = (await shown(world, "create_lane", name="A"))["id"]
        card = await shown(world, "add_card_to_lane", lane_id=lane, title="One")
        assert card["state"] == "open"
        closed = await shown(world, "update_card", card_id=card["id"], state_event="close")
        assert closed == {**card, "state": "closed"}
        found = await shown(world, "search_cards", query="one", state="closed")
        assert found == [closed]


@pytest.mark.parametrize(
    "query", ["state:open lamp", '"the very words"', "a OR b", "lam*", "project = ENG"]
)
async def test_a_search_text_with_a_syntax_of_its_own_is_not_taken_for_words(query: str) -> None:
    async with await opened(specs("board")) as world:
        with pytest.raises(CannotCompute, match="may be more than words"):
            await said(world, "search_cards", query=query)


async def test_an_object_of_the_callers_own_fields_keeps_what_an_update_does_not_mention() -> None:
    async with await opened(specs("rows")) as world:
        row = await shown(world, "create_row", base_id="b", fields={"Name": "Lamp", "Price": 4})
        await shown(world, "update_row", base_id="b", row_id=row["id"], fields={"Price": 5})
        read = await shown(world, "get_row", base_id="b", row_id=row["id"])
        assert read["fields"] == {"Name": "Lamp", "Price": 5}


async def test_a_text_called_offset_fetches_the_next_page_and_ends_with_the_last() -> None:
    async with await opened(specs("rows")) as world:
        for number in range(3):
            await shown(world, "create_row", base_id="b", fields={"number": number})
        numbers: list[int] = []
        asked: dict[str, Any] = {}
        for _ in range(3):
            page = await shown(world, "list_rows", base_id="b", max_records=1, **asked)
            numbers += [row["fields"]["number"] for row in page["rows"]]
            asked = {"offset": page["offset"]}
        assert (numbers, asked) == ([0, 1, 2], {"offset": None})


async def test_a_branch_is_found_by_the_name_that_it_was_made_with() -> None:
    async with await opened(specs("board")) as world:
        made = await shown(world, "create_branch", repo="engine", branch="fix", ref="main")
        assert await shown(world, "get_branch", repo="engine", branch_name="fix") == made
        again = await said(world, "create_branch", repo="engine", branch="fix")
        assert (again.is_error, again.text) == (True, "Branch fix already exists")


@pytest.mark.parametrize(
    ("schema", "name", "text"),
    [
        (
            {"title": "get_cardArguments"},
            "get_card",
            "Error executing tool get_card: Card none not found",
        ),
        (
            {"title": "get_cardArguments"},
            "board__get_card",
            "Error executing tool get_card: Card none not found",
        ),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, "get_card", "Card none not found"),
        ({}, "get_card", "Card none not found"),
    ],
)
async def test_an_error_is_told_as_this_kind_of_server_tells_it(
    schema: dict[str, Any], name: str, text: str
) -> None:
    before = name.removesuffix("get_card")
    tools = [
        replace(tool, name=before + tool.name, input_schema={**tool.input_schema, **schema})
        for tool in specs("board")
    ]
    async with await opened(tools) as world:
        error = await said(world, name, card_id="none")
        assert (error.is_error, error.text) == (True, text)
