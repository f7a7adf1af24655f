"""The endpoints beside chat: models, health, version and metrics."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol

from agentworld_sim.llm.scripted._dialects import VERSION, Refusal

if TYPE_CHECKING:
    from agentworld_sim.llm.scripted._settings import Settings
    from agentworld_sim.llm.scripted.tokens import PrefixCache

Page = tuple[int, str, bytes]
"""Status, content type, body."""


class Served(Protocol):
    """The service that the pages are about."""

    settings: Settings
    cache: PrefixCache
    healthy: bool
    generated_tokens: int


POSTED = frozenset({"/v1/chat/completions"})


def page(method: str, path: str, service: Served) -> Page | Refusal:
    """What a request to anything but chat completions gets."""
    pages = {
        "/v1/models": _models,
        "/health": _health,
        "/version": _version,
        "/metrics": _metrics,
    }
    if path not in pages and path not in POSTED:
        return Refusal(404, "Not Found", type="Not Found", by_framework=True)
    if method not in ("GET", "HEAD") or path in POSTED:
        return Refusal(405, "Method Not Allowed", type="Method Not Allowed", by_framework=True)
    status, content_type, body = pages[path](service)
    return status, content_type, b"" if method == "HEAD" else body


def _json(data: dict[str, Any]) -> Page:
    return 200, "application/json", json.dumps(data).encode()


def _models(service: Served) -> Page:
    settings = service.settings
    cards = [
        {
            "id": name,
            "object": "model",
            "created": 0,
            "owned_by": "sglang" if settings.dialect == "sglang" else "vllm",
            "root": name,
            "parent": None,
            "max_model_len": settings.max_model_len,
        }
        for name in settings.models
    ]
    return _json({"object": "list", "data": cards})


def _health(service: Served) -> Page:
    return 200 if service.healthy else 503, "text/plain", b""


def _version(service: Served) -> Page:
    return _json({"version": VERSION})


def _metrics(service: Served) -> Page:
    """The counters of vLLM's Prometheus page that a prefix-cache check reads."""
    counters = {
        "vllm:prefix_cache_queries_total": service.cache.queries,
        "vllm:prefix_cache_hits_total": service.cache.hits,
        "vllm:prompt_tokens_total": service.cache.queries,
        "vllm:generation_tokens_total": service.generated_tokens,
    }
    labels = f'{{engine="0",model_name="{service.settings.models[0]}"}}'
    lines = [
        line
        for name, value in counters.items()
        for line in (f"# TYPE {name} counter", f"{name}{labels} {float(value)}")
    ]
    body = "\n".join([*lines, ""]).encode()
    return 200, "text/plain; version=0.0.4; charset=utf-8", body
