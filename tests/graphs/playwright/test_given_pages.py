"""A site that is given: everything a browser's tools say of it is computed."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import ValidationError

from agentworld_graphs import ScriptedChatModel, SimulatedBrowserToolkit
from agentworld_sim import UsageError, World

if TYPE_CHECKING:
    from conftest import Lab

HOME = """<!DOCTYPE html>
<html><head><title>Shop</title><style>p {color: red}</style><script>var hidden = 1;</script></head>
<body>
  <h1>Welcome  to the
    shop</h1>
  <p class="lead big">Fresh <b>bread</b> daily.</p><p>Open <br> late.</p>
  <ul><li><a href="/bread">Bread</a></li><li><a id="far" href="https://other.test/x">Far</a></li>
  <li><a href="/bread">Bread again</a></li><li><a href="#top">Top</a></li><li><a>No target</a></li></ul>
  <a class="secret" style="display: none" href="/secret">Secret</a>
  <a class="tab" href="/bread" target="_blank">In a tab</a>
  <a class="mail" href="mailto:a@shop.test">Mail</a>
  <form action="/search"><input name="q" value="rye &amp; co"><input type="checkbox" name="c" checked>
  <select name="s"><option value="1">one</option><option selected>two</option></select>
  <button name="b" value="go">Go</button><button type="reset">Clear</button></form>
  <form action="/buy" method="post"><input type="hidden" name="id" value="7">
  <input type="submit" value="Buy"></form>
</body></html>"""
BREAD = "<title>Bread</title><h1>Bread</h1><a href='rye'>Rye</a>"
PAGES: dict[str, str | tuple[int, str]] = {
    "https://Shop.test": HOME,
    "https://shop.test/bread": BREAD,
    "https://shop.test/rye": "<h1>Rye</h1>",
    "https://shop.test/search?q=rye+%26+co&c=on&s=two&b=go": "<p>Found: rye</p>",
    "https://shop.test/buy": (402, "<p>Pay first</p>"),
}


class Browser:
    """The tools by name, called as an agent's runtime does."""

    def __init__(self, toolkit: SimulatedBrowserToolkit, way: str) -> None:
        self.toolkit = toolkit
        self._tools = {tool.name: tool for tool in toolkit.get_tools()}
        self._way = way

    async def __call__(self, name: str, **arguments: Any) -> str:
        tool: BaseTool = self._tools[name]
        answer = tool.invoke(arguments) if self._way == "invoke" else await tool.ainvoke(arguments)
        assert isinstance(answer, str)
        return answer

    async def error(self, name: str, **arguments: Any) -> str:
        """What an agent is told when the call fails."""
        call = {"name": name, "args": arguments, "id": "1", "type": "tool_call"}
        tool = self._tools[name]
        answer = tool.invoke(call) if self._way == "invoke" else await tool.ainvoke(call)
        assert answer.status == "error"
        return answer.content

    async def go(self, path: str = "/") -> str:
        return await self("navigate_browser", url=f"https://shop.test{path}")

    async def click(self, selector: str) -> str:
        return await self("click_element", selector=selector)

    async def url(self) -> str:
        return await self("current_webpage")


@pytest.fixture(params=["invoke", "ainvoke"])
def browser(request: pytest.FixtureRequest) -> Browser:
    return Browser(SimulatedBrowserToolkit(pages=PAGES), request.param)


async def test_a_new_browser_shows_nothing(browser: Browser) -> None:
    assert await browser.url() == "about:blank"
    assert await browser("extract_text") == ""
    assert await browser("extract_hyperlinks") == "[]"
    assert await browser("get_elements", selector="a") == "[]"
    assert await browser.click("a") == "Unable to click on element 'a'"
    assert (
        await browser("previous_webpage")
        == "Unable to navigate back; no previous page in the history"
    )


async def test_a_url_is_told_as_it_was_given_and_shown_as_a_browser_shows_it(
    browser: Browser,
) -> None:
    answer = await browser("navigate_browser", url="HTTPS://shop.test:443")
    assert answer == "Navigating to HTTPS://shop.test:443 returned status code 200"
    assert await browser.url() == "https://shop.test/"


