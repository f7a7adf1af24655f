"""What a model server tells of itself: its list of models, its version, its flags."""

from __future__ import annotations

import json
from contextlib import suppress
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
    """The pages that a server has, by name, as it wrote them but for secrets."""
    server = ChatTransport(settings)
    models = server.address("/models")
    found: dict[str, Any] = {}
    try:
        for name, url in {
            "models": models,
            **{page: urljoin(models, f"../{page}") for page in PAGES},
        }.items():
            with suppress(TransportError, ValueError, RecursionError):
                async with server.send(url, silence=SECONDS, seconds=SECONDS) as response:
                    if response.status_code == 200:
                        found[name] = json.loads(await whole(response.aiter_bytes()))
    finally:
        await server.close()
    # SGLang tells the keys that it was started with.
    return cast("dict[str, Any]", Redaction([settings.api_key]).value(found))
