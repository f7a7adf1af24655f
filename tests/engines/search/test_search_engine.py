"""The search tools, as an agent calls them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from agentworld_sim.engines.search import PageIndex, SearchEngine, WebPage
from agentworld_sim.ports import StepContext
from agentworld_sim.testing import check_engine
from agentworld_sim.toolkits import toolkit
from agentworld_sim.types.conditions import Conditions
from agentworld_sim.types.files import FileTree, MemoryBlobs
from agentworld_sim.types.state import WorldState
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Observation

PAGES = [
    WebPage(
        url="https://en.quarpedia.alt/wiki/Axabril",
        title="Axabril - Quarpedia",
        text="# Axabril\n\n| Maker | Vorokova |\n\nAxabril is a kettle. It is made by [Vorokova](https://en.quarpedia.alt/wiki/Vorokova).\n",
        kind="encyclopaedia",
        teaser="Facts and figures: Axabril, a kettle: maker, weight, price and more.",
    ),
    WebPage(
        url="https://www.scarmoor-courier.alt/axabril",
        title="Axabril: a look at the maker | The Scarmoor Courier",
        text="Who makes the kettle Axabril? It was Vorokova.",
        kind="news",
        date="2024-06-18",
        teaser="Our readers asked about Axabril.",
    ),
    WebPage(
        url="https://en.quarpedia.alt/wiki/Vorokova",
        title="Vorokova - Quarpedia",
        text="# Vorokova\n\nVorokova makes kettles.\n",
        teaser="All about Vorokova, a maker.",
    ),
]
TOOLS: Mapping[str, ToolSpec] = {tool.name: tool for tool in toolkit("search")}


@dataclass
class Base:
    """Stands for base data, and counts how often it was opened."""

    opened: list[Any] = field(default_factory=list[Any])

    def open(self, name: Any) -> Base:
        self.opened.append(name)
        return self

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        connection = sqlite3.connect(":memory:", check_same_thread=False)
        PageIndex(connection).write(PAGES)
        yield connection
        connection.close()


@dataclass
class Desk:
    """A state, and what calls answer on it."""

    values: Mapping[str, Any]
    clock_us: int = 0

    async def call(self, tool: str, **arguments: Any) -> Observation:
        state = WorldState(files=FileTree({}), clock_us=self.clock_us, seed=1, values=self.values)
        blobs = MemoryBlobs()
        session = await SearchEngine(Base().open, has_pages=True).open(state, blobs)

        async def never(*_: Any) -> Any:
            raise AssertionError

        context = StepContext(
            call=ToolCall(tool, arguments),
            tool=TOOLS[tool],
            state=state,
            seed=1,
            blobs=blobs,
            history=never,
            failures=never,
            state_at=never,
        )
        answer = await session.answer(context)
        after = state.after(answer.change)
        self.values, self.clock_us = after.values, after.clock_us
        return answer.observation


@pytest.fixture
def desk() -> Desk:
    return Desk({"search/base": {"recipe": 1}})


async def test_a_search_prints_numbered_blocks_for_each_of_its_queries(desk: Desk) -> None:
    found = await desk.call("web_search", queries=["kettle Axabril maker", "zzz"])
    assert found.text == (
        "[1] https://en.quarpedia.alt/wiki/Axabril\nTitle: Axabril - Quarpedia\n"
        "Snippet: Facts and figures: Axabril, a kettle: maker, weight, price and more. Axabril is a kettle.\n"
        "Date: N/A\n\n"
        "[2] https://www.scarmoor-courier.alt/axabril\n"
        "Title: Axabril: a look at the maker | The Scarmoor Courier\n"
        "Snippet: Our readers asked about Axabril. Who makes the kettle Axabril?\nDate: Jun 18, 2024\n\n"
        "[3] https://en.quarpedia.alt/wiki/Vorokova\nTitle: Vorokova - Quarpedia\n"
        "Snippet: All about Vorokova, a maker.\nDate: N/A\n\n"
        "No results found for: zzz"
    )
    single = await desk.call("web_search", query="kettle Axabril maker")
    assert single.text == found.text.removesuffix("\n\nNo results found for: zzz")
    assert (await desk.call("web_search")).is_error


async def test_what_is_withheld_is_on_the_page_and_in_no_result(desk: Desk) -> None:
    desk.values = {**desk.values, "search/withheld": ["Vorokova"]}
    found = await desk.call("web_search", queries=["kettle Axabril maker", "who makes kettles"])
    assert "Vorokova" not in found.text and "wiki/Axabril" in found.text
    assert "Vorokova" in (await desk.call("web_extractor", url=PAGES[0].url)).text
    typed = await desk.call("web_search", query="Vorokova")
    assert "[1] https://en.quarpedia.alt/wiki/Vorokova" in typed.text


@pytest.mark.parametrize(
    "url",
    [
        "https://en.quarpedia.alt/wiki/Axabril",
        "https://en.quarpedia.alt/wiki/Axabril#History",
        "http://EN.quarpedia.alt/wiki/Axabril/",
        "en.quarpedia.alt/wiki/Axabril?utm_source=a",
        "https://www.en.quarpedia.alt/wiki/A%78abril",
    ],
)
async def test_a_page_opens_under_the_addresses_that_a_browser_takes_for_it(
    desk: Desk, url: str
) -> None:
    assert (await desk.call("web_extractor", url=url)).text == PAGES[0].text


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("https://en.quarpedia.alt/wiki/Nobody", "404 Not Found: https://en.quarpedia.alt/wiki/Nobody"),
        ("https://en.otherworld.alt/wiki/Axabril", "Could not resolve host: en.otherworld.alt"),
        ("ftp://en.quarpedia.alt/wiki/Axabril", "Unsupported URL scheme: ftp"),
        ("javascript:alert(1)", "Unsupported URL scheme: javascript"),
        ("https://", "Invalid URL: https://"),
        ("http://[::1", "Invalid URL: http://[::1"),
        ("", "Invalid URL: "),
        ("not a page", "Invalid URL: not a page"),
        ("https://a.alt/\ud800", "Could not resolve host: a.alt"),
        ("https://\u202eegap.alt/\u2028", "Could not resolve host: \u202eegap.alt"),
    ],
)  # fmt: skip
async def test_what_is_no_page_fails_as_on_the_web(desk: Desk, url: str, problem: str) -> None:
    seen = await desk.call("web_extractor", url=url)
    assert seen == Observation(text=f"Error: the page {url} could not be opened. {problem}", is_error=True)  # fmt: skip


async def test_a_world_that_is_offline_reaches_nothing(desk: Desk) -> None:
    desk.values = {**desk.values, **Conditions(offline=True).to_values()}
    assert (await desk.call("web_search", query="kettle")).is_error
    seen = await desk.call("web_extractor", url=PAGES[0].url)
    assert seen.text.endswith("Could not resolve host: en.quarpedia.alt")


async def test_pages_of_the_state_are_found_beside_and_instead_of_those_of_the_base(
    desk: Desk,
) -> None:
    changed = {"title": "Axabril", "text": "Axabril was withdrawn.", "date": "2025-01-02"}
    new = {"title": "Kettle news", "text": "A kettle fell from the sky."}
    odd = {"title": "Rust", "text": "It is brown."}
    desk.values = {
        **desk.values,
        f"search/page/{PAGES[0].url}": changed,
        "search/page/https://blog.alt/1": new,
        "search/page/https://blog.alt/Rust_%28colour%29": odd,
    }
    found = await desk.call("web_search", query="kettle Axabril")
    assert found.text.count("wiki/Axabril") == 1
    assert "Snippet: Axabril was withdrawn." in found.text and "https://blog.alt/1" in found.text
    assert (await desk.call("web_extractor", url=PAGES[0].url)).text == "Axabril was withdrawn."
    # What the page said before is not found any more.
    assert "wiki/Axabril" not in (await desk.call("web_search", query="Vorokova")).text
    seen = await desk.call("web_extractor", url="http://blog.alt/Rust_(colour)/#top")
    assert seen.text == "It is brown."
    alone = Desk({"search/page/https://blog.alt/1": new})
    assert "https://blog.alt/1" in (await alone.call("web_search", query="kettle")).text
    assert (await Desk({}).call("web_search", query="a")).text == "No results found for: a"


async def test_the_memory_keeps_items_in_their_order_and_says_so_in_fixed_words(
    desk: Desk,
) -> None:
    async def said(operation: str, **arguments: Any) -> str:
        return (await desk.call("dict_memory", operation=operation, **arguments)).text

    assert await said("retrieve_all") == "{}"
    items = {"b": [1, {"c": None}], "a": "ä"}
    assert await said("add", dict=items) == "Successfully added items of ['b', 'a'] to memory."
    assert await said("update", dict={"a": 2}) == "Successfully updated items of ['a'] in memory."
    assert await said("update", dict={"x": 2}) == "Key not found: ['x']"
    assert list(json.loads(await said("retrieve_all"))) == ["b", "a"]
    held = json.loads(await said("retrieve", key_list=["b", "x"]))
    assert held == {"b": [1, {"c": None}], "x": "Key not found"}
    assert await said("remove", key_list=["b"]) == "Successfully removed items of ['b'] from memory."  # fmt: skip
    assert await said("remove", key_list=["b"]) == "Key not found: ['b']"
    assert await said("remove_all") == "Successfully cleared all memory."
    assert desk.values == {"search/base": {"recipe": 1}}
    assert (await desk.call("dict_memory", operation="add")).is_error


async def test_the_engine_keeps_every_rule_of_engines() -> None:
    await check_engine(
        SearchEngine(Base().open, has_pages=False),
        list(TOOLS.values()),
        [
            ToolCall("dict_memory", {"operation": "add", "dict": {"a": 1}}),
            ToolCall("web_search", {"queries": ["a kettle"]}),
            ToolCall("web_extractor", {"url": "https://a.alt/"}),
            ToolCall("dict_memory", {"operation": "retrieve_all"}),
        ],
    )


def test_without_pages_a_model_may_answer_what_is_not_bound_by_name() -> None:
    plain = replace(TOOLS["web_search"], binds_to=None)
    engine = SearchEngine(Base().open, has_pages=False)
    assert engine.bind(plain) is None and engine.bind(TOOLS["web_search"]) is not None
    told = "There are no pages to search: give the scenario `fiction:` or `pages:`."
    assert engine.refusal(plain) == told
    assert SearchEngine(Base().open, has_pages=True).bind(plain) is not None
    assert "Did you mean" in engine.refusal(ToolSpec(name="web_serch"))


async def test_what_is_shared_is_opened_once_by_a_session() -> None:
    base = Base()
    state = WorldState(files=FileTree({}), clock_us=0, seed=1, values={"search/base": "x"})
    session = await SearchEngine(base.open, has_pages=True).open(state, MemoryBlobs())
    await session.bring_up({**state.values, "other": 1})
    assert base.opened == ["x"]