async def test_a_page_that_is_not_there_is_not_found(browser: Browser) -> None:
    assert await browser.go("/none") == (
        "Navigating to https://shop.test/none returned status code 404"
    )
    assert "Not Found" in await browser("extract_text")


async def test_only_the_web_is_opened(browser: Browser) -> None:
    with pytest.raises(ValidationError, match="URL scheme must be 'http' or 'https'"):
        await browser("navigate_browser", url="file:///etc/passwd")
    assert "invalid URL" in await browser.error("navigate_browser", url="http://")
    assert await browser.url() == "about:blank"


async def test_text_and_links_are_read_off_the_page(browser: Browser) -> None:
    await browser.go()
    text = await browser("extract_text")
    assert text.startswith("Shop Welcome  to the\n    shop Fresh bread daily. Open late. Bread Far")
    assert "hidden" not in text
    assert json.loads(await browser("extract_hyperlinks")) == [
        "/bread",
        "https://other.test/x",
        "#top",
        "",
        "/secret",
        "mailto:a@shop.test",
    ]
    links = json.loads(await browser("extract_hyperlinks", absolute_urls=True))
    assert links[:3] == [
        "https://shop.test/bread",
        "https://other.test/x",
        "https://shop.test/#top",
    ]


@pytest.mark.parametrize(
    "selector, attributes, expected",
    [
        ("h1", None, [{"innerText": "Welcome to the shop"}]),
        ("p", None, [{"innerText": "Fresh bread daily."}, {"innerText": "Open\nlate."}]),
        ("p.lead", ["class", "id"], [{"class": "lead big"}]),
        ("#far", ["href", "innerText"], [{"href": "https://other.test/x", "innerText": "Far"}]),
        ("li:nth-child(2) > a", ["href"], [{"href": "https://other.test/x"}]),
        ("a.secret", None, [{"innerText": "Secret"}]),
        ("ul", None, [{"innerText": "Bread\nFar\nBread again\nTop\nNo target"}]),
        ("table", None, []),
        ("html", ["lang"], []),
    ],
)
async def test_elements_are_found_by_selector(
    browser: Browser, selector: str, attributes: list[str] | None, expected: list[Any]
) -> None:
    await browser.go()
    given = {} if attributes is None else {"attributes": attributes}
    assert json.loads(await browser("get_elements", selector=selector, **given)) == expected


async def test_what_is_no_selector_is_an_error(browser: Browser) -> None:
    await browser.go()
    for name in ("get_elements", "click_element"):
        assert 'parsing css selector "a[["' in await browser.error(name, selector="a[[")
    assert await browser.url() == "https://shop.test/"


async def test_links_lead_on_and_the_history_leads_back(browser: Browser) -> None:
    await browser.go()
    assert await browser.click("li a") == "Clicked element 'li a'"
    assert await browser.url() == "https://shop.test/bread"
    assert await browser.click("a") == "Clicked element 'a'"
    assert await browser("extract_text") == "Rye"
    back = "Navigated back to the previous page with URL '{}'. Status code 200"
    assert await browser("previous_webpage") == back.format("https://shop.test/bread")
    assert await browser("previous_webpage") == back.format("https://shop.test/")
    assert (await browser("previous_webpage")).startswith("Unable to navigate back")
    # What lay ahead is forgotten when another way is taken.
    await browser.go("/rye")
    assert await browser("previous_webpage") == back.format("https://shop.test/")


async def test_another_place_on_the_page_is_the_same_page(browser: Browser) -> None:
    await browser.go()
    assert await browser.click("a[href='#top']") == "Clicked element 'a[href='#top']'"
    assert await browser.url() == "https://shop.test/#top"
    assert "status code unknown" in await browser.go("/#bottom")
    assert "Welcome" in await browser("extract_text")


async def test_what_is_not_shown_cannot_be_clicked_on(browser: Browser) -> None:
    await browser.go()
    for selector in (".secret", "title", "input[type=hidden]", "video"):
        assert await browser.click(selector) == f"Unable to click on element '{selector}'"


