"""What a model server tells of itself: its entry in the list of models, its version, its flags."""

from __future__ import annotations

import asyncio
import json
from typing import Any, cast
from urllib.parse import urljoin

from agentworld_sim.llm.failures import TransportError, whole
from agentworld_sim.llm.settings import ModelSettings
from agentworld_sim.llm.transport import ChatTransport
from agentworld_sim.redaction.records import Redaction

PAGES = ("version", "server_info", "get_server_info", "props", "api/version")
"""Beside the API: of vLLM, vLLM for developers and SGLang, SGLang before that, llama.cpp, Ollama."""

SECONDS = 10.0
"""For each page; a server lacks most of them."""


async def server_facts(settings: ModelSettings) -> dict[str, Any]:
    """The pages that a server has, by name, as it wrote them but for secrets.

    Args:
        settings: Where it is.
    """
    server = ChatTransport(settings)
    base = server.address("/models")
    pages = {"models": base, **{name: urljoin(base, f"../{name}") for name in PAGES}}
    try:
        found = await asyncio.gather(*(_page(server, url) for url in pages.values()))
    finally:
        await server.close()
    facts = {name: told for name, told in zip(pages, found, strict=True) if told is not None}
    # SGLang tells the keys that it was started with.
    return cast("dict[str, Any]", Redaction([settings.api_key]).value(facts))


async def _page(server: ChatTransport, url: str) -> Any:
    try:
        async with server.send(url, silence=SECONDS, seconds=SECONDS) as response:
            if response.status_code != 200:
                return None
            return json.loads(await whole(response.aiter_bytes()))
    except (TransportError, ValueError, RecursionError):
        return None
