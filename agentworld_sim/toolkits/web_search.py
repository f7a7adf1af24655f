"""The tools of agents that search the web."""

from __future__ import annotations

from agentworld_sim.toolkits.known_tool import STRING, STRINGS, KnownTool, ToolkitMaker, arguments

_search = ToolkitMaker(
    toolkit="search",
    domain="search",
    operations="agentworld_sim.engines.search.web_tools",
    engine="search",
    slow=True,
)

_OPERATIONS = "add,update,retrieve,retrieve_all,remove,remove_all"

TOOLS: tuple[KnownTool, ...] = (
    _search(
        "web_search",
        "Searches the web. Give one query, or several at once; each has up to ten results.",
        arguments(
            "queries? query?",
            queries={**STRINGS, "description": "What to search for, one text each."},
            query={**STRING, "description": "What to search for."},
        ),
    ),
    _search("web_extractor", "Opens a page of the web and gives its text as Markdown.", "url"),
    _search(
        "dict_memory",
        "Remembers items by key: add or update the items of `dict`, retrieve or remove those of `key_list`, retrieve"
        " or remove all.",
        arguments(
            f"operation:{_OPERATIONS} dict? key_list?:strings",
            dict={"type": "object", "description": "Key to what is remembered."},
        ),
    ),
)
