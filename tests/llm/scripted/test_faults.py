"""Every scripted fault, seen by a real client."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from agentworld_sim.llm.scripted import (
    Dialect,
    Disconnect,
    ErrorReply,
    Gate,
    Hang,
    OverflowReply,
    RawReply,
    ScriptedModelServer,
    ScriptedReply,
    StreamError,
)

Ask = Callable[..., httpx2.Response]
BODY: dict[str, Any] = {"messages": [{"role": "user", "content": "?"}]}
HALVES = ScriptedReply("first half, second half", chunk_size=11)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, {"message": "The request is invalid.", "type": "BadRequestError", "code": 400}),
        (404, {"message": "Not Found", "type": "NotFoundError", "code": 404}),
        (500, {"message": "Internal server error", "type": "InternalServerError", "code": 500}),
        (502, {"message": "Bad Gateway", "type": "Bad Gateway", "code": 502}),
        (
            503,
            {
                "message": "Request failed; please retry",
                "type": "ServiceUnavailableError",
                "code": 503,
            },
        ),
        (
            429,
            {
                "message": "Rate limit reached for requests. Please try again later.",
                "type": "requests",
                "code": "rate_limit_exceeded",
            },
        ),
    ],
)
def test_an_error_has_the_body_of_its_status(ask: Ask, status: int, body: dict[str, Any]) -> None:
    with ScriptedModelServer([ErrorReply(status)]) as server:
        response = ask(server)
    assert response.status_code == status
    assert response.json() == {"error": {**body, "param": None}}


def test_an_error_may_say_more_and_when_to_return(ask: Ask) -> None:
    with ScriptedModelServer([ErrorReply(429, "Slow down.", retry_after_s=1.5)]) as server:
        response = ask(server)
    assert response.headers["retry-after"] == "1.5"
    assert response.json()["error"]["message"] == "Slow down."


def test_a_refused_key_can_be_scripted(ask: Ask) -> None:
    with ScriptedModelServer([ErrorReply(401)]) as server:
        response = ask(server)
    assert (response.status_code, response.json()) == (401, {"error": "Unauthorized"})


@pytest.mark.parametrize("dialect", ["vllm-0.9", "sglang"])
def test_older_servers_write_the_error_at_the_top(ask: Ask, dialect: Dialect) -> None:
    with ScriptedModelServer([ErrorReply(500, "Ouch")], dialect=dialect) as server:
        response = ask(server)
    assert response.json() == {
        "object": "error",
        "message": "Ouch",
        "type": "InternalServerError",
        "param": None,
        "code": 500,
    }


@pytest.mark.parametrize(
    ("dialect", "told"),
    [
        ("vllm", "This model's maximum context length is 262144 tokens"),
        ("vllm-0.9", "However, you requested 262145 tokens"),
        ("sglang", "The input (262145 tokens) is longer than"),
    ],
)
def test_a_context_overflow_can_be_scripted(ask: Ask, dialect: Dialect, told: str) -> None:
    with ScriptedModelServer([OverflowReply()], dialect=dialect) as server:
        response = ask(server)
    assert response.status_code == 400
    assert told in response.text


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("reply", "status", "content_type", "start"),
    [
        (RawReply.html_page(), 200, "text/html; charset=utf-8", "<!DOCTYPE html>"),
        (RawReply.html_page(502), 502, "text/html; charset=utf-8", "<!DOCTYPE html>"),
        (RawReply.invalid_json(), 200, "application/json", '{"id": "chatcmpl-0"'),
        (RawReply.empty(), 200, "application/json", ""),
        (RawReply(b"\xff\x00", 599, "a/b"), 599, "a/b", ""),
    ],
)
def test_a_raw_reply_is_sent_as_it_is(
    ask: Ask, reply: RawReply, status: int, content_type: str, start: str, stream: bool
) -> None:
    with ScriptedModelServer([reply]) as server:
        response = ask(server, stream=stream)
    assert (response.status_code, response.headers["content-type"]) == (status, content_type)
    assert response.text.startswith(start)
    assert response.content == (
        reply.body if isinstance(reply.body, bytes) else reply.body.encode()
    )


def test_invalid_json_is_invalid_and_an_error_body_is_not(ask: Ask) -> None:
    replies = [RawReply.invalid_json(), RawReply.error_with_status_200('say "no" \\ more')]
    with ScriptedModelServer(replies) as server:
        invalid, error = ask(server), ask(server)
    with pytest.raises(json.JSONDecodeError):
        invalid.json()
    assert error.status_code == 200
    assert error.json()["error"]["message"] == 'say "no" \\ more'


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("reset", [False, True])
def test_a_server_can_die_before_the_first_byte(ask: Ask, stream: bool, reset: bool) -> None:
    with ScriptedModelServer([Disconnect(reset=reset), "alive"]) as server:
        with pytest.raises(httpx2.TransportError):
            ask(server, stream=stream)
        assert ask(server).status_code == 200


@pytest.mark.parametrize("reset", [False, True])
def test_a_server_can_die_in_the_middle_of_a_stream(client: httpx2.Client, reset: bool) -> None:
    body = {**BODY, "stream": True}
    got = ""
    with ScriptedModelServer([Disconnect(after_chunks=2, reset=reset, reply=HALVES)]) as server:
        url = f"{server.url}/chat/completions"
        with client.stream("POST", url, json=body) as response:
            assert response.status_code == 200
            with pytest.raises(httpx2.TransportError):
                for piece in response.iter_text():
                    got += piece
    assert "first half," in got
    assert "second half" not in got
    assert "[DONE]" not in got


def test_a_server_can_die_in_the_middle_of_a_body(ask: Ask) -> None:
    reply = Disconnect(after_chunks=3, reply=HALVES)
    with ScriptedModelServer([reply]) as server, pytest.raises(httpx2.RemoteProtocolError):
        ask(server)


def test_a_body_cut_at_its_very_end_is_still_cut(ask: Ask) -> None:
    reply = Disconnect(after_chunks=10_000, reply=HALVES)
    with ScriptedModelServer([reply]) as server, pytest.raises(httpx2.RemoteProtocolError):
        ask(server)


def test_an_error_can_come_inside_a_stream(ask: Ask, read_stream: Callable[[str], Any]) -> None:
    fault = StreamError(after_chunks=2, message="CUDA error", reply=HALVES)
    with ScriptedModelServer([fault, fault]) as server:
        streamed, whole = ask(server, stream=True), ask(server)
    stream = read_stream(streamed.text)
    assert streamed.status_code == 200
    assert (stream.content, stream.finish_reason, stream.done) == ("first half,", None, True)
    assert stream.events[-1] == {
        "error": {
            "message": "CUDA error",
            "type": "InternalServerError",
            "param": None,
            "code": 500,
        }
    }
    assert (whole.status_code, whole.json()) == (500, stream.events[-1])


def test_inside_a_stream_older_servers_name_the_error_too(
    ask: Ask, read_stream: Callable[[str], Any]
) -> None:
    with ScriptedModelServer([StreamError()], dialect="sglang") as server:
        stream = read_stream(ask(server, stream=True).text)
    assert stream.events[-1]["error"]["message"] == "Internal server error"


async def test_a_hanging_request_ends_when_its_client_leaves() -> None:
    async with ScriptedModelServer([Hang()]) as server, httpx2.AsyncClient() as client:
        url = f"{server.url}/chat/completions"
        asking = asyncio.create_task(client.post(url, json=BODY, timeout=None))
        await asyncio.to_thread(server.wait_for, requests=1)
        assert (server.running, server.abandoned) == (1, 0)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        await asyncio.to_thread(server.wait_for, abandoned=1)
        assert (server.running, server.abandoned) == (0, 1)


def test_a_client_can_give_up_on_a_hanging_server(client: httpx2.Client) -> None:
    patience = httpx2.Timeout(60, read=0.05)
    with ScriptedModelServer([Hang()]) as server:
        with pytest.raises(httpx2.ReadTimeout):
            client.post(f"{server.url}/chat/completions", json=BODY, timeout=patience)
        server.wait_for(abandoned=1)


def test_a_stream_can_hang_in_its_middle(client: httpx2.Client) -> None:
    with ScriptedModelServer([Hang(after_chunks=2, reply=HALVES)]) as server:
        url = f"{server.url}/chat/completions"
        body = {**BODY, "stream": True}
        with client.stream("POST", url, json=body) as response:
            pieces = response.iter_text()
            got = ""
            while "first half," not in got:
                got += next(pieces)
        server.wait_for(abandoned=1)


def test_a_slow_drip_arrives_piece_by_piece(ask: Ask, read_stream: Callable[[str], Any]) -> None:
    reply = ScriptedReply("abcdef", chunk_size=1, seconds_per_chunk=0.001, delay_s=0.001)
    with ScriptedModelServer([reply, reply]) as server:
        stream = read_stream(ask(server, stream=True).text)
        whole = ask(server).json()["choices"][0]["message"]["content"]
    pieces = [event["choices"][0]["delta"].get("content") for event in stream.events]
    assert pieces == ["", *"abcdef", ""]
    assert whole == "abcdef"


def test_a_gate_holds_replies_until_it_opens() -> None:
    gate = Gate()
    with ScriptedModelServer([ScriptedReply("a", gate=gate)] * 2) as server:
        connection = http.client.HTTPConnection(server.root_url.removeprefix("http://"))
        body, headers = json.dumps(BODY), {"Content-Type": "application/json"}
        connection.request("POST", "/v1/chat/completions", body, headers)
        server.wait_for(requests=1)
        assert server.running == 1
        gate.open()
        assert connection.getresponse().read().startswith(b"{")
        # It stays open, and opening it again changes nothing.
        gate.open()
        connection.request("POST", "/v1/chat/completions", body, headers)
        assert connection.getresponse().status == 200
        connection.close()
    gate.open()
