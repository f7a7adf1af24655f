"""Requests as tool calls, and responses as what they answer."""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from agentworld_sim.engines.web.browser_turn import TURN_US
from agentworld_sim.engines.web.requests import WebRequest, WebResponse
from agentworld_sim.ports import Answer
from agentworld_sim.types.state import StateChange, WorldState
from agentworld_sim.types.turns import Observation

HEADERS = (
    "accept accept-language content-type cookie origin referer user-agent x-requested-with"
).split()
"""What sites are told of a request's headers. Keys and passwords of people never become part of a record."""


def request_arguments(request: WebRequest) -> dict[str, Any]:
    """A request as the arguments of a tool call."""
    headers = [list(one) for one in request.headers if one[0] in HEADERS]
    return {"method": request.method, "url": request.url, "headers": headers, **_body(request.body)}


def request_of(arguments: Mapping[str, Any]) -> WebRequest:
    """The request that such arguments are. What is no base64 is no body."""
    headers = tuple((name.lower(), value) for name, value in arguments.get("headers", ()))
    return WebRequest(arguments["url"], arguments["method"].upper(), headers, _bytes(arguments))


def response_of(structured: Mapping[str, Any]) -> WebResponse:
    """The response that the structured answer of a call is."""
    headers = tuple((name, value) for name, value in structured["headers"])
    return WebResponse(structured["status"], _bytes(structured), headers)


def http_answer(
    request: WebRequest, found: tuple[WebResponse, StateChange] | None, state: WorldState
) -> Answer:
    """What a call of the tool answers where its request was answered with `found`."""
    change = StateChange(clock_us=state.clock_us + TURN_US)
    if found is None:
        told = f"Could not resolve host: {urlsplit(request.url).hostname}"
        return Answer(Observation(text=told, is_error=True), change)
    response = found[0]
    lines = [f"HTTP/1.1 {response.status} {response.status_text}".rstrip()]
    lines += [f"{name}: {value}" for name, value in response.headers]
    body = _body(response.body)
    text = body.get("body", f"({len(response.body)} bytes)" if response.body else "")
    structured = {
        "status": response.status,
        "headers": [list(one) for one in response.headers],
        **body,
    }
    text = "\n".join([*lines, "", text])
    return Answer(Observation(text=text, structured=structured), found[1].then(change))


def _body(content: bytes) -> dict[str, str]:
    if not content:
        return {}
    try:
        return {"body": content.decode()}
    except UnicodeDecodeError:
        return {"body_base64": b64encode(content).decode()}


def _bytes(fields: Mapping[str, Any]) -> bytes:
    try:
        return fields.get("body", "").encode() or b64decode(fields.get("body_base64", ""))
    except (binascii.Error, ValueError):
        return b""
