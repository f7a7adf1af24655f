"""The tools of the search domain: `web_search`, `web_extractor`, and the small memory `dict_memory`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agentworld_sim.engines.search.search_engine import NoPage, SearchTurn
from agentworld_sim.engines.search.search_results import SearchResult
from agentworld_sim.types.turns import Observation


def web_search(turn: SearchTurn, arguments: Mapping[str, Any]) -> Observation:
    queries = [one for one in (arguments.get("query"), *(arguments.get("queries") or ())) if one]
    if not queries:
        return _error("Error: nothing to search for. Give `query`, or a list of `queries`.")
    if turn.offline:
        return _error("Error: the search service could not be reached.")
    found = zip(queries, turn.results(queries), strict=True)
    return Observation(text="\n\n".join(_results(query, results) for query, results in found))


def _results(query: str, results: list[SearchResult]) -> str:
    if not results:
        return f"No results found for: {query}"
    return "\n\n".join(
        f"[{number}] {one.url}\nTitle: {one.title}\nSnippet: {one.snippet}\nDate: {one.day}"
        for number, one in enumerate(results, 1)
    )


def web_extractor(turn: SearchTurn, arguments: Mapping[str, Any]) -> Observation:
    url = arguments["url"]
    try:
        return Observation(text=turn.page(url).text)
    except NoPage as problem:
        return _error(f"Error: the page {url} could not be opened. {problem}")


def dict_memory(turn: SearchTurn, arguments: Mapping[str, Any]) -> Observation:
    # A list of pairs keeps the order in which things were remembered.
    held = dict(turn.kept.get("memory", ()))
    operation = arguments["operation"]
    items: Mapping[str, Any] = arguments.get("dict") or {}
    keys = list(items) if operation in ("add", "update") else list(arguments.get("key_list") or ())
    if not keys and operation not in ("retrieve_all", "remove_all"):
        needed = "dict" if operation in ("add", "update") else "key_list"
        return _error(f"Error: the operation {operation!r} needs `{needed}`.")
    unknown = [key for key in keys if key not in held]
    if unknown and operation in ("update", "remove"):
        return _error(f"Key not found: {unknown}")
    match operation:
        case "add":
            text, held = f"Successfully added items of {keys} to memory.", {**held, **items}
        case "update":
            text, held = f"Successfully updated items of {keys} in memory.", {**held, **items}
        case "remove":
            text = f"Successfully removed items of {keys} from memory."
            held = {key: value for key, value in held.items() if key not in keys}
        case "remove_all":
            text, held = "Successfully cleared all memory.", {}
        case "retrieve":
            text = _json({key: held.get(key, "Key not found") for key in keys})
        case _:
            text = _json(held)
    turn.kept.put("memory", [[key, value] for key, value in held.items()] or None)
    return Observation(text=text)


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _error(text: str) -> Observation:
    return Observation(text=text, is_error=True)
