"""Asking an upstream what it offers: the one thing we need of it.

The pages are taken off the wire as they are, through the SDK's transport and JSON-RPC layer only. Its client
would drop the tools it dislikes, drop fields it does not know, and reject a whole listing for one bad tool; a
mirror must do none of it.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from agentworld_mcp_shim._listing import LISTS, Listing, Page, Pages, prompt_arguments
from agentworld_mcp_shim._process import UpstreamProcess
from agentworld_sim.errors import UsageError

if TYPE_CHECKING:
    from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher

    from agentworld_mcp_shim._handshake import AgreedVersion
    from agentworld_mcp_shim._settings import UpstreamTarget

logger = logging.getLogger(__name__)

MAX_ITEMS = 10_000
"""Of one list. More tools are no list that an agent could be given; of others the rest is left out."""

MAX_PAGES = 1_000
"""Of one list. A server that leads to ever new cursors has no list."""

STREAM_SECONDS = 300.0
"""How long an upstream behind a URL may be silent in the middle of an answer."""

CONTENT_BYTES = 2**20
"""Of one resource in a snapshot; larger ones are left out."""


class UpstreamError(UsageError):
    """The upstream did not start, crashed, or did not say what it has."""


class HttpUpstream:
    """An upstream that listens at a URL."""

    def __init__(self, url: str, headers: Mapping[str, str] | None = None) -> None:
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

    wait_closed = close


Upstream = UpstreamProcess | HttpUpstream


def start_upstream(target: UpstreamTarget) -> Upstream:
    """Starts the target's command, or takes a single `http://` or `https://` URL for a server that runs."""
    command = target.command
    if len(command) == 1 and command[0].startswith(("http://", "https://")):
        return HttpUpstream(command[0], target.headers)
    try:
        return UpstreamProcess(command, target.env)
    except UsageError as error:
        if not target.name:
            raise
        raise UsageError(f"upstream {target.name!r}: {error}") from error


def close_all(started: Mapping[str, Upstream]) -> None:
    """Closes upstreams, all at once, and waits until they have ended."""
    for upstream in started.values():
        upstream.close()
    for upstream in started.values():
        upstream.wait_closed()


async def list_upstream(upstream: Upstream, *, seconds: float, contents: bool = False) -> Listing:
    """Connects in whichever protocol era the upstream speaks, asks what it has, and closes it.

    Raises:
        UpstreamError: it ended, kept silent, does not speak MCP, or its list has no end.
    """
    import anyio

    try:
        with anyio.fail_after(seconds):
            return await _list(upstream, contents=contents)
    except Exception as error:
        raise _explain_failure(upstream, first_cause(error), seconds) from error
    finally:
        upstream.close()


async def _list(upstream: Upstream, *, contents: bool) -> Listing:
    import anyio
    from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
    from mcp.types.version import LATEST_MODERN_VERSION

    from agentworld_mcp_shim._handshake import ClientIdentity, agree, ignore_notification

    listing: Listing | None = None
    async with upstream.transport() as (reading, writing), anyio.create_task_group() as group:
        dispatcher: JSONRPCDispatcher[Any] = JSONRPCDispatcher(reading, writing)
        await group.start(partial(dispatcher.run, _answer_ping, ignore_notification))
        agreed = await agree(dispatcher, ClientIdentity(version=LATEST_MODERN_VERSION))
        lister = _Lister(upstream, dispatcher, agreed)
        listing = await lister.listing()
        if contents:
            listing = await lister.with_contents(listing)
        group.cancel_scope.cancel()
    assert listing is not None
    return listing


async def _answer_ping(context: Any, method: str, params: Any) -> dict[str, Any]:
    from mcp import MCPError

    if method == "ping":
        return {}
    raise MCPError(-32601, "Method not found")


class _NoListError(Exception):
    """A result has another form than the protocol says."""


