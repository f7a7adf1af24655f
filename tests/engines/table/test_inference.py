"""What tools do to records, understood from their listings: a corpus with the plan of each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentworld_sim.engines.table import Argument, Operation, Table, infer, plan_of
from agentworld_sim.types.tools import ToolSpec
from tests.engines.table.listings import LISTINGS, bound, specs, written


@pytest.mark.parametrize("listing", LISTINGS)
def test_a_listing_is_understood_as_written_beside_it(listing: str) -> None:
    assert written(plan_of(specs(listing))) == LISTINGS[listing]["expected"]


@pytest.mark.parametrize("listing", [name for name in LISTINGS if name.startswith("no_")])
def test_what_is_no_store_of_records_binds_to_nothing(listing: str) -> None:
    plan = plan_of(specs(listing))
    assert (dict(plan.operations), dict(plan.tables)) == ({}, {})
    assert set(plan.unbound) == {tool["name"] for tool in LISTINGS[listing]["tools"]}


def test_over_the_corpus_no_tool_is_understood_wrongly() -> None:
    right, wrong, left, rightly_left = 0, list[str](), 0, 0
    for listing, content in LISTINGS.items():
        plan = plan_of(specs(listing))
        expected = content["expected"]["operations"]
        found = written(plan)["operations"]
        for tool in content["tools"]:
            name = tool["name"]
            if name in found:
                right += found[name] == expected.get(name)
                wrong += [name] if found[name] != expected.get(name) else []
            elif name in content["left_to_others"]:
                left += 1
            else:
                rightly_left += 1
    total = sum(len(content["tools"]) for content in LISTINGS.values())
    print(
        f"{total} tools in {len(LISTINGS)} listings: {right} bind right, {len(wrong)} bind wrong,"
        f" {left} that work on records are left to others, {rightly_left} rightly do not bind"
    )
    assert wrong == []
    assert right >= 90


@pytest.mark.parametrize("listing", LISTINGS)
def test_every_tool_has_a_reason_for_what_it_is_taken_for(listing: str) -> None:
    plan = plan_of(specs(listing))
    for tool in specs(listing):
        operation = plan.operations.get(tool.name)
        assert plan.unbound.get(tool.name) if operation is None else operation.reasons


@pytest.mark.parametrize("listing", LISTINGS)
def test_bound_tools_are_understood_as_they_were_when_they_were_bound(listing: str) -> None:
    tools = specs(listing)
    plan = plan_of(tools)
    together = plan_of(bound(tools, plan))
    alone = plan_of([tool for tool in bound(tools, plan) if tool.binds_to is not None])
    for again in (together, alone):
        assert (again.operations, again.tables) == (plan.operations, plan.tables)


def test_two_servers_keep_their_records_apart() -> None:
    tools = [
        replace(tool, name=f"{server}__{tool.name}")
        for server in ("one", "other")
        for tool in specs("tickets")
    ]
    plan = plan_of(tools)
    assert list(plan.tables) == [
        "one__ticket_comments",
        "one__tickets",
        "other__ticket_comments",
        "other__tickets",
    ]
    assert plan.operations["one__create_ticket"].table == "one__tickets"
    assert plan.tables["other__ticket_comments"].parents == {"ticket_id": "other__tickets.id"}


def test_tools_that_another_engine_has_are_left_aside() -> None:
    tools = [replace(tool, binds_to="known/thing") for tool in specs("todo")]
    assert plan_of(tools).operations == {}
    assert plan_of([replace(tool, domain=None) for tool in specs("todo")]).operations == {}
    imagined = [replace(tool, binds_to="model/mcp") for tool in specs("todo")]
    assert plan_of(imagined).operations == {}


def test_one_tool_alone_is_a_guess_that_a_listing_may_bear_out() -> None:
    tool = specs("crm")[0]
    guess = infer(tool)
    assert guess is not None
    assert (guess.does, guess.table, guess.arguments["email"]) == (
        "create",
        "contacts",
        Argument("field", "email"),
    )
    assert plan_of([tool]).operations == {}
    assert plan_of([tool]).unbound == {
        "createContact": "no other tool shows contacts, so it may be no table at all"
    }
    assert infer(ToolSpec(name="get_weather", domain="mcp")) is None


def test_a_tool_that_says_it_only_reads_never_writes() -> None:
    tools = [
        replace(tool, annotations={"readOnlyHint": True}) if tool.name == "delete_todo" else tool
        for tool in specs("todo")
    ]
    plan = plan_of(tools)
    assert plan.unbound["delete_todo"] == (
        "'delete' in the name writes, and its annotations say that it only reads"
    )


def test_what_a_scenario_says_of_a_tool_wins_argument_by_argument() -> None:
    said = Operation(
        tool="search_issues",
        does="search",
        table="issues",
        arguments={"q": Argument("text")},
        reasons=("the scenario says so",),
    )
    plan = plan_of(specs("issue_tracker"), operations={"search_issues": said})
    assert plan.operations["search_issues"] == replace(
        said,
        arguments={
            "q": Argument("text"),
            "page": Argument("page", first=1),
            "per_page": Argument("limit"),
        },
    )
    assert "search_issues" not in plan.unbound


def test_a_key_of_a_scenario_without_a_field_is_the_key_of_its_table() -> None:
    name = {"type": "object", "properties": {"todo_id": {"type": "string"}}}
    odd = ToolSpec(name="escalate", input_schema=name, domain="mcp")
    said = Operation(
        tool="escalate",
        does="update",
        table="todos",
        arguments={"todo_id": Argument("key", field="todo_id")},
    )
    plan = plan_of([*specs("todo"), odd], operations={"escalate": said})
    [key] = plan.tables["todos"].key
    assert key != "todo_id"
    assert plan.operations["escalate"].arguments["todo_id"].field == key


def test_what_a_scenario_says_of_a_table_wins_field_by_field() -> None:
    records = ({"owner": "ada", "repo": "engine", "number": 7, "title": "A"},)
    said = Table(name="issues", key=("id",), records=records, generate=0, fields={"id": {}})
    inferred = plan_of(specs("issue_tracker")).tables["issues"]
    plan = plan_of(specs("issue_tracker"), tables={"issues": said})
    assert plan.tables["issues"] == replace(
        inferred, key=("id",), records=records, generate=0, fields={**inferred.fields, "id": {}}
    )
    silent = Table(name="issues", generate=3)
    plan = plan_of(specs("issue_tracker"), tables={"issues": silent})
    assert plan.tables["issues"] == replace(inferred, generate=3)


def test_a_binding_that_is_asked_for_says_what_an_odd_name_does() -> None:
    odd = ToolSpec(
        name="whos_there",
        input_schema={"type": "object", "properties": {"limit": {"type": "integer"}}},
        domain="mcp",
        binds_to="table/list:contacts",
    )
    plan = plan_of([*specs("crm"), odd])
    operation = plan.operations["whos_there"]
    assert (operation.does, operation.table) == ("list", "contacts")
    assert operation.arguments == {"limit": Argument("limit")}


def test_a_key_that_a_scenario_names_takes_the_place_of_a_guessed_one() -> None:
    def tool(name: str, field: str) -> ToolSpec:
        schema = {"type": "object", "properties": {field: {"type": "string"}}, "required": [field]}
        return ToolSpec(name=name, input_schema=schema, domain="mcp")

    tools = [tool("create_order", "article"), tool("get_order", "order_id")]
    assert plan_of(tools).tables["orders"].key == ("id",)
    plan = plan_of(tools, tables={"orders": Table(name="orders", key=("order_id",))})
    assert plan.tables["orders"].key == ("order_id",)
    assert "id" not in (*plan.tables["orders"].fields, *plan.tables["orders"].required)
    assert plan.operations["get_order"].arguments["order_id"].field == "order_id"
