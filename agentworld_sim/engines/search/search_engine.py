"""`SearchEngine`: searches the pages of a world, and opens them."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain, zip_longest
from typing import Any, Literal, Protocol
from urllib.parse import quote, unquote, urlsplit

from agentworld_sim.engines.search.guard import Guard
from agentworld_sim.engines.search.page_index import PageIndex, host_of, words_of
from agentworld_sim.engines.search.search_results import SearchResult, result_of
from agentworld_sim.engines.search.web_dirt import (
    Dirt,
    distractors,
    page_with_dirt,
    results_with_dirt,
    spam_page,
)
from agentworld_sim.engines.search.web_page import WebPage
from agentworld_sim.engines.toolkits import ServerValues, answer_known
from agentworld_sim.ports import Answer, StepContext
from agentworld_sim.toolkits import (
    bind_to,
    binding_for,
    unknown_to,
)
from agentworld_sim.types.conditions import Conditions
from agentworld_sim.types.files import Blobs
from agentworld_sim.types.state import WorldState
from agentworld_sim.types.tools import ToolSpec
from agentworld_sim.types.values import changed_keys

PREFIX = "search/"
"""What the keys of the values begin with: `base` (which base data has the pages), `withheld` (values that no search
may show), `page/URL` (pages of this world alone), and what the tools keep."""

PAGE = f"{PREFIX}page/"


class PagesToRead(Protocol):
    """Where the pages are that worlds share; `relational`'s `BaseData` is one."""

    def reading(self) -> AbstractContextManager[sqlite3.Connection]:
        """A connection to their `PageIndex` that nobody else uses meanwhile."""
        ...


OpenPages = Callable[[Any], PagesToRead]
"""Opens what the value `search/base` of a state names. It may take long: it is called in a thread."""


def _any(page: WebPage) -> bool:
    return True


class NoPage(Exception):
    """There is nothing at an address; what a browser would say of it."""

    def __init__(self, told: str, *, status: int = 0) -> None:
        super().__init__(told)
        self.status = status
        """What the host answers, 404; 0 where there is no such host."""


class SearchEngine:
    """Implements `Engine` for tools that search the web and open its pages."""

    name = "search"
    route: Literal["compute"] = "compute"

    def __init__(self, open_pages: OpenPages, *, has_pages: bool) -> None:
        """`has_pages` says whether the worlds have pages at all: where they have none, only tools bind that are
        bound by name, and a model may answer the others."""
        self._open_pages = open_pages
        self._has_pages = has_pages

    def bind(self, tool: ToolSpec) -> ToolSpec | None:
        if tool.binds_to is None and not self._has_pages:
            return None
        return bind_to(tool, self.name)

    def refusal(self, tool: ToolSpec) -> str:
        found = binding_for(tool)
        if found is not None and found.engine == self.name:
            return "There are no pages to search: give the scenario `fiction:` or `pages:`."
        return unknown_to(tool, self.name)

    async def open(self, state: WorldState, blobs: Blobs) -> SearchSession:
        session = SearchSession(self._open_pages)
        await session.bring_up(state.values)
        return session


class SearchSession:
    """Implements `EngineSession`. An answer follows from the state alone; the session holds what is open."""

    def __init__(self, open_pages: OpenPages) -> None:
        self._open_pages = open_pages
        self._base: tuple[Any, PagesToRead] | None = None
        self._values: Mapping[str, Any] = {}
        self._own: PageIndex | None = None

    async def bring_up(self, values: Mapping[str, Any]) -> None:
        """Opens the pages that the values name; what is opened for the first time may take long."""
        if self._base is None and f"{PREFIX}base" in values:
            await asyncio.to_thread(self.read, values)
        else:
            self.read(values)

    def read(self, values: Mapping[str, Any]) -> None:
        """Opens the pages that the values name."""
        name = values.get(f"{PREFIX}base")
        if name is not None and (self._base is None or self._base[0] != name):
            self._base = name, self._open_pages(name)
        if any(key.startswith(PAGE) for key in changed_keys(self._values, values)):
            self._own = index_of(values)
        self._values = values

    async def answer(self, context: StepContext) -> Answer:
        state = context.state
        await self.bring_up(state.values)
        return await answer_known(
            context, lambda found: self.turn(state, context.seed, context.call.name)
        )

    @contextmanager
    def turn(self, state: WorldState, seed: int, name: str) -> Generator[SearchTurn]:
        """What operations may look at in a state whose pages were read."""
        conditions = Conditions.of(state.values)
        own = () if self._own is None else (self._own,)
        with ExitStack() as stack:
            if self._base is not None:
                connection = stack.enter_context(self._base[1].reading())
                own = (*own, PageIndex(connection))
            yield SearchTurn(
                kept=ServerValues(state.values, PREFIX),
                clock_us=state.clock_us,
                seed=seed,
                name=name,
                offline=conditions.offline,
                dirt=conditions.web,
                indexes=own,
            )

    def close(self) -> None:
        pass


