"""What `curl` and `wget` share: their options, and requests to the world's internet."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b
from ipaddress import ip_address
from urllib.parse import urldefrag, urlsplit

from agentworld_sim.engines.shell.bash_texts import unfaithful
from agentworld_sim.engines.shell.commands._options import Options
from agentworld_sim.engines.shell.commands._tool import Tool
from agentworld_sim.engines.shell.programs import DATA
from agentworld_sim.engines.web.cookies import Cookie, after_response, cookie_header
from agentworld_sim.engines.web.requests import WebRequest, WebResponse, resolve_url

_LOOPBACK = "127.0.0.1"


@lru_cache(maxsize=2)
def client_options(program: str) -> tuple[Options, frozenset[str]]:
    """The options of the real program, and those among them that are not computed.

    In `data/PROGRAM_options.txt` each is `long-name/letter:!`; the colon says that it takes an argument, the
    exclamation mark that it is not computed.
    """
    short, long, others = "", dict[str, str](), set[str]()
    for word in (DATA / f"{program}_options.txt").read_text("utf-8").split():
        takes = ":" * (":" in word)
        name, _, letter = word.rstrip(":!").partition("/")
        long[name] = letter or takes
        short += letter and letter + takes
        others |= {letter or name} if word.endswith("!") else set()
    return Options(short, long, exit_code=2, help_hint=False), frozenset(others)


class HttpClient:
    """One run of a program that asks hosts."""

    def __init__(self, tool: Tool, argv: list[str]) -> None:
        """
        Raises:
            UsageError: the options are none that the real program has.
            EngineFailure: one is not computed.
        """
        options, others = client_options(tool.name)
        self.tool, self.given = tool, options.parse(tool.name, argv)
        self.cookies: list[Cookie] | None = None
        """`None` where none are kept."""
        if name := next((name for name, _ in self.given.options if name in others), ""):
            said = " ".join([tool.name, *tool.call.argv])
            raise unfaithful(f"the option {'-' * min(len(name), 2)}{name} of {tool.name}", said)

    def ask(self, request: WebRequest, typed: str = "") -> WebResponse:
        """The response to a request with its cookies, and with those that were `typed`.

        Raises:
            LookupError: no host has that name.
            ConnectionRefusedError: nothing listens at that address.
        """
        call = self.tool.call
        # curl sends longer names first, wget the older ones.
        longer = self.tool.name == "curl"
        held = sorted(self.cookies or (), key=lambda one: -len(one["name"]) * longer)
        kept = cookie_header(held, request.url, call.clock.now_us())
        if cookies := "; ".join(text for text in (kept, typed) if text):
            request = replace(request, headers=(*request.headers, ("cookie", cookies)))
        response = None if call.network is None else call.network.answer(request)
        if response is None:
            host, address, _ = place_of(request.url)
            raise ConnectionRefusedError if address in (host, _LOOPBACK) else LookupError
        if self.cookies is not None:
            self.cookies = after_response(self.cookies, request, response, call.clock.now_us())
        return response

    def save(self, path: str, content: bytes) -> None:
        """Writes a file, or standard output (`-`). Raises `OSError` where it cannot be written."""
        if path == "-":
            self.tool.out.append(content.decode("utf-8", "surrogateescape"))
        elif path != "/dev/null":
            self.tool.files.write(self.tool.path(path), content)


def next_request(request: WebRequest, response: WebResponse, method: str) -> WebRequest | None:
    """The request that follows a redirect; a form is not sent again, but `method` is. `None` where it is none."""
    target = response.header("location")
    if target is None or response.status not in (301, 302, 303, 307, 308):
        return None
    url = urldefrag(resolve_url(request.url, target)).url
    if not url.startswith("http"):
        return None
    headers = {**dict(request.headers), "host": urlsplit(url).netloc}
    if headers["host"] != request.host:
        headers.pop("authorization", None)
    if response.status > 303 or not request.body:
        return replace(request, url=url, headers=tuple(headers.items()))
    for name in ("content-type", "content-length"):
        headers.pop(name, None)
    return WebRequest(url, method, tuple(headers.items()))


def place_of(url: str) -> tuple[str, str, int]:
    """Host, address and port. The address is a private one that follows from the name."""
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    try:
        return host, str(ip_address(_LOOPBACK if host == "localhost" else host)), port
    except ValueError:
        return host, ".".join(map(str, (10, *blake2b(host.encode(), digest_size=3).digest()))), port


def header_fields(lines: Iterable[str]) -> dict[str, str]:
    """Headers as they were given, by names in lower case; what has no colon is none."""
    split = (line.partition(":") for line in lines)
    return {name.strip().lower(): value.strip() for name, colon, value in split if colon}


def head_text(response: WebResponse) -> str:
    """The status line and the headers, as a server sends them."""
    lines = [f"HTTP/1.1 {response.status} {response.status_text}".rstrip()]
    lines += [f"{name}: {value}" for name, value in response.headers]
    if response.status not in (204, 304):
        lines.append(f"content-length: {len(response.body)}")
    return "".join(f"{line}\r\n" for line in [*lines, ""])
