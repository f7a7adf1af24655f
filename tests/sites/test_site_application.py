"""What a site answers, and what it does to the state."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from agentworld_sim import World
from agentworld_sim.engines.web.requests import WebRequest
from agentworld_sim.relational.layout import records_of_table
from agentworld_sim.sites.site_application import MAX_BODY, noted_requests
from tests.properties import examples
from tests.sites.small_site import NOTES, Visitor, scenario_of


def visitor(**more: Any) -> Visitor:
    return Visitor(scenario_of({"definition": NOTES}, **more))


def ada() -> Visitor:
    found = visitor()
    found.post("/login", {"name": "ada", "password": "engine"})
    return found


def titles(found: Visitor) -> list[str]:
    return [one.record["title"] for one in records_of_table(found.state.values, "notes")]


def test_a_page_shows_rows_and_escapes_what_people_wrote() -> None:
    response = visitor().get("/")
    assert response.status == 200
    assert "<a href='/note/1/milk-b'>Milk &lt;b&gt;</a>" in response.text


def test_a_form_that_fits_is_done_noted_and_leads_to_the_new_record() -> None:
    found = ada()
    response = found.post(
        "/new", {"note[title]": "Über\r\nx", "note[again]": "Über\r\nx", "other": "1"}
    )
    assert (response.status, response.header("location")) == (302, "/note/2/uber-x")
    page = found.get("/note/2/uber-x").text
    assert "<h1>Über\nx</h1>" in page and "Saved; it is new." in page
    assert "Saved" not in found.get("/note/2/uber-x").text
    new = records_of_table(found.state.values, "notes")[-1].record
    assert new == {"id": 2, "owner": "ada", "title": "Über\nx", "done": False, "kind": "plain"}
    assert [one.record["what"] for one in records_of_table(found.state.values, "events")] == [
        "made"
    ]
    noted = noted_requests(found.state.values, "notes")
    (made,) = [one for one in noted if one["url"] == "http://notes.test/new"]
    fields = [["note[title]", "Über\nx"], ["note[again]", "Über\nx"]]
    assert (made["fields"], made["status"], made["user"]) == (fields, 302, "ada")


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("note[title]", " ", "This field is required."),
        ("note[title]", "x" * 41, "This text is too long. It has at most 40 characters."),
        ("note[title]", "MILK <b>", "This is used already."),
        ("note[pages]", "nan", "This is not a number."),
        ("note[pages]", "0", "This must be 1 or more."),
        ("note[pages]", "1e3", "This must be 9 or less."),
        ("note[kind]", "round", "This choice does not exist."),
        ("note[again]", "other", "The two do not match."),
        ("note[code]", "A1", "Small letters only."),
    ],
)
def test_a_form_that_does_not_fit_comes_again_with_the_reason(
    field: str, value: str, message: str
) -> None:
    found = ada()
    before = found.state
    response = found.post("/new", {"note[title]": "Tea", field: value})
    assert (response.status, found.state) == (422, before)
    assert f"{field}: {message}" in response.text


def test_programs_are_told_what_is_wrong_with_a_form_as_json() -> None:
    response = ada().post("/new", {"note[title]": ""}, accept="application/json")
    assert (response.status, response.text) == (422, '{"error": "This field is required."}')


def test_sessions_say_who_is_there() -> None:
    found = visitor()
    assert found.get("/new").header("location") == "/login"
    refused = found.post("/login", {"name": "ada", "password": "x"})
    assert refused.status == 422 and "Wrong name or password." in refused.text
    assert "value='ada'" in refused.text
    found.post("/login", {"name": "ada", "password": "engine"})
    assert found.get("/").text.endswith("|ada")
    assert found.post("/note/1/delete", {}).status == 302
    found.post("/logout", {})
    assert found.get("/").text.endswith("|None")


def test_who_may_not_is_refused() -> None:
    found = visitor()
    found.post("/login", {"name": "bob", "password": "bridge"})
    assert found.post("/note/1/delete", {}).status == 403
    assert titles(found) == ["Milk <b>"]


def test_a_scenario_says_who_is_signed_in_and_adds_records() -> None:
    more = {
        "notes": {
            "records": [{"id": 1, "owner": "bob", "title": "Mine"}, {"id": 7, "title": "Two"}]
        }
    }
    found = Visitor(
        scenario_of({"definition": NOTES, "user": "bob", "hosts": ["n.test:8080"]}, tables=more)
    )
    assert found.host == "n.test:8080"
    assert found.get("/").text.endswith("|bob")
    assert titles(found) == ["Mine", "Two"]


def test_lists_are_shown_in_pages() -> None:
    found = ada()
    for number in range(3):
        found.post("/new", {"note[title]": f"N{number}", "note[again]": f"N{number}"})
    assert "?page=2|" in found.get("/?page=1").text
    second = found.get("/?page=2").text
    assert "N1" in second and "N0" not in second and "?page=3" not in second
    assert found.get("/?page=-1").text == found.get("/").text


def test_an_api_answers_with_json() -> None:
    response = visitor().get("/api/notes", accept="*/*")
    assert response.header("content-type") == "application/json"
    assert response.text == '{"notes": [{"id": 1, "title": "Milk <b>"}]}'


def test_a_json_body_is_a_form_too() -> None:
    found = visitor()
    headers = (("content-type", "application/json"), ("accept", "application/json"))
    body = b'{"name": "ada", "password": "engine"}'
    assert found.send(WebRequest("http://notes.test/login", "POST", headers, body)).status == 302
    assert found.send(WebRequest("http://notes.test/login", "POST", headers, b"[[")).status == 400
    assert (
        found.send(WebRequest("http://notes.test/login", "POST", headers, b"[" * 9999)).status
        == 400
    )


def test_static_files_favicon_head_and_methods() -> None:
    found = visitor()
    assert found.get("/notes.css").header("content-type") == "text/css; charset=utf-8"
    assert found.get("/favicon.ico").status == 204
    assert (found.get("/", method="HEAD").status, found.get("/", method="HEAD").body) == (200, b"")
    refused = found.get("/logout")
    assert (refused.status, refused.header("allow")) == (405, "POST")
    assert found.get("/", method="BREW").status == 405


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/notes.css/..",
        "/note/9/x",
        "/note/%00/x",
    ],
)
def test_what_is_not_there_is_not_found(path: str) -> None:
    response = visitor().get(path)
    assert response.status == 404 and "<h1>404</h1>" in response.text


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/broken", "the template 'broken.html': integer division or modulo by zero"),
        (
            "/endless",
            "the template 'endless.html': more than 200,000 turns of loops and calls of filters",
        ),
    ],
)
def test_a_template_that_fails_is_a_page_of_the_status_500_and_kept_once(
    path: str, message: str
) -> None:
    found = visitor()
    assert found.get(path).status == 500
    before = found.state
    assert found.get(path).status == 500
    assert found.state == before
    kept = [value for key, value in before.values.items() if key.startswith("sites/notes/problem/")]
    assert kept == [{"url": f"http://notes.test{path}", "message": message}]


BOMBS = [
    "{{ 'a' * 10**9 }}",
    "{% set a = 'x' ~ 'x' %}" + "{% set a = a ~ a %}" * 40 + "{{ a }}",
    "{{ '%1000000000d'|format(1) }}",
    "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "{{ ''.__class__.__mro__ }}",
    "{{ 'x'.zfill(1000000000) }}",
    "{{ 9 ** 9 ** 9 }}",
    "{% for a in range(1000) %}{% for b in range(1000) %}x{% endfor %}{% endfor %}",
    "{{ cycler.__init__.__globals__ }}",
]


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_template_cannot_take_more_than_its_share(bomb: str) -> None:
    from agentworld_sim.sites.site_templates import SiteTemplates, TemplateFailure

    with pytest.raises(TemplateFailure, match="the template 'bomb'"):
        SiteTemplates({"bomb": bomb}).render("bomb", {})


def test_too_much_is_refused() -> None:
    found = visitor()
    assert found.post("/login", {"name": "x" * 10_000_000}).status == 413
    assert found.post("/login", {f"f{n}": "" for n in range(2000)}).status == 400
    assert found.get("/?" + "q" * 9000).status == 414
    assert MAX_BODY < 10_000_000


def test_no_text_of_a_user_becomes_a_header() -> None:
    found = ada()
    title = "x\r\nset-cookie: evil=1\r\n\r\n<script>"
    location = found.post("/new", {"note[title]": title, "note[again]": title}).header("location")
    assert location == "/note/2/x-set-cookie-evil-1-script"
    headers = (
        ("referer", "http://notes.test/x\r\nevil: 1"),
        ("cookie", "flash=%0d%0aevil:1; sid=\r\n"),
    )
    response, _ = found.internet.applications[0].answer(
        WebRequest("http://notes.test/logout", "POST", headers), found.state
    )
    assert not any("\r" in value or "\n" in value for _, value in response.headers)


def test_two_tabs_that_write_see_each_other() -> None:
    found = ada()
    assert found.get("/new").status == found.get("/new").status == 200
    form = {"note[title]": "Same", "note[again]": "Same"}
    assert found.post("/new", form).status == 302
    second = found.post("/new", form)
    assert second.status == 422 and "This is used already." in second.text
    assert titles(found) == ["Milk <b>", "Same"]


def test_what_contradicts_the_records_changes_nothing() -> None:
    site = copy.deepcopy(NOTES)
    site["routes"][5]["do"] = [
        "DELETE FROM notes",
        "INSERT INTO notes (id, title, done, kind) VALUES (1, :title, 0, 'plain'), (1, :title, 0, 'plain')",
    ]
    found = Visitor(scenario_of({"definition": site, "user": "ada"}))
    response = found.post("/new", {"note[title]": "x", "note[again]": "x"})
    assert response.status == 422 and "it contradicts what is there" in response.text
    assert titles(found) == ["Milk <b>"]


def test_another_host_is_not_answered() -> None:
    found = visitor()
    for url in ("http://other.test/", "http://[/", "http://notes.test:99999999/"):
        assert found.internet.answer(WebRequest(url), found.state) is None
    assert found.internet.answer(WebRequest("https://notes.test:8443/"), found.state) is not None


_text = st.text(max_size=30) | st.sampled_from(
    ["1", "' OR 1=1 --", "%", "\0", "ada", "\ud800", "9" * 40]
)
_paths = st.lists(
    st.sampled_from(["note", "new", "login", "api", "..", "%2F", "1"]) | _text, max_size=4
)


@given(
    st.sampled_from(["GET", "POST", "HEAD", "PUT"]),
    _paths,
    st.dictionaries(
        st.sampled_from(["note[title]", "note[kind]", "name", "q"]) | _text, _text, max_size=4
    ),
    _text,
    st.sampled_from(
        [
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=b",
            "application/json",
            "a/b",
        ]
    ),
    st.binary(max_size=40),
)
@settings(max_examples=examples(200), deadline=None)
def test_whatever_is_sent_is_answered(
    method: str, path: list[str], fields: dict[str, str], cookie: str, kind: str, body: bytes
) -> None:
    from urllib.parse import urlencode

    found = _shared
    query = urlencode(
        {n.encode("utf-8", "replace"): v.encode("utf-8", "replace") for n, v in fields.items()}
    )
    headers = (
        ("cookie", f"sid={cookie}; flash={cookie}"),
        ("content-type", kind),
        ("accept", "text/html"),
    )
    sent = body or query.encode()
    answered = found.internet.answer(
        WebRequest(f"http://notes.test/{'/'.join(path)}?{query}", method, headers, sent),
        found.state,
    )
    if answered is None:
        return
    response, change = answered
    assert response.status in (200, 204, 302, 400, 403, 404, 405, 414, 422)
    assert all(key.startswith(("sites/notes/", "tables/")) for key in change.values)
    assert not any("\r" in value or "\n" in value for _, value in response.headers)


@pytest.mark.parametrize(
    ("referer", "location"),
    [
        ("http://notes.test/?page=2", "/?page=2"),
        ("http://other.test/x", "/"),
        ("http://[", "/"),
        ("http://notes.test//other.test", "/other.test"),
        ("", "/"),
    ],
)
def test_back_leads_to_a_page_of_the_site(referer: str, location: str) -> None:
    site = {**NOTES, "routes": [*NOTES["routes"], {"post": "/back", "go": "back"}]}
    found = Visitor(scenario_of({"definition": site}))
    request = WebRequest("http://notes.test/back", "POST", (("referer", referer),))
    assert found.send(request).header("location") == location


_shared = Visitor(scenario_of({"definition": NOTES, "user": "ada"}))


async def test_the_records_of_sites_are_the_tables_of_the_world() -> None:
    world = await World.create(scenario_of({"definition": NOTES}))
    again = await World.open(world.id, store=world.store)
    assert await again.state() == await world.state()
    assert {"tables/notes/1", 'tables/people/"ada"'} <= set((await world.state()).values)
