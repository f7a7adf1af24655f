"""What each kind of operation answers."""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

import pytest

from agentworld_sim import Scenario, ToolCall, ToolSpec, World
from agentworld_sim.engines.table import Argument, Operation, Output, Plan, Table
from agentworld_sim.errors import CannotCompute, UsageError
from agentworld_sim.ports import ImaginedValue, Question, StepContext
from agentworld_sim.types.turns import Observation

from .desk import TEXT, WHOLE, PlannedEngine, opened, planned, said, shown, takes

EMPTY = planned()
T = TypeVar("T")


async def test_what_was_created_is_found_with_its_times() -> None:
    async with await opened(EMPTY) as world:
        made = await shown(world, "create_ticket", team="red", title="one", tags=["ui"])
        assert made == {
            "id": 1,
            "team": "red",
            "title": "one",
            "state": "open",
            "points": 1,
            "tags": ["ui"],
            "created_at": "2026-03-02T09:00:00Z",
            "updated_at": "2026-03-02T09:00:00Z",
        }
        assert await shown(world, "get_ticket", team="red", id=1) == made


async def test_only_what_is_given_changes_and_the_time_of_the_change() -> None:
    async with await opened(EMPTY) as world:
        made = await shown(world, "create_ticket", team="red", title="one", body="long")
        changed = await shown(world, "update_ticket", team="red", id=1, title="two")
        assert changed == {**made, "title": "two", "updated_at": "2026-03-02T09:00:01Z"}
        gone = await shown(world, "update_ticket", team="red", id=1, body=None)
        assert gone["body"] is None


async def test_a_number_is_never_given_out_twice() -> None:
    async with await opened(EMPTY) as world:
        for title in ("one", "two"):
            await shown(world, "create_ticket", team="red", title=title)
        done = await shown(world, "delete_tickets", team="red", ids=[2])
        assert done == {"success": True, "message": "1 ticket deleted"}
        assert (await shown(world, "create_ticket", team="red", title="three"))["id"] == 3
        assert (await shown(world, "create_ticket", team="blue", title="first"))["id"] == 1


async def test_a_record_that_is_gone_is_an_error_of_the_tool() -> None:
    async with await opened(EMPTY) as world:
        await shown(world, "create_ticket", team="red", title="one")
        await shown(world, "delete_tickets", team="red", ids=[1])
        missing = Observation(text="Ticket 1 not found", is_error=True)
        assert await said(world, "get_ticket", team="red", id=1) == missing
        assert await said(world, "update_ticket", team="red", id=1, title="x") == missing
        assert await said(world, "delete_tickets", team="red", ids=[1]) == missing


async def test_a_call_about_several_does_all_or_nothing() -> None:
    async with await opened(EMPTY) as world:
        for title in ("one", "two"):
            await shown(world, "create_ticket", team="red", title=title)
        answer = await said(world, "delete_tickets", team="red", ids=[1, 9, 2])
        assert answer == Observation(text="Ticket 9 not found", is_error=True)
        assert await shown(world, "count_tickets") == {"count": 2}
        assert (await world.trajectory()).turns[-2].change.values == {}


async def test_a_name_that_is_taken_is_an_error_of_the_tool() -> None:
    async with await opened(EMPTY) as world:
        added = await said(world, "add_user", login="ada", name="Ada")
        value = json.loads(added.text)
        assert (value["login"], value["name"]) == ("ada", "Ada")
        again = await said(world, "add_user", login="ada", name="Another")
        assert again == Observation(text="User ada already exists", is_error=True)
        saved = await shown(world, "save_user", login="ada", name="Ada L.")
        assert saved == {"login": "ada", "name": "Ada L.", "email": value["email"]}


async def test_conditions_and_changes_of_the_scenario_hold_over_many_calls() -> None:
    async with await opened(EMPTY) as world:
        await shown(world, "create_ticket", team="red", title="one", points=5)
        for by in (3, -4, -2, 7):
            await shown(world, "score_ticket", team="red", id=1, by=by)
        assert (await shown(world, "get_ticket", team="red", id=1))["points"] == 9
        refused = await said(world, "score_ticket", team="red", id=1, by=-10)
        assert refused == Observation(text="Ticket 1 has only 9 points", is_error=True)
        await shown(world, "close_ticket", team="red", id=1)
        assert (await said(world, "close_ticket", team="red", id=1)).text == "Ticket 1 is closed"


async def test_pages_and_their_cursors() -> None:
    async with await opened(EMPTY) as world:
        for number in range(7):
            await shown(world, "create_ticket", team="red", title=f"t{number}")
        first = await shown(world, "list_tickets", team="red", sort="title", direction="desc")
        assert [one["title"] for one in first["items"]] == ["t6", "t5", "t4"]
        assert (first["total"], first["has_more"]) == (7, True)
        order = {"team": "red", "sort": "title", "direction": "desc"}
        second = await shown(world, "list_tickets", **order, cursor=first["next"])
        last = await shown(world, "list_tickets", **order, cursor=second["next"])
        assert [one["title"] for one in second["items"]] == ["t3", "t2", "t1"]
        assert [one["title"] for one in last["items"]] == ["t0"]
        assert "next" not in last and not last["has_more"]