def index_of(values: Mapping[str, Any]) -> PageIndex | None:
    """An index of the pages that stand in the state; `None` where there are none."""
    pages = [
        WebPage(url=key.removeprefix(PAGE), **value)
        for key, value in sorted(values.items())
        if key.startswith(PAGE)
    ]
    if not pages:
        return None
    index = PageIndex(sqlite3.connect(":memory:", check_same_thread=False))
    index.write(pages)
    return index


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchTurn:
    """What an operation may look at, beside the arguments."""

    kept: ServerValues
    clock_us: int
    """The world's time, in microseconds since the epoch."""
    seed: int
    """Of the turn's random source."""
    name: str
    """What the agent calls the tool."""
    offline: bool
    """Whether no host can be reached."""
    indexes: tuple[PageIndex, ...]
    """The pages: the world's own first, then those that worlds share."""
    dirt: Dirt = ()
    """What is wrong with this call's results and pages."""

    def results(
        self, queries: Sequence[str], limit: int = 10, fits: Callable[[WebPage], bool] = _any
    ) -> list[list[SearchResult]]:
        """What all queries of the call find, of the pages that fit, without what the world withholds: a page that
        would show it is replaced by the next."""
        guard = Guard(self.kept.get("withheld", ()), queries)
        return [self._results(query, limit, guard, fits) for query in queries]

    def _results(
        self, query: str, limit: int, guard: Guard, fits: Callable[[WebPage], bool]
    ) -> list[SearchResult]:
        words = words_of(query).keys()
        found: dict[str, SearchResult] = {}
        orders: list[list[WebPage]] = []

        def accept(page: WebPage, newer: Sequence[PageIndex]) -> bool:
            if not fits(page) or any(index.page(page.url) is not None for index in newer):
                return False
            result = result_of(page, words, guard)
            if result is not None:
                found[page.url] = result
            return result is not None

        noise = any(one["kind"] == "Noise" for one in self.dirt)
        for place, index in enumerate(self.indexes):
            search = index.search if index is self.indexes[-1] else index.hits
            search = partial(distractors, index) if noise else search
            orders.append(search(query, limit, partial(accept, newer=self.indexes[:place])))
        pages = chain.from_iterable(zip_longest(*orders))
        results = [found[page.url] for page in pages if page is not None][:limit]
        return results_with_dirt(
            results, query, limit, self.dirt, lambda page: result_of(page, words, guard)
        )

    def page(self, url: str) -> WebPage:
        """The page that a browser shows for what a user typed: without the fragment, and also where `http` leads to
        `https`, or a host without `www.` to one with it.

        Raises:
            NoPage: there is none.
        """
        url = url.encode(errors="replace").decode()
        try:
            parts = urlsplit(
                url if "://" in url or url.partition(":")[0].isalpha() else f"https://{url}"
            )
            host = parts.hostname or ""
        except ValueError:
            raise NoPage(f"Invalid URL: {url}") from None
        if parts.scheme not in ("http", "https"):
            raise NoPage(f"Unsupported URL scheme: {parts.scheme}")
        if not host or any(letter.isspace() for letter in host):
            raise NoPage(f"Invalid URL: {url}")
        if self.offline:
            raise NoPage(f"Could not resolve host: {host}")
        for address in (url.partition("#")[0], *_addresses(host, parts.path, parts.query)):
            for index in self.indexes:
                if (page := index.page(address)) is not None:
                    return page_with_dirt(page, self.dirt)
        if (page := spam_page(url)) is not None:
            return page
        if any(index.has_host(host_of(f"https://{host}")) for index in self.indexes):
            raise NoPage(f"404 Not Found: {url}", status=404)
        raise NoPage(f"Could not resolve host: {host}")


def _addresses(host: str, path: str, query: str) -> list[str]:
    """The addresses under which a page may be kept that a browser would show for this one."""
    paths = (path, quote(unquote(path, errors="replace")))
    bare = host.removeprefix("www.")
    return [
        f"{scheme}://{name}{way}{asked}"
        # A site that knows no such parameter shows the same page.
        for asked in dict.fromkeys((f"?{query}" if query else "", ""))
        for name in dict.fromkeys((host, bare, f"www.{bare}"))
        for scheme in ("https", "http")
        for way in dict.fromkeys(
            way for one in paths for way in (one or "/", one.rstrip("/"), f"{one.rstrip('/')}/")
        )
    ]
