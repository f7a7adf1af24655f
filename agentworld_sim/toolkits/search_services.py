"""The tools with which agents search the web and read pages: of LangChain's packages, and of MCP servers."""

from __future__ import annotations

from functools import partial

from agentworld_sim.toolkits.known_tool import BOOLEAN, KnownTool, ToolkitMaker, arguments

_PACKAGE = "agentworld_sim.engines.search"
_maker = partial(
    ToolkitMaker, domain="search", engine="search", operations=f"{_PACKAGE}.service_answers"
)
_reader = partial(_maker, operations=f"{_PACKAGE}.page_answers")
_tavily, _tavily_mcp = _maker(toolkit="tavily"), _maker(toolkit="tavily-mcp")
_duckduckgo, _duckduckgo_mcp = _maker(toolkit="duckduckgo"), _maker(toolkit="duckduckgo-mcp")
_brave, _brave_mcp = _maker(toolkit="brave"), _maker(toolkit="brave-mcp")
_serper = _maker(toolkit="google-serper")
_exa, _exa_mcp = _maker(toolkit="exa"), _maker(toolkit="exa-mcp")
_duckduckgo_reader, _fetch = _reader(toolkit="duckduckgo-mcp"), _reader(toolkit="fetch")

_RANGE = "day,week,month,year"
_DEPTH = "basic,advanced,fast,ultra-fast"
_RESULT = arguments("result")
_OPEN = {"anyOf": [BOOLEAN, {"type": "object"}, {"type": "null"}]}

TAVILY_TOOLS: tuple[KnownTool, ...] = (
    _tavily(
        "tavily_search",
        "Searches the web.",
        "query include_domains?:strings|null exclude_domains?:strings|null"
        f" search_depth?:{_DEPTH}|null include_images?:boolean|null time_range?:{_RANGE}|null"
        " topic?:general,news,finance|null start_date?:string|null end_date?:string|null"
        # Of the tool's object: who sets it there says so in `binds_to`.
        " max_results?:integer|null",
    ),
    _tavily(
        "tavily_extract",
        "Reads pages.",
        "urls:strings extract_depth?:basic,advanced|null include_images?:boolean|null query?:string|null",
    ),
)

TAVILY_MCP_TOOLS: tuple[KnownTool, ...] = (
    _tavily_mcp(
        "tavily_search",
        "Searches the web.",
        f"query search_depth?:{_DEPTH} topic? time_range?:{_RANGE} start_date? end_date?"
        " max_results?:number include_images?:boolean include_image_descriptions?:boolean"
        " include_raw_content?:boolean include_domains?:strings exclude_domains?:strings country?"
        " include_favicon?:boolean exact_match?:boolean",
        names=("tavily_search", "tavily-search"),
        operation="tavily_mcp_search",
    ),
    _tavily_mcp(
        "tavily_extract",
        "Reads pages.",
        "urls:strings extract_depth?:basic,advanced include_images?:boolean format?:markdown,text"
        " include_favicon?:boolean query?",
        names=("tavily_extract", "tavily-extract"),
        operation="tavily_mcp_extract",
    ),
)

DUCKDUCKGO_TOOLS: tuple[KnownTool, ...] = (
    _duckduckgo("duckduckgo_search", "Searches the web.", "query"),
    _duckduckgo("duckduckgo_results_json", "Searches the web.", "query max_results?:integer"),
)

DUCKDUCKGO_MCP_TOOLS: tuple[KnownTool, ...] = (
    _duckduckgo_mcp(
        "search",
        "Searches the web.",
        "query max_results?:integer region?",
        operation="duckduckgo_mcp_search",
        output_schema=_RESULT,
        distinctive=("region",),
    ),
    _duckduckgo_reader(
        "fetch_content",
        "Reads a page.",
        "url start_index?:integer max_length?:integer backend?:string|null parse_mode?:string|null",
        output_schema=_RESULT,
        distinctive=("start_index",),
    ),
)

BRAVE_TOOLS: tuple[KnownTool, ...] = (_brave("brave_search", "Searches the web.", "query"),)

BRAVE_MCP_TOOLS: tuple[KnownTool, ...] = (
    _brave_mcp(
        "brave_web_search",
        "Searches the web.",
        "query country? search_lang? ui_lang? count?:integer offset?:integer safesearch? freshness?"
        " text_decorations?:boolean spellcheck?:boolean result_filter?:strings goggles?:strings units?"
        " extra_snippets?:boolean summary?:boolean",
    ),
)

SERPER_TOOLS: tuple[KnownTool, ...] = (
    _serper("google_serper", "Searches the web.", "query"),
    _serper("google_serper_results_json", "Searches the web.", "query"),
)

EXA_TOOLS: tuple[KnownTool, ...] = (
    _exa(
        "exa_search_results_json",
        "Searches the web.",
        arguments(
            "query num_results?:integer text_contents_options? highlights? include_domains?:strings|null"
            " exclude_domains?:strings|null start_crawl_date?:string|null end_crawl_date?:string|null"
            " start_published_date?:string|null end_published_date?:string|null"
            " use_autoprompt?:boolean|null livecrawl?:string|null summary? type?:string|null",
            text_contents_options=_OPEN,
            highlights=_OPEN,
            summary=_OPEN,
        ),
    ),
)

EXA_MCP_TOOLS: tuple[KnownTool, ...] = (
    _exa_mcp("web_search_exa", "Searches the web.", "query numResults?:number"),
    _exa_mcp("web_fetch_exa", "Reads pages.", "urls:strings maxCharacters?:number"),
)

FETCH_TOOLS: tuple[KnownTool, ...] = (
    _fetch(
        "fetch",
        "Reads a page.",
        "url max_length?:integer start_index?:integer raw?:boolean",
        distinctive=("start_index",),
    ),
)

TOOLKITS = {
    "tavily": TAVILY_TOOLS,
    "tavily-mcp": TAVILY_MCP_TOOLS,
    "duckduckgo": DUCKDUCKGO_TOOLS,
    "duckduckgo-mcp": DUCKDUCKGO_MCP_TOOLS,
    "brave": BRAVE_TOOLS,
    "brave-mcp": BRAVE_MCP_TOOLS,
    "google-serper": SERPER_TOOLS,
    "exa": EXA_TOOLS,
    "exa-mcp": EXA_MCP_TOOLS,
    "fetch": FETCH_TOOLS,
}
"""By name, in the order in which they are tried."""