@pytest.mark.parametrize("cursor", ["x", "MTA6YWJj", "é", "=", "MzA", "'; DROP TABLE t0"])
async def test_a_cursor_that_was_never_given_out_is_an_error(cursor: str) -> None:
    async with await opened(EMPTY) as world:
        answer = await said(world, "list_tickets", team="red", cursor=cursor)
        assert answer == Observation(text=f"Invalid cursor: {cursor}", is_error=True)


async def test_a_cursor_of_another_list_is_an_error() -> None:
    async with await opened(EMPTY) as world:
        for team in ("red", "blue"):
            for number in range(4):
                await shown(world, "create_ticket", team=team, title=f"t{number}")
        cursor = (await shown(world, "list_tickets", team="red"))["next"]
        assert (await said(world, "list_tickets", team="blue", cursor=cursor)).is_error
        assert not (await said(world, "list_tickets", team="red", limit=1, cursor=cursor)).is_error


async def test_an_order_that_makes_no_sense_is_an_error() -> None:
    async with await opened(EMPTY) as world:
        answer = await said(world, "list_tickets", team="red", sort="no; DROP TABLE t0")
        assert answer == Observation(text="Invalid sort: no; DROP TABLE t0", is_error=True)
        created = await shown(world, "list_tickets", team="red", sort="-created")
        assert created["items"] == []


async def test_text_beside_structured_content_is_as_the_sdk_writes_it() -> None:
    async with await opened(EMPTY) as world:
        answer = await said(world, "create_ticket", team="rouge", title="naïve ✓")
        assert answer.text == json.dumps(answer.structured, ensure_ascii=False, indent=2)
        listed = await said(world, "search_tickets", query="NAÏVE")
        assert listed.structured is None
        assert [one["title"] for one in json.loads(listed.text)] == ["naïve ✓"]


async def test_an_argument_that_nobody_understands_is_named_and_changes_nothing() -> None:
    async with await opened(EMPTY) as world:
        before = world.ref
        with pytest.raises(CannotCompute, match=r"argument 'near'.*Nothing was changed"):
            await world.step(ToolCall("list_tickets", {"team": "red", "near": "here"}))
        assert world.ref == before
        assert (await shown(world, "list_tickets", team="red"))["total"] == 0


class Imagines:
    """Implements `Imaginer`: imagines the same answer to everything."""

    async def ask(self, question: Question[T], context: StepContext) -> ImaginedValue[T]:
        answer: dict[str, Any] = {
            "text": "No ticket numbered 5 here, 404 not found",
            "is_error": True,
        }
        if question.key.name == "list_tickets":
            record = {"id": 40, "team": "red", "title": "imagined", "state": "open", "points": 1}
            answer = {
                "text": "{}",
                "structured": {"items": [], "total": 0, "has_more": False},
                "changes": {
                    'tables/tickets/"red",40': {"n": 40, "record": record},
                    "tables/tickets": {"begun": True},
                },
            }
        return ImaginedValue(question.load(answer), "imagined")


async def test_what_cannot_be_computed_is_imagined_and_its_writes_are_seen() -> None:
    async with await opened(EMPTY, imaginer=Imagines()) as world:
        await shown(world, "create_ticket", team="red", title="one")
        answer = await said(world, "list_tickets", team="red", near="here")
        assert answer.provenance == "imagined"
        found = await shown(world, "get_ticket", team="red", id=40)
        assert found["title"] == "imagined"
        assert (await shown(world, "create_ticket", team="red", title="next"))["id"] == 41


async def test_records_are_made_up_beside_those_of_the_scenario_where_it_asks_for_them() -> None:
    ada = ({"login": "ada"},)
    async with await opened(planned(records={"users": ada}, generate=2)) as world:
        text = (await said(world, "list_users")).text
    logins = re.findall(r'"login": *"([^"]+)"', text)
    assert (logins[0], len(set(logins))) == ("ada", 3)


async def test_two_first_records_of_one_key_are_the_scenarios_mistake() -> None:
    twice = ({"login": "ada"}, {"login": "ada"})
    async with await opened(planned(records={"users": twice})) as world:
        with pytest.raises(
            UsageError, match="'users' begins with two records whose key is \"ada\""
        ):
            await world.step(ToolCall("list_users", {}))


async def test_a_table_begins_the_same_whichever_tool_touches_it_first() -> None:
    plan = planned(generate=None)
    states: list[dict[str, Any]] = []
    for name, arguments in (
        ("search_tickets", {"query": "x"}),
        ("get_ticket", {"team": "no", "id": 1}),
        ("count_tickets", {}),
    ):
        async with await opened(plan, seed=4) as world:
            await world.step(ToolCall(name, arguments))
            values = (await world.state()).values
            states.append({key: one for key, one in values.items() if key.startswith("tables/")})
    assert states[0] == states[1] == states[2]
    assert len(states[0]) == 6


