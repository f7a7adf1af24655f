"""What the MCP servers answer that read one page: mcp-server-fetch, and the reader of duckduckgo-mcp-server."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from html import escape
from typing import Any
from urllib.parse import urlsplit

from pydantic import AnyUrl, BaseModel, ValidationError, create_model

from agentworld_sim.engines.search.search_engine import NoPage, SearchTurn
from agentworld_sim.engines.search.service_answers import result_of
from agentworld_sim.engines.search.web_page import WebPage
from agentworld_sim.types.turns import Observation

Arguments = Mapping[str, Any]


def fetch(turn: SearchTurn, arguments: Arguments) -> Observation:
    """`fetch` of mcp-server-fetch: Markdown in pieces, or the page's HTML."""
    try:
        url = str(_fetch_arguments()(url=arguments["url"]).url)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
    except ValidationError as error:
        return _fetch_failure(str(error))
    scheme, host, *_ = urlsplit(url)
    try:
        page = turn.page(url)
    except NoPage as problem:
        robots = (
            f"Failed to fetch robots.txt {scheme}://{host}/robots.txt due to a connection issue"
        )
        missing = f"Failed to fetch {url} - status code {problem.status}"
        return _fetch_failure(missing if problem.status else robots)
    before, text = "", page.text
    if arguments.get("raw"):
        text = page_html(page)
        before = "Content type text/html; charset=utf-8 cannot be simplified to markdown, but here is the raw content:\n"  # fmt: skip
    start, most = arguments.get("start_index", 0), arguments.get("max_length", 5000)
    if start >= len(text):
        piece = "<error>No more content available.</error>"
    else:
        piece = text[start : start + most]
        if start + most < len(text):
            piece += f"\n\n<error>Content truncated. Call the fetch tool with a start_index of {start + most} to get more content.</error>"  # fmt: skip
    return Observation(text=f"{before}Contents of {url}:\n{piece}")


def fetch_content(turn: SearchTurn, arguments: Arguments) -> Observation:
    """`fetch_content` of duckduckgo-mcp-server. It keeps what it read: the next piece of a page is a hit."""
    url, mode = arguments["url"], (arguments.get("parse_mode") or "text").lower()
    if mode not in ("text", "main", "markdown"):
        return result_of(
            f"Error: Unknown parse_mode '{mode}'. Supported: ('text', 'main', 'markdown')"
        )
    try:
        page = turn.page(url)
    except NoPage as problem:
        return result_of(_refusal(url, known=bool(problem.status)))
    text = page.text if mode == "markdown" else page_text(page)
    start, most = arguments.get("start_index", 0), arguments.get("max_length", 8000)
    piece = text[start : start + most]
    about = f"Showing characters {start}-{start + len(piece)} of {len(text)} total"
    if start + most < len(text):
        about += f". Use start_index={start + most} to see more"
    about += f" | cache={'hit' if start else 'miss'}"
    about += f" | parse={mode}" if mode != "text" else ""
    return result_of(f"{piece}\n\n---\n[Content info: {about}]")


def _refusal(url: str, *, known: bool) -> str:
    if known:
        return (
            f"Error: Could not access the webpage (Client error '404 Not Found' for url '{url}'\nFor more"
            " information check: https://developer.mozilla.org/en-US/docs/Web/HTTP/Status/404)"
        )
    scheme, host, *_ = urlsplit(url)
    problem = f"could not resolve host '{host}': [Errno -2] Name or service not known"
    if scheme not in ("http", "https"):
        problem = f"unsupported URL scheme '{scheme}://' (only http and https are allowed)"
    return (
        f"Error: Refusing to fetch {url} ({problem}). This server blocks requests to private/internal addresses to"
        " prevent SSRF. If this is a trusted local deployment, set DDG_ALLOW_PRIVATE_URLS=1 (or pass"
        " --allow-private-urls)."
    )


def page_html(page: WebPage) -> str:
    """A page as HTML."""
    head = f'<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(page.title)}</title>\n</head>'
    return f"<!DOCTYPE html>\n{head}\n<body>\n{_markdown().render(page.text)}</body>\n</html>\n"


def page_text(page: WebPage) -> str:
    """A page's words on one line."""
    tokens = _markdown().parse(page.text)
    inline = (token.children or () for token in tokens if token.type == "inline")
    texts = ("".join(one.content or " " * ("break" in one.type) for one in all) for all in inline)
    return " ".join(" ".join(texts).split())


@cache
def _markdown() -> Any:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable("table")


@cache
def _fetch_arguments() -> type[BaseModel]:
    # The server's own words for what is no URL are those of its model.
    return create_model("fetchArguments", url=(AnyUrl, ...))


def _fetch_failure(text: str) -> Observation:
    return Observation(text=f"Error executing tool fetch: {text}", is_error=True)
