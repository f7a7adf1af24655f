"""The tools with which agents search the web and read pages: of LangChain's packages, and of MCP servers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from agentworld_sim.toolkits.known_tool import BOOLEAN, KnownTool, arguments

_DEPTH = "search_depth?:basic,advanced,fast,ultra-fast"
_TEXT = arguments("result")
_OPEN = {"anyOf": [BOOLEAN, {"type": "object"}, {"type": "null"}]}
_EXA = {"text_contents_options": _OPEN, "highlights": _OPEN, "summary": _OPEN}


def _tool(
    id: str,
    takes: str,
    operation: str = "",
    kinds: Mapping[str, Any] | None = None,
    **fields: Any,
) -> KnownTool:
    """One tool; what computes it has its name where `operation` (`module:function`) says nothing else."""
    name = id.partition("/")[2]
    reads = "query" not in takes.split()
    fields.setdefault("names", (name,))
    return KnownTool(
        id=id,
        domain="search",
        engine="search",
        slow=True,
        **fields,
        description="Reads pages of the web." if reads else "Searches the web.",
        input_schema=arguments(takes, **kinds or {}),
        operation=f"agentworld_sim.engines.search.{operation or f'service_answers:{name}'}",
    )


def _tools() -> Iterator[KnownTool]:
    yield _tool(
        "tavily/tavily_search",
        f"query include_domains?:strings|null exclude_domains?:strings|null {_DEPTH}|null"
        " include_images?:boolean|null time_range?:day,week,month,year|null"
        " topic?:general,news,finance|null start_date?:string|null end_date?:string|null"
        # With which the tool's object is made, or a function of one's own around the service.
        " max_results?:integer|null include_raw_content?:boolean|null",
    )
    yield _tool(
        "tavily/tavily_extract",
        "urls:strings extract_depth?:basic,advanced|null include_images?:boolean|null query?:string|null",
    )
    yield _tool(
        "tavily-mcp/tavily_search",
        f"query {_DEPTH} topic? time_range?:day,week,month,year start_date? end_date?"
        " max_results?:number include_images?:boolean include_image_descriptions?:boolean"
        " include_raw_content?:boolean include_domains?:strings exclude_domains?:strings country?"
        " include_favicon?:boolean exact_match?:boolean",
        "service_answers:tavily_mcp_search",
        names=("tavily_search", "tavily-search"),
    )
    yield _tool(
        "tavily-mcp/tavily_extract",
        "urls:strings extract_depth?:basic,advanced include_images?:boolean format?:markdown,text"
        " include_favicon?:boolean query?",
        "service_answers:tavily_mcp_extract",
        names=("tavily_extract", "tavily-extract"),
    )
    yield _tool("duckduckgo/duckduckgo_search", "query")
    yield _tool("duckduckgo/duckduckgo_results_json", "query max_results?:integer")
    yield _tool(
        "duckduckgo-mcp/search",
        "query max_results?:integer region?",
        "service_answers:duckduckgo_mcp_search",
        output_schema=_TEXT,
        distinctive=("region",),
    )
    yield _tool(
        "duckduckgo-mcp/fetch_content",
        "url start_index?:integer max_length?:integer backend?:string|null parse_mode?:string|null",
        "page_answers:fetch_content",
        output_schema=_TEXT,
        distinctive=("start_index",),
    )
    yield _tool("brave/brave_search", "query")
    yield _tool(
        "brave-mcp/brave_web_search",
        "query country? search_lang? ui_lang? count?:integer offset?:integer safesearch? freshness?"
        " text_decorations?:boolean spellcheck?:boolean result_filter?:strings goggles?:strings units?"
        " extra_snippets?:boolean summary?:boolean",
    )
    yield _tool("google-serper/google_serper", "query")
    yield _tool("google-serper/google_serper_results_json", "query")
    yield _tool(
        "exa/exa_search_results_json",
        "query num_results?:integer text_contents_options? highlights? include_domains?:strings|null"
        " exclude_domains?:strings|null start_crawl_date?:string|null end_crawl_date?:string|null"
        " start_published_date?:string|null end_published_date?:string|null"
        " use_autoprompt?:boolean|null livecrawl?:string|null summary? type?:string|null",
        kinds=_EXA,
    )
    yield _tool("exa-mcp/web_search_exa", "query numResults?:number")
    yield _tool("exa-mcp/web_fetch_exa", "urls:strings maxCharacters?:number")
    yield _tool(
        "fetch/fetch",
        "url max_length?:integer start_index?:integer raw?:boolean",
        "page_answers:fetch",
        distinctive=("start_index",),
    )


TOOLKITS: Mapping[str, tuple[KnownTool, ...]] = {
    name: tuple(tools) for name, tools in groupby(_tools(), key=lambda tool: tool.toolkit)
}
"""By name, in the order in which they are tried."""