async def test_a_link_may_open_a_tab_of_its_own(browser: Browser) -> None:
    await browser.go()
    await browser.click("a.tab")
    assert await browser.url() == "https://shop.test/bread"
    assert (await browser("previous_webpage")).startswith("Unable to navigate back")


async def test_forms_are_sent_with_what_stands_in_them(browser: Browser) -> None:
    await browser.go()
    await browser.click("form button")
    assert await browser("extract_text") == "Found: rye"
    await browser("previous_webpage")
    assert await browser.click("[type=submit]") == "Clicked element '[type=submit]'"
    assert await browser("extract_text") == "Pay first"


async def test_what_only_a_program_would_do_changes_nothing(browser: Browser) -> None:
    await browser.go()
    for selector in ("h1", "[type=reset]", ".mail", "[type=checkbox]"):
        assert await browser.click(selector) == f"Clicked element '{selector}'"
    assert await browser.url() == "https://shop.test/"


async def test_a_fork_of_the_world_has_a_browser_of_its_own(browser: Browser) -> None:
    await browser.go()
    other = await browser.toolkit.world.fork()
    forked = Browser(SimulatedBrowserToolkit(other), "ainvoke")
    await forked.click("li a")
    assert await forked.url() == "https://shop.test/bread"
    assert await browser.url() == "https://shop.test/"
    assert all(
        turn.observation.provenance == "computed" for turn in (await other.trajectory()).turns
    )


def test_going_back_in_a_thread_goes_back_in_the_browser(lab: Lab) -> None:
    def asks(name: str, id: str, **arguments: Any) -> AIMessage:
        return AIMessage(
            "", tool_calls=[{"name": name, "args": arguments, "id": id, "type": "tool_call"}]
        )

    script = [
        asks("navigate_browser", "1", url="https://shop.test/"),
        asks("click_element", "2", selector="li a"),
        asks("current_webpage", "3"),
        AIMessage("done"),
    ]
    toolkit = SimulatedBrowserToolkit(pages=PAGES)
    agent = lab.create_agent(
        ScriptedChatModel(script=script), toolkit.get_tools(), checkpointer=InMemorySaver()
    )
    thread = {"configurable": {"thread_id": "t"}}
    first = agent.invoke({"messages": [("user", "go")]}, thread)
    config = next(
        one.config
        for one in agent.get_state_history(thread)
        if "tools" in one.next and len(one.values["messages"]) == 4
    )
    again = agent.invoke(None, config)
    for final in (first, again):
        assert final["messages"][-2].content == "https://shop.test/bread"


def test_the_tools_are_those_of_the_real_toolkit() -> None:
    # langchain-community 0.4.2, `PlayWrightBrowserToolkit.get_tools()`.
    tools = SimulatedBrowserToolkit(pages=PAGES).get_tools()
    assert [tool.name for tool in tools] == [
        "click_element",
        "navigate_browser",
        "previous_webpage",
        "extract_text",
        "extract_hyperlinks",
        "get_elements",
        "current_webpage",
    ]
    assert {tool.name: list(tool.args) for tool in tools} == {
        "click_element": ["selector"],
        "navigate_browser": ["url"],
        "previous_webpage": [],
        "extract_text": [],
        "extract_hyperlinks": ["absolute_urls"],
        "get_elements": ["selector", "attributes"],
        "current_webpage": [],
    }


async def test_no_browser_is_imported(browser: Browser) -> None:
    await browser.go()
    assert "playwright" not in sys.modules


async def test_without_pages_and_model_there_is_no_browser() -> None:
    world = await World.create()
    with pytest.raises(UsageError, match="neither pages nor a model"):
        SimulatedBrowserToolkit(world)
    SimulatedBrowserToolkit(world, pages=PAGES)
    # Now it has pages.
    SimulatedBrowserToolkit(world)


def test_a_missing_parser_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "turbohtml", None)
    with pytest.raises(UsageError, match=r"pip install 'agentworld-sim\[browser\]'"):
        SimulatedBrowserToolkit(pages=PAGES)
