"""`PageInternet`: the pages that a world can search, at their addresses, and the services that search them."""

from __future__ import annotations

from contextlib import AbstractContextManager
from hashlib import blake2b
from threading import Lock
from urllib.parse import urlsplit

from agentworld_sim.engines.search.page_answers import page_html
from agentworld_sim.engines.search.search_engine import (
    NoPage,
    OpenPages,
    SearchSession,
    SearchTurn,
)
from agentworld_sim.engines.search.search_hosts import SEARCH_HOSTS, service_answer
from agentworld_sim.engines.web.requests import HTML, WebRequest, WebResponse
from agentworld_sim.types.state import StateChange, WorldState

_MISSING = (
    "<!DOCTYPE html>\n<html><head><title>404 Not Found</title></head><body><h1>Not Found</h1><p>The requested"
    " URL was not found on this server.</p></body></html>\n"
)


class PageInternet:
    """Implements `Internet` by pages. Nothing that is asked changes the state."""

    def __init__(self, open_pages: OpenPages) -> None:
        """`open_pages` opens the pages that worlds share, as for `SearchEngine`."""
        self._session = SearchSession(open_pages)
        # Terminals of several worlds ask at the same time, each in its thread.
        self._lock = Lock()

    def answer(
        self, request: WebRequest, state: WorldState
    ) -> tuple[WebResponse, StateChange] | None:
        try:
            host = urlsplit(request.url).hostname or ""
        except ValueError:
            return None
        # Two requests that differ are two calls: their answers are drawn apart.
        said = f"{state.seed} {state.clock_us} {request.url} ".encode() + request.body
        seed = int.from_bytes(blake2b(said, digest_size=8).digest())
        with self._lock, self._turn(state, seed, host) as turn:
            if host in SEARCH_HOSTS:
                response = None if turn.offline else service_answer(turn, host, request)
            else:
                try:
                    response = WebResponse(body=page_html(turn.page(request.url)).encode())
                    if request.method not in ("GET", "HEAD"):
                        response = WebResponse(405, headers=(("allow", "GET, HEAD"),))
                except NoPage as problem:
                    response = WebResponse(404, _MISSING.encode(), HTML) if problem.status else None
                    if response and urlsplit(request.url).path == "/favicon.ico":
                        response = WebResponse(204, headers=())
        return None if response is None else (response, StateChange(clock_us=state.clock_us))

    def hosts(self, state: WorldState) -> list[str]:
        """The hosts that answer."""
        with self._lock, self._turn(state, 0, "") as turn:
            named = sorted({host for index in turn.indexes for host in index.hosts()})
        return [*named, *(f"www.{host}" for host in named), *SEARCH_HOSTS]

    def _turn(self, state: WorldState, seed: int, name: str) -> AbstractContextManager[SearchTurn]:
        self._session.read(state.values)
        return self._session.turn(state, seed, name)
