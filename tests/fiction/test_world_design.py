"""Families that a model designs: rows that break a rule are refused one by one, and what is kept needs no model."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from agentworld_sim import Scenario, ToolCall, World
from agentworld_sim.cli import cli
from agentworld_sim.errors import ModelFailure, UnusableReply, UsageError
from agentworld_sim.fiction import fiction_draft
from agentworld_sim.fiction.fiction import Fiction
from agentworld_sim.fiction.model_author import ROUNDS
from agentworld_sim.fiction.recipe import FictionRecipe
from agentworld_sim.fiction.schema_files import family_data, read_family, read_schema
from agentworld_sim.fiction.world_design import design_family
from agentworld_sim.llm.scripted import ErrorReply, ModelRequest, ScriptedModelServer
from agentworld_sim.ports.blocking import off_loop
from tests.fiction.authors import given, scripted_author

FAMILY = {key: one for key, one in family_data("products").items() if key != "name"}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTWORLD_HOME", str(tmp_path / "home"))


ROWS: dict[str, list[dict[str, Any]]] = {
    "countries": [
        {"name": "Velmarria", "region": "North", "population": 4.5, "import_duty": 2.5},
        {"name": "Ostquellia", "region": "South", "population": 60, "import_duty": 0},
    ],
    "makers": [
        {"name": "Tarnwick", "country": "Velmarria", "founded": 1980, "staff": 1200, "listed": 1},
        {"name": "Ubrelle", "country": "Ostquellia", "founded": 2001, "staff": 300, "listed": 0},
    ],
    "products": [
        {"name": "Wickline 3", "maker": "Tarnwick", "category": "kettle", "launched": "2019-03-04",
         "withdrawn": None, "weight": 900, "price": 80.5, "warranty": 24},
    ],
    "shops": [{"name": "Lumhaus", "country": "Velmarria", "opened": 1990, "street": "4 Cask Lane", "returns": 30}],
}  # fmt: skip


def designer(request: ModelRequest, rows: dict[str, Any] = ROWS) -> str:
    """Designs a family like that of products, and writes rows of it."""
    about = given(request)
    return json.dumps({"rows": rows[about["table"]]} if "table" in about else FAMILY)


async def design(reply: Callable[[ModelRequest], Any], **settings: Any) -> Any:
    async with scripted_author(reply, **settings) as (author, server):
        data, refused = await design_family("wares", "Wares", author, lambda: None)
        return data, refused, server.requests


async def test_a_designed_family_has_the_rows_that_were_written_and_draws_the_others() -> None:
    data, refused, _ = await design(designer)
    assert not refused
    fiction = Fiction.generate(FictionRecipe(family="wares"), read_schema(data))
    assert [row["name"] for row in fiction.rows["makers"][:2]] == ["Tarnwick", "Ubrelle"]
    assert fiction.title_of("countries", fiction.rows["makers"][0]["country"]) == "Velmarria"
    assert fiction.rows["products"][0]["maker"] == 1
    assert len(fiction.rows["makers"]) > 10
    assert fiction.broken_rules() == []


WRONG = {
    "a date that is none": ("products", {"launched": "2019-13-40"}, "of the type date"),
    "a range": ("countries", {"population": 4000}, "population <= 140"),
    "a check": ("products", {"withdrawn": "2018-01-01"}, "it is withdrawn after its launch"),
    "a rule of two tables": (
        "products",
        {"maker": "Ubrelle", "launched": "2000-01-01"},
        "launched >=",
    ),
    "a title that nobody has": ("makers", {"country": "Nowhere"}, "has the title 'Nowhere'"),
    "a name that is there": (
        "makers",
        {"name": "Ubrelle"},
        "UNIQUE constraint failed: makers.name",
    ),
    "another category": ("products", {"category": "boat"}, "boat"),
    "a column that is computed": ("products", {"score": 3}, "score"),
}


@pytest.mark.parametrize("wrong", WRONG)
async def test_a_row_that_breaks_a_constraint_is_refused_alone_and_asked_again(wrong: str) -> None:
    table, change, reason = WRONG[wrong]
    good = ROWS[table][-1]
    bad = {**ROWS[table][0], "name": "Zeldrick", **change}
    first = [*ROWS[table], bad]

    def reply(request: ModelRequest) -> str:
        if given(request).get("table") == table:
            return json.dumps({"rows": first if len(request.messages) == 2 else [good | {"name": "Quell"}
                | ({"street": "9 Elm Row"} if table == "shops" else {})]})  # fmt: skip
        return designer(request)

    data, refused, requests = await design(reply)
    told = next(one for one in requests if len(one.messages) == 4)
    assert reason in told.last_user
    assert all(
        one["name"] not in told.last_user for one in ROWS[table] if one["name"] not in bad.values()
    )
    assert not refused
    written = next(one for one in data["tables"] if one["name"] == table)["rows"]
    assert written[-1]["name"] == "Quell"
    assert bad not in written


def stubborn(request: ModelRequest, good: list[Any]) -> str:
    """Writes the same wrong row again and again."""
    bad = {**ROWS["countries"][0], "name": "Zeldria", "population": 9999}
    rows = [*good, bad] if len(request.messages) == 2 else [bad]
    return designer(request, ROWS | {"countries": rows})


async def test_a_row_that_is_never_right_is_left_out() -> None:
    data, refused, _ = await design(partial(stubborn, good=ROWS["countries"]))
    assert data["tables"][0]["rows"] == ROWS["countries"]
    assert ["Zeldria" in one for one in refused] == [True]


async def test_a_table_of_which_no_row_is_right_ends_in_one_error() -> None:
    with pytest.raises(UnusableReply, match=r"no rows of the table 'countries' .*<= 140"):
        await design(partial(stubborn, good=[]))


NEVER = {
    "prose": ("Sure, let me think about wares.", "not the JSON"),
    "a schema without columns": ('{"about": "x", "tables": [{"name": "a"}]}', "required"),
    "rules that contradict": (
        json.dumps(FAMILY | {"rules": [{"says": "none", "table": "makers", "none": "select id from makers"}]}),
        "breaks the rule 'none'",
    ),
    "a query without end": (json.dumps(FAMILY | {"rules": [{"says": "x", "none": "with recursive a(b) as (select 1 union all select b from a) select b from a"}]}), "never end"),
    "a template without end": (json.dumps(FAMILY).replace("{{ value }} g.", "{{ value }"), "cannot be used"),
}  # fmt: skip


def test_a_rule_that_compares_all_with_all_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fiction_draft, "MAX_STEPS", 1)
    rule = {
        "says": "all",
        "none": "select a.id from tests a, tests b, tests c, tests d where a.points + b.points + c.points + d.points < 0",
    }
    schema = read_schema(FAMILY | {"name": "wares", "rules": [rule]})
    with pytest.raises(UsageError, match="rule 'all': interrupted"):
        Fiction.generate(FictionRecipe(family="wares", rows=200), schema)


@pytest.mark.parametrize("never", NEVER)
async def test_a_schema_that_cannot_be_used_ends_in_one_error(never: str) -> None:
    reply, reason = NEVER[never]
    seen: list[ModelRequest] = []

    def says(request: ModelRequest) -> str:
        seen.append(request)
        return reply

    with pytest.raises(UnusableReply, match=reason):
        await design(says)
    assert len(seen) == ROUNDS


async def test_a_server_that_fails_half_way_raises_and_the_design_goes_on_from_there() -> None:
    def fails(request: ModelRequest) -> Any:
        return ErrorReply(500, "out of memory") if request.index == 2 else designer(request)

    with pytest.raises(ModelFailure, match="out of memory"):
        await design(fails)
    _, _, requests = await design(designer)
    assert len(requests) == 3


async def test_a_family_in_a_file_is_a_world_like_any_other_and_needs_no_model(
    tmp_path: Path,
) -> None:
    file, written = tmp_path / "wares.yaml", tmp_path / "wares-2.yaml"
    run = partial(off_loop, brief=False)

    def reply(request: ModelRequest) -> str:
        if "sentences" not in given(request):
            return designer(request)
        return json.dumps(
            {"sentences": [f"As is known: {one}" for one in given(request)["sentences"]]}
        )

    async with ScriptedModelServer(reply) as server:
        model = ["--model-url", server.url]
        arguments = ["fiction", "design", str(file), "--about", "Wares", *model]
        made = await run(lambda: CliRunner().invoke(cli, arguments))
        assert (made.exit_code, made.stdout) == (
            0,
            f"{file}: 6 tables, 6 rows written by the model\n",
        )
        again = await run(lambda: CliRunner().invoke(cli, arguments))
        assert "exists" in again.output
        arguments = ["fiction", "write", str(file), str(written), "--rows", "60", *model]
        wrote = await run(lambda: CliRunner().invoke(cli, arguments))
    assert wrote.exit_code == 0, wrote.output
    assert "; 0 stay as they were" in wrote.stdout
    assert read_family(str(written)).tables == read_family(str(file)).tables
    for family, known in ((file, False), (written, True)):
        scenario = Scenario.model_validate(
            {
                "name": "w",
                "domains": ["search"],
                "tools": ["search"],
                "fiction": {"family": str(family), "rows": 60},
            }
        )
        async with await World.create(scenario, model=False) as world:
            found = await world.step(ToolCall("web_search", {"queries": ["Tarnwick maker"]}))
        assert ("As is known:" in found.observation.text) == known
        assert "Tarnwick" in found.observation.text


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "cannot be read"),
        ("[1, 2]", "no mapping"),
        ("a: [", "is no YAML"),
        ("about: x\ntables: []\nrow: 1", "row"),
    ],
)
def test_a_file_that_is_no_family_is_refused(
    tmp_path: Path, text: str | None, problem: str
) -> None:
    file = tmp_path / "wares.yaml"
    if text is not None:
        file.write_text(text, "utf-8")
    with pytest.raises(UsageError, match=problem):
        read_family(str(file))


def test_a_design_without_a_model_says_what_to_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AGENTWORLD_MODEL_URL", raising=False)
    file = tmp_path / "wares.yaml"
    told = CliRunner().invoke(cli, ["fiction", "design", str(file), "--about", "Wares"])
    assert told.exit_code != 0
    assert isinstance(told.exception, SystemExit | UsageError)
    assert not file.exists()
