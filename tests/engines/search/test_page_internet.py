"""Pages and search services as hosts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from agentworld_sim import ToolCall, World
from agentworld_sim.assembly import initial_state, internet_of
from agentworld_sim.engines.search.page_internet import PageInternet
from agentworld_sim.engines.search.search_hosts import SEARCH_HOSTS
from agentworld_sim.engines.web import WebRequest, WebResponse
from agentworld_sim.ports.stores import NewBlobs
from agentworld_sim.scenario import Scenario
from agentworld_sim.store import MemoryStore
from agentworld_sim.toolkits import toolkit
from agentworld_sim.types.conditions import Conditions
from tests.properties import examples

PAGE = "https://en.quarpedia.alt/wiki/Axabril"
NEWS = "https://www.scarmoor-courier.alt/axabril"
SCENARIO: Mapping[str, Any] = {
    "name": "pages",
    "domains": ["search", "web"],
    "pages": {
        PAGE: {"title": "Axabril", "text": "# Axabril\n\nA kettle by [Vorokova](/wiki/Vorokova)."},
        NEWS: {"title": "The maker of Axabril", "text": "It weighs 734 g.", "date": "2024-06-18"},
    },
    "tools": ["search"],
    "goals": [
        {
            "answer": ["Name", "Weight"],
            "rows": [["Axabril", 734]],
            "unique": ["Name"],
            "metrics": {"Weight": {"metric": "exact_match"}},
        }
    ],
}
STATE = initial_state(Scenario.model_validate(SCENARIO), NewBlobs(MemoryStore().blobs))


def no_base(name: Any) -> Any:
    raise AssertionError(f"there is no base {name!r}")


INTERNET = PageInternet(no_base)


def ask(url: str, body: Any = None, method: str = "") -> WebResponse | None:
    """What answers, and that it changes nothing and says the same again."""
    content = b"" if body is None else json.dumps(body).encode()
    request = WebRequest(url, method or ("GET" if body is None else "POST"), (), content)
    found = INTERNET.answer(request, STATE)
    assert INTERNET.answer(request, STATE) == found
    if found is None:
        return None
    assert (found[1].values, found[1].clock_us) == ({}, STATE.clock_us)
    return found[0]


def told(url: str, body: Any = None) -> Any:
    """The JSON that is answered with status 200."""
    response = ask(url, body)
    assert response is not None
    assert response.status == 200, response.text
    return json.loads(response.body)


def status(url: str, body: Any = None, method: str = "") -> int:
    """The status; 0 where there is no such host."""
    response = ask(url, body, method)
    return 0 if response is None else response.status


def test_pages_are_html_at_their_addresses() -> None:
    response = ask("http://en.quarpedia.alt/wiki/Axabril")
    assert response is not None
    assert response.header("content-type") == "text/html; charset=utf-8"
    assert "<h1>Axabril</h1>" in response.text
    assert '<a href="/wiki/Vorokova">Vorokova</a>' in response.text
    assert status("https://en.quarpedia.alt/nothing") == 404
    assert status("https://en.quarpedia.alt/favicon.ico") == 204
    assert status(PAGE, method="DELETE") == 405
    assert [status(url) for url in ("https://nowhere.alt/", "https://[", "ftp://a.alt/")] == [0, 0, 0]  # fmt: skip


def test_the_hosts_are_those_of_the_pages_and_of_the_services() -> None:
    hosts = INTERNET.hosts(STATE)
    assert hosts[:2] == ["en.quarpedia.alt", "scarmoor-courier.alt"]
    assert {"www.scarmoor-courier.alt", *SEARCH_HOSTS} <= set(hosts)


def test_every_service_answers_in_its_own_form_and_withholds_what_search_tools_withhold() -> None:
    tavily = told("https://api.tavily.com/search", {"query": "Axabril", "max_results": 1})
    assert [one["url"] for one in tavily["results"]] == [PAGE]
    assert {"query", "response_time", "request_id", "images"} <= tavily.keys()
    extract = told("https://api.tavily.com/extract", {"urls": [PAGE, "https://nowhere.alt/"]})
    assert extract["results"][0]["raw_content"].startswith("# Axabril")
    assert [one["url"] for one in extract["failed_results"]] == ["https://nowhere.alt/"]
    serper = told("https://google.serper.dev/search?q=Axabril&num=5", {})
    assert serper["organic"][0]["link"] == PAGE
    brave = told("https://api.search.brave.com/res/v1/web/search?q=Axabril&count=1")
    assert (len(brave["web"]["results"]), brave["query"]["more_results_available"]) == (1, True)
    asked = {"query": "Axabril", "numResults": 2, "contents": {"text": True, "highlights": True}}
    exa = told("https://api.exa.ai/search", asked)
    assert {one["url"] for one in exa["results"]} == {PAGE, NEWS}
    assert "734" not in json.dumps([tavily, serper, brave, exa])


@pytest.mark.parametrize(
    ("url", "body", "code"),
    [
        ("https://api.tavily.com/search", {"query": " "}, 400),
        ("https://api.tavily.com/search", {"query": 5}, 400),
        ("https://api.tavily.com/search", ["query"], 400),
        ("https://api.tavily.com/search", {"query": "a", "start_date": "soon"}, 400),
        ("https://api.tavily.com/extract", {"urls": []}, 400),
        ("https://api.tavily.com/crawl", {}, 404),
        ("https://api.tavily.com/search", None, 404),
        ("https://google.serper.dev/search", {"num": 3}, 400),
        ("https://api.search.brave.com/res/v1/web/search?q=a&count=100", None, 400),
        ("https://api.exa.ai/search", {"query": "a", "numResults": 0}, 400),
    ],
)
def test_what_a_service_cannot_read_is_refused(url: str, body: Any, code: int) -> None:
    assert status(url, body) == code


def test_offline_there_is_no_host() -> None:
    offline = replace(STATE, values={**STATE.values, **Conditions(offline=True).to_values()})
    for url in (PAGE, "https://api.tavily.com/search"):
        assert INTERNET.answer(WebRequest(url), offline) is None


@settings(max_examples=examples(100), deadline=None)
@given(
    host=st.sampled_from(sorted(SEARCH_HOSTS)),
    path=st.sampled_from(["/search", "/extract", "/contents", "/res/v1/web/search", "/"]),
    query=st.text(max_size=20),
    body=st.binary(max_size=60)
    | st.dictionaries(
        st.sampled_from(["query", "q", "num", "urls", "contents", "max_results", "topic"]),
        st.none() | st.integers() | st.text(max_size=9) | st.lists(st.text(max_size=9), max_size=3),
    ).map(lambda value: json.dumps(value).encode()),
)
def test_a_service_answers_whatever_is_sent(host: str, path: str, query: str, body: bytes) -> None:
    for method in ("GET", "POST"):
        request = WebRequest(f"https://{host}{path}?q={query}", method, (), body)
        found = INTERNET.answer(request, STATE)
        assert found is not None
        assert found[0].status in (200, 400, 404)


async def test_browser_and_search_tools_show_the_same_page() -> None:
    world = await World.create(Scenario.model_validate(SCENARIO))
    assert internet_of(world.scenario) is not None
    (navigate,) = (one for one in toolkit("playwright-mcp") if one.name == "browser_navigate")
    world.add_tools([navigate])
    await world.step(ToolCall("browser_navigate", {"url": PAGE}))
    (page,) = (text for text in [str((await world.state()).values)] if "A kettle by" in text)
    assert "<h1>Axabril</h1>" in page
    turn = await world.step(ToolCall("web_extractor", {"url": PAGE}))
    assert "A kettle by [Vorokova]" in turn.observation.text
    gone = await world.step(ToolCall("browser_navigate", {"url": "https://nowhere.alt/"}))
    assert "net::ERR_NAME_NOT_RESOLVED" in gone.observation.text
