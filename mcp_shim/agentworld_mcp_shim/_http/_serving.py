"""One process that answers: the SDK's transports in front of a pool of worlds, and how it ends."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import socket
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from agentworld_mcp_shim._control_tools import WorldControls
from agentworld_mcp_shim._handlers import MirrorHandlers, MirrorServer
from agentworld_mcp_shim._http._address import Guard
from agentworld_mcp_shim._http._app import App
from agentworld_mcp_shim._http._metrics import Metrics
from agentworld_mcp_shim._http._operator_endpoint import OperatorEndpoint
from agentworld_mcp_shim._http._sessions import SignedSessions
from agentworld_mcp_shim._http._tokens import Tokens
from agentworld_mcp_shim._pool import WorldPool
from agentworld_mcp_shim._settings import ShimSettings
from agentworld_mcp_shim._stdio import SETTLE_SECONDS, on_signals
from agentworld_mcp_shim._tool_calls import ToolCalls
from agentworld_mcp_shim._world_keys import Run
from agentworld_sim.ports import blocking

if TYPE_CHECKING:
    from mcp.server.streamable_http import EventStore

    from agentworld_mcp_shim._mirror import Mirror
    from agentworld_mcp_shim._real_calls import RealCalls

logger = logging.getLogger(__name__)

CANCEL_SECONDS = 1.0
"""Of the time to settle: for calls that did not finish to take back what they did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All that a process needs in order to answer. It can be sent to another one."""

    settings: ShimSettings
    port: int
    mirrors: Mapping[str, Mirror]
    run: Run
    """Its folder is there when several processes answer."""
    process: int = 0

    @property
    def own_tools(self) -> bool:
        """Whether the mirror shows the world's own tools, so that a world needs none from it."""
        return not self.settings.targets


async def serve_plan(plan: Plan, listening: socket.socket, *, ready: Callable[[], None]) -> int:
    """Answers until a signal comes; gives the exit code."""
    allow_open_files()
    blocking.ALLOWED.set(True)
    ending: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    on_signals(ending)
    pool = WorldPool(plan.settings, run=plan.run)
    pool.show(None if plan.own_tools else plan.mirrors[""])
    pool.keep_sweeping()
    calls = ToolCalls(seconds=plan.settings.answer_seconds)
    try:
        # With all that it imports: nobody waits for it yet.
        await pool.probe()
        async with _application(plan, pool, calls) as (app, transports):
            server = await _start(app, listening)
            ready()
            # What the start made stays: never look for garbage in it again.
            gc.freeze()
            gc.enable()
            await asyncio.wait({server.task, ending}, return_when=asyncio.FIRST_COMPLETED)
            server.should_exit = True
            await app.settle(SETTLE_SECONDS - CANCEL_SECONDS)
            await calls.settle(CANCEL_SECONDS)
            # Ends event streams, which would keep their connections open.
            await transports.aclose()
            await asyncio.wait({server.task}, timeout=2 * CANCEL_SECONDS)
    finally:
        await pool.aclose(keep_unused=plan.run.folder is not None)
    return ending.result() if ending.done() else 1


@contextlib.asynccontextmanager
async def _application(
    plan: Plan, pool: WorldPool, calls: ToolCalls
) -> AsyncGenerator[tuple[App, AsyncExitStack]]:
    settings, http = plan.settings, plan.settings.http
    assert http is not None
    metrics = Metrics(plan.run.folder, open_worlds=lambda: pool.open_worlds)
    control = WorldControls(pool, plan.mirrors) if settings.control_tools else None
    resumable = is_real(settings)
    async with AsyncExitStack() as stack, AsyncExitStack() as transports:
        real = _real_calls(plan, stack)
        views: dict[str, StreamableHTTPSessionManager] = {}
        for name, mirror in plan.mirrors.items():
            handlers = MirrorHandlers(
                mirror,
                pool.world,
                calls,
                real=real,
                control=control,
                access=settings.access,
                metrics=metrics,
            )
            views[name] = (_Resumable if resumable else StreamableHTTPSessionManager)(
                MirrorServer(handlers),
                stateless=plan.run.folder is not None,
                # `App` looks at Host and Origin, of every request and not only of these.
                security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
                max_request_body_size=http.max_request_bytes,
                max_sessions=http.max_worlds,
            )
            await transports.enter_async_context(views[name].run())
        sessions = None
        if plan.run.folder is not None:
            sessions = SignedSessions(
                plan.run.folder, plan.run.secret, process=plan.process, count=http.workers
            )
        app = App(
            http,
            views,
            pool,
            guard=Guard(http, plan.port),
            tokens=Tokens(http.tokens),
            metrics=metrics,
            sessions=sessions,
            operator=OperatorEndpoint(pool, Tokens(http.operators)) if http.operators else None,
        )
        yield app, transports


class _Resumable(StreamableHTTPSessionManager):
    """Keeps what was sent a moment ago: upstreams may end a stream before its answer, for the client to
    ask again.

    The transport of each session takes a store of its own. The SDK calls streams by the ids of requests,
    which are the same in many sessions, and in one store they would be one stream.
    """

    def __init__(self, *arguments: Any, **others: Any) -> None:
        from agentworld_mcp_shim._http._recent_events import RETRY_MS

        super().__init__(*arguments, retry_interval=RETRY_MS, **others)

    @property
    def event_store(self) -> EventStore | None:
        from agentworld_mcp_shim._http._recent_events import RecentEvents

        return RecentEvents()

    @event_store.setter
    def event_store(self, value: EventStore | None) -> None:
        assert value is None


def _real_calls(plan: Plan, stack: AsyncExitStack) -> RealCalls | None:
    http = plan.settings.http
    if plan.own_tools or http is None or http.workers > 1:
        return None
    from agentworld_mcp_shim._real_calls import RealCalls

    real = RealCalls(plan.settings, plan.mirrors)
    stack.push_async_callback(real.aclose)
    return real


def is_real(settings: ShimSettings) -> bool:
    """Whether anything is sent to an upstream beyond listing, by the rules here or the scenario's.

    Raises:
        ScenarioError: the scenario cannot be read.
    """
    if "real" in settings.access.values():
        return True
    if settings.worlds.scenario is None:
        return False
    from agentworld_sim.scenario import Scenario

    return "real" in Scenario.load(settings.worlds.scenario).access.values()


async def _start(app: App, listening: socket.socket) -> _Quiet:
    config = uvicorn.Config(
        app,
        lifespan="off",
        ws="none",
        # Requests are not logged: their headers and addresses are nobody's business.
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        # How long to wait for whom is decided in `serve_plan`.
        timeout_graceful_shutdown=None,
    )
    server = _Quiet(config)
    server.task = asyncio.create_task(server.serve(sockets=[listening]))
    begun = asyncio.create_task(server.accepting.wait())
    await asyncio.wait({server.task, begun}, return_when=asyncio.FIRST_COMPLETED)
    if server.task.done():
        server.task.result()
    return server


class _Quiet(uvicorn.Server):
    """Leaves signals to us, and says when it accepts connections."""

    task: asyncio.Task[None]

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.accepting = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.accepting.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


def allow_open_files() -> None:
    """As many as the system lets this process have: connections, and machines that stay live."""
    try:
        import resource
    except ImportError:  # Windows has no such limit.
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
