"""Web search: a search engine, a page reader and a small memory."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, cast

from agentworld_sim.checks import CheckInput
from agentworld_sim.domains import Domain
from agentworld_sim.domains.text import json_action
from agentworld_sim.domains.tool_results import read_result, write_result

RESULTS_PER_QUERY = 10

_HEADER = re.compile(r"(?m)^\[(?P<number>\d+)\][ \t]*(?P<address>[^\n]*)$")
_ADDRESS = re.compile(r"(?:https?://)?[^\s/.]+\.[^\s/]+(?:/\S*)?\Z", re.IGNORECASE)
_FIELDS = ("Title", "Snippet", "Date")


class SearchResults:
    """Results of `web_search` are numbered blocks with address, title, snippet and date.

    Fewer results than usual are acceptable: some queries have no more.
    """

    name = "search-results"
    scope: Literal["imagined"] = "imagined"

    def judge(self, given: CheckInput) -> str | None:
        if (
            given.call.name.rpartition("__")[2] != "web_search"
            or given.tool.output_schema is not None
            or given.observation.is_error
        ):
            return None
        text = given.observation.text
        headers = list(_HEADER.finditer(text))
        if not headers:
            return None
        most = RESULTS_PER_QUERY * _queries(given.call.arguments)
        if len(headers) > most:
            return f"{len(headers)} results for {most // RESULTS_PER_QUERY} queries; give {most}"
        ends = [header.start() for header in headers[1:]] + [len(text)]
        last = 0
        for header, end in zip(headers, ends, strict=True):
            problem = _block_problem(header, text[header.end() : end], last)
            if problem:
                return f"result [{header['number'][:9]}] {problem}"
            last = int(header["number"])
        return None


def _queries(arguments: Mapping[str, Any]) -> int:
    queries = arguments.get("queries")
    return max(1, len(cast("list[Any]", queries))) if isinstance(queries, list) else 1


def _block_problem(header: re.Match[str], body: str, last: int) -> str | None:
    # A list of queries may be numbered through, or from 1 again for each.
    if len(header["number"]) > 6 or int(header["number"]) not in (last + 1, 1):
        return f"follows [{last}]; number the results one after the other"
    if not _ADDRESS.match(header["address"].strip()):
        return f"has no address; write [{header['number']}] https://host/path"
    for name in _FIELDS:
        if not re.search(rf"(?m)^{name}:[ \t]*\S", body):
            return f"has no {name}; write it on a line of its own, '{name}: …'" + (
                " or 'Date: N/A'" if name == "Date" else ""
            )
    return None


DOMAIN = Domain(
    name="search",
    action=json_action,
    write=write_result,
    read=read_result,
    fence="json",
    checks=(SearchResults(),),
)
