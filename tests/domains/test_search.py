"""A search engine, a page reader and a small memory."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agentworld_sim.domains import domain
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Observation

SEARCH = domain("search")
RefusalsOf = Callable[..., dict[str, str]]


def results(count: int, first: int = 1) -> str:
    return "\n\n".join(
        f"[{number}] https://example.org/{number}\nTitle: Page {number}\nSnippet: Some words …\n"
        "Date: N/A"
        for number in range(first, first + count)
    )


def test_an_action_is_the_call_as_json() -> None:
    call = ToolCall("web_search", {"queries": ["a"]})
    assert SEARCH.action(call, ToolSpec(name="web_search")).text == (
        '{\n  "name": "web_search",\n  "arguments": {\n    "queries": [\n      "a"\n    ]\n  }\n}'
    )


def test_results_are_read_as_they_are() -> None:
    call, tool = ToolCall("web_search", {"query": "a"}), ToolSpec(name="web_search")
    assert SEARCH.read(results(10), call, tool) == Observation(
        text=results(10), provenance="imagined"
    )


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        (results(10), {"query": "a"}),
        (results(9), {"queries": ["a"]}),
        (results(20), {"queries": ["a", "b"]}),
        (f"{results(10)}\n\n{results(10)}", {"queries": ["a", "b"]}),
        (results(1).replace("https://example.org/1", "en.wikipedia.org/wiki/A"), {"query": "a"}),
        (results(1).replace("Date: N/A", "Date: Jun 18, 2024"), {"query": "a"}),
        (results(1).replace("Snippet: ", "Snippet: one\ntwo "), {"query": "a"}),
        ("No results found for 'a'.", {"query": "a"}),
        ("", {"query": "a"}),
    ],
)
def test_what_a_search_engine_says_is_accepted(
    text: str, arguments: dict[str, object], refusals_of: RefusalsOf
) -> None:
    assert refusals_of("search", text, arguments, tool="web_search") == {}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (results(11), "11 results for 1 queries; give 10"),
        (results(1) + "\n\n" + results(1, first=3), "result [3] follows [1]"),
        (results(1).replace("https://example.org/1", "A page"), "result [1] has no address"),
        (results(2).replace("Title: Page 2\n", ""), "result [2] has no Title"),
        (results(2).replace("Snippet: Some words …\n", "", 1), "result [1] has no Snippet"),
        (results(1).replace("Date: N/A", "Date: "), "or 'Date: N/A'"),
        (f"[{'9' * 5000}] a.b", "follows [0]"),
    ],
)
def test_a_result_that_is_not_whole_is_refused(
    text: str, reason: str, refusals_of: RefusalsOf
) -> None:
    refused = refusals_of("search", text, {"query": "a"}, tool="web_search")
    assert reason in refused["search-results"]


def test_other_search_tools_have_their_own_form(refusals_of: RefusalsOf) -> None:
    for given in ({"tool": "web_extractor"}, {"tool": "tavily"}, {"is_error": True}):
        options = {"tool": "web_search"} | given
        assert refusals_of("search", results(30), {"query": "a"}, **options) == {}
    typed = refusals_of("search", "[1] x", {}, tool="web_search", output_schema={})
    assert typed == {}
