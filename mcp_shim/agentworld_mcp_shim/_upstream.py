"""Asking an upstream what it offers: the one thing we need of it.

The pages are taken off the wire as they are. The SDK's client would drop the tools it dislikes, drop
fields it does not know, and reject a whole listing for one bad tool; a mirror must do none of it.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Self, cast

from agentworld_mcp_shim._listing import LISTS, Listing, Page, Pages
from agentworld_mcp_shim._process import UpstreamProcess
from agentworld_sim import __version__
from agentworld_sim.errors import UsageError

if TYPE_CHECKING:
    from mcp import Client

logger = logging.getLogger(__name__)

MAX_TOOLS = 10_000
"""More are no tool list that an agent could be given."""

MAX_ITEMS = 10_000
"""Of resources, templates and prompts; more are left out, with a warning."""

MAX_PAGES = 1_000
"""Of one list. A server that leads to ever new cursors has no list."""

STREAM_SECONDS = 300.0
"""How long an upstream behind a URL may be silent in the middle of an answer."""

TAKEN = frozenset({*(kind.items for kind in LISTS.values()), "contents", "messages"})
"""Lists in results that are taken off the wire."""


class UpstreamError(UsageError):
    """The upstream did not start, crashed, or did not say what it has."""


class HttpUpstream:
    """An upstream that listens at a URL."""

    def __init__(self, url: str, headers: Mapping[str, str] | None = None) -> None:
        """
        Args:
            url: Where it listens.
            headers: Sent with every request, for example an authorization.
        """
        self.url = url
        self.on_response: list[Callable[[Any], Awaitable[None]]] = []
        """Hooks of its HTTP client."""
        self._headers = dict(headers or {})

    @property
    def shown(self) -> str:
        """The URL without a password, for messages."""
        from urllib.parse import urlsplit

        parts = urlsplit(self.url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()

    @asynccontextmanager
    async def transport(self) -> AsyncGenerator[tuple[Any, Any]]:
        """Its streams as the SDK's client wants them."""
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        timeout = httpx2.Timeout(30.0, read=STREAM_SECONDS)
        async with (
            httpx2.AsyncClient(
                headers=self._headers,
                timeout=timeout,
                event_hooks={"response": list(self.on_response)},
            ) as http,
            streamable_http_client(self.url, http_client=http) as streams,
        ):
            yield streams

    def close(self) -> None:
        """Nothing is held between requests."""

    def closed(self) -> None:
        """As `close`."""


Upstream = UpstreamProcess | HttpUpstream


