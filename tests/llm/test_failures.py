"""What goes wrong between us and a server: who is told what, and what is tried again."""

from __future__ import annotations

import re
import socket
from contextlib import ExitStack
from email.utils import formatdate
from gzip import compress
from time import time
from typing import Any

import pytest

from agentworld_sim.errors import (
    ContextOverflow,
    ModelFailure,
    ModelRefused,
    ModelUnavailable,
    UsageError,
)
from agentworld_sim.llm import ModelSettings, client
from agentworld_sim.llm.client import pause
from agentworld_sim.llm.scripted import (
    Dialect,
    Disconnect,
    ErrorReply,
    Hang,
    OverflowReply,
    RawReply,
    Reply,
    ScriptedModelServer,
    StreamError,
)
from agentworld_sim.llm.transport import seconds_until
from tests.llm.harness import (
    DONE,
    MODEL,
    Connect,
    asked,
    chunk,
    event,
    raw_server,
    response,
)

EVENTS = "text/event-stream"


def error_event(message: str, code: object = None, kind: str = "") -> RawReply:
    """A stream in which an error follows the first piece of a reply."""
    error = {"error": {"message": message, "type": kind, "code": code}}
    return RawReply(chunk("fi") + event(error), content_type=EVENTS)


@pytest.mark.parametrize(
    "fault",
    [
        Disconnect(),
        Disconnect(reset=True),
        Disconnect(after_chunks=0),
        Disconnect(after_chunks=3),
        Disconnect(after_chunks=3, reset=True),
        ErrorReply(500),
        ErrorReply(503),
        RawReply.html_page(502),
        RawReply.empty(504),
        ErrorReply(429),
        StreamError(),
        error_event("overloaded", 503),
        error_event("slow down", "429"),
        RawReply(chunk("half"), content_type=EVENTS),
        RawReply(DONE, content_type=EVENTS),
        RawReply(b"", content_type=EVENTS),
        RawReply(chunk("half", "abort") + DONE, content_type=EVENTS),
    ],
)
async def test_what_may_pass_is_tried_again(
    connect: Connect, pauses: list[float], fault: Reply
) -> None:
    with ScriptedModelServer([fault, fault, "fine"]) as server:
        reply = await connect(server.url).ask(asked())
        assert len(server.requests) == 3
    assert reply.content == "fine"
    assert len(pauses) == 2


