"""What the search tools that people use answer: each in the form of its own service, and all from the same pages.

What a world can compute of their arguments is computed: how many results, which hosts, which dates, phrases. What it
cannot is ignored, as these services ignore what finds nothing: country, region and language, depth, pictures, favicons,
the choice of passages by a query. A page's whole text is never part of a search result, since the guard reads snippets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from email.utils import format_datetime
from itertools import zip_longest
from random import Random
from typing import Any
from uuid import UUID

from agentworld_sim.engines.search.page_index import host_of
from agentworld_sim.engines.search.search_engine import NoPage, SearchTurn
from agentworld_sim.engines.search.search_results import SearchResult
from agentworld_sim.engines.search.web_page import WebPage
from agentworld_sim.types.turns import Observation

Arguments = Mapping[str, Any]

_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365, "pd": 1, "pw": 7, "pm": 31, "py": 365}
_BAD_REQUEST = Observation(text="{'error': Exception('Error 400: Bad Request')}")
_LONGEST_QUERY = 400
_MOST_URLS = 20
_MOST_RESULTS = 100


def tavily_search(turn: SearchTurn, arguments: Arguments) -> Observation:
    """`TavilySearch` of langchain-tavily."""
    if tavily_refusal(arguments):
        return _BAD_REQUEST
    results = tavily_results(turn, arguments)
    if not results:
        tried = ("time_range", "include_domains", "exclude_domains")
        advice = [f"Remove {name} argument" for name in tried if arguments.get(name)]
        if arguments.get("search_depth", "basic") == "basic":
            advice.append("Try a more detailed search using 'advanced' search_depth")
        if arguments.get("topic", "general") != "general":
            advice.append("Try a general search using 'general' topic")
        return _nothing(f"search results found for '{arguments['query']}'", advice, "search")
    return _json(tavily_response(turn, arguments["query"], results))


def tavily_response(
    turn: SearchTurn, query: str, results: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """What the service answers to a search."""
    nothing: dict[str, Any] = {"follow_up_questions": None, "answer": None, "images": []}
    return {"query": query, **nothing, "results": list(results), **request_of(turn)}


def tavily_extract(turn: SearchTurn, arguments: Arguments) -> Observation:
    """`TavilyExtract` of langchain-tavily."""
    urls: list[str] = arguments["urls"]
    if not 0 < len(urls) <= _MOST_URLS:
        return _BAD_REQUEST
    if not any(page_at(turn, url) for url in urls):
        depth = arguments.get("extract_depth", "basic") == "basic"
        advice = ["Try a more detailed extraction using 'advanced' extract_depth"] * depth
        return _nothing(f"extracted results found for '{urls}'", advice, "extract")
    return _json(tavily_extract_response(turn, urls))


def tavily_extract_response(turn: SearchTurn, urls: Sequence[str]) -> dict[str, Any]:
    """What the service answers to an extraction."""
    pages = [(url, page_at(turn, url)) for url in urls]
    results: list[dict[str, Any]] = [
        {"url": url, "title": page.title, "raw_content": page.text, "images": []}
        for url, page in pages
        if page
    ]
    failed = [{"url": url, "error": "Failed to fetch url"} for url, page in pages if not page]
    return {"results": results, "failed_results": failed, **request_of(turn)}


def tavily_mcp_search(turn: SearchTurn, arguments: Arguments) -> Observation:
    """`tavily_search` of the server tavily-mcp."""
    if refusal := tavily_refusal(arguments):
        return _tavily_failure("search", refusal)
    if arguments.get("start_date") or arguments.get("end_date"):
        arguments = {**arguments, "time_range": None}
    if arguments.get("country"):
        arguments = {**arguments, "topic": "general"}
    return _tavily_blocks(
        f"\nTitle: {one['title']}\nURL: {one['url']}\nContent: {one['content']}"
        for one in tavily_results(turn, arguments)
    )


def tavily_mcp_extract(turn: SearchTurn, arguments: Arguments) -> Observation:
    """`tavily_extract` of the server tavily-mcp. The service gives no content beside the raw one, and the server writes
    down what is not there."""
    urls: list[str] = arguments["urls"]
    if not 0 < len(urls) <= _MOST_URLS:
        return _tavily_failure("extract", "Max 20 URLs are allowed." if urls else "URLs are missing.")  # fmt: skip
    return _tavily_blocks(
        f"\nTitle: {page.title}\nURL: {url}\nContent: undefined\nRaw Content: {page.text}"
        for url in urls
        if (page := page_at(turn, url))
    )


def duckduckgo_search(turn: SearchTurn, arguments: Arguments) -> Observation:
    """`DuckDuckGoSearchRun` of langchain-community."""
    return _snippets(turn, arguments["query"], 5, "DuckDuckGo")


def duckduckgo_results_json(turn: SearchTurn, arguments: Arguments) -> Observation:
    """`DuckDuckGoSearchResults` of langchain-community."""
    results = results_for(turn, arguments["query"], arguments.get("max_results", 4))
    lines = (f"snippet: {one.snippet}, title: {one.title}, link: {one.url}" for one in results)
    return Observation(text=", ".join(lines))


def duckduckgo_mcp_search(turn: SearchTurn, arguments: Arguments) -> Observation:
    """`search` of the server duckduckgo-mcp-server."""
    limit = max(1, min(arguments.get("max_results", 10), 20))
    results = results_for(turn, arguments["query"], limit)
    lines = [
        f"{number}. {one.title}\n   URL: {one.url}\n   Summary: {one.snippet}\n"
        for number, one in enumerate(results, 1)
    ]
    if lines:
        return result_of("\n".join([f"Found {len(lines)} search results:\n", *lines]))
    return result_of(
        "No results were found for your search query. This could be due to DuckDuckGo's bot detection or the query"
        " returned no matches. Please try rephrasing your search or try again in a few minutes. If this persists,"
        " DuckDuckGo may be blocking this server's TLS fingerprint; installing the optional browser backend (pip"
        " install 'duckduckgo-mcp-server[browser]') enables Chrome TLS impersonation, which typically resolves it."
    )


def brave_search(turn: SearchTurn, arguments: Arguments) -> Observation:
    """`BraveSearch` of langchain-community."""
    results = results_for(turn, arguments["query"], 20)
    items = [{"title": one.title, "link": one.url, "snippet": one.snippet} for one in results]
    return Observation(text=json.dumps(items))


def brave_web_search(turn: SearchTurn, arguments: Arguments) -> Observation:
    """`brave_web_search` of Brave's server: a content block for each result."""
    count = max(1, min(arguments.get("count", 10), 20))
    start = count * max(0, min(arguments.get("offset", 0), 9))
    freshness: str = arguments.get("freshness") or ""
    since, _, until = freshness.partition("to") if "to" in freshness else ("", "", "")
    fits = page_filter(since or first_day(turn, freshness), until)
    results = results_for(turn, arguments["query"], start + count, fits)[start:]
    if not results:
        return Observation(text="No web results found", is_error=True)
    items = [{"url": one.url, "title": one.title, "description": one.snippet} for one in results]
    texts = [json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in items]
    blocks = tuple({"type": "text", "text": text} for text in texts)
    return Observation(text="\n".join(texts), content=blocks if len(blocks) > 1 else ())


