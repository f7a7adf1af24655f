"""The domain of a tool that nobody named one for: by its name and its schema."""

from __future__ import annotations

import re

from agentworld_sim.toolkits.fitting import properties
from agentworld_sim.toolkits.usual_names import snake_case
from agentworld_sim.types.tools import DomainName, ToolSpec

_QUERIES = frozenset({"query", "queries", "q", "search_query", "search_term", "keywords", "input"})
_ADDRESSES = frozenset({"url", "urls", "link", "links"})
_POINTS = frozenset({"x", "y", "coordinate", "coordinates", "index", "bid", "start", "start_x"})

_SEARCH_ENGINES = frozenset(
    "tavily duckduckgo ddg ddgs brave exa serper serpapi searxng searx bing perplexity kagi".split()
)
"""A tool whose name has one of these words searches the web, or reads what it found there."""

_WEB_SEARCH = re.compile(
    r"(?:.+_)?(?:web|internet|google|online)_search(?:_.+)?|search_(?:the_)?(?:web|internet|google|online)"
    r"|websearch|google_serper"
)
_PAGE_READER = re.compile(
    r"(?:.+_)?(?:web_fetch|fetch_url|fetch_content|fetch_(?:web_?)?page|read_(?:web_?)?page|visit_(?:web_?)?page"
    r"|open_(?:web_?)?page|webfetch|scrape_(?:url|page|website))(?:_.+)?"
)
_THE_WEB = re.compile(
    r"\b(?:the web|the internet|duckduckgo|web search|web pages?)\b", re.IGNORECASE
)

_BROWSER = re.compile(r"(?:browser|playwright|puppeteer)_.+")
_BROWSERGYM = frozenset("click fill hover select_option focus clear drag_and_drop dblclick".split())
"""Actions of BrowserGym that name an element by its `bid`."""

_PHONE = re.compile(r"(?:android|adb|mobile)_.+|mobile_?use")
_PHONE_WORDS = frozenset(
    "app apps button clipboard crash crashes device devices element elements keys location logs"
    " orientation press screen screenshot swipe tap type url use action click scroll input commands".split()
)
_TOUCHES = frozenset("tap double_tap long_press swipe".split())
_PHONE_ACTIONS = frozenset("open_app navigate_home navigate_back keyboard_enter input_text".split())

_DESKTOP = frozenset("computer computer_use computeruse".split())


def infer_domain(tool: ToolSpec) -> DomainName:
    """What kind of environment a tool belongs to; `mcp` unless its name and its schema are plain."""
    name = snake_case(tool.name.rpartition("__")[2])
    words, arguments = set(name.split("_")), set(properties(tool.input_schema))
    if _is_desktop(tool, name, words, arguments):
        return "os"
    if _is_phone(name, words, arguments):
        return "android"
    if _is_browser(name, arguments):
        return "web"
    if "keystrokes" in arguments:
        return "terminal"
    if _is_search(tool, name, words, arguments):
        return "search"
    return "mcp"


def _is_search(tool: ToolSpec, name: str, words: set[str], arguments: set[str]) -> bool:
    asks, reads = bool(_QUERIES & arguments), bool(_ADDRESSES & arguments)
    if words & _SEARCH_ENGINES:
        return asks or reads or "key" in arguments
    if _WEB_SEARCH.fullmatch(name):
        return asks
    if _PAGE_READER.fullmatch(name):
        return reads
    if name == "fetch":
        return reads and bool({"max_length", "start_index"} & arguments)
    return name == "search" and asks and bool(_THE_WEB.search(tool.description))


def _is_browser(name: str, arguments: set[str]) -> bool:
    if _BROWSER.fullmatch(name):
        return True
    return (name in _BROWSERGYM and "bid" in arguments) or (name == "goto" and arguments == {"url"})


def _is_phone(name: str, words: set[str], arguments: set[str]) -> bool:
    if _PHONE.fullmatch(name):
        return bool(words & _PHONE_WORDS)
    if "action_type" in arguments:
        # AndroidWorld's one tool for all actions.
        return bool({"index", "app_name"} & arguments)
    if name in _PHONE_ACTIONS:
        return not arguments or bool({"index", "app_name", "text"} & arguments)
    return name in _TOUCHES and bool(_POINTS & arguments)


def _is_desktop(tool: ToolSpec, name: str, words: set[str], arguments: set[str]) -> bool:
    if "pyautogui" in words:
        return True
    if name in _DESKTOP:
        return "action" in arguments
    code = len(arguments) == 1 and bool({"code", "script", "python_code"} & arguments)
    return code and "pyautogui" in tool.description.lower()