def start_upstream(
    command: Sequence[str],
    *,
    name: str = "",
    env: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Upstream:
    """Starts the command, or takes a single `http://` or `https://` URL for a server that runs.

    Args:
        command: What starts it, or its URL.
        name: Its name among several, for messages.
        env: Variables of the command, over this process's own.
        headers: Headers of requests to the URL.

    Raises:
        UsageError: there is no such command, or it cannot be executed.
    """
    if len(command) == 1 and command[0].startswith(("http://", "https://")):
        return HttpUpstream(command[0], headers)
    try:
        return UpstreamProcess(command, env)
    except UsageError as error:
        if not name:
            raise
        raise UsageError(f"upstream {name!r}: {error}") from error


def close_all(started: Mapping[str, Upstream]) -> None:
    """Closes upstreams, all at once, and waits until they have ended."""
    for upstream in started.values():
        upstream.close()
    for upstream in started.values():
        upstream.closed()


async def list_upstream(upstream: Upstream, *, seconds: float, contents: bool = False) -> Listing:
    """Connects in whichever protocol era the upstream speaks, asks what it has, and closes it.

    Args:
        upstream: A started upstream.
        seconds: Time for all of it.
        contents: Also read its resources, and get its prompts that need no arguments.

    Raises:
        UpstreamError: it ended, kept silent, does not speak MCP, or its list has no end.
    """
    import anyio

    try:
        with anyio.fail_after(seconds):
            return await _listed(upstream, contents=contents)
    except Exception as error:
        raise _explained(upstream, _cause(error), seconds) from error
    finally:
        upstream.close()


async def _listed(upstream: Upstream, *, contents: bool) -> Listing:
    from mcp.types import Implementation

    from mcp import Client, MCPError

    taken = _Taken()
    client = Client(
        _taking(upstream.transport(), taken),
        cache=None,
        client_info=Implementation(name="agentworld", version=__version__),
    )
    async with client:
        lists: dict[str, Pages] = {}
        failures: dict[str, Mapping[str, Any]] = {}
        for method, kind in LISTS.items():
            if taken.capabilities.get(kind.capability) is None:
                continue
            try:
                lists[method] = await _pages(upstream, client, taken, method)
            except MCPError as error:
                if method == "tools/list" and error.error.code != -32601:
                    raise
                failures[method] = error.error.model_dump(exclude_none=True)
        identity = client.server_info
        listing = Listing(
            identity={"name": "", "version": ""}
            if identity is None
            else identity.model_dump(by_alias=True, exclude_none=True),
            instructions=client.instructions,
            protocol_version=client.protocol_version,
            capabilities=taken.capabilities,
            lists=lists,
            failures=failures,
        )
        if not contents:
            return listing
        from agentworld_mcp_shim._contents import with_contents

        return await with_contents(listing, client, lambda: _unstamped(taken.pop()))


async def _pages(upstream: Upstream, client: Client, taken: _Taken, method: str) -> Pages:
    """The pages of one list, in their order."""
    from mcp.types import PaginatedRequestParams

    session = client.session
    ask = {
        "tools/list": session.list_tools,
        "resources/list": session.list_resources,
        "resources/templates/list": session.list_resource_templates,
        "prompts/list": session.list_prompts,
    }[method]
    items = LISTS[method].items
    pages: dict[str | None, Page] = {}
    cursor: str | None = None
    count = 0
    while True:
        await ask(params=PaginatedRequestParams(cursor=cursor))
        pages[cursor] = page = _unstamped(taken.pop())
        count += len(page[items])
        following = page.get("nextCursor")
        if count > MAX_ITEMS and method != "tools/list":
            logger.warning(
                "the upstream %s lists more than %d %s; the rest is left out",
                upstream.shown,
                MAX_ITEMS,
                items,
            )
            pages[cursor] = {key: value for key, value in page.items() if key != "nextCursor"}
            return pages
        _require_end(upstream, pages, following, count if method == "tools/list" else 0)
        if not following or not isinstance(following, str):
            return pages
        cursor = following


def _unstamped(page: Page) -> Page:
    """The page without the mark of who sent it: our own server puts that on, in the right eras."""
    from mcp.types import SERVER_INFO_META_KEY

    meta = page.get("_meta")
    if not isinstance(meta, dict) or SERVER_INFO_META_KEY not in meta:
        return page
    rest = {key: value for key, value in page.items() if key != "_meta"}
    kept = {key: value for key, value in cast("Page", meta).items() if key != SERVER_INFO_META_KEY}
    return {**rest, "_meta": kept} if kept else rest


def _require_end(
    upstream: Upstream, pages: Mapping[str | None, Page], cursor: object, count: int
) -> None:
    if count > MAX_TOOLS:
        raise UpstreamError(
            f"the upstream {upstream.shown} lists more than {MAX_TOOLS} tools. No agent can be given"
            " so many: put a server in front of it that offers those you need."
        )
    if isinstance(cursor, str) and cursor in pages:
        raise UpstreamError(
            f"the tool list of the upstream {upstream.shown} never ends: page {len(pages)} leads"
            f" back to an earlier one (cursor {cursor!r}). This is a defect of that server."
        )
    if len(pages) >= MAX_PAGES and cursor:
        raise UpstreamError(
            f"the upstream {upstream.shown} lists what it has on more than {MAX_PAGES} pages, each"
            " with a new cursor. This is a defect of that server."
        )


class _Taken:
    """What was taken off the wire."""

    def __init__(self) -> None:
        self.capabilities: Mapping[str, Any] = {}
        self._results: list[Page] = []

    def pop(self) -> Page:
        """The last result with a list, as it came; it is forgotten."""
        return self._results.pop()

    def look(self, result: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Keeps a result. Gives what the SDK's client shall see instead; `None` for the same."""
        capabilities = result.get("capabilities")
        if isinstance(capabilities, dict):
            self.capabilities = cast("Mapping[str, Any]", capabilities)
            return None
        for key in TAKEN:
            if isinstance(result.get(key), list):
                self._results.append(result)
                return {key: [], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        return None


@asynccontextmanager
async def _taking(
    transport: AbstractAsyncContextManager[tuple[Any, Any]], taken: _Taken
) -> AsyncGenerator[tuple[Any, Any]]:
    async with transport as (reading, writing):
        yield _Taking(reading, taken), writing


class _Taking:
    """Implements the SDK's `ReadStream`: keeps lists and hands their results on without them."""

    def __init__(self, behind: Any, taken: _Taken) -> None:
        self._behind = behind
        self._taken = taken

    async def receive(self) -> Any:
        return self._without_lists(await self._behind.receive())

    async def aclose(self) -> None:
        await self._behind.aclose()

    def __aiter__(self) -> _Taking:
        return self

    async def __anext__(self) -> Any:
        return self._without_lists(await self._behind.__anext__())

    async def __aenter__(self) -> Self:
        await self._behind.__aenter__()
        return self

    async def __aexit__(self, *exception: object) -> bool | None:
        return await self._behind.__aexit__(*exception)

    def _without_lists(self, item: Any) -> Any:
        from mcp.shared.message import SessionMessage
        from mcp.types import JSONRPCResponse

        if not isinstance(item, SessionMessage) or not isinstance(item.message, JSONRPCResponse):
            return item
        shown = self._taken.look(item.message.result)
        if shown is None:
            return item
        return SessionMessage(item.message.model_copy(update={"result": shown}), item.metadata)


def _cause(error: BaseException) -> BaseException:
    """The first failure inside nested task groups."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


def _explained(upstream: Upstream, error: BaseException, seconds: float) -> UpstreamError:
    if isinstance(error, UpstreamError):
        return error
    shown = upstream.shown
    if isinstance(upstream, HttpUpstream):
        if isinstance(error, TimeoutError):
            return UpstreamError(
                f"the upstream {shown} did not list its tools within {seconds:g} s."
                " --upstream-timeout gives it longer."
            )
        return UpstreamError(
            f"the upstream {shown} did not answer as an MCP server over streamable HTTP:"
            f" {_first_line(error)}. Is it running, and is the path right (often /mcp)?"
        )
    printed = upstream.stray[-1] if upstream.stray else ""
    hint = f" On standard output it printed {printed!r}, which is not MCP." if printed else ""
    silent = isinstance(error, TimeoutError)
    code = upstream.ended(0.01)
    if code is not None:
        ended = f"was ended by signal {-code}" if code < 0 else f"exited with code {code}"
        words = upstream.last_words()
        said = f" It said:{words}" if words else " It said nothing on standard error."
        return UpstreamError(
            f"the upstream `{shown}` {ended} before it listed its tools.{hint}{said}"
        )
    if silent:
        return UpstreamError(
            f"the upstream `{shown}` did not list its tools within {seconds:g} s.{hint}"
            " --upstream-timeout gives it longer. Is it an MCP server that speaks over stdio?"
        )
    return UpstreamError(f"the upstream `{shown}` does not speak MCP: {_first_line(error)}.{hint}")


def _first_line(error: BaseException) -> str:
    text = str(error).strip() or type(error).__name__
    return text.partition("\n")[0].rstrip(".")