def google_serper(turn: SearchTurn, arguments: Arguments) -> Observation:
    """`GoogleSerperRun` of langchain-community."""
    return _snippets(turn, arguments["query"], 10, "Google")


def google_serper_results_json(turn: SearchTurn, arguments: Arguments) -> Observation:
    """`GoogleSerperResults` of langchain-community: an object as Python writes it."""
    asked = {"gl": "us", "hl": "en", "type": "search", "num": 10, "engine": "google"}
    return Observation(text=str(serper_response(turn, {"q": arguments["query"], **asked})))


def serper_response(turn: SearchTurn, asked: Mapping[str, Any]) -> dict[str, Any]:
    """What the service answers to a search; `asked` has `q`, and how many results as `num`."""
    items: list[dict[str, Any]] = []
    for position, one in enumerate(results_for(turn, asked["q"], asked["num"]), 1):
        dated = {"date": one.day} if one.date else {}
        item = {"title": one.title, "link": one.url, "snippet": one.snippet}
        items.append({**item, **dated, "position": position})
    return {"searchParameters": dict(asked), "organic": items, "credits": 1}


def exa_search_results_json(turn: SearchTurn, arguments: Arguments) -> Observation:
    """`ExaSearchResults` of langchain-exa: the response as its package writes it."""
    since, until = (arguments.get(f"{end}_published_date") or "" for end in ("start", "end"))
    fits = page_filter(since[:10], until[:10], arguments.get("exclude_domains"))
    hosts = arguments.get("include_domains") or ()
    limit = arguments.get("num_results", 10)
    blocks: list[str] = []
    for one in results_for(turn, arguments["query"], limit, fits, hosts):
        text, highlights, scores = one.snippet, None, None
        if arguments.get("highlights"):
            text, highlights, scores = None, [one.snippet], [0.5]
        blocks.append(
            f"Title: {one.title}\nURL: {one.url}\nID: {one.url}\nScore: None\n"
            f"Published Date: {timestamp(one, 'None')}\nAuthor: None\nImage: None\nFavicon: None\n"
            f"Extras: None\nSubpages: None\nText: {text}\nHighlights: {highlights}\n"
            f"Highlight Scores: {scores}\nSummary: None\n"
        )
    return Observation(text="\n\n".join(blocks) + "\nResolved Search Type: neural")