@pytest.mark.parametrize(
    ("fault", "failure", "says"),
    [
        (
            ErrorReply(400, "top_p is wrong."),
            ModelRefused,
            r"refuses the request \(400\): top_p is",
        ),
        (ErrorReply(418), ModelRefused, r"refuses the request \(418\)"),
        (RawReply.html_page(404), ModelRefused, r"no such address \(404: an HTML page titled 'Bad"),
        (RawReply.html_page(), ModelUnavailable, "sends an HTML page titled 'Bad gateway'"),
        (RawReply("<html>"), ModelUnavailable, "sends an HTML page. Is AGENTWORLD_MODEL_URL"),
        (RawReply("hello"), ModelUnavailable, "not JSON, beginning 'hello'"),
        (RawReply.invalid_json(), ModelUnavailable, "sends broken JSON, beginning '{"),
        (RawReply.empty(), ModelUnavailable, "sends nothing. Is"),
        (RawReply("[1]"), ModelUnavailable, "JSON that is no chat completion"),
        (RawReply('{"choices": 3}'), ModelUnavailable, "JSON that is no chat completion"),
        (RawReply('{"choices": [3]}'), ModelUnavailable, "JSON that is no chat completion"),
        (RawReply("[" * 100_000), ModelUnavailable, "sends broken JSON"),
        (
            RawReply.error_with_status_200(),
            ModelUnavailable,
            "reports an error in the place of a reply: The model is overloaded. Look",
        ),
        (
            RawReply('{"error": {"message": "no", "code": 400}}'),
            ModelRefused,
            r"refuses the request \(400\): no",
        ),
        (error_event("bad", 400), ModelRefused, r"\(400\): bad"),
        (error_event("bad", None, "BadRequestError"), ModelRefused, r"\(400\): bad"),
        (RawReply(b"data: {oops\n\n", content_type=EVENTS), ModelUnavailable, "not JSON"),
    ],
)
async def test_what_will_not_pass_is_told_at_once(
    connect: Connect, fault: Reply, failure: type[ModelFailure], says: str
) -> None:
    with ScriptedModelServer([fault]) as server:
        with pytest.raises(failure, match=says) as raised:
            await connect(server.url).ask(asked())
        assert len(server.requests) == 1
        assert str(raised.value).startswith(f"the model server {server.url} (model {MODEL!r}) ")


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (ErrorReply(503), "answers with 503: Request failed; please retry. Look into the server's"),
        (ErrorReply(429), "answers with 429: .* Ask for less at a time with a lower concurrency"),
        (Disconnect(), "broke off: Server disconnected. Look"),
        (
            Disconnect(after_chunks=2),
            "broke off: the connection was closed in the middle of an answer",
        ),
        (RawReply(chunk("fi"), content_type=EVENTS), "closed the connection in the middle of a"),
        (RawReply.html_page(502), "answers with 502: an HTML page titled 'Bad gateway'"),
    ],
)
async def test_in_the_end_the_last_failure_is_told(
    connect: Connect, pauses: list[float], fault: Reply, says: str
) -> None:
    with ScriptedModelServer(lambda _: fault) as server:
        with pytest.raises(ModelUnavailable, match=f"{says}.* It was tried 5 times.$"):
            await connect(server.url).ask(asked())
        assert len(server.requests) == 5
    assert all(0 <= seconds <= bound for seconds, bound in zip(pauses, (0.5, 1, 2, 4), strict=True))


async def test_no_retries_means_one_attempt(connect: Connect) -> None:
    with ScriptedModelServer(lambda _: ErrorReply(500)) as server:
        with pytest.raises(ModelUnavailable, match=r"log\.$"):
            await connect(server.url, retries=0).ask(asked())
        assert len(server.requests) == 1


@pytest.mark.parametrize("fault", [Hang(), Hang(after_chunks=2)])
async def test_silence_is_given_up_and_not_tried_again(connect: Connect, fault: Hang) -> None:
    with ScriptedModelServer([fault]) as server:
        with pytest.raises(ModelUnavailable, match=r"sent nothing for 0\.05 s and was given up"):
            await connect(server.url, silence_seconds=0.05).ask(asked())
        server.wait_for(abandoned=1)
        assert len(server.requests) == 1


async def test_a_server_may_name_the_pause_in_seconds(
    connect: Connect, pauses: list[float]
) -> None:
    script = [ErrorReply(429, retry_after_s=7), ErrorReply(503, retry_after_s=9_000), "fine"]
    with ScriptedModelServer(script) as server:
        await connect(server.url).ask(asked())
    assert 7 <= pauses[0] <= 7.5 and 30 <= pauses[1] <= 30.5


async def test_a_server_may_name_the_pause_as_a_date(connect: Connect, pauses: list[float]) -> None:
    later = formatdate(time() + 1_000, usegmt=True)
    busy = response(b"", f"retry-after: {later}", status="503 Busy")
    async with raw_server(busy, response()) as raw:
        await connect(raw.url).ask(asked())
    assert 30 <= pauses[0] <= 30.5


def test_a_retry_after_that_cannot_be_read_is_as_good_as_none() -> None:
    assert [seconds_until(text) for text in (None, "", "soon", "5", "-3")] == [
        None,
        None,
        None,
        5.0,
        0.0,
    ]
    assert seconds_until(formatdate(0, usegmt=True)) == 0.0


