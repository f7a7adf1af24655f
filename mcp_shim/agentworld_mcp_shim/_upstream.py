"""Asking an upstream what it offers: the one thing we need of it.

The tool pages are taken off the wire as they are. The SDK's client would drop the tools it dislikes,
drop fields it does not know, and reject a whole listing for one bad tool; a mirror must do none of it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Self, cast

from agentworld_mcp_shim._process import UpstreamProcess
from agentworld_sim._version import __version__
from agentworld_sim.errors import UsageError

MAX_TOOLS = 10_000
"""More are no tool list that an agent could be given."""

Page = Mapping[str, Any]
"""One result of `tools/list`, as it came over the wire."""


class UpstreamError(UsageError):
    """The upstream did not start, crashed, or did not say which tools it has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What an upstream says of itself."""

    identity: Mapping[str, Any]
    """`serverInfo`: name, version, and more."""
    instructions: str | None = None
    pages: Mapping[str | None, Page] = field(default_factory=dict[str | None, Page])
    """By the cursor that fetches each; `None` fetches the first."""


class HttpUpstream:
    """An upstream that listens at a URL."""

    def __init__(self, url: str) -> None:
        self.url = url

    @property
    def shown(self) -> str:
        """The URL without a password, for messages."""
        from urllib.parse import urlsplit

        parts = urlsplit(self.url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()

    def transport(self) -> AbstractAsyncContextManager[tuple[Any, Any]]:
        """Its streams as the SDK's client wants them."""
        from mcp.client.streamable_http import streamable_http_client

        return streamable_http_client(self.url)

    def close(self) -> None:
        """Nothing is held between requests."""

    def closed(self) -> None:
        """As `close`."""


Upstream = UpstreamProcess | HttpUpstream


def start_upstream(command: Sequence[str]) -> Upstream:
    """Starts the command, or takes a single `http://` or `https://` URL for a server that runs.

    Raises:
        UsageError: there is no such command, or it cannot be executed.
    """
    if len(command) == 1 and command[0].startswith(("http://", "https://")):
        return HttpUpstream(command[0])
    return UpstreamProcess(command)


async def list_upstream(upstream: Upstream, *, seconds: float) -> Listing:
    """Connects in whichever protocol era the upstream speaks, lists its tools, and closes it.

    Args:
        upstream: A started upstream.
        seconds: Time for all of it.

    Raises:
        UpstreamError: it ended, kept silent, does not speak MCP, or its list has no end.
    """
    import anyio

    try:
        with anyio.fail_after(seconds):
            return await _listed(upstream)
    except Exception as error:
        raise _explained(upstream, _cause(error), seconds) from error
    finally:
        upstream.close()


async def _listed(upstream: Upstream) -> Listing:
    from mcp.types import METHOD_NOT_FOUND, Implementation, PaginatedRequestParams

    from mcp import Client, MCPError

    taken: list[Page] = []
    client = Client(
        _keeping(upstream.transport(), taken),
        cache=None,
        client_info=Implementation(name="agentworld", version=__version__),
    )
    async with client:
        pages: dict[str | None, Page] = {}
        cursor: str | None = None
        count = 0
        while True:
            try:
                await client.session.list_tools(params=PaginatedRequestParams(cursor=cursor))
            except MCPError as error:
                if error.error.code == METHOD_NOT_FOUND and not pages:
                    break
                raise
            pages[cursor] = page = _unstamped(taken.pop())
            count += len(page["tools"])
            cursor = page.get("nextCursor")
            if cursor is None:
                break
            _require_end(upstream, pages, cursor, count)
        _require_end(upstream, pages, None, count)
        identity = client.server_info
        return Listing(
            identity={"name": "", "version": ""}
            if identity is None
            else identity.model_dump(by_alias=True, exclude_none=True),
            instructions=client.instructions,
            pages=pages,
        )


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
    upstream: Upstream, pages: Mapping[str | None, Page], cursor: str | None, count: int
) -> None:
    if count > MAX_TOOLS:
        raise UpstreamError(
            f"the upstream {upstream.shown} lists more than {MAX_TOOLS} tools. No agent can be given"
            " so many: put a server in front of it that offers those you need."
        )
    if cursor is not None and cursor in pages:
        raise UpstreamError(
            f"the tool list of the upstream {upstream.shown} never ends: page {len(pages)} leads"
            f" back to an earlier one (cursor {cursor!r}). This is a defect of that server."
        )


@asynccontextmanager
async def _keeping(
    transport: AbstractAsyncContextManager[tuple[Any, Any]], taken: list[Page]
) -> AsyncGenerator[tuple[Any, Any]]:
    async with transport as (reading, writing):
        yield _Keeping(reading, taken), writing


class _Keeping:
    """Implements the SDK's `ReadStream`: keeps tool pages and hands them on without the tools."""

    def __init__(self, behind: Any, taken: list[Page]) -> None:
        self._behind = behind
        self._taken = taken

    async def receive(self) -> Any:
        return self._without_tools(await self._behind.receive())

    async def aclose(self) -> None:
        await self._behind.aclose()

    def __aiter__(self) -> _Keeping:
        return self

    async def __anext__(self) -> Any:
        return self._without_tools(await self._behind.__anext__())

    async def __aenter__(self) -> Self:
        await self._behind.__aenter__()
        return self

    async def __aexit__(self, *exception: object) -> bool | None:
        return await self._behind.__aexit__(*exception)

    def _without_tools(self, item: Any) -> Any:
        from mcp.shared.message import SessionMessage
        from mcp.types import JSONRPCResponse

        if not isinstance(item, SessionMessage) or not isinstance(item.message, JSONRPCResponse):
            return item
        result = item.message.result
        if not isinstance(result.get("tools"), list):
            return item
        self._taken.append(result)
        emptied = item.message.model_copy(update={"result": {**result, "tools": []}})
        return SessionMessage(emptied, item.metadata)


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