_CATEGORY = re.compile(
    r"\bcategory:(company|publication|news|personal\s*site|people)\b", re.IGNORECASE
)


def web_search_exa(turn: SearchTurn, arguments: Arguments) -> Observation:
    """`web_search_exa` of Exa's server."""
    query = _CATEGORY.sub("", arguments["query"]).strip()
    blocks = [
        f"Title: {one.title}\nURL: {one.url}\nPublished: {timestamp(one, 'N/A')}\nAuthor: N/A\n"
        f"Highlights:\n{one.snippet}"
        for one in results_for(turn, query, arguments.get("numResults") or 10)
    ]
    nothing = "No search results found. Please try a different query."
    return Observation(text="\n\n---\n\n".join(blocks) or nothing)


def web_fetch_exa(turn: SearchTurn, arguments: Arguments) -> Observation:
    """`web_fetch_exa` of Exa's server."""
    pages = [(url, page_at(turn, url)) for url in arguments["urls"]]
    failed = [url for url, page in pages if not page]
    if failed and len(failed) == len(pages):
        told = "; ".join(f"{url}: CRAWL_NOT_FOUND" for url in failed)
        return Observation(text=f"Error fetching URL(s): {told}", is_error=True)
    most = int(arguments.get("maxCharacters") or 3000)
    lines: list[str] = []
    for url, page in pages:
        if page:
            dated = [f"Published: {page.date}"] if page.date else []
            lines += [f"# {page.title}", f"URL: {url}", *dated, "", page.text[:most], ""]
    lines += [f"Error fetching {url}: CRAWL_NOT_FOUND" for url in failed]
    nothing = "No content found for the provided URL(s)."
    return Observation(text="\n".join(lines).strip() or nothing)


def result_of(text: str) -> Observation:
    """A text as a server answers whose tool returns a string."""
    return Observation(text=text, structured={"result": text})


def page_at(turn: SearchTurn, url: str) -> WebPage | None:
    """The page at an address; `None` if there is none."""
    try:
        return turn.page(url)
    except NoPage:
        return None


def _snippets(turn: SearchTurn, query: str, limit: int, service: str) -> Observation:
    text = " ".join(one.snippet for one in results_for(turn, query, limit))
    return Observation(text=text or f"No good {service} Search Result was found")


def results_for(
    turn: SearchTurn,
    query: str,
    limit: float,
    fits: Callable[[WebPage], bool] = lambda page: True,
    hosts: Sequence[str] = (),
) -> list[SearchResult]:
    """The best results of those that fit, of these hosts or of any; none where nothing can be reached."""
    limit = min(int(limit), _MOST_RESULTS)
    if turn.offline or limit < 1:
        return []
    queries = [f"{query} site:{_host(host)}" for host in hosts] or [query]
    each = turn.results(queries, limit, fits)
    return [one for row in zip_longest(*each) for one in row if one][:limit]


