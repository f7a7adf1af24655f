"""The hosts of search services: what their HTTP interfaces answer, from the pages of the world.

Any key is good. What a world can compute of a request is what it can compute of the services' tools.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel, Field, ValidationError
from pydantic.alias_generators import to_camel

from agentworld_sim.engines.search.search_engine import SearchTurn
from agentworld_sim.engines.search.service_answers import (
    first_day,
    page_filter,
    request_of,
    results_for,
    serper_response,
    tavily_extract_response,
    tavily_refusal,
    tavily_response,
    tavily_results,
    timestamp,
)
from agentworld_sim.engines.web.requests import WebRequest, WebResponse


class _TavilySearch(BaseModel):
    query: str
    max_results: int = 5
    topic: str | None = "general"
    time_range: str | None = None
    start_date: str | None = None
    end_date: str | None = None
    include_domains: list[str] | None = None
    exclude_domains: list[str] | None = None
    exact_match: bool | None = None


class _TavilyExtract(BaseModel):
    urls: list[str] | str


class _Serper(BaseModel):
    q: str
    num: int = Field(10, ge=1, le=100)
    gl: str = "us"
    hl: str = "en"


class _Brave(BaseModel):
    q: str = Field(min_length=1, max_length=400)
    count: int = Field(20, ge=1, le=20)
    offset: int = Field(0, ge=0, le=9)
    freshness: str = ""


class _ExaSearch(BaseModel, alias_generator=to_camel):
    query: str
    num_results: int = Field(10, ge=1, le=100)
    include_domains: list[str] | None = None
    exclude_domains: list[str] | None = None
    start_published_date: str = ""
    end_published_date: str = ""
    contents: dict[str, Any] = {}


def _tavily_search(turn: SearchTurn, asked: _TavilySearch) -> WebResponse:
    arguments = asked.model_dump()
    if refusal := tavily_refusal(arguments):
        return _json({"detail": {"error": refusal}}, 400)
    return _json(tavily_response(turn, asked.query, tavily_results(turn, arguments)))


def _tavily_extract(turn: SearchTurn, asked: _TavilyExtract) -> WebResponse:
    urls = [asked.urls] if isinstance(asked.urls, str) else asked.urls
    if not 0 < len(urls) <= 20:
        told = "Max 20 URLs are allowed." if urls else "URLs are missing."
        return _json({"detail": {"error": told}}, 400)
    return _json(tavily_extract_response(turn, urls))


def _serper(turn: SearchTurn, asked: _Serper) -> WebResponse:
    return _json(
        serper_response(turn, {**asked.model_dump(), "type": "search", "engine": "google"})
    )


def _brave(turn: SearchTurn, asked: _Brave) -> WebResponse:
    since, _, until = asked.freshness.partition("to") if "to" in asked.freshness else ("", "", "")
    fits = page_filter(since or first_day(turn, asked.freshness), until)
    start = asked.count * asked.offset
    results = results_for(turn, asked.q, start + asked.count + 1, fits)[start:]
    items: list[dict[str, Any]] = []
    for one in results[: asked.count]:
        dated = {"page_age": f"{one.date}T00:00:00", "age": one.day} if one.date else {}
        item = {"title": one.title, "url": one.url, "description": one.snippet, **dated}
        items.append({"type": "search_result", **item, "language": "en", "family_friendly": True})
    query = {"original": asked.q, "more_results_available": len(results) > asked.count}
    web = {"type": "search", "results": items, "family_friendly": True}
    return _json({"type": "search", "query": query, **({"web": web} if items else {})})


def _exa_search(turn: SearchTurn, asked: _ExaSearch) -> WebResponse:
    since, until = asked.start_published_date[:10], asked.end_published_date[:10]
    fits = page_filter(since, until, asked.exclude_domains)
    hosts = asked.include_domains or ()
    items: list[dict[str, Any]] = []
    for one in results_for(turn, asked.query, asked.num_results, fits, hosts):
        item: dict[str, Any] = {"id": one.url, "title": one.title, "url": one.url, "author": None}
        if one.date:
            item["publishedDate"] = timestamp(one, "")
        # The guard reads what search results show: a page's whole text is no part of one.
        if asked.contents.get("text"):
            item["text"] = one.snippet
        if asked.contents.get("highlights"):
            item |= {"highlights": [one.snippet], "highlightScores": [0.5]}
        items.append(item)
    return _json(
        {
            "requestId": request_of(turn)["request_id"],
            "resolvedSearchType": "neural",
            "results": items,
        }
    )


_PATHS: Mapping[
    tuple[str, str], tuple[type[BaseModel], Callable[[SearchTurn, Any], WebResponse]]
] = {
    ("POST", "api.tavily.com/search"): (_TavilySearch, _tavily_search),
    ("POST", "api.tavily.com/extract"): (_TavilyExtract, _tavily_extract),
    ("POST", "google.serper.dev/search"): (_Serper, _serper),
    ("GET", "api.search.brave.com/res/v1/web/search"): (_Brave, _brave),
    ("POST", "api.exa.ai/search"): (_ExaSearch, _exa_search),
}
_REFUSALS: Mapping[str, Callable[[str], Any]] = {
    "api.tavily.com": lambda told: {"detail": {"error": told}},
    "google.serper.dev": lambda told: {"message": told},
    "api.search.brave.com": lambda told: {"type": "ErrorResponse", "error": {"detail": told}},
    "api.exa.ai": lambda told: {"error": told},
}
SEARCH_HOSTS = tuple(_REFUSALS)


def service_answer(turn: SearchTurn, host: str, request: WebRequest) -> WebResponse:
    """What one of `SEARCH_HOSTS` answers."""
    refusal = _REFUSALS[host]
    method = "GET" if request.method == "HEAD" else request.method
    found = _PATHS.get((method, host + request.path.rstrip("/")))
    if found is None:
        return _json(refusal("Not Found"), 404)
    model, answer = found
    try:
        # A client may put its fields where the others put none.
        body: Any = json.loads(request.body or b"{}")
        asked = model.model_validate(
            {**dict(request.query), **body} if isinstance(body, dict) else body
        )
    except (ValidationError, ValueError, RecursionError) as error:
        first = error.errors()[0] if isinstance(error, ValidationError) else None
        told = f"{'.'.join(map(str, first['loc']))}: {first['msg']}" if first else "Invalid JSON"
        return _json(refusal(told), 400)
    return answer(turn, asked)


def _json(value: Any, status: int = 200) -> WebResponse:
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
    return WebResponse(status, body, (("content-type", "application/json"),))
