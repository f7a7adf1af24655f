"""`agentworld mcp` in a thread of the tests' own process, with pipes that are queues.

Everything is the command's own but the ends: standard input and output are two queues of JSON lines, no
signal handler is set, and nothing leaves the process.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import os
import queue
import sys
import threading
import types
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any, Self
from unittest.mock import patch

import anyio
import click
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from agentworld_mcp_shim import _mirrors, _stdio, _upstream
from agentworld_mcp_shim._command import _explain, _serve, _snapshot, mcp
from agentworld_mcp_shim._http import _serving
from agentworld_mcp_shim._http._main import serve_http
from agentworld_mcp_shim._listing import Listing
from agentworld_mcp_shim._settings import UpstreamTarget
from agentworld_mcp_shim._upstream import close_all, list_upstream, start_upstream
from agentworld_sim.errors import AgentworldError

DATA = str(Path(__file__).parents[1] / "data")

SECONDS = 60.0
"""No test may hang; none comes near this."""


class Link:
    """The two queues between a client and the command; lines are JSON without their ends."""

    def __init__(self) -> None:
        self.hear: Callable[[str | None], None] | None = None
        """Given each line of the server, and `None` at its end."""
        self._waiting: list[str | None] = []
        self._put: Callable[[str | None], None] | None = None
        self._lock = threading.Lock()

    def put(self, line: str | None) -> None:
        """Sends a line to the server; `None` for the end of its standard input."""
        with self._lock:
            if self._put is None:
                self._waiting.append(line)
            else:
                self._put(line)

    async def serve(self, server: Any) -> None:
        """What the command does instead of serving on its standard streams."""
        assert self.hear is not None
        hear, loop = self.hear, asyncio.get_running_loop()
        send, receive = anyio.create_memory_object_stream[SessionMessage | Exception](1000)

        def take(line: str | None) -> None:
            with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                if line is None:
                    send.close()
                    return
                try:
                    message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValueError as error:
                    send.send_nowait(error)
                else:
                    send.send_nowait(SessionMessage(message))

        def put(line: str | None) -> None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(take, line)

        with self._lock:
            self._put = put
            for line in self._waiting:
                take(line)
        out, sent = anyio.create_memory_object_stream[SessionMessage](1000)

        async def pump() -> None:
            async with sent:
                async for item in sent:
                    hear(item.message.model_dump_json(by_alias=True, exclude_unset=True))

        pumping = asyncio.create_task(pump())
        try:
            await server.run(receive, out, server.create_initialization_options())
        finally:
            out.close()
            send.close()
            receive.close()
            await pumping


_LINK: ContextVar[Link | None] = ContextVar("link", default=None)


async def _over_queues(server: Any, most: int) -> None:
    link = _LINK.get()
    if link is not None:
        await link.serve(server)
    # Without one standard input is empty, and the client has left.


def _leave(ending: asyncio.Future[int]) -> Any:
    raise ending.exception() or SystemExit(ending.result())


def _no_signals(ending: asyncio.Future[int]) -> None:
    pass


_STILL = types.SimpleNamespace(enable=int, disable=int, freeze=int)


def _serve_http(started: Any, settings: Any) -> Any:
    code = serve_http(started, settings)
    close_all(started)
    raise SystemExit(code)


def _remember_ending(ending: asyncio.Future[int]) -> None:
    server = _SERVER.get()
    if server is not None:
        server.ending, server.loop = ending, asyncio.get_running_loop()


class _Stderr(logging.Handler):
    """Writes to what is standard error at that moment."""

    def emit(self, record: logging.LogRecord) -> None:
        print(self.format(record), file=sys.stderr)


def _log_to_stderr(verbose: bool) -> None:
    handler = _Stderr(logging.INFO if verbose else logging.WARNING)
    handler.setFormatter(logging.Formatter("agentworld: %(message)s"))
    logging.getLogger().addHandler(handler)


class _Known:
    """Stands for a server of `tests/data` that was asked before, and says the same each time."""

    def __init__(self, command: tuple[str, ...]) -> None:
        self.command = command
        self.shown = " ".join(command)

    def close(self) -> None:
        pass

    def wait_closed(self) -> None:
        pass


_CACHED: ContextVar[bool] = ContextVar("cached", default=False)
_LISTINGS: dict[tuple[str, ...], Listing] = {}


def _start(target: UpstreamTarget) -> Any:
    known = _CACHED.get() and not target.env and target.command in _LISTINGS
    return _Known(target.command) if known else start_upstream(target)


async def _list(upstream: Any, **options: Any) -> Listing:
    if isinstance(upstream, _Known):
        return _LISTINGS[upstream.command]
    listing = await list_upstream(upstream, **options)
    command: tuple[str, ...] = getattr(upstream, "command", ())
    if options.get("contents"):
        return listing
    if any(word.startswith(DATA) for word in command[1:]) or command == ("mcp-server-git",):
        _LISTINGS[command] = listing
    return listing


def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the command fit to run here. Servers of ours are asked once what they list."""
    monkeypatch.setattr(_upstream, "start_upstream", _start)
    monkeypatch.setattr(_upstream, "list_upstream", _list)
    monkeypatch.setattr(_mirrors, "list_upstream", _list)
    monkeypatch.setattr(_stdio, "_over_stdio", _over_queues)
    monkeypatch.setattr(_stdio, "leave", _leave)
    monkeypatch.setattr(_stdio, "on_signals", _no_signals)
    monkeypatch.setattr(_serving, "on_signals", _remember_ending)
    monkeypatch.setattr(_serving, "gc", _STILL)
    monkeypatch.setattr(_serve, "_serve_http", _serve_http)
    for module in (_serve, _snapshot, _explain):
        monkeypatch.setattr(module, "log_to_stderr", _log_to_stderr)
    monkeypatch.setattr(_stdio, "gc", _STILL)
    monkeypatch.setattr(_serve, "gc", _STILL)
    handlers = list(logging.getLogger().handlers)
    monkeypatch.setattr(logging.getLogger(), "handlers", handlers)