def _host(domain: str) -> str:
    return host_of(domain if "://" in domain else f"https://{domain.removeprefix('*.')}")


def page_filter(
    since: str, until: str, without: Sequence[str] | None = None, kind: str = ""
) -> Callable[[WebPage], bool]:
    """Whether a page is of one of these days, the first and the last included, and of none of these hosts. A page that
    has no date fits no dates."""
    hosts = [_host(domain) for domain in without or ()]

    def fits(page: WebPage) -> bool:
        if (since or until) and not (page.date and since <= page.date <= (until or page.date)):
            return False
        own = host_of(page.url)
        return kind in ("", page.kind) and not any(f".{own}".endswith(f".{one}") for one in hosts)

    return fits


def first_day(turn: SearchTurn, span: str | None) -> str:
    """The first day of a span of time that ends today; empty for none."""
    if span not in _DAYS:
        return ""
    today = datetime.fromtimestamp(turn.clock_us / 1e6, UTC).date()
    return (today - timedelta(days=_DAYS[span])).isoformat()


def timestamp(result: SearchResult, missing: str) -> str:
    """The date of a result as these services write it."""
    return f"{result.date}T00:00:00.000Z" if result.date else missing


def tavily_refusal(arguments: Arguments) -> str:
    """What the service says of a search that it refuses; empty for others."""
    query: str = arguments["query"]
    if not query.strip():
        return "Query is missing."
    if len(query) > _LONGEST_QUERY:
        return f"Query is too long. Max query length is {_LONGEST_QUERY} characters."
    for name in ("start_date", "end_date"):
        try:
            date.fromisoformat(arguments.get(name) or "2000-01-01")
        except ValueError:
            return f"Invalid {name}. Must be in YYYY-MM-DD format."
    return ""


def tavily_results(turn: SearchTurn, arguments: Arguments) -> list[dict[str, Any]]:
    news = arguments.get("topic") == "news"
    since = arguments.get("start_date") or first_day(turn, arguments.get("time_range"))
    kind = "news" if news else ""
    until = arguments.get("end_date") or ""
    fits = page_filter(since, until, arguments.get("exclude_domains"), kind)
    query: str = arguments["query"]
    if not arguments.get("exact_match"):
        query = query.replace('"', " ")
    limit = min(arguments.get("max_results") or 5, 20)
    results = results_for(turn, query, limit, fits, arguments.get("include_domains") or ())
    items: list[dict[str, Any]] = []
    for rank, one in enumerate(results):
        item: dict[str, Any] = {"url": one.url, "title": one.title, "content": one.snippet}
        item |= {"score": round(0.93 * 0.91**rank, 7), "raw_content": None}
        if news and one.date:
            noon = datetime.combine(date.fromisoformat(one.date), time(12), UTC)
            item["published_date"] = format_datetime(noon, usegmt=True)
        items.append(item)
    return items


def request_of(turn: SearchTurn) -> dict[str, Any]:
    """What the service says of a request."""
    random = Random(turn.seed)
    request_id = str(UUID(int=random.getrandbits(128), version=4))
    return {"response_time": round(random.uniform(0.4, 2.2), 2), "request_id": request_id}


def _json(value: Any) -> Observation:
    """As LangChain writes what a tool returns."""
    return Observation(text=json.dumps(value, ensure_ascii=False))


def _nothing(what: str, advice: Sequence[str], tool: str) -> Observation:
    return Observation(
        text=f"No {what}. Suggestions: {', '.join(advice)}."
        f" Try modifying your {tool} parameters with one of these approaches.",
        is_error=True,
    )


def _tavily_blocks(blocks: Iterable[str]) -> Observation:
    return Observation(text="\n".join(["Detailed Results:", *blocks]))


def _tavily_failure(endpoint: str, error: str) -> Observation:
    pages = "https://docs.tavily.com/documentation/api-reference/endpoint"
    told = json.dumps({"error": error}, separators=(",", ":"))
    return Observation(
        text=f"Tavily API error: {told}\nDocumentation: {pages}/{endpoint}", is_error=True
    )