class _Lister:
    """Asks one upstream what it has."""

    def __init__(
        self, upstream: Upstream, dispatcher: JSONRPCDispatcher[Any], agreed: AgreedVersion
    ) -> None:
        self._upstream = upstream
        self._dispatcher = dispatcher
        self._agreed = agreed

    async def listing(self) -> Listing:
        from mcp import MCPError

        offered: Any = self._agreed.server.get("capabilities")
        capabilities = cast("dict[str, Any]", offered) if isinstance(offered, dict) else {}
        lists: dict[str, Pages] = {}
        failures: dict[str, Mapping[str, Any]] = {}
        for method, kind in LISTS.items():
            if capabilities.get(kind.capability) is None:
                continue
            try:
                lists[method] = await self._pages(method)
            except MCPError as error:
                if method == "tools/list" and error.error.code != -32601:
                    raise
                failures[method] = error.error.model_dump(exclude_none=True)
        return Listing(
            identity=_identity(self._agreed.server),
            instructions=self._agreed.server.get("instructions"),
            protocol_version=self._agreed.version,
            capabilities=capabilities,
            lists=lists,
            failures=failures,
        )

    async def with_contents(self, listing: Listing) -> Listing:
        """The listing with what its resources hold, and its prompts that need no arguments."""
        contents: dict[str, Page] = {}
        prompts: dict[str, Page] = {}
        for resource in listing.objects("resources/list"):
            uri = resource.get("uri")
            if not isinstance(uri, str) or uri in contents:
                continue
            result = await self._content(uri, "contents", "resources/read", uri=uri)
            if result is not None and (size := _size(result)) > CONTENT_BYTES:
                logger.warning("%s has %d bytes; it is left out", uri, size)
            elif result is not None:
                contents[uri] = result
        for prompt in listing.objects("prompts/list"):
            name = prompt.get("name")
            if (
                isinstance(name, str)
                and name not in prompts
                and not any(needed for _, needed in prompt_arguments(prompt))
            ):
                result = await self._content(name, "messages", "prompts/get", name=name)
                if result is not None:
                    prompts[name] = result
        return replace(listing, contents=contents, prompts=prompts)

    async def _content(self, what: str, key: str, method: str, **params: Any) -> Page | None:
        """One result with a list under `key`; `None`, with a warning, when there is none."""
        from mcp import MCPError

        try:
            return await self._ask(method, key, params)
        except (MCPError, _NoListError) as error:
            # One that the server itself cannot give is no reason to be without the others.
            logger.warning("%s cannot be had, and is left out: %s", what, _first_line(error))
            return None

    async def _pages(self, method: str) -> Pages:
        """The pages of one list, in their order."""
        items, shown = LISTS[method].items, self._upstream.shown
        pages: dict[str | None, Page] = {}
        cursor: str | None = None
        count = 0
        while True:
            page = await self._ask(method, items, {} if cursor is None else {"cursor": cursor})
            pages[cursor] = page
            count += len(page[items])
            following = page.get("nextCursor")
            if count > MAX_ITEMS and method == "tools/list":
                raise UpstreamError(
                    f"the upstream {shown} lists more than {MAX_ITEMS} tools. No agent can be given so"
                    " many: put a server in front of it that offers those you need."
                )
            if count > MAX_ITEMS:
                text = "the upstream %s lists more than %d %s; the rest is left out"
                logger.warning(text, shown, MAX_ITEMS, items)
                pages[cursor] = {key: value for key, value in page.items() if key != "nextCursor"}
                return pages
            if not following or not isinstance(following, str):
                return pages
            if following in pages or len(pages) >= MAX_PAGES:
                raise UpstreamError(
                    f"the list of the upstream {shown} never ends: after {len(pages)} pages it leads on"
                    f" (cursor {following!r}). This is a defect of that server."
                )
            cursor = following

    async def _ask(self, method: str, key: str, params: dict[str, Any]) -> Page:
        """The result as it came over the wire, which must have a list under `key`."""
        from agentworld_mcp_shim._handshake import ClientIdentity

        meta = self._agreed.meta({}, ClientIdentity(version=self._agreed.version))
        sent = {**params, "_meta": meta} if meta else params
        headers = self._agreed.headers(method, sent, None)
        result = await self._dispatcher.send_raw_request(method, sent, {"headers": headers})
        if not isinstance(result.get(key), list):
            raise _NoListError(f"its answer to {method} has no list {key!r}")
        return _without_sender(result)