class HttpServer:
    """The command over HTTP in a thread, with the methods of a process that tests use."""

    def __init__(
        self, arguments: Sequence[str], environment: Mapping[str, str], log: IO[str]
    ) -> None:
        """
        Args:
            arguments: Of `agentworld mcp`.
            environment: Its variables.
            log: Takes its standard error.
        """
        self.ending: asyncio.Future[int] | None = None
        self.loop: asyncio.AbstractEventLoop | None = None
        self._stack = contextlib.ExitStack()
        self._stack.enter_context(patch.dict(os.environ, environment, clear=True))
        self._stack.enter_context(contextlib.redirect_stderr(log))
        self._running = Running(arguments, environment, server=self)

    @property
    def pid(self) -> int:
        """The process it runs in."""
        return os.getpid()

    def send_signal(self, sig: int) -> None:
        """Ends it as SIGTERM does, whatever the signal."""
        self.terminate()

    def terminate(self) -> None:
        """Ends it as SIGTERM does."""
        if self.loop is not None and self.ending is not None:
            ending = self.ending

            def end() -> None:
                if not ending.done():
                    ending.set_result(143)

            with contextlib.suppress(RuntimeError):
                self.loop.call_soon_threadsafe(end)

    def poll(self) -> int | None:
        """The exit code, once it has ended."""
        return self._running.code if self._running.over else None

    def wait(self, seconds: float = SECONDS) -> int:
        """Waits for its end."""
        try:
            return self._running.join()
        finally:
            self._stack.close()


_SERVER: ContextVar[HttpServer | None] = ContextVar("server", default=None)


class Running:
    """One command in its thread."""

    def __init__(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        link: Link | None = None,
        *,
        cached: bool = True,
        server: HttpServer | None = None,
    ) -> None:
        self._server = server
        self._cached = cached
        self._arguments = list(arguments)
        self._environment = environment
        self._link = link
        self.code = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return not self._thread.is_alive()

    def join(self) -> int:
        """Waits for its end; the exit code."""
        self._thread.join(SECONDS)
        assert not self._thread.is_alive(), "the command does not end"
        return self.code

    def _run(self) -> None:
        _LINK.set(self._link)
        _CACHED.set(self._cached)
        _SERVER.set(self._server)
        try:
            mcp.main(args=self._arguments, prog_name="agentworld mcp", standalone_mode=False)
        except AgentworldError as error:
            click.echo(f"agentworld: {error}", err=True)
            self.code = error.exit_code
        except click.ClickException as error:
            error.show()
            self.code = error.exit_code
        except SystemExit as end:
            self.code = int(end.code or 0)
        except BaseException:
            self.code = 1
            raise
        finally:
            if self._link is not None and self._link.hear is not None:
                self._link.hear(None)


def run(
    arguments: Sequence[str], environment: Mapping[str, str], *, cached: bool = False
) -> tuple[int, str, str]:
    """Runs the command to its end on an empty standard input; exit code, output, errors."""
    out, err = io.StringIO(), io.StringIO()
    with (
        patch.dict(os.environ, environment, clear=True),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = Running(arguments, environment, cached=cached).join()
    return code, out.getvalue(), err.getvalue()


@contextmanager
def linked(
    arguments: Sequence[str], environment: Mapping[str, str]
) -> Generator[tuple[Link, queue.Queue[str | None]]]:
    """Runs the command: what it is sent through, and what it says."""
    link, said = Link(), queue.Queue[str | None]()
    link.hear = said.put
    with patch.dict(os.environ, environment, clear=True):
        running = Running(arguments, environment, link)
        try:
            yield link, said
        finally:
            link.put(None)
            running.join()


@asynccontextmanager
async def transport(
    arguments: Sequence[str], environment: Mapping[str, str]
) -> AsyncGenerator[tuple[Any, Any]]:
    """Runs the command: its streams, as the SDK's client wants them."""
    link, loop = Link(), asyncio.get_running_loop()
    send, receive = anyio.create_memory_object_stream[SessionMessage | Exception](1000)

    def take(line: str | None) -> None:
        with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            if line is None:
                send.close()
            else:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                send.send_nowait(SessionMessage(message))

    def hear(line: str | None) -> None:
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(take, line)

    link.hear = hear
    with patch.dict(os.environ, environment, clear=True):
        running = Running(arguments, environment, link)
        try:
            yield receive, _Writing(link)
        finally:
            link.put(None)
            send.close()
            receive.close()
            with anyio.CancelScope(shield=True):
                await asyncio.to_thread(running.join)


class _Writing:
    """Implements the SDK's `WriteStream`."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def send(self, item: SessionMessage) -> None:
        self._link.put(item.message.model_dump_json(by_alias=True, exclude_unset=True))

    async def aclose(self) -> None:
        self._link.put(None)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
