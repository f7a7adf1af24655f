"""The site on which Playwright's answers were recorded: the pages in `actions/`, and what forms and links lead to."""

from __future__ import annotations

import re
from pathlib import Path

from agentworld_sim.engines.web import WebRequest, WebResponse
from agentworld_sim.engines.web.requests import HTML
from agentworld_sim.types.state import StateChange, WorldState

PAGES = Path(__file__).parent / "actions"


def answer(request: WebRequest) -> WebResponse:
    """What the site answers."""
    path = request.path
    if request.method == "POST" and path == "/up":
        body = re.sub(r"-{4,}\w+", "BOUNDARY", request.body.decode())
        return WebResponse(body=f"<title>Up</title><pre>{body}</pre>".encode())
    if request.method == "POST":
        return WebResponse(303, headers=(("location", "/blank.html"),))
    page = PAGES / path.removeprefix("/")
    if page.suffix == ".html" and page.is_file():
        return WebResponse(body=page.read_bytes())
    match path:
        case "/echo":
            query = request.url.partition("?")[2]
            return WebResponse(body=f"<title>Echo</title><p>{query}</p>".encode())
        case "/far":
            return WebResponse(302, headers=(("location", "/blank.html"),))
        case "/loop":
            return WebResponse(302, headers=(("location", "/loop"),))
        case "/notes.txt":
            return WebResponse(body=b"notes\n", headers=(("content-type", "text/plain"),))
        case "/table.csv":
            named = ("content-disposition", 'attachment; filename="data.csv"')
            return WebResponse(body=b"a,b\n", headers=(("content-type", "text/csv"), named))
        case "/favicon.ico":
            return WebResponse(204)
        case _:
            return WebResponse(
                404, b"<title>Error</title><h1>Not here</h1>", HTML, "File not found"
            )


class ActionInternet:
    """Implements `Internet`."""

    def answer(
        self, request: WebRequest, state: WorldState
    ) -> tuple[WebResponse, StateChange] | None:
        if request.host != "orders.web.test":
            return None
        return answer(request), StateChange(clock_us=state.clock_us)

    def hosts(self, state: WorldState) -> list[str]:
        return ["orders.web.test"]