def _identity(greeting: Mapping[str, Any]) -> Mapping[str, Any]:
    """Name and version of the server, from its half of the handshake."""
    from mcp.types import SERVER_INFO_META_KEY, Implementation
    from pydantic import ValidationError

    meta = cast("Mapping[str, Any]", greeting.get("_meta") or {})
    try:
        said = Implementation.model_validate(
            greeting.get("serverInfo") or meta.get(SERVER_INFO_META_KEY)
        )
    except ValidationError:
        return {"name": "", "version": ""}
    return said.model_dump(by_alias=True, exclude_none=True)


def _without_sender(page: Page) -> Page:
    """The page without the mark of who sent it: our own server puts that on, in the right eras."""
    from mcp.types import SERVER_INFO_META_KEY

    meta = page.get("_meta")
    if not isinstance(meta, dict) or SERVER_INFO_META_KEY not in meta:
        return page
    rest = {key: value for key, value in page.items() if key != "_meta"}
    kept = {key: value for key, value in cast("Page", meta).items() if key != SERVER_INFO_META_KEY}
    return {**rest, "_meta": kept} if kept else rest


def _size(result: Mapping[str, Any]) -> int:
    """The bytes of what a resource holds, as it is written."""
    blocks = [cast("Page", one) for one in result["contents"] if isinstance(one, dict)]
    values: list[object] = [block.get(key) for block in blocks for key in ("text", "blob")]
    return sum(len(value) for value in values if isinstance(value, str))


def first_cause(error: BaseException) -> BaseException:
    """The first failure inside nested task groups."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


def _explain_failure(upstream: Upstream, error: BaseException, seconds: float) -> UpstreamError:
    if isinstance(error, UpstreamError):
        return error
    late, longer = (
        f"did not list its tools within {seconds:g} s.",
        "--upstream-timeout gives it longer.",
    )
    if isinstance(upstream, HttpUpstream):
        what = (
            f"did not answer as an MCP server over streamable HTTP: {_first_line(error)}. Is it running,"
            " and is the path right (often /mcp)?"
        )
        if isinstance(error, TimeoutError):
            what = f"{late} {longer}"
        return UpstreamError(f"the upstream {upstream.shown} {what}")
    printed = upstream.stray[-1] if upstream.stray else ""
    hint = f" On standard output it printed {printed!r}, which is not MCP." if printed else ""
    code = upstream.wait_exit_code(0.01)
    if code is not None:
        ended = f"was ended by signal {-code}" if code < 0 else f"exited with code {code}"
        words = upstream.last_words()
        said = f" It said:{words}" if words else " It said nothing on standard error."
        what = f"{ended} before it listed its tools.{hint}{said}"
    elif isinstance(error, TimeoutError):
        what = f"{late}{hint} {longer} Is it an MCP server that speaks over stdio?"
    else:
        what = f"does not speak MCP: {_first_line(error)}.{hint}"
    from agentworld_sim.redaction.records import Redaction

    # Clients keep it in their logs: what stands in arguments and what a server complains of may be a secret.
    hide = Redaction.of_process(upstream.secrets).text
    return UpstreamError(f"the upstream `{hide(upstream.shown)}` {hide(what)}")


def _first_line(error: BaseException) -> str:
    text = str(error).strip() or type(error).__name__
    return text.partition("\n")[0].rstrip(".")
