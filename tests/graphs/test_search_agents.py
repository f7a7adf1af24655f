"""Agents with the search tools of LangChain's packages, in a world with pages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

import langchain_tavily
import pytest
from langchain import agents
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, tool
from pydantic import BaseModel, ConfigDict, Field

from agentworld_graphs import ScriptedChatModel, simulate
from agentworld_sim import World
from agentworld_sim.runtime.sync import run_sync
from tests.controls.lamp_pages import lamps


class SearchInput(BaseModel):
    model_config = ConfigDict(extra="allow")

    query: str
    include_domains: list[str] | None = Field(default=[])
    topic: str | None = "general"


class TavilySearch(BaseTool):
    """As langchain-tavily declares it, in the parts that matter here; the real one is in the test below."""

    name: str = "tavily_search"
    description: str = "Searches."
    args_schema: Any = SearchInput
    handle_tool_error: Any = True
    max_results: int | None = None
    include_domains: list[str] | None = None

    def _run(self, query: str, **kwargs: Any) -> dict[str, Any]:
        raise AssertionError("the real tool ran")


@pytest.fixture
def world() -> Iterator[World]:
    made = run_sync(lamps())
    yield made
    run_sync(made.close())


def called(query: str, **arguments: Any) -> AIMessage:
    call = {"name": "tavily_search", "args": {"query": query, **arguments}, "id": "1"}
    return AIMessage("", tool_calls=[{**call, "type": "tool_call"}])


def told(search: BaseTool, call: AIMessage) -> ToolMessage:
    """What an agent reads that makes one call."""
    agent = cast("Any", agents).create_agent(ScriptedChatModel(script=[call, "done"]), [search])
    return agent.invoke({"messages": [("user", "go")]})["messages"][-2]


def test_an_agent_with_tavily_searches_the_world(world: World) -> None:
    search = simulate(TavilySearch(), world)
    results = json.loads(told(search, called("Ardent lamp")).text)["results"]
    assert results[0]["url"] == "https://orvelle.example/lamp-0" and len(results) == 5


def test_what_a_tool_was_set_up_with_holds_in_the_world(world: World) -> None:
    real = TavilySearch(max_results=2, include_domains=["orvelle.example", "lamps.example"])
    binds_to = 'tavily/tavily_search(include_domains:=["orvelle.example", "lamps.example"], max_results:=2)'
    search = simulate(real, world)
    for _ in range(2):
        assert world.tools["tavily_search"].binds_to == binds_to
        simulate(real, world)
    said = search.invoke({"query": "Ardent lamp", "include_domains": ["elsewhere.example"]})
    assert [one["title"] for one in said["results"]][:1] == ["Lamp Ardent"]
    assert len(said["results"]) == 2


def test_without_pages_a_model_imagines_what_such_a_tool_finds() -> None:
    real = TavilySearch(max_results=2)
    world = run_sync(World.create(model="http://127.0.0.1:9"))
    assert simulate(real, world).world.tools["tavily_search"].binds_to == "model/search"
    run_sync(world.close())


async def test_who_calls_a_tool_without_an_agent_gets_what_it_returns(world: World) -> None:
    search = simulate(TavilySearch(), world)
    assert search.invoke({"query": "Ardent"})["query"] == "Ardent"
    assert (await search.ainvoke({"query": "Ardent"}))["query"] == "Ardent"
    refused = search.invoke({"query": " "})
    assert refused == "{'error': Exception('Error 400: Bad Request')}"

    @tool
    def brave_search(query: str) -> str:
        """Searches."""
        raise AssertionError("the real tool ran")

    assert simulate(brave_search, world).invoke({"query": "Ardent"}).startswith('[{"title": ')


def test_a_search_that_finds_nothing_is_an_error_that_the_model_reads(world: World) -> None:
    asked = called("Ardent", include_domains=["elsewhere.example"])
    message = told(simulate(TavilySearch(), world), asked)
    assert message.status == "error"
    assert message.text.startswith("No search results found for 'Ardent'. Suggestions: Remove")


def test_the_tools_of_langchain_tavily_are_answered(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", "none")
    search = simulate(langchain_tavily.TavilySearch(max_results=1), world)
    (found,) = search.invoke({"query": "Ardent lamp"})["results"]
    read = simulate(langchain_tavily.TavilyExtract(), world)
    (page,) = read.invoke({"urls": [found["url"]]})["results"]
    assert page["raw_content"].startswith("# Ardent\n\nThe Ardent is a lamp")
