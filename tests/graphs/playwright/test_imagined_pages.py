"""A browser whose pages a model imagines: each once, and everything else computed from it."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, StructuredTool

from agentworld_graphs import (
    ScriptedChatModel,
    SimulatedBrowserToolkit,
    SimulationInterrupted,
    simulate,
)
from agentworld_sim import AccessRefused, World
from agentworld_sim.cassette import CassetteMode, CassetteSession
from agentworld_sim.errors import WorldFailure
from agentworld_sim.imagination import WorldModel
from agentworld_sim.llm.scripted import ErrorReply, ScriptedModelServer, ScriptedReply
from agentworld_sim.runtime.sync import run_sync

if TYPE_CHECKING:
    from conftest import Lab

Reply = ScriptedReply | ErrorReply


def page(url: str, html: str, status: int = 200) -> ScriptedReply:
    return ScriptedReply.observation(json.dumps({"status": status, "url": url, "html": html}))


NEWS = page(
    "https://www.news.test/",
    "<title>News</title><h1>News</h1><a href='/one'>One</a><button onclick='more()'>More</button>",
)


@contextmanager
def browsing(*replies: Reply, **options: Any) -> Generator[tuple[dict[str, BaseTool], Any, World]]:
    """The tools by name, the model's server and the world."""
    with ScriptedModelServer(list(replies)) as server:
        toolkit = SimulatedBrowserToolkit(model=server.url, **options)
        yield {tool.name: tool for tool in toolkit.get_tools()}, server, toolkit.world
        run_sync(toolkit.world.close())


def test_a_page_is_asked_for_once_and_read_as_often_as_one_likes() -> None:
    with browsing(NEWS) as (tools, server, world):
        answer = tools["navigate_browser"].invoke({"url": "http://news.test"})
        assert answer == "Navigating to http://news.test returned status code 200"
        for _ in range(2):
            assert tools["extract_text"].invoke({}) == "News News One More"
            assert tools["extract_hyperlinks"].invoke({"absolute_urls": True}) == (
                '["https://www.news.test/one"]'
            )
            assert tools["current_webpage"].invoke({}) == "https://www.news.test/"
        (request,) = server.requests
    assert 'load_page(url="http://news.test/", history=[])' in request.last_user
    turns = run_sync(world.trajectory()).turns
    assert [turn.observation.provenance for turn in turns][:2] == ["imagined", "computed"]
    assert len(turns[0].exchanges) == 1


async def test_the_model_sees_where_the_browser_is_and_what_is_clicked_on() -> None:
    more = page("https://www.news.test/", "<h1>News</h1><p>More</p>")
    one = page("https://www.news.test/one", "<h1>One</h1>", 200)
    with browsing(NEWS, one, more) as (tools, server, _):
        await tools["navigate_browser"].ainvoke({"url": "http://news.test"})
        await tools["navigate_browser"].ainvoke({"url": "https://www.news.test/#here"})
        await tools["previous_webpage"].ainvoke({})
        assert await tools["click_element"].ainvoke({"selector": "a"}) == "Clicked element 'a'"
        back = await tools["previous_webpage"].ainvoke({})
        assert back.endswith("'https://www.news.test/'. Status code 200")
        await tools["click_element"].ainvoke({"selector": "button"})
        assert await tools["extract_text"].ainvoke({}) == "News More"
        assert await tools["previous_webpage"].ainvoke({}) == (
            "Unable to navigate back; no previous page in the history"
        )
        second, third = server.requests[1:]
        followed, clicked = second.last_user, third.last_user
    # A conversation of pages: each is said once and in full, and the beginning never changes.
    said = [message["content"] for message in third.messages]
    assert [message["content"] for message in second.messages] == said[: len(second.messages)]
    assert sum("<h1>News</h1>" in one for one in said) == 1
    assert sum("<h1>One</h1>" in one for one in said) == 1
    assert 'url="https://www.news.test/one", history=["https://www.news.test/"]' in followed
    assert 'click="button"' in clicked
    assert "more()" in clicked


def test_pages_that_are_given_are_not_asked_for() -> None:
    given = {
        "https://shop.test/": "<a href='/inside'>In</a><a id='out' href='http://news.test'>Out</a>"
    }
    with browsing(NEWS, pages=given) as (tools, server, _):
        tools["navigate_browser"].invoke({"url": "https://shop.test/"})
        assert not server.requests
        tools["click_element"].invoke({"selector": "#out"})
        assert tools["current_webpage"].invoke({}) == "https://www.news.test/"
        assert len(server.requests) == 1


