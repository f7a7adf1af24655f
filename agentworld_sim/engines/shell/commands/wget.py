"""`wget` 1.21.3 before a world's internet."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import count
from urllib.parse import unquote, urlsplit

from agentworld_sim.engines.shell.commands._http_client import (
    HttpClient,
    header_fields,
    next_request,
    place_of,
)
from agentworld_sim.engines.shell.commands._options import UsageError
from agentworld_sim.engines.shell.commands._tool import Tool, strerror, tool
from agentworld_sim.engines.web.requests import URLENCODED, WebRequest, WebResponse, normal_url

_USAGE = "Usage: wget [OPTION]... [URL]...\n\nTry `wget --help' for more options.\n"
_NEGATIONS = {"-nv": "--no-verbose", "-nc": "--no-clobber"}


@tool
def wget(running: Tool) -> None:
    running.name = "wget"
    try:
        client = HttpClient(running, [_NEGATIONS.get(word, word) for word in running.call.argv])
    except UsageError as refused:
        raise UsageError(refused.result.stderr + _USAGE, 2) from None
    client.cookies = []
    if not client.given.operands:
        raise UsageError(f"wget: missing URL\n{_USAGE}")
    for url in client.given.operands:
        running.code = _Download(client).run(url) or running.code


class _Download:
    """One URL. Standard error has all that is done, a line of it (`-nv`), or nothing (`-q`)."""

    def __init__(self, client: HttpClient) -> None:
        self._client, self._tool, self._given = client, client.tool, client.given
        self._is_quiet = "q" in self._given
        self._is_full = not self._is_quiet and "no-verbose" not in self._given
        self._connected = "", 0

    def run(self, url: str) -> int:
        """Gives the exit code."""
        given = self._given
        scheme = url.partition("://")[0] if "://" in url else "http"
        if scheme not in ("http", "https"):
            self._tool.err.append(f"{url}: Unsupported scheme {self._tool.quote(scheme)}.\n")
            return 1
        try:
            parts = urlsplit(normal_url(url if "://" in url else f"http://{url}"))
        except ValueError as error:
            told = "Bad port number" if "port" in str(error).lower() else "Invalid host name"
            self._tool.err.append(f"{url}: {told}.\n")
            return 1
        name = unquote(parts.path.rpartition("/")[2] or "index.html") + "?" * bool(parts.query) + parts.query  # fmt: skip
        name = given.value("O") or (f"{given.value('P')}/" * ("P" in given) + name)
        data = given.value("post-data")
        headers = {
            "host": parts.netloc,
            "user-agent": given.value("U") or "Wget/1.21.3",
            "accept": "*/*",
        }
        headers |= {"content-type": URLENCODED} if data is not None else {}
        said = tuple((headers | header_fields(given.values("header"))).items())
        method, body = "GET" if data is None else "POST", (data or "").encode()
        request = WebRequest(parts._replace(fragment="").geturl(), method, said, body)
        for _ in range(21):
            response = self._ask(request)
            following = response and next_request(request, response, "GET")
            if response is None or following is None:
                return 4 if response is None else self._take(request, response, name)
            self._say(f"Location: {response.header('location')} [following]\n")
            request = following
        self._say("20 redirections exceeded.\n")
        return 8

    def _ask(self, request: WebRequest) -> WebResponse | None:
        """The response; `None` where no connection came to be."""
        host, address, port = place_of(request.url)
        self._say(f"--{self._now()}--  {request.url}\n")
        connecting = f"{address}\nConnecting to {host} ({host})|{address}|:{port}... "
        begun = f"Reusing existing connection to {host}:{port}.\n"
        if self._connected != (host, port):
            self._say(f"Resolving {host} ({host})... ")
            begun = f"{connecting}connected.\n"
        try:
            response = self._client.ask(request)
        except LookupError:
            self._say("failed: Temporary failure in name resolution.\n")
            self._say(
                f"wget: unable to resolve host address {self._tool.quote(host)}\n", brief=True
            )
            return None
        except ConnectionRefusedError:
            self._say(f"{connecting}failed: Connection refused.\n")
            return None
        self._connected = host, port
        told = f"{response.status} {response.status_text}".rstrip()
        self._say(f"{begun}HTTP request sent, awaiting response... {told}\n")
        return response

    def _take(self, request: WebRequest, response: WebResponse, name: str) -> int:
        if response.status >= 400:
            told = f"{self._now()} ERROR {response.status}: {response.status_text}.\n"
            self._say(f"{request.url}:\n" * (not self._is_full) + told, brief=True)
            self._say("\n")
            return 8
        size, kind = len(response.body), response.media_type
        shown = f" ({-(-size // 1024)}K)" * (size >= 1024) + f" [{kind}]" * bool(kind)
        self._say(f"Length: {size}{shown}\n")
        if "O" not in self._given:
            names = (f"{name}.{number}" if number else name for number in count())
            name = next(one for one in names if not self._tool.exists(one))
        try:
            if folder := self._given.value("P"):
                self._tool.files.mkdir(self._tool.path(folder), parents=True)
            self._client.save(name, response.body)
        except OSError as error:
            self._tool.err.append(f"{name}: {strerror(error)}\n")
            return 1
        where = self._tool.quote("STDOUT" if name == "-" else name)
        done = "written to stdout" if name == "-" else f"{where} saved"
        self._say(f"Saving to: {where}\n\n{_dots(size)}\n")
        self._say(f"{self._now()} (12.5 MB/s) - {done} [{size}/{size}]\n\n")
        if not self._is_full:
            told = f'{self._now()} URL:{request.url} [{size}/{size}] -> "{name}" [1]\n'
            self._say(told, brief=True)
        return 0

    def _now(self) -> str:
        moment = datetime.fromtimestamp(self._tool.call.clock.now_us() // 1_000_000, UTC)
        return f"{moment:%Y-%m-%d %H:%M:%S}"

    def _say(self, text: str, *, brief: bool = False) -> None:
        if self._is_full or (brief and not self._is_quiet):
            self._tool.err.append(text)


def _dots(size: int) -> str:
    """The progress of a download where there is no terminal: a dot for each kilobyte."""
    lines: list[str] = []
    kilobytes = max(1, size >> 10)
    for start in range(0, kilobytes, 50):
        dots = "." * min(50, (size >> 10) - start)
        row = "".join(f" {dots[at : at + 10]:10}" for at in range(0, 50, 10))
        is_last = start + 50 >= kilobytes
        percent = 100 if is_last else ((start + 50) << 10) * 100 // size
        lines.append(f"{start:6}K{row}{percent:3}% 12.5M{'=0s' if is_last else ' 0s'}\n")
    return "".join(lines)
