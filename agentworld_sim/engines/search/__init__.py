"""A search engine and the pages behind it, computed."""

from agentworld_sim.engines.search.page_index import PageIndex
from agentworld_sim.engines.search.search_engine import NoPage, SearchEngine, SearchTurn
from agentworld_sim.engines.search.search_results import SearchResult
from agentworld_sim.engines.search.web_dirt import address_of
from agentworld_sim.engines.search.web_page import Cell, PageKind, WebPage

__all__ = [
    "Cell",
    "NoPage",
    "PageIndex",
    "PageKind",
    "SearchEngine",
    "SearchResult",
    "SearchTurn",
    "WebPage",
    "address_of",
]
