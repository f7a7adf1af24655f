"""A site that says what it was asked, for `curl` and `wget`, the real ones and those of a world."""

from __future__ import annotations

from urllib.parse import urlsplit

from agentworld_sim.engines.web.requests import Upload, WebRequest, WebResponse
from agentworld_sim.types.state import StateChange, WorldState

TEXT = (("content-type", "text/plain; charset=utf-8"),)
JSON = (("content-type", "application/json"),)
_TOLD = "accept authorization content-type cookie referer user-agent x-key".split()
NOTES = "notes/"


class SmallInternet:
    """Implements `Internet`: echo, redirects, cookies, and notes that are kept."""

    def answer(
        self, request: WebRequest, state: WorldState
    ) -> tuple[WebResponse, StateChange] | None:
        if urlsplit(request.url).hostname not in ("shop.test", "api.shop.test"):
            return None
        change = StateChange(clock_us=state.clock_us)
        if request.path == "/notes" and request.method == "POST":
            key = f"{NOTES}{sum(one.startswith(NOTES) for one in state.values)}"
            change = StateChange(clock_us=state.clock_us, values={key: request.body.decode()})
            return WebResponse(201, b"kept\n", TEXT), change
        if request.path == "/notes":
            lines = [f"{text}\n" for key, text in state.values.items() if key.startswith(NOTES)]
            return WebResponse(body="".join(lines).encode(), headers=TEXT), change
        return _page(request), change

    def hosts(self, state: WorldState) -> list[str]:
        return ["shop.test", "api.shop.test"]


def _page(request: WebRequest) -> WebResponse:
    pages = {
        "/": WebResponse(body=b"<h1>Shop</h1>\n"),
        "/list.json": WebResponse(body=b'{"items": [1, 2, 3]}', headers=JSON),
        "/picture": WebResponse(
            body=bytes(range(256)) * 300, headers=(("content-type", "image/png"),)
        ),
        "/empty": WebResponse(204, headers=()),
        "/gone": WebResponse(410, b"gone\n", TEXT),
        "/broken": WebResponse(500, b"broken\n", TEXT),
        "/down": WebResponse(503, b"", TEXT),
        "/there": WebResponse(302, b"moved\n", (*TEXT, ("location", "/echo"))),
        "/far": WebResponse(301, b"", (("location", "http://api.shop.test/echo?x=1"),)),
        "/same": WebResponse(307, b"", (("location", "/echo"),)),
        "/lost": WebResponse(302, b"", (("location", "http://nowhere.test/"),)),
        "/loop": WebResponse(302, b"", (("location", "/loop"),)),
        "/file": WebResponse(
            body=b"a,b\n1,2\n",
            headers=(
                ("content-type", "text/csv"),
                ("content-disposition", 'attachment; filename="table.csv"'),
            ),
        ),
        "/sign-in": WebResponse(
            302,
            b"",
            (
                ("location", "/echo"),
                ("set-cookie", "sid=abc; path=/; httponly"),
                ("set-cookie", "theme=dark; path=/; max-age=3600"),
            ),
        ),
        "/locked": WebResponse(
            401, b"who are you?\n", (*TEXT, ("www-authenticate", 'Basic realm="shop"'))
        ),
    }
    if request.path == "/echo":
        return WebResponse(body=_echo(request).encode(), headers=TEXT)
    return pages.get(request.path, WebResponse(404, b"no such page\n", TEXT))


def _echo(request: WebRequest) -> str:
    parts = urlsplit(request.url)
    lines = [f"{request.method} {parts.path}{parts.query and '?'}{parts.query}"]
    for name in _TOLD:
        # The boundary of a form's parts is drawn.
        told = (request.header(name) or "").partition("; boundary")[0]
        lines += [f"{name}: {told}"] if told else []
    for name, value in request.form():
        if isinstance(value, Upload):
            value = f"{value.filename} {value.media_type} {value.content!r}"
        lines.append(f"{name} = {value}")
    if request.body and not request.form():
        lines.append(request.body.decode("utf-8", "replace"))
    return "\n".join(lines) + "\n"