def test_pauses_are_jittered_below_a_bound_that_doubles_up_to_half_a_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def uniform(low: float, high: float) -> float:
        return high

    monkeypatch.setattr(client.random, "uniform", uniform)
    assert [pause(count, None) for count in range(8)] == [0.5, 1, 2, 4, 8, 16, 30, 30]


class TestNoConnection:
    async def test_nothing_listens(self, connect: Connect) -> None:
        async with raw_server() as raw:
            url = raw.url
        with pytest.raises(
            ModelUnavailable,
            match=r"nothing listens there\. Start one with `agentworld serve`, or correct"
            r" AGENTWORLD_MODEL_URL\. It was tried 5 times",
        ):
            await connect(url).ask(asked())

    async def test_the_host_is_not_known(self, connect: Connect) -> None:
        with pytest.raises(ModelUnavailable, match=r"the host 'model\.invalid' is not known"):
            await connect("http://model.invalid/v1", retries=0).ask(asked())

    async def test_tls_is_spoken_to_a_plain_server(
        self, connect: Connect, pauses: list[float]
    ) -> None:
        with ScriptedModelServer() as server:
            url = server.url.replace("http:", "https:")
            with pytest.raises(ModelUnavailable, match=r"over TLS: .*wants an http:// URL"):
                await connect(url).ask(asked())
        assert pauses == []

    async def test_the_server_takes_no_connection(self, connect: Connect) -> None:
        with socket.socket() as listener, ExitStack() as waiting:
            listener.bind(("127.0.0.1", 0))
            listener.listen(0)
            # Nobody accepts: these fill the queue, and what comes after them is not answered.
            for _ in range(4):
                one = waiting.enter_context(socket.socket())
                one.setblocking(False)
                one.connect_ex(listener.getsockname())
            url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
            told = r"took no connection within 0\.05 s"
            with pytest.raises(ModelUnavailable, match=told):
                await connect(url, connect_seconds=0.05, retries=0).ask(asked())


async def test_a_missing_v1_is_noticed(connect: Connect) -> None:
    with ScriptedModelServer() as server:
        hint = re.escape(f"An API answers at {server.url}: set AGENTWORLD_MODEL_URL to that.")
        with pytest.raises(ModelRefused, match=rf"no such address \(404: Not Found\). {hint}"):
            await connect(server.root_url).ask(asked())


async def test_the_whole_address_in_the_place_of_the_base_is_noticed(connect: Connect) -> None:
    with ScriptedModelServer() as server:
        right = re.escape(f"Give the base URL: set AGENTWORLD_MODEL_URL to {server.url}")
        with pytest.raises(ModelRefused, match=right):
            await connect(f"{server.url}/chat/completions").ask(asked())


async def test_another_wrong_path_says_what_a_url_must_be(connect: Connect) -> None:
    with ScriptedModelServer() as server:
        client = connect(f"{server.root_url}/api/v1")
        with pytest.raises(ModelRefused, match=r"must be the base URL .* most end in /v1"):
            await client.ask(asked())


async def test_a_redirect_says_where_it_leads(connect: Connect) -> None:
    moved = response(b"", "location: https://model.example/v1?key=1", status="308 Moved")
    async with raw_server(moved) as raw:
        with pytest.raises(
            ModelRefused, match=r"points to 'https://model\.example/v1'\. Set AGENT"
        ):
            await connect(raw.url).ask(asked())


async def test_a_redirect_to_what_is_no_url_is_told_without_it(connect: Connect) -> None:
    moved = response(b"", "location: http://[::1", status="302 Found")
    async with raw_server(moved) as raw:
        with pytest.raises(ModelRefused, match=r"answers with 302 and points to '\(no URL\)'"):
            await connect(raw.url).ask(asked())


