"""A small web for the tests of controls: pages about lamps, and a search engine over them."""

from __future__ import annotations

import sqlite3
from contextlib import AbstractContextManager, nullcontext

from agentworld_sim import Control, Scenario, ToolCall, World
from agentworld_sim.engines.search import PageIndex, SearchEngine, WebPage
from agentworld_sim.engines.search.search_engine import SearchSession
from agentworld_sim.types.files import Blobs
from agentworld_sim.types.state import WorldState

TEXT = """# {name}

The {name} is a lamp of the {series} series. It weighs 1,240 grams, costs 48.50 euros and came out in 1987, on
2024-06-18. See [Orvelle](https://orvelle.example/about-1999).
"""

PAGES = [
    WebPage(
        url=f"https://orvelle.example/lamp-{number}",
        title=f"Lamp {name}",
        text=TEXT.format(name=name, series=("Helio", "Umbra")[number % 2]),
        date="2024-06-18" if number % 3 else "",
        kind="news" if number % 3 else "official",
        teaser=f"All about the {name}.",
    )
    for number, name in enumerate(
        "Ardent Boreal Cinder Dapple Ember Flare Glimmer Halo Ignis Jewel Kindle Lumen".split()
    )
]


class LampPages:
    """Implements `PagesToRead`."""

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:", check_same_thread=False)
        PageIndex(self.connection).write(PAGES)

    def reading(self) -> AbstractContextManager[sqlite3.Connection]:
        return nullcontext(self.connection)


class LampEngine(SearchEngine):
    """Searches these pages in every world."""

    def __init__(self) -> None:
        self.pages = LampPages()
        super().__init__(lambda name: self.pages, has_pages=True)

    async def open(self, state: WorldState, blobs: Blobs) -> SearchSession:
        session = await super().open(state, blobs)
        session._base = "", self.pages  # pyright: ignore[reportPrivateUsage]
        return session


def search_engine() -> SearchEngine:
    return LampEngine()


SEARCH_SCENARIO = Scenario.model_validate(
    {"name": "lamps", "domains": ["search"], "tools": ["search", "fetch"], "seed": 3}
)


async def lamps(*controls: Control, seed: int = 3) -> World:
    return await World.create(
        SEARCH_SCENARIO, engines=[search_engine()], controls=controls, model=False, seed=seed
    )


def searching(query: str) -> ToolCall:
    return ToolCall("web_search", {"query": query})


def opening(url: str) -> ToolCall:
    return ToolCall("web_extractor", {"url": url})


SEARCH_CALLS = [
    searching("Ardent lamp"),
    opening(PAGES[0].url),
    searching("Helio series Boreal"),
    opening(PAGES[1].url),
    opening(PAGES[0].url),
    searching("Ardent lamp"),
]
