"""What is wrong with a site is said with its place, before any world is made of it."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from agentworld_sim import Scenario, World
from agentworld_sim.errors import ScenarioError
from agentworld_sim.scenario import restored_scenario, stored_text
from agentworld_sim.scenario.site_file import Site as SiteDefinition, shipped_sites
from agentworld_sim.sites.site_internet import check_sites, first_records, scenario_internet
from agentworld_sim.sites.site_problems import site_problems
from tests.sites.small_site import NOTES, Visitor, scenario_of

Site = dict[str, Any]


def written(folder: Path, change: Callable[[Site], object]) -> Path:
    site = copy.deepcopy(NOTES)
    change(site)
    file = folder / "site.yaml"
    file.write_text(yaml.safe_dump(site, sort_keys=False), "utf-8")
    return file


def route(number: int, **changes: Any) -> Callable[[Site], object]:
    return lambda site: site["routes"][number].update(changes)


INVALID: list[tuple[Callable[[Site], object], str]] = [
    (
        route(0, page="lst.html"),
        "routes[0].page: there is no template 'lst.html'. Did you mean 'list.html'?",
    ),
    (route(0, pgae="x"), "routes[0].pgae: unknown key. Did you mean 'page'?"),
    (route(0, post="/x"), "routes[0]: needs exactly one of `get` and `post`, with its path."),
    (route(0, do="DELETE FROM notes"), "routes[0].get: a GET takes no form and does nothing."),
    (route(3, visit="DELETE FROM notes"), "routes[3].visit: is for a page."),
    (
        route(0, pages={"nots": 2}),
        "routes[0].pages.nots: `rows` has no 'nots'. Did you mean 'notes'?",
    ),
    (route(0, json={}), "routes[0].page: stands beside `go` or `json`. Keep one of them."),
    (
        route(0, rows={"user": "SELECT 1"}),
        "routes[0].rows.user: 'user' has a meaning already. Rename it.",
    ),
    (route(0, get="x?y"), "routes[0].get: found 'x?y'; allowed: a path such as /f/{forum}"),
    (route(3, go=None), "routes[3]: answers nothing. Add `page`, `go` or `json`."),
    (lambda site: site.pop("session"), "signs people in or out, and the site has no `session`."),
    (lambda site: site.update(start="first.txt"), "start: there is no template 'first.txt'."),
    (
        lambda site: site.update(hosts=["Not A Host"]),
        "hosts[0]: found 'Not A Host'; allowed: a host in lower case",
    ),
    (
        lambda site: site["tables"]["notes"]["records"].append({"id": 1}),
        "tables.notes.records[1]: id = 1 names record 0 as well.",
    ),
]


@pytest.mark.parametrize(("change", "message"), INVALID, ids=[message for _, message in INVALID])
def test_a_site_that_is_invalid_is_refused(
    change: Callable[[Site], object], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ScenarioError) as caught:
        SiteDefinition.load(written(tmp_path, change))
    assert message in str(caught.value) and "site.yaml:" in str(caught.value)


WRONG: list[tuple[Callable[[Site], object], str]] = [
    (
        route(0, rows={"notes": "SELECT * FROM nots"}),
        "rows.notes: The statement 'SELECT * FROM nots' cannot be run: no such table: nots. Did you mean 'notes'?",
    ),
    (
        route(0, rows={"notes": "SELECT titel FROM notes"}),
        "no such column: titel. Did you mean 'title'?",
    ),
    (route(0, rows={"notes": "SELECT :nobody"}), "rows.notes: The statement"),
    (
        route(10, get="/user/{user}", page="login.html"),
        "routes[10]: 'user' has a meaning in SQL already.",
    ),
    (
        route(0, rows={"notes": "DELETE FROM notes RETURNING *"}),
        "it writes 'notes', which it does not declare",
    ),
    (
        route(0, rows={"notes": "SELECT * FROM sqlite_schema"}),
        "it reads 'sqlite_master', which it does not declare",
    ),
    (route(7, allow="x = 1"), "routes[7].allow: The statement"),
    (route(5, do=["ATTACH 'x' AS y"]), "routes[5].do[0]: The statement"),
    (route(5, refuse={"No.": "SELECT 1 FROM nowhere"}), "routes[5].refuse.No.: The statement"),
    (
        route(5, go="/nots/{new.id}"),
        "routes[5].go: GET /nots/{…} leads nowhere: no route has that path.",
    ),
    (
        lambda site: site["routes"][5]["form"]["note[again]"].update(matches="note[titel]"),
        "form.note[again].matches: the form has no field 'note[titel]'. Did you mean 'note[title]'?",
    ),
    (
        lambda site: site["templates"].update({"login.html": "{{ usr }}"}),
        "routes[1].page: the template 'login.html' uses 'usr', which nothing gives. Did you mean 'user'?",
    ),
    (
        lambda site: site["templates"].update({"login.html": "{% if %}"}),
        "the template 'login.html', line 1: Expected an expression",
    ),
    (
        lambda site: site["templates"].update({"login.html": "{% extends 'bas.html' %}"}),
        "the template 'bas.html'",
    ),
    (
        lambda site: site["templates"].update({"x.html": "<a href='/nte/{{ user }}/x'>"}),
        "templates.x.html: GET /nte/{…}/x leads nowhere: no route has that path.",
    ),
    (
        lambda site: site["templates"].update({"x.html": '<form method="post" action="/">'}),
        "templates.x.html: POST / leads nowhere",
    ),
]


@pytest.mark.parametrize(("change", "message"), WRONG, ids=[message for _, message in WRONG])
async def test_a_site_that_cannot_work_is_refused_when_a_world_is_made(
    change: Callable[[Site], object], message: str, tmp_path: Path
) -> None:
    written(tmp_path, change)
    text = json.dumps({"name": "s", "domains": ["web"], "sites": [{"file": "site.yaml"}]})
    with pytest.raises(ScenarioError) as caught:
        await World.create(Scenario.parse(text, base_dir=tmp_path))
    assert message in str(caught.value) and "site.yaml:" in str(caught.value)


def test_every_shipped_site_and_the_admin_site_have_no_problem() -> None:
    for name in shipped_sites():
        internet = scenario_internet(scenario_of(name, "admin"))
        assert internet is not None
        assert [problem for one in internet.applications for problem in site_problems(one)] == []
    check_sites(scenario_of({"definition": NOTES}))


def test_a_site_file_with_its_folders_becomes_part_of_the_stored_scenario(tmp_path: Path) -> None:
    site = copy.deepcopy(NOTES)
    (tmp_path / "templates").mkdir()
    (tmp_path / "static").mkdir()
    for name, text in site.pop("templates").items():
        (tmp_path / "templates" / name).write_text(text)
    (tmp_path / "static" / "notes.css").write_text(site.pop("static")["/notes.css"])
    (tmp_path / "notes.yaml").write_text(yaml.safe_dump(site, sort_keys=False))
    text = "name: s\ndomains: [web]\nsites: [{file: notes.yaml}]\n"
    scenario = Scenario.parse(text, base_dir=tmp_path)
    same = Scenario.model_validate(
        {"name": "s", "domains": ("web",), "sites": ({"definition": NOTES},)}
    )
    assert scenario.canonical() == same.canonical()
    restored = restored_scenario(stored_text(scenario))
    assert restored.canonical() == scenario.canonical()
    assert Visitor(restored).get("/").text == Visitor(same).get("/").text


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("[frum]", "there is no site 'frum'. Did you mean 'forum'? Sites: admin, forum, "),
        ("[{site: forum, file: x.yaml}]", "needs exactly one of `site`, `file` and `definition`."),
        ("[{file: none.yaml}]", "none.yaml cannot be read: No such file or directory."),
        ("[{site: forum, tables: [users]}]", "is for the site 'admin' alone. Remove it."),
        ("[forum, forum]", "two sites have a table 'users': forum and forum."),
        ("[forum]\ntables: {users: {key: id}}", "tables.users: the site 'forum' says what it is."),
    ],
)
def test_what_a_scenario_says_wrong_of_sites_is_refused(
    said: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ScenarioError) as caught:
        Scenario.parse(f"name: s\ndomains: [web]\nsites: {said}\n", base_dir=tmp_path)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("sites", "more", "message"),
    [
        (
            ({"site": "admin", "tables": ("nots",)},),
            {},
            "shows the table 'nots', which the scenario does not declare",
        ),
        (
            (
                "forum",
                {
                    "definition": {
                        **NOTES,
                        "tables": {},
                        "routes": [
                            {"get": "/", "page": "login.html"},
                            {"post": "/login", "go": "/"},
                        ],
                        "hosts": ["forum.test"],
                        "templates": {"login.html": ""},
                    }
                },
            ),
            {},
            "two sites answer at 'forum.test'.",
        ),
    ],
)
def test_sites_that_do_not_fit_together_are_refused(
    sites: Any, more: dict[str, Any], message: str
) -> None:
    with pytest.raises(ScenarioError, match=message):
        check_sites(scenario_of(*sites, **more))


def test_records_of_the_start_that_do_not_fit_are_refused() -> None:
    site: Site = {
        **NOTES,
        "start": "s",
        "templates": {**NOTES["templates"], "s": '{"table": "notes", "record": {"id": "x"}}'},
    }
    with pytest.raises(
        ScenarioError, match="notes: a record of 'notes': 'id': 'x' is not of type 'integer'"
    ):
        first_records(scenario_of({"definition": site}))
    site["templates"]["s"] = "no JSON"
    with pytest.raises(Exception, match="the template 's' writes 'no JSON'; a line is"):
        first_records(scenario_of({"definition": site}))


def test_the_seed_says_what_is_in_the_forum() -> None:
    def records(seed: int) -> object:
        return first_records(scenario_of("forum", seed=seed))

    assert records(1) == records(1) != records(2)