DOCUMENTS = Table(
    name="documents",
    key=("path",),
    scope=("folder",),
    parents={"folder": "folders.name"},
    fields={"path": TEXT, "folder": TEXT, "text": TEXT, "words": WHOLE},
    generated_key=False,
)
FOLDERS = Table(name="folders", key=("name",), fields={"name": TEXT}, generated_key=False)
_FOLDER, _PATH = Argument("scope", "folder"), Argument("key", "path")
DOCUMENT_PLAN = Plan(
    operations={
        one.tool: one
        for one in (
            Operation(
                tool="add_folder",
                does="create",
                table="folders",
                arguments={"name": Argument("key", "name")},
            ),
            Operation(
                tool="add_documents",
                does="create",
                table="documents",
                arguments={
                    "folder": _FOLDER,
                    "documents": Argument("records", fields={"body": "text"}),
                },
                output=Output(records="added", count="count", message="message"),
            ),
            Operation(
                tool="rename_document",
                does="update",
                table="documents",
                arguments={"path": _PATH, "patch": Argument("records")},
            ),
            Operation(
                tool="drop_documents",
                does="delete",
                table="documents",
                arguments={"documents": Argument("records")},
                output=Output(fixed={"ok": True}, arguments={"asked": "documents"}),
            ),
            Operation(
                tool="list_paths",
                does="list",
                table="documents",
                arguments={
                    "folder": _FOLDER,
                    "fields": Argument("projection"),
                    "page": Argument("page", first=1),
                    "size": Argument("limit"),
                },
                output=Output(values="path"),
            ),
            Operation(
                tool="show_documents",
                does="list",
                table="documents",
                arguments={"fields": Argument("projection")},
                output=Output(records="documents"),
            ),
        )
    },
    tables={"documents": DOCUMENTS, "folders": FOLDERS},
)
DOCUMENT_TOOLS = (
    ToolSpec(name="add_folder", domain="mcp", input_schema=takes("name", name=TEXT)),
    ToolSpec(
        name="add_documents",
        domain="mcp",
        input_schema=takes(folder=TEXT, documents={"type": "array"}),
    ),
    ToolSpec(
        name="rename_document",
        domain="mcp",
        input_schema=takes(path=TEXT, patch={"type": "object"}),
    ),
    ToolSpec(name="drop_documents", domain="mcp", input_schema=takes(documents={"type": "array"})),
    ToolSpec(
        name="list_paths",
        domain="mcp",
        input_schema=takes(folder=TEXT, fields=TEXT, page=WHOLE, size=WHOLE),
    ),
    ToolSpec(name="show_documents", domain="mcp", input_schema=takes(fields={"type": "array"})),
)


async def documents() -> World:
    scenario = Scenario.model_validate({"name": "documents", "domains": ("mcp",)})
    plan = planned(plan=DOCUMENT_PLAN)
    world = await World.create(scenario, engines=[PlannedEngine(plan)])
    world.add_tools(DOCUMENT_TOOLS)
    return world


async def test_whole_records_come_in_lists_and_leave_in_lists() -> None:
    async with await documents() as world:
        await said(world, "add_folder", name="notes")
        items = [{"path": f"{n}.md", "body": f"text {n}", "words": n} for n in range(5)]
        added = await said(world, "add_documents", folder="notes", documents=items)
        value = json.loads(added.text)
        assert (value["count"], value["message"]) == (5, "5 documents created")
        assert value["added"][0] == {
            "path": "0.md",
            "folder": "notes",
            "text": "text 0",
            "words": 0,
        }
        page = await said(world, "list_paths", folder="notes", page=2, size=2)
        assert json.loads(page.text) == ["2.md", "3.md"]
        assert (await said(world, "list_paths", page=0)).text == "Invalid page: 0"
        gone = await said(world, "drop_documents", documents=["1.md", {"path": "2.md"}])
        assert json.loads(gone.text)["ok"] is True
        left = json.loads((await said(world, "show_documents", fields=["words"])).text)
        assert left == {
            "documents": [{"path": f"{n}.md", "words": n} for n in (0, 3, 4)],
        }


async def test_a_record_may_get_another_key_but_not_a_taken_one() -> None:
    async with await documents() as world:
        await said(world, "add_folder", name="notes")
        items = [{"path": "a"}, {"path": "b"}]
        await said(world, "add_documents", folder="notes", documents=items)
        taken = await said(world, "rename_document", path="a", patch={"path": "b"})
        assert taken == Observation(text="Document b already exists", is_error=True)
        await said(world, "rename_document", path="a", patch={"path": "c"})
        assert json.loads((await said(world, "list_paths", folder="notes")).text) == ["c", "b"]


async def test_nothing_belongs_to_what_is_not_there() -> None:
    async with await documents() as world:
        missing = Observation(text="Folder attic not found", is_error=True)
        items = [{"path": "a"}]
        assert await said(world, "add_documents", folder="attic", documents=items) == missing
        assert await said(world, "list_paths", folder="attic") == missing
