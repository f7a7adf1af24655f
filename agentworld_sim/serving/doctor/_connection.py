"""The doctor's requests: pages as they come, and questions through the client that worlds use."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, replace
from typing import Any

from agentworld_sim.llm.chat import ChatReply, ChatRequest
from agentworld_sim.llm.client import ChatClient
from agentworld_sim.llm.failures import Failures
from agentworld_sim.llm.settings import ModelSettings
from agentworld_sim.llm.transport import Transport, TransportError
from agentworld_sim.runtime.sync import run_sync

CORRECT_URL = (
    "The URL is that of a website or a proxy. Give the base URL of the API; it ends in /v1."
)


@dataclass(frozen=True, slots=True)
class Page:
    """What a GET gave."""

    status: int
    is_html: bool
    text: str
    location: str | None

    def json(self) -> Any:
        """The body as JSON; `None` if it is not."""
        try:
            return json.loads(self.text)
        except (ValueError, RecursionError):
            return None


class Connection:
    """One server, asked with one key. Counts what it costs."""

    def __init__(self, url: str, *, api_key: str | None, timeout: float) -> None:
        self.requests = 0
        self.prompt_tokens = 0
        self.completion_tokens = 0
        self._settings = ModelSettings(
            url=url.rstrip("/"),
            api_key=api_key or "",
            connect_seconds=min(10.0, timeout),
            silence_seconds=timeout,
            retries=0,
            cache_entries=0,
        )
        self._transport = Transport(self._settings)
        self._clients: dict[float, ChatClient] = {}

    @property
    def url(self) -> str:
        return self._settings.url

    @property
    def root(self) -> str:
        """The URL without `/v1`."""
        return self.url.removesuffix("/v1")

    @property
    def left_out(self) -> frozenset[str]:
        """Fields of requests that the server turned out not to take."""
        return frozenset[str]().union(*(client.left_out for client in self._clients.values()))

    def go_on_with(self, **settings: str) -> None:
        """Asks at another URL, or for a model, from now on."""
        self._settings = replace(self._settings, **settings)

    def close(self) -> None:
        """Closes the connections."""
        for one in (self._transport, *self._clients.values()):
            run_sync(one.close())

    def get(self, url: str) -> Page:
        """Fetches a page.

        Raises:
            ModelFailure: nothing came back.
        """
        return run_sync(self._get(url))

    async def _get(self, url: str) -> Page:
        seconds = self._settings.silence_seconds
        try:
            async with self._transport.send(url, silence=seconds, seconds=seconds) as response:
                text = (await response.read()).decode("utf-8", "replace")
        except TransportError as error:
            raise Failures(self._settings).connection(error) from None
        kind = response.headers.get("content-type", "")
        start = text.lstrip()[:9].lower()
        is_html = "text/html" in kind or start.startswith(("<!doctype", "<html"))
        return Page(response.status, is_html, text, response.headers.get("location"))

    def ask(self, *requests: ChatRequest, temperature: float = 0.6) -> list[ChatReply]:
        """The replies to questions that are asked side by side.

        Raises:
            ModelFailure: one did not come.
        """
        if temperature not in self._clients:
            settings = replace(self._settings, temperature=temperature)
            self._clients[temperature] = ChatClient(settings)
        client = self._clients[temperature]

        async def together() -> list[ChatReply]:
            return await asyncio.gather(*map(client.ask, requests))

        replies = run_sync(together())
        self.requests += len(replies)
        for reply in replies:
            self.prompt_tokens += reply.usage.get("prompt_tokens", 0)
            self.completion_tokens += reply.usage.get("completion_tokens", 0)
        return replies