def test_an_answer_of_another_form_is_asked_for_again_with_the_reason() -> None:
    wrong = ScriptedReply.observation("<html>a page</html>")
    pretended = page("https://x.test/", "<p>This is a simulated page.</p>")
    with browsing(wrong, pretended, NEWS) as (tools, server, world):
        tools["navigate_browser"].invoke({"url": "http://news.test"})
        assert tools["extract_text"].invoke({}) == "News News One More"
        assert len(server.requests) == 3
        assert "not valid JSON" in server.requests[1].last_user
        assert "simulated" in server.requests[2].last_user.partition("earlier answer")[2]
        turn = run_sync(world.trajectory()).turns[0]
    assert [bool(exchange.problem) for exchange in turn.exchanges] == [True, True, False]


@pytest.mark.promise("model-failure")
def test_a_model_that_never_gives_a_page_fails_the_step() -> None:
    for said, told in (
        ("no page", "no usable answer"),
        ('{"page": 1}', "keys status, url and html"),
    ):
        _fails(said, told)


def _fails(said: str, told: str) -> None:
    with browsing(*[ScriptedReply.observation(said)] * 8) as (tools, _, world):
        with pytest.raises(WorldFailure, match=told):
            tools["navigate_browser"].invoke({"url": "http://news.test"})
        assert tools["current_webpage"].invoke({}) == "about:blank"
        (failed,) = run_sync(world.failures())
        assert failed.exchanges


@pytest.mark.promise("model-failure")
def test_a_model_that_is_down_ends_the_run(lab: Lab) -> None:
    with browsing(ErrorReply(status=400)) as (tools, _, world):
        asks = {"name": "navigate_browser", "args": {"url": "http://news.test"}, "id": "1"}
        script = [AIMessage("", tool_calls=[{**asks, "type": "tool_call"}])]
        agent = lab.create_agent(ScriptedChatModel(script=script), list(tools.values()))
        with pytest.raises(SimulationInterrupted):
            agent.invoke({"messages": [("user", "go")]})
        assert not run_sync(world.trajectory()).turns


def test_a_server_that_does_not_answer_is_the_browsers_own_error() -> None:
    unreachable = {
        "isError": True,
        "content": [{"type": "text", "text": "net::ERR_NAME_NOT_RESOLVED"}],
    }
    with browsing(ScriptedReply.observation(json.dumps(unreachable))) as (tools, _, world):
        call = {"name": "navigate_browser", "args": {"url": "http://nowhere.test"}, "id": "1"}
        message = tools["navigate_browser"].invoke({**call, "type": "tool_call"})
        assert (message.content, message.status) == (
            "Page.goto: net::ERR_NAME_NOT_RESOLVED at http://nowhere.test/",
            "error",
        )
        assert tools["current_webpage"].invoke({}) == "chrome-error://chromewebdata/"
        assert run_sync(world.trajectory()).turns[0].observation.provenance == "imagined"


def current_webpage() -> str:
    """Returns the URL of the current page"""
    raise AssertionError("the real tool ran")


def test_the_real_tools_bind_by_name_and_arguments_where_a_model_imagines_pages() -> None:
    real = StructuredTool.from_function(current_webpage)
    with ScriptedModelServer([]) as server:
        world = run_sync(World.create(model=server.url))
        assert simulate(real, world).invoke({}) == "about:blank"
        run_sync(world.close())
    with pytest.raises(AccessRefused, match="needs a language world model"):
        simulate(real)


def test_imagined_pages_are_replayed_from_a_cassette(tmp_path: Path) -> None:
    path = tmp_path / "browsing.yaml"
    one = page("https://www.news.test/one", "<h1>One</h1>")

    def browse(mode: CassetteMode, model: WorldModel | None) -> str:
        session = CassetteSession(path, mode)
        world = run_sync(World.create(model=session.model(model) or False))
        tools = {tool.name: tool for tool in SimulatedBrowserToolkit(world).get_tools()}
        tools["navigate_browser"].invoke({"url": "http://news.test"})
        tools["click_element"].invoke({"selector": "a"})
        text = tools["extract_text"].invoke({})
        run_sync(session.watch(world))
        assert not session.finish(passed=True).drift
        run_sync(world.close())
        return text

    with ScriptedModelServer([NEWS, one]) as server:
        recorded = browse("once", WorldModel.find(url=server.url))
    assert recorded == browse("replay", None) == "One"
    assert path.read_text().count("tool: load_page") == 2
