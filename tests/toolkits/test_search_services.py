"""The search tools that people use: each binds by what its package publishes, and answers in the form of its service."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from agentworld_sim import Observation, Scenario, ToolCall, ToolSpec, World
from agentworld_sim.engines.search import NoPage, PageIndex, SearchResult, SearchTurn, WebPage
from agentworld_sim.engines.toolkits import ServerValues
from agentworld_sim.toolkits import binding_for, known_tools, resolve_function, toolkits
from agentworld_sim.toolkits.domain_inference import infer_domain
from agentworld_sim.toolkits.fitting import properties, types
from agentworld_sim.toolkits.search_services import TOOLKITS
from agentworld_sim.toolkits.tool_specs import with_domain
from tests.controls.lamp_pages import LampPages, lamps
from tests.properties import examples

RECORDED = json.loads(
    (Path(__file__).parent / "recorded" / "search_services.json").read_text(encoding="utf-8")
)
TEXTS: dict[str, str] = RECORDED["texts"]
RESULTS = [SearchResult(**one) for one in RECORDED["results"]]

BINDINGS = {
    "langchain-tavily": "tavily",
    "langchain-community/duckduckgo": "duckduckgo",
    "langchain-community/brave": "brave",
    "langchain-community/google": "google-serper",
    "langchain-exa": "exa",
    "mcp-server-fetch": "fetch",
    "duckduckgo-mcp-server": "duckduckgo-mcp",
    "tavily-mcp": "tavily-mcp",
    "exa-mcp-server": "exa-mcp",
    "@brave": "brave-mcp",
}


@dataclass
class FixedTurn:
    """A `SearchTurn` that finds what it was given."""

    given: Sequence[SearchResult] = tuple(RESULTS)
    pages: Sequence[WebPage] = ()
    clock_us: int = 1_718_700_000_000_000  # 2024-06-18
    seed: int = 7
    offline: bool = False
    asked: Sequence[str] = ()
    fits: Callable[[WebPage], bool] = bool

    def results(
        self, queries: Sequence[str], limit: int = 10, fits: Callable[[WebPage], bool] = bool
    ) -> list[list[SearchResult]]:
        self.asked, self.fits = queries, fits
        fitting = [one for one in self.given if fits(page(one.url, one.date))]
        return [fitting[:limit] for _ in queries]

    def page(self, url: str) -> WebPage:
        for one in self.pages:
            if one.url == url:
                return one
        known = any(url.startswith(one.url[:17]) for one in self.pages)
        raise NoPage("", status=404 if known else 0)


def page(url: str = "https://a.example/page", date: str = "", **fields: Any) -> WebPage:
    given: dict[str, Any] = {"title": "T", "text": "# Öl\n\ntext", **fields}
    return WebPage(url=url, date=date, **given)


def answer(binding: str, turn: FixedTurn | None = None, /, **arguments: Any) -> Observation:
    operation = resolve_function(known_tools()[binding].operation)
    return operation(turn or FixedTurn(), arguments)


@pytest.mark.parametrize("published", RECORDED["schemas"])
def test_a_tool_binds_by_what_its_package_publishes(published: str) -> None:
    package, name = published.rpartition("/")[::2]
    spec = ToolSpec(name=name, input_schema=RECORDED["schemas"][published])
    maker = f"{package.rpartition(' ')[0]}/{name}"
    wanted = next(kit for start, kit in BINDINGS.items() if maker.startswith(start))
    from_server = replace(spec, name=f"web__{name}", domain=infer_domain(spec))
    for one in (with_domain(spec), from_server):
        found = binding_for(one)
        assert found is not None and found.id == f"{wanted}/{name}"


def test_an_ordinary_name_is_no_search_tool() -> None:
    query = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
    url = {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}
    for name, schema in (("search", query), ("fetch", url), ("fetch_content", url)):
        for domain in (None, "search", "mcp"):
            spec = ToolSpec(name=name, input_schema=schema, domain=domain)
            assert binding_for(spec) is None


@pytest.mark.parametrize(
    ("name", "takes", "binds_to"),
    [
        ("google_search", ["query"], "search/web_search"),
        ("search_web", ["q"], "search/web_search(query=q)"),
        ("visit_webpage", ["url"], "search/web_extractor"),
        ("fetch_url", ["link"], "search/web_extractor(url=link)"),
        ("internet_search", ["query", "max_results", "topic", "include_raw_content"], "tavily/tavily_search"),
    ],
)  # fmt: skip
async def test_search_tools_of_ones_own_bind_by_usual_names(
    name: str, takes: Sequence[str], binds_to: str
) -> None:
    properties: dict[str, Any] = {one: {} for one in takes}
    schema = {"type": "object", "properties": properties, "required": takes[:1]}
    async with await lamps() as world:
        (bound,) = world.add_tools([ToolSpec(name=name, input_schema=schema)])
    assert bound.binds_to == binds_to


@pytest.mark.parametrize(
    ("recorded", "binding"),
    [
        ("duckduckgo_search", "duckduckgo/duckduckgo_search"),
        ("duckduckgo_results_json", "duckduckgo/duckduckgo_results_json"),
        ("brave_search", "brave/brave_search"),
        ("google_serper", "google-serper/google_serper"),
        ("google_serper_results_json", "google-serper/google_serper_results_json"),
        ("exa_search_results_json", "exa/exa_search_results_json"),
        ("ddg search", "duckduckgo-mcp/search"),
        ("tavily-mcp search", "tavily-mcp/tavily_search"),
        ("exa-mcp search", "exa-mcp/web_search_exa"),
        ("brave-mcp", "brave-mcp/brave_web_search"),
    ],
)
def test_results_have_the_form_of_the_service(recorded: str, binding: str) -> None:
    assert answer(binding, query="Helio 3").text == TEXTS[recorded]
    if f"{recorded} empty" in TEXTS:
        assert answer(binding, FixedTurn(()), query="Helio 3").text == TEXTS[f"{recorded} empty"]


def test_tavily_answers_with_its_fields_in_their_order() -> None:
    told, real = answer("tavily/tavily_search", query="Helio 3"), TEXTS["tavily_search"]
    mine, theirs = json.loads(told.text), json.loads(real)
    assert list(mine) == list(theirs) and mine["query"] == "Helio 3"
    for one, other in zip(mine["results"], theirs["results"], strict=True):
        assert {**one, "score": 0.5} == other and list(one) == list(other)
    assert mine["results"][0]["score"] > mine["results"][1]["score"]


def test_tavily_words_what_it_does_not_find_and_what_it_refuses() -> None:
    none = FixedTurn(())
    told = answer("tavily/tavily_search", none, query="Helio 3")
    assert told.is_error and told.text == TEXTS["tavily_search empty"]
    narrow: dict[str, Any] = {"time_range": "week", "include_domains": ["a.example"]}
    told = answer("tavily/tavily_search", none, query="Helio 3", topic="news", **narrow)
    assert told.text == TEXTS["tavily_search empty filtered"]
    bad = TEXTS["tavily_search bad"]
    for wrong in ({"query": "x" * 401}, {"query": " "}, {"query": "x", "end_date": "18.6.2024"}):
        assert answer("tavily/tavily_search", **wrong).text == bad
        assert answer("tavily-mcp/tavily_search", **wrong).is_error
    told = answer("tavily-mcp/tavily_search", query="x" * 401)
    assert told.text == (
        'Tavily API error: {"error":"Query is too long. Max query length is 400 characters."}'
        "\nDocumentation: https://docs.tavily.com/documentation/api-reference/endpoint/search"
    )


def test_tavily_extracts_what_is_there() -> None:
    turn = FixedTurn(pages=[page("https://a.example/x")])
    urls = ["https://a.example/x", "https://b.example/y"]
    told = json.loads(answer("tavily/tavily_extract", turn, urls=urls).text)
    recorded = json.loads(TEXTS["tavily_extract"])
    assert list(told) == list(recorded) and told["results"] == recorded["results"]
    assert told["failed_results"] == [{"url": urls[1], "error": "Failed to fetch url"}]
    told = answer("tavily/tavily_extract", FixedTurn(), urls=urls)
    assert told.is_error and told.text == TEXTS["tavily_extract empty"]
    many = answer("tavily/tavily_extract", turn, urls=["https://a.example/x"] * 21)
    assert many.text == TEXTS["tavily_search bad"]
    told = answer("tavily-mcp/tavily_extract", turn, urls=urls)
    assert told.text == TEXTS["tavily-mcp extract"]
    assert answer("tavily-mcp/tavily_extract", turn, urls=[]).is_error


def test_exa_reads_several_pages_at_once() -> None:
    turn = FixedTurn(pages=[page("https://a.example/x", "2024-06-18")])
    urls = ["https://a.example/x", "https://b.example/y"]
    assert answer("exa-mcp/web_fetch_exa", turn, urls=urls).text == TEXTS["exa-mcp fetch"]
    told = answer("exa-mcp/web_fetch_exa", turn, urls=urls[1:])
    assert told.is_error
    assert told.text == "Error fetching URL(s): https://b.example/y: CRAWL_NOT_FOUND"
    short = answer("exa-mcp/web_fetch_exa", turn, urls=urls[:1], maxCharacters=4)
    assert short.text.endswith("# Öl")


def _fits(binding: str, url: str, date: str, kind: Any = "other", **arguments: Any) -> bool:
    turn = FixedTurn()
    answer(binding, turn, query="x", **arguments)
    return turn.fits(page(url, date, kind=kind))


def test_dates_hosts_and_topics_are_computed() -> None:
    tavily, mcp, here = "tavily/tavily_search", "tavily-mcp/tavily_search", "https://www.a.example/"
    assert _fits(tavily, here, "2024-06-12", time_range="week")
    assert not _fits(tavily, here, "2024-06-10", time_range="week")
    assert not _fits(tavily, here, "", time_range="year")
    assert _fits(tavily, here, "2024-01-01", start_date="2024-01-01", end_date="2024-01-01")
    assert not _fits(tavily, here, "2024-01-02", end_date="2024-01-01")
    assert not _fits(tavily, "https://en.a.example/", "", exclude_domains=["https://a.example/x"])
    assert _fits(tavily, "https://ba.example/", "", exclude_domains=["a.example"])
    assert _fits(tavily, here, "", "news", topic="news") and not _fits(tavily, here, "", topic="news")  # fmt: skip
    # The server asks for no range where it was given dates, and of no topic where it was given a country.
    assert _fits(mcp, here, "2020-01-01", time_range="day", start_date="2019-01-01")
    assert _fits(mcp, here, "", country="France", topic="news")
    assert not _fits("brave-mcp/brave_web_search", here, "2024-06-16", freshness="pd")
    brave = {"freshness": "2022-01-01to2022-07-30"}
    assert _fits("brave-mcp/brave_web_search", here, "2022-07-30", **brave)
    exa = {"start_published_date": "2024-01-01T00:00:00.000Z", "exclude_domains": None}
    assert not _fits("exa/exa_search_results_json", here, "2023-12-31", **exa)
    turn = FixedTurn()
    answer(tavily, turn, query="x", include_domains=["a.example", "*.b.example"])
    assert turn.asked == ["x site:a.example", "x site:b.example"]
    answer(mcp, turn, query='"x y"')
    assert turn.asked == [" x y "]
    answer(mcp, turn, query='"x y"', exact_match=True)
    assert turn.asked == ['"x y"']
    answer("exa-mcp/web_search_exa", turn, query="category:people Ada")
    assert turn.asked == ["Ada"]


def test_as_many_results_come_as_are_asked_for() -> None:
    many = FixedTurn([SearchResult(f"https://a.example/{n}", "T", "S", "") for n in range(40)])
    told = answer("tavily-mcp/tavily_search", many, query="x", max_results=7)
    assert told.text.count("URL: ") == 7
    assert answer("duckduckgo-mcp/search", many, query="x", max_results=90).text.count("URL") == 20
    second = answer("brave-mcp/brave_web_search", many, query="x", count=3, offset=2)
    assert [json.loads(one["text"])["url"][-1] for one in second.content] == ["6", "7", "8"]
    beyond = answer("brave-mcp/brave_web_search", FixedTurn(), query="x", offset=9)
    assert beyond.is_error and beyond.text == "No web results found"


def test_news_have_the_day_on_which_they_came_out() -> None:
    news = FixedTurn([SearchResult("https://a.example/", "T", "S", "2024-06-18")])
    news.results = lambda queries, limit=10, fits=bool: [list(news.given)]
    told = json.loads(answer("tavily/tavily_search", news, query="x", topic="news").text)
    assert told["results"][0]["published_date"] == "Tue, 18 Jun 2024 12:00:00 GMT"


LAMP = "The lamp costs **42** euros, and it is sold in " + "many towns " * 60 + "."


def test_fetch_pages_through_the_text_of_a_page() -> None:
    turn = FixedTurn(pages=[page(title="Helio 3", text=LAMP)])
    url = "https://a.example/page"
    assert answer("fetch/fetch", turn, url=url, max_length=60).text == TEXTS["fetch page"]
    assert answer("fetch/fetch", turn, url=url, start_index=100_000).text == TEXTS["fetch end"]
    raw = answer("fetch/fetch", turn, url=url, raw=True).text
    assert raw.startswith(TEXTS["fetch raw"].partition("<html")[0]) and "<strong>42</strong>" in raw
    for recorded, wrong in (
        ("missing", "https://a.example/other"),
        ("unknown host", "https://gone.example/x"),
        ("root", "https://a.example"),
        ("no url", "nonsense"),
    ):
        told = answer("fetch/fetch", turn, url=wrong)
        told_text, real = told.text.split("\n    For")[0], TEXTS[f"fetch {recorded}"].split("\n    For")[0]  # fmt: skip
        assert told.is_error and told_text == real
    assert "ftp://a.example/robots.txt due" in answer("fetch/fetch", url="ftp://a.example/x").text


def test_the_reader_of_duckduckgo_flattens_a_page() -> None:
    turn = FixedTurn(pages=[page(title="Helio 3", text=f"# Helio 3\n\n{LAMP}")])
    url = "https://a.example/page"
    first = answer("duckduckgo-mcp/fetch_content", turn, url=url, max_length=40)
    assert first.text.startswith("Helio 3 The lamp costs 42 euros, and it ")
    assert first.structured == {"result": first.text}
    assert "Showing characters 0-40 of 71" in first.text
    assert "Use start_index=40 to see more | cache=miss]" in first.text
    second = answer("duckduckgo-mcp/fetch_content", turn, url=url, start_index=40, max_length=5000)
    assert second.text.endswith(" total | cache=hit]")
    marked = answer(
        "duckduckgo-mcp/fetch_content", turn, url=url, parse_mode="markdown", max_length=40
    )
    assert marked.text.partition("-40 of")[0] == TEXTS["ddg fetch markdown"].partition("-40 of")[0]
    for recorded, wrong in (
        ("missing", {"url": "https://a.example/other"}),
        ("unknown host", {"url": "https://gone.example/x"}),
        ("mode", {"url": url, "parse_mode": "odd"}),
    ):
        told = answer("duckduckgo-mcp/fetch_content", turn, **wrong)
        assert told.text == TEXTS[f"ddg fetch {recorded}"]
    told = answer("duckduckgo-mcp/fetch_content", turn, url="ftp://a.example/x")
    assert "unsupported URL scheme 'ftp://' (only http and https are allowed)" in told.text


def test_where_nothing_can_be_reached_nothing_is_found() -> None:
    told = answer("google-serper/google_serper", FixedTurn(offline=True), query="x")
    assert told.text == "No good Google Search Result was found"


@settings(max_examples=examples(60), deadline=None)
@given(st.text(), st.integers(-3, 300), st.sampled_from(list(TOOLKITS)))
def test_no_query_and_no_number_breaks_a_service(query: str, number: int, kit: str) -> None:
    turn = SearchTurn(
        kept=ServerValues({}, "search/"),
        clock_us=0,
        seed=1,
        name="search",
        offline=False,
        indexes=(PageIndex(LampPages().connection),),
    )
    for tool in toolkits.get(kit):
        numbers = {
            name: number
            for name, schema in properties(tool.input_schema).items()
            if types(schema) & {"integer", "number"}
        }
        asked = properties(tool.input_schema).keys() & {"query", "url", "urls"}
        texts = {name: [query] if name == "urls" else query for name in asked}
        observation = resolve_function(tool.operation)(turn, {**texts, **numbers})
        assert isinstance(observation, Observation)


GUARDED = """
name: guarded
domains: [search]
pages:
  https://lamps.example/ardent: {title: Ardent, text: "The Ardent lamp weighs 1,240 grams. It is sold in Brenn."}
  https://lamps.example/boreal: {title: Boreal, text: "The Boreal lamp is heavier than the Ardent."}
goals:
  - {answer: [Lamp, Weight], rows: [[Ardent, 1240]], unique: [Lamp], metrics: {Weight: {metric: exact_match}}}
"""


@pytest.mark.parametrize("kit", TOOLKITS)
async def test_no_service_shows_what_the_question_asks_for(kit: str) -> None:
    scenario = Scenario.parse(f"{GUARDED}tools: [{kit}]")
    async with await World.create(scenario, model=False) as world:
        searches = [one for one in world.tools.values() if "query" in properties(one.input_schema)]
        for tool in searches:
            if "urls" in properties(tool.input_schema):
                continue
            for query in ("weight of the Ardent lamp", "Ardent grams", '"weighs" lamp'):
                text = (await world.step(ToolCall(tool.name, {"query": query}))).observation.text
                assert "Ardent" in text or "Boreal" in text
                assert "1,240" not in text and "1240" not in text
