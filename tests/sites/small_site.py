"""A small site for tests: notes of people, with a session, a form, pages and an API."""

from __future__ import annotations

from typing import Any

from agentworld_sim.assembly import initial_state
from agentworld_sim.engines.web.requests import HTML, WebRequest, WebResponse, form_body
from agentworld_sim.ports.stores import NewBlobs
from agentworld_sim.scenario import Scenario
from agentworld_sim.sites.site_internet import SiteInternet, scenario_internet
from agentworld_sim.store import MemoryStore
from agentworld_sim.types.state import WorldState

NOTES: dict[str, Any] = {
    "site": "notes",
    "title": "Notes",
    "hosts": ["notes.test"],
    "tables": {
        "people": {
            "key": "name",
            "fields": {"name": {"type": "string"}, "password": {"type": "string"}},
            "records": [
                {"name": "ada", "password": "engine"},
                {"name": "bob", "password": "bridge"},
            ],
        },
        "notes": {
            "fields": {
                "id": {"type": "integer"},
                "owner": {"type": "string"},
                "title": {"type": "string", "maxLength": 40},
                "pages": {"type": ["integer", "null"]},
                "done": {"type": "boolean"},
                "kind": {"enum": ["plain", "list"]},
            },
            "records": [
                {
                    "id": 1,
                    "owner": "ada",
                    "title": "Milk <b>",
                    "pages": 2,
                    "done": False,
                    "kind": "list",
                }
            ],
        },
        "events": {
            "key": ["note", "what"],
            "fields": {"note": {"type": "integer"}, "what": {"type": "string"}},
        },
    },
    "session": {"cookie": "sid", "login": "/login"},
    "routes": [
        {
            "get": "/",
            "rows": {"notes": "SELECT * FROM notes ORDER BY id"},
            "pages": {"notes": 2},
            "page": "list.html",
        },
        {"get": "/login", "page": "login.html"},
        {
            "post": "/login",
            "form": {"name": {}, "password": {}},
            "refuse": {
                "Wrong name or password.": "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM people WHERE name = :name AND password = :password)"
            },
            "sign_in": ":name",
            "go": "/",
        },
        {"post": "/logout", "sign_out": True, "go": "/"},
        {"get": "/new", "signed_in": True, "page": "new.html"},
        {
            "post": "/new",
            "signed_in": True,
            "form": {
                "note[title]": {"required": True, "max": 40, "unique": "notes.title"},
                "note[pages]": {"at_least": 1, "at_most": 9},
                "note[kind]": {"choices": ["plain", "list"]},
                "note[again]": {"matches": "note[title]"},
                "note[code]": {"pattern": "^[a-z]+$", "message": "Small letters only."},
            },
            "do": [
                "INSERT INTO notes (owner, title, pages, done, kind) VALUES (:user, :title, nullif(:pages, ''), 0, coalesce(nullif(:kind, ''), 'plain'))",
                "INSERT INTO events (note, what) VALUES (:new_id, 'made')",
            ],
            "flash": "Saved; it is new.",
            "go": "/note/{new.id}/{new.title:slug}",
        },
        {
            "get": "/note/{id:int}/{slug}",
            "row": {"note": "SELECT * FROM notes WHERE id = :id"},
            "page": "note.html",
        },
        {
            "post": "/note/{id:int}/delete",
            "row": {"note": "SELECT * FROM notes WHERE id = :id"},
            "allow": ":user = (SELECT owner FROM notes WHERE id = :id)",
            "do": "DELETE FROM notes WHERE id = :id",
            "go": "/",
        },
        {
            "get": "/api/notes",
            "rows": {"notes": "SELECT id, title FROM notes"},
            "json": {"notes": "{notes}"},
        },
        {"get": "/broken", "page": "broken.html"},
        {"get": "/endless", "page": "endless.html"},
    ],
    "templates": {
        "base.html": "<!doctype html><title>{{ site }}</title><link rel=stylesheet href='/notes.css'>{{ flash }}{% block main %}{% endblock %}",
        "list.html": "{% extends 'base.html' %}{% block main %}{% for one in notes %}<a href='/note/{{ one.id }}/{{ one.title|slug }}'>{{ one.title }}</a>{% endfor %}{{ pages.next }}|{{ user }}{% endblock %}",
        "login.html": "<form method=post action='/login'>{{ form.error('') }}<input name=name value='{{ form.value('name') }}'></form>",
        "new.html": "<form method=post action='/new'>{% for name, text in form.errors.items() %}{{ name }}: {{ text }}\n{% endfor %}{{ form.value('note[title]') }}</form>",
        "note.html": "{% extends 'base.html' %}{% block main %}<h1>{{ note.title }}</h1><form method='post' action='/note/{{ note.id }}/delete'></form>{% endblock %}",
        "broken.html": "{{ 1 // 0 }}",
        "endless.html": "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
        "error.html": "{% extends 'base.html' %}{% block main %}<h1>{{ status }}</h1>{{ message }}{% endblock %}",
    },
    "static": {"/notes.css": "h1 { color: red }"},
}


def scenario_of(*sites: Any, **more: Any) -> Scenario:
    """A scenario with these sites."""
    return Scenario.model_validate({"name": "sites", "domains": ("web",), "sites": sites, **more})


class Visitor:
    """Somebody who asks the sites of a world, with a jar of cookies; what they change becomes the state."""

    def __init__(self, scenario: Scenario) -> None:
        internet = scenario_internet(scenario)
        assert internet is not None
        self.internet: SiteInternet = internet
        self.state: WorldState = initial_state(scenario, NewBlobs(MemoryStore().blobs))
        self.host = internet.applications[0].site.hosts[0]
        self.cookies: dict[str, str] = {}

    def send(self, request: WebRequest) -> WebResponse:
        found = self.internet.answer(request, self.state)
        assert found is not None
        response, change = found
        assert self.internet.answer(request, self.state) == found
        self.state = self.state.after(change)
        for cookie in response.headers_of("set-cookie"):
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        return response

    def get(self, path: str, *, accept: str = "text/html", method: str = "GET") -> WebResponse:
        return self.send(WebRequest(f"http://{self.host}{path}", method, self._headers(accept)))

    def post(self, path: str, fields: dict[str, str], *, accept: str = "text/html") -> WebResponse:
        body, kind = form_body(list(fields.items()), "")
        headers = (*self._headers(accept), ("content-type", kind))
        return self.send(WebRequest(f"http://{self.host}{path}", "POST", headers, body))

    def _headers(self, accept: str) -> tuple[tuple[str, str], ...]:
        jar = "; ".join(f"{name}={value}" for name, value in self.cookies.items() if value)
        return (("accept", accept), *((("cookie", jar),) if jar else ()))


__all__ = ["HTML", "NOTES", "Visitor", "scenario_of"]