async def test_a_wrong_model_lists_what_is_served(connect: Connect) -> None:
    with ScriptedModelServer(model=(MODEL, "tiny")) as server:
        told = re.escape(
            f"does not serve that model. Did you mean '{MODEL}'? It serves '{MODEL}', 'tiny'."
            " Set AGENTWORLD_MODEL to one of them."
        )
        client = connect(server.url, model=MODEL[:-1])
        with pytest.raises(ModelRefused, match=told):
            await client.ask(asked())


class TestOverflow:
    @pytest.mark.parametrize("dialect", ["vllm", "vllm-0.9", "sglang"])
    async def test_it_has_the_limit_and_what_was_asked(
        self, connect: Connect, dialect: Dialect
    ) -> None:
        with ScriptedModelServer(dialect=dialect, max_model_len=50) as server:
            client = connect(server.url)
            with pytest.raises(ContextOverflow, match="does not fit into the model's") as raised:
                await client.ask(asked("word " * 100, max_tokens=20))
        assert raised.value.limit == 50
        assert raised.value.asked is not None and raised.value.asked > 50

    @pytest.mark.parametrize(
        "fault",
        [
            OverflowReply(),
            error_event("The input (9 tokens) is longer than the model's context length (8", 400),
            error_event("too long", "context_length_exceeded"),
        ],
    )
    async def test_it_is_known_from_a_response_and_inside_a_stream(
        self, connect: Connect, fault: Reply
    ) -> None:
        with ScriptedModelServer([fault]) as server:
            with pytest.raises(ContextOverflow):
                await connect(server.url).ask(asked())
            assert len(server.requests) == 1

    async def test_a_limit_that_is_too_large_is_one_and_no_dialect(self, connect: Connect) -> None:
        with ScriptedModelServer(max_model_len=500) as server:
            client = connect(server.url)
            with pytest.raises(ContextOverflow) as raised:
                await client.ask(asked(max_tokens=501))
            assert len(server.requests) == 1
        assert (raised.value.limit, raised.value.asked) == (500, 501)


async def test_a_server_that_recovers_answers_the_next_request(connect: Connect) -> None:
    with ScriptedModelServer([ErrorReply(500), "fine"]) as server:
        client = connect(server.url, retries=0)
        with pytest.raises(ModelUnavailable):
            await client.ask(asked())
        assert (await client.ask(asked())).content == "fine"


async def test_an_error_in_a_compressed_page_is_read(connect: Connect) -> None:
    page = compress(b'{"error": {"message": "no room", "code": 400}}')
    refused = response(
        page, "content-encoding: gzip", status="400 Bad", content_type="application/json"
    )
    async with raw_server(refused) as raw:
        with pytest.raises(ModelRefused, match="no room"):
            await connect(raw.url).ask(asked())


@pytest.mark.parametrize(
    "place",
    [
        *("127.0.0.1:999999", "127.0.0.1:x", "127.0.0.1:0", "[::1"),
        *("a..example", f"{'a' * 64}.example", "a b.example", "a\x00.example"),
    ],
)
def test_a_url_that_is_none_is_refused(connect: Connect, place: str) -> None:
    with pytest.raises(UsageError, match=r"the model URL .* is not one"):
        connect(f"http://{place}/v1")


@pytest.mark.parametrize("url", ["127.0.0.1:8000/v1", "localhost:8000", "gpu-7.example/v1"])
def test_a_url_without_its_scheme_gets_it_suggested(connect: Connect, url: str) -> None:
    with pytest.raises(UsageError) as raised:
        connect(url)
    assert f"the model URL {url!r} is not one. Did you mean 'http://{url}'?" in str(raised.value)


@pytest.mark.parametrize(
    ("setting", "least"), [("thinking_tokens", 1), ("context_tokens", 1), ("retries", 0)]
)
def test_a_limit_that_is_none_is_refused(setting: str, least: int) -> None:
    wrong: dict[str, Any] = {setting: -1}
    with pytest.raises(UsageError, match=f"{setting} must be {least} or more, not -1"):
        ModelSettings(url="http://127.0.0.1:9/v1", **wrong)
