"""The scripted model server: a thread with an event loop of its own and a real socket."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Sequence
from functools import partial
from typing import Self, cast

from agentworld_sim.errors import UsageError
from agentworld_sim.llm.scripted._refusals import Dialect, ReasoningField, Settings
from agentworld_sim.llm.scripted._script import Script
from agentworld_sim.llm.scripted._scripted_app import ScriptedApp

DEFAULT_MODEL = "Qwen/Qwen-AgentWorld-35B-A3B"
BACKLOG = 4096
"""Connections that may wait to be accepted: a thousand clients can start at once."""


class ScriptedModelServer(ScriptedApp):
    """An OpenAI-compatible model server that answers from a script.

    ```python
    with ScriptedModelServer(["first answer", ScriptedReply("second", thinking="hm")]) as server:
        ...  # point a client at server.url
    assert server.requests[0].last_user == "…"
    ```

    It is used with `with` from sync and with `async with` from async code, and runs in a thread
    of its own; a function as script is called in that thread. A request that a sequence has no
    reply for, and a function that raises, are answered with status 500 and raise `ScriptError`
    when the block ends: a retrying client must not hide them. Replies left over are no error; see
    `remaining`.

    Args:
        script: replies in the order in which requests arrive, or a function that gets each
            `ModelRequest` and returns (or awaits) its reply. A string is the content of a reply.
        model: the served name, or several.
        api_key: when given, `/v1` asks for it as a bearer token.
        dialect: whose error bodies, texts and rules to have: `vllm`, `vllm-0.9` or `sglang`.
        reasoning_field: where thinking goes; by default `reasoning` for vLLM of today and
            `reasoning_content` for the others.
        reasoning_parser: without one, thinking stands in the content, before its closing tag.
        max_model_len: the context limit, in tokens of four bytes.
        honour_max_tokens: cut replies at the limit of the request, with `finish_reason` "length".
        structured_output: whether `response_format` with a schema and `structured_outputs` are
            accepted. The reply is sent as scripted either way.
        strict_fields: refuse request fields that OpenAI's own service does not know.
        prefix_caching: count tokens of known prefixes as cached.
        report_cached_tokens: say so in `usage`; vLLM does with `--enable-prompt-tokens-details`.
        block_size: tokens per block of the prefix cache.
        keep_requests: how many of the latest requests to keep; `None` keeps all.
        host: the address to listen on.
        port: 0 takes a free one.
    """

    def __init__(
        self,
        script: Script = (),
        *,
        model: str | Sequence[str] = DEFAULT_MODEL,
        api_key: str | None = None,
        dialect: Dialect = "vllm",
        reasoning_field: ReasoningField | None = None,
        reasoning_parser: bool = True,
        max_model_len: int = 262_144,
        honour_max_tokens: bool = True,
        structured_output: bool = True,
        strict_fields: bool = False,
        prefix_caching: bool = True,
        report_cached_tokens: bool = True,
        block_size: int = 16,
        keep_requests: int | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        settings = Settings(
            models=(model,) if isinstance(model, str) else tuple(model),
            api_key=api_key,
            dialect=dialect,
            reasoning_field=reasoning_field,
            reasoning_parser=reasoning_parser,
            max_model_len=max_model_len,
            honour_max_tokens=honour_max_tokens,
            structured_output=structured_output,
            strict_fields=strict_fields,
            prefix_caching=prefix_caching,
            report_cached_tokens=report_cached_tokens,
            block_size=block_size,
        )
        super().__init__(script, settings, keep_requests=keep_requests)
        self._host = host
        self._port = port
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None

    @property
    def url(self) -> str:
        """The base URL for a client, with `/v1`."""
        return f"{self.root_url}/v1"

    @property
    def root_url(self) -> str:
        """The URL without `/v1`, where `/health` and `/metrics` are."""
        if self._thread is None:
            raise UsageError("The scripted model server is not running; use it in a `with` block.")
        return f"http://{self._host}:{self._port}"

    def start(self) -> Self:
        """Listen. `with` and `async with` do this.

        Raises:
            UsageError: the port is taken, or the server runs already.
        """
        if self._thread is not None:
            raise UsageError("This scripted model server runs already; make another one.")
        try:
            listening = socket.create_server((self._host, self._port), backlog=BACKLOG)
        except OSError as error:
            raise UsageError(
                f"Cannot listen on {self._host}:{self._port}: {error.strerror}. "
                "Use port=0 for a free one."
            ) from error
        self._port = listening.getsockname()[1]
        self._loop, self._stop = asyncio.new_event_loop(), asyncio.Event()
        self._thread = threading.Thread(
            target=self._loop.run_until_complete,
            args=(self._run(listening, self._stop),),
            name="scripted-model-server",
            daemon=True,
        )
        self._thread.start()
        return self

    def close(self) -> None:
        """Drop every connection, stop listening and end the thread. Calling it twice is fine."""
        thread, self._thread = self._thread, None
        if thread is None or self._loop is None or self._stop is None:
            return
        self._loop.call_soon_threadsafe(self._stop.set)
        thread.join()
        self._loop.close()
        self._loop = self._stop = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *raised: object) -> None:
        self.close()
        if raised[1] is None:
            self.check()

    async def __aenter__(self) -> Self:
        return self.start()

    async def __aexit__(self, *raised: object) -> None:
        self.__exit__(*raised)

    async def _run(self, listening: socket.socket, stop: asyncio.Event) -> None:
        # Here, because it takes a tenth of a second, and most who import the replies start no server.
        import uvicorn
        from uvicorn.protocols.http.h11_impl import H11Protocol
        from uvicorn.server import ServerState

        serve = self._serve

        class Protocol(H11Protocol):
            """uvicorn's, with the connection handed to the application: a scripted fault breaks it."""

            def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
                super().connection_made(transport)
                # asyncio does so itself only for sockets that name their protocol: head and body of an answer
                # would be 40 ms apart.
                connection = transport.get_extra_info("socket")
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.app = partial(serve, transport)

        config = uvicorn.Config(
            serve,  # each connection calls it with itself
            interface="asgi3",
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            # Connections are closed by who asks; that is what is tested.
            timeout_keep_alive=3600,
        )
        state = ServerState()
        loop = asyncio.get_running_loop()
        listener = await loop.create_server(
            lambda: Protocol(config, state, {}), sock=listening, backlog=BACKLOG
        )
        await stop.wait()
        listener.close()
        for connection in list(state.connections):
            cast("Protocol", connection).transport.abort()
        # Each ends when it sees that its client is gone.
        await asyncio.gather(*state.tasks, return_exceptions=True)
