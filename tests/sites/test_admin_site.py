"""The site that is made from the tables of a scenario."""

from __future__ import annotations

from typing import Any

import pytest

from agentworld_sim.relational.layout import records_of_table
from tests.sites.small_site import NOTES, Visitor, scenario_of

PLACES: dict[str, Any] = {
    "key": ["city", "spot/no"],
    "fields": {
        "city": {"type": "string"},
        "spot/no": {"type": "integer"},
        "tags": {"type": "array"},
        "size": {"type": "number"},
        "text": {"type": ["string", "null"]},
    },
    "records": [
        {"city": "A/ö b", "spot/no": 1, "tags": ["x"], "size": 2.5, "text": "<i>"},
        {"city": "B", "spot/no": 2, "tags": [], "size": 1, "text": None},
    ],
}


def admin(**more: Any) -> Visitor:
    found = Visitor(scenario_of("admin", {"definition": NOTES}, **more))
    assert found.host == "admin.test"
    return found


def record(found: Visitor, table: str, number: int = -1) -> Any:
    return records_of_table(found.state.values, table)[number].record


def test_the_front_page_counts_records_and_every_link_of_it_leads_somewhere() -> None:
    import re

    found = admin()
    front = found.get("/").text
    assert '<a href="/people/">people</a></td><td>2</td>' in front
    for link in set(re.findall(r'href="(/[^"]*)"', front)):
        page = found.get(link)
        assert page.status == 200
        for deeper in set(re.findall(r'href="(/[^"]*)"', page.text)):
            assert found.get(deeper).status == 200, deeper


def test_a_record_is_added_changed_and_deleted() -> None:
    found = admin()
    form = {"c_1": "bob", "c_2": "Tea", "c_3": "3", "c_4": "1", "c_5": "plain"}
    assert found.post("/notes/add", form).header("location") == "/notes/"
    expected = {"id": 2, "owner": "bob", "title": "Tea", "pages": 3, "done": True, "kind": "plain"}
    assert record(found, "notes") == expected
    assert "The record was added." in found.get("/notes/").text
    assert 'value="Tea"' in found.get("/notes/2/change").text
    found.post("/notes/2/change", {"c_0": "2", "c_1": "ada", "c_2": "Tea", "c_5": "list"})
    changed = {"owner": "ada", "pages": None, "done": False, "kind": "list"}
    assert record(found, "notes") == {**expected, **changed}
    assert "Are you sure?" in found.get("/notes/2/delete").text
    found.post("/notes/2/delete", {})
    assert record(found, "notes")["id"] == 1 and found.get("/notes/2/change").status == 404


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"c_2": "x" * 41}, "This text is too long."),
        ({"c_3": "many"}, "This is not a number."),
        ({"c_5": "odd"}, "This choice does not exist."),
        ({"c_0": "1", "c_5": "plain"}, "it contradicts what is there"),
        ({"c_3": "1.5", "c_5": "plain"}, "it contradicts what is there"),
    ],
)
def test_what_does_not_fit_the_table_comes_again(form: dict[str, str], message: str) -> None:
    found = admin()
    response = found.post("/notes/add", form)
    assert response.status == 422 and message in response.text
    assert record(found, "notes")["id"] == 1


def test_lists_are_searched_filtered_and_sorted() -> None:
    records = [
        {"id": n, "owner": "ada", "title": f"T{n:02}", "done": n % 2 == 0, "kind": "plain"}
        for n in range(1, 61)
    ]
    found = admin(tables={"notes": {"records": records}})
    assert (
        "<td>T50</td>" in found.get("/notes/").text
        and "<td>T51</td>" not in found.get("/notes/").text
    )
    assert "<td>T51</td>" in found.get("/notes/?page=2").text
    assert found.get("/notes/?q=t07").text.count("<td>T") == 1
    assert found.get("/notes/?c_4=1").text.count("<td>T") == 30
    last_first = found.get("/notes/?o=-c_2").text
    assert last_first.index("T60") < last_first.index("T59")


def test_keys_of_several_fields_and_any_letters_are_addresses() -> None:
    found = admin(tables={"places": PLACES})
    assert "/places/A%2F%C3%B6%20b/1/change" in found.get("/places/").text
    page = found.get("/places/A%2F%C3%B6%20b/1/change").text
    assert "&lt;i&gt;" in page and "[&#34;x&#34;]" in page
    form = {"c_0": "C", "c_1": "1", "c_2": '["y"]', "c_3": "0.5", "c_4": ""}
    assert found.post("/places/A%2F%C3%B6%20b/1/change", form).status == 302
    assert record(found, "places", 0) == {
        "city": "C",
        "spot/no": 1,
        "tags": ["y"],
        "size": 0.5,
        "text": None,
    }


def test_it_shows_the_tables_that_it_is_told_to() -> None:
    said = {"site": "admin", "tables": ("people",), "hosts": ("console.test",)}
    found = Visitor(scenario_of(said, {"definition": NOTES}))
    assert found.host == "console.test"
    assert (found.get("/people/").status, found.get("/notes/").status) == (200, 404)
