"""Checks that ask for no answer: is it there, whose key, which model, how long a context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from agentworld_sim.errors import ModelFailure, nearest
from agentworld_sim.llm.chat import ServedModel
from agentworld_sim.llm.served import models_in
from agentworld_sim.serving.doctor._connection import CORRECT_URL, Connection, Page
from agentworld_sim.serving.doctor._findings import Finding

ENOUGH_CONTEXT = 40_960
"""Tokens: the 32,768 that an answer may have, and a short prompt."""


def check_reachable(connection: Connection) -> tuple[list[Finding], list[ServedModel] | None]:
    """Whether an API answers there and takes the key.

    If it answers only with `/v1` added to the URL, the connection goes on with that.

    Returns:
        What was found, and the models it lists; `None` if nothing more can be asked.
    """
    given = connection.url
    try:
        page = connection.get(f"{given}/models")
        moved = (
            _served(page) is None and not given.endswith("/v1") and page.status not in (401, 403)
        )
        if moved:
            with_version = connection.get(f"{given}/v1/models")
            if moved := _served(with_version) is not None or with_version.status in (401, 403):
                page = with_version
                connection.go_on_with(url=f"{given}/v1")
    except ModelFailure as failure:
        return [_failed("reachable", str(failure), None)], None
    if moved:
        reached = _failed(
            "reachable",
            f"the API is at {connection.url}, not at {given}",
            f"Set AGENTWORLD_MODEL_URL={connection.url}",
        )
    else:
        reached = _reached(connection, page)
    if reached.verdict == "failed" and not moved:
        return [reached], None
    key, models = _key(page), _served(page)
    return [reached, *([key] if key else [])], None if key else models or []


def _reached(connection: Connection, page: Page) -> Finding:
    if page.is_html:
        return _failed("reachable", f"{connection.url} answers with an HTML page", CORRECT_URL)
    if page.status in (301, 302, 303, 307, 308):
        return _failed(
            "reachable", f"{connection.url} redirects to {page.location}", "Use that URL."
        )
    if page.status == 404:
        if connection.url.endswith("/v1"):
            # Some hosted services list no models; the requests themselves will show.
            return Finding(
                check="reachable",
                verdict="warning",
                summary=f"{connection.url} answers, but has no /models",
            )
        return _failed("reachable", f"{connection.url} has no /models", CORRECT_URL)
    if page.status >= 500:
        return _failed(
            "reachable",
            f"{connection.url}/models gives status {page.status}",
            "The server, or a proxy in front of it, is broken or still loading. See its log.",
        )
    if page.status == 200 and _served(page) is None:
        return _failed("reachable", f"{connection.url}/models is no list of models", CORRECT_URL)
    return Finding(check="reachable", verdict="ok", summary=connection.url)


def _key(page: Page) -> Finding | None:
    if page.status == 401:
        return _failed(
            "key",
            "the server refuses the key, or there is none",
            "Set AGENTWORLD_API_KEY to the key the server was started with.",
        )
    if page.status == 403:
        return _failed("key", "the key may not use this server (status 403)", None)
    return None


def check_model(
    models: Sequence[ServedModel], wanted: str | None
) -> tuple[Finding, ServedModel | None]:
    """Whether the wanted model is served; without a wish, whether there is exactly one."""
    names = [one.name for one in models]
    listed = ", ".join(names[:10]) + (" …" if len(names) > 10 else "")
    data: dict[str, Any] = {"served": names}
    if not models:
        if wanted:
            return (
                Finding(
                    check="model",
                    verdict="warning",
                    summary=f"{wanted} cannot be looked up: the server lists no models",
                ),
                ServedModel(wanted, None),
            )
        return _failed("model", "the server lists no models", "Name one with --model."), None
    if wanted:
        for one in models:
            if one.name == wanted:
                return Finding(check="model", verdict="ok", summary=wanted, data=data), one
        advice = f"Set AGENTWORLD_MODEL to one of them.{nearest(wanted, names)}"
        return _failed("model", f"{wanted!r} is not served; served: {listed}", advice, data), None
    if len(models) > 1:
        advice = "Name one with --model or AGENTWORLD_MODEL."
        return _failed("model", f"several are served: {listed}", advice, data), None
    summary = f"{names[0]}, the only one"
    return Finding(check="model", verdict="ok", summary=summary, data=data), models[0]


def check_context(served: ServedModel) -> Finding:
    """Whether an answer and its history fit."""
    if served.context_tokens is None:
        return Finding(
            check="context length",
            verdict="warning",
            summary="the server does not say",
            advice="It should have 262,144 tokens for long sessions, 40,960 at least.",
        )
    data = {"tokens": served.context_tokens}
    if served.context_tokens < ENOUGH_CONTEXT:
        return Finding(
            check="context length",
            verdict="warning",
            summary=f"{served.context_tokens:,} tokens",
            advice="An answer alone may take 32,768. Start the server with a longer"
            " --max-model-len (SGLang: --context-length); the model has 262,144.",
            data=data,
        )
    return Finding(
        check="context length", verdict="ok", summary=f"{served.context_tokens:,} tokens", data=data
    )


def _served(page: Page) -> list[ServedModel] | None:
    data: object = page.json() if page.status == 200 else None
    if not isinstance(data, dict):
        return None
    listing = cast("dict[str, object]", data)
    if not isinstance(listing.get("data"), list):
        return None
    return [ServedModel(*model) for model in models_in(listing).items()]


def _failed(
    check: str, summary: str, advice: str | None, data: dict[str, Any] | None = None
) -> Finding:
    return Finding(check=check, verdict="failed", summary=summary, advice=advice, data=data or {})
