"""The proxy between an agent and its model: what goes through, and what the faults do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import openai
import pytest

from agentworld_sim import UsageError
from agentworld_sim.llm.scripted import ScriptedModelServer, ScriptedReply
from agentworld_sim.proxy import (
    FaultHandler,
    FaultSchedule,
    ForwardCall,
    ModelCall,
    ModelFault,
    ModelProxy,
    ModelReply,
    ReplyCut,
)

KEY = "sk-the-key-of-the-caller"
TOOL = {"type": "function", "function": {"name": "search", "parameters": {"type": "object"}}}


@pytest.fixture
def model() -> Generator[ScriptedModelServer]:
    with ScriptedModelServer(
        lambda _: ScriptedReply("the answer", chunk_size=2), model="m"
    ) as server:
        yield server


@asynccontextmanager
async def proxied(
    upstream: str, *faults: ModelFault, **options: Any
) -> AsyncGenerator[httpx2.AsyncClient]:
    """A client of a proxy in memory."""
    schedule = FaultSchedule(faults, **options) if faults else None
    app = ModelProxy(upstream, [FaultHandler(schedule)] if schedule else [])
    transport = httpx2.ASGITransport(app=app)
    headers = {"authorization": f"Bearer {KEY}"}
    async with httpx2.AsyncClient(
        transport=transport, base_url="http://proxy", headers=headers
    ) as client:
        try:
            yield client
        finally:
            await app.aclose()


def body(**others: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": "hi"}], **others}


async def chat(client: httpx2.AsyncClient, **others: Any) -> httpx2.Response:
    return await client.post("/v1/chat/completions", json=body(**others))


def sdk(client: httpx2.AsyncClient) -> Any:
    """OpenAI's client; its types depend on what `stream` says."""
    return openai.AsyncOpenAI(
        api_key=KEY, base_url="http://proxy/v1", http_client=client, max_retries=0
    )


@pytest.mark.parametrize("stream", [False, True])
async def test_what_nothing_strikes_goes_through_byte_for_byte(
    model: ScriptedModelServer, stream: bool
) -> None:
    async with proxied(model.url) as client, httpx2.AsyncClient() as direct:
        through = await chat(client, stream=stream)
        plain = await direct.post(f"{model.url}/chat/completions", json=body(stream=stream))
    first, second = model.requests
    assert first.body == second.body == body(stream=stream)

    def mask(reply: httpx2.Response, number: int) -> bytes:
        return reply.content.replace(f"{number:032x}".encode(), b"ID")

    assert mask(through, 0) == mask(plain, 1)
    same = {"date", "content-length"}
    assert {k: v for k, v in through.headers.items() if k not in same} == {
        k: v
        for k, v in plain.headers.items()
        if k not in same and k not in ("connection", "transfer-encoding")
    }


async def test_the_callers_key_reaches_the_server_and_no_text_of_ours(
    caplog: pytest.LogCaptureFixture,
) -> None:
    seen: list[ModelCall] = []

    class Looking:
        async def handle(self, call: ModelCall, next: ForwardCall) -> ModelReply:
            seen.append(call)
            return await next(call)

    with ScriptedModelServer(["ok"], model="m", api_key=KEY) as server:
        app = ModelProxy(server.url, [Looking()])
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://proxy") as client:
            client.headers["authorization"] = f"Bearer {KEY}"
            assert (await chat(client)).status_code == 200
        await app.aclose()
    assert KEY not in repr(seen)
    assert KEY not in caplog.text


async def test_other_paths_methods_and_queries_go_through(model: ScriptedModelServer) -> None:
    async with proxied(model.url, ModelFault(kind="rate-limit")) as client:
        models = await client.get("/v1/models?x=a%2Fb")
        assert models.json()["object"] == "list"
        assert (await client.get("/health")).status_code == 200
        assert (await client.get("/v1/nothing")).status_code == 404
        assert (await client.post("/v1/chat/completions", content=b"no json")).status_code >= 400


async def test_a_stream_is_not_waited_for() -> None:
    gate = asyncio.Event()

    class Waiting:
        async def handle(self, call: ModelCall, next: ForwardCall) -> ModelReply:
            async def pieces() -> AsyncGenerator[bytes]:
                yield b"data: 1\n\n"
                await gate.wait()
                yield b"data: 2\n\n"

            return ModelReply(200, [(b"content-type", b"text/event-stream")], pieces())

    sent: list[bytes] = []

    async def send(message: Mapping[str, Any]) -> None:
        sent.append(message.get("body", b""))
        if sent[-1] == b"data: 1\n\n":
            gate.set()

    messages = iter([{"type": "http.request", "body": json.dumps(body()).encode()}])

    async def receive() -> Mapping[str, Any]:
        for message in messages:
            return message
        return await asyncio.Future()

    scope = {"type": "http", "method": "POST", "path": "/v1/chat/completions", "query_string": b""}
    app = ModelProxy("http://127.0.0.1:9/v1", [Waiting()])
    await asyncio.wait_for(app({**scope, "headers": []}, receive, send), 10)
    assert sent == [b"", b"data: 1\n\n", b"data: 2\n\n", b""]


async def test_a_caller_who_leaves_ends_the_request_to_the_server() -> None:
    ended = asyncio.Event()

    class Endless:
        async def handle(self, call: ModelCall, next: ForwardCall) -> ModelReply:
            try:
                return await asyncio.Future()
            finally:
                ended.set()

    messages = iter(
        [{"type": "http.request", "body": json.dumps(body()).encode()}, {"type": "http.disconnect"}]
    )

    async def receive() -> Mapping[str, Any]:
        await asyncio.sleep(0)
        return next(messages)

    async def send(message: Mapping[str, Any]) -> None:
        raise AssertionError(message)

    scope = {"type": "http", "method": "POST", "path": "/v1/chat/completions", "query_string": b""}
    app = ModelProxy("http://127.0.0.1:9/v1", [Endless()])
    await asyncio.wait_for(app({**scope, "headers": []}, receive, send), 10)
    assert ended.is_set()


async def test_a_server_that_is_not_there_is_502_and_says_where_it_was_looked_for() -> None:
    async with proxied("http://127.0.0.1:9/v1") as client:
        reply = await chat(client)
        assert reply.status_code == 502
        assert "http://127.0.0.1:9" in reply.json()["error"]["message"]


@pytest.mark.parametrize(
    "url", ["127.0.0.1:8000", "ftp://x/v1", "http://", "https://user:password@host/v1"]
)
def test_an_upstream_that_is_no_base_url_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(UsageError) as failure:
        ModelProxy(url)
    assert "--upstream is the base URL" in str(failure.value)
    assert "password@" not in str(failure.value)


# Faults, as OpenAI's SDK sees them


@pytest.mark.parametrize("stream", [False, True])
async def test_a_refusal_and_an_empty_answer_are_whole_replies(
    model: ScriptedModelServer, stream: bool
) -> None:
    faults = [ModelFault(kind="refusal", nth=(1,), text="No."), ModelFault(kind="empty", nth=(2,))]
    async with proxied(model.url, *faults) as client:
        said: list[str] = []
        for _ in range(3):
            reply = await sdk(client).chat.completions.create(**body(stream=stream))
            if stream:
                chunks = [chunk async for chunk in reply]
                said.append(
                    "".join(one.choices[0].delta.content or "" for one in chunks if one.choices)
                )
                assert chunks[-1].choices[0].finish_reason == "stop"
            else:
                said.append(reply.choices[0].message.content)
    assert said == ["No.", "", "the answer"]
    assert len(model.requests) == 1


@pytest.mark.parametrize("stream", [False, True])
async def test_a_malformed_call_names_a_tool_that_is_offered(
    model: ScriptedModelServer, stream: bool
) -> None:
    async with proxied(model.url, ModelFault(kind="malformed-call", times=1)) as client:
        plain = await sdk(client).chat.completions.create(**body())
        assert plain.choices[0].message.content == "the answer"
        reply = await sdk(client).chat.completions.create(**body(tools=[TOOL], stream=stream))
        if stream:
            chunks = [chunk async for chunk in reply]
            (call,) = chunks[0].choices[0].delta.tool_calls
            finish = chunks[-1].choices[0].finish_reason
        else:
            (call,) = reply.choices[0].message.tool_calls
            finish = reply.choices[0].finish_reason
    assert (call.function.name, finish) == ("search", "tool_calls")
    with pytest.raises(ValueError):
        json.loads(call.function.arguments)


async def test_the_usage_of_a_stream_is_told_where_it_is_asked_for(
    model: ScriptedModelServer,
) -> None:
    async with proxied(model.url, ModelFault(kind="empty")) as client:
        asked = body(stream=True, stream_options={"include_usage": True})
        chunks = [chunk async for chunk in await sdk(client).chat.completions.create(**asked)]
    assert chunks[-1].usage.total_tokens == 0


async def test_a_rate_limit_says_when_to_try_again(model: ScriptedModelServer) -> None:
    async with proxied(model.url, ModelFault(kind="rate-limit", seconds=3)) as client:
        with pytest.raises(openai.RateLimitError) as failure:
            await sdk(client).chat.completions.create(**body())
    assert failure.value.response.headers["retry-after"] == "3"
    assert failure.value.code == "rate_limit_exceeded"


async def test_an_sdk_that_tries_again_is_let_through(model: ScriptedModelServer) -> None:
    async with proxied(model.url, ModelFault(kind="rate-limit", seconds=0, times=1)) as client:
        patient = sdk(client).with_options(max_retries=1)
        reply = await patient.chat.completions.create(**body())
    assert reply.choices[0].message.content == "the answer"


@pytest.mark.parametrize("pieces", [0, 1, 3])
async def test_a_stream_is_cut_after_so_many_events(
    model: ScriptedModelServer, pieces: int
) -> None:
    async with proxied(model.url, ModelFault(kind="cut-stream", pieces=pieces)) as client:
        came = b""
        with pytest.raises(ReplyCut):
            async with client.stream(
                "POST", "/v1/chat/completions", json=body(stream=True)
            ) as reply:
                async for piece in reply.aiter_raw():
                    came += piece
    if came:  # httpx2's transport in memory may lose what came before the exception
        assert came.count(b"\n\n") == pieces


async def test_of_a_reply_in_one_piece_half_comes(model: ScriptedModelServer) -> None:
    async with proxied(model.url, ModelFault(kind="cut-stream")) as client:
        with pytest.raises(ReplyCut):
            await chat(client)


async def test_a_slow_first_token_is_late_and_whole(model: ScriptedModelServer) -> None:
    async with proxied(model.url, ModelFault(kind="slow-first-token", seconds=0.05)) as client:
        began = asyncio.get_running_loop().time()
        assert (await chat(client)).json()["choices"][0]["message"]["content"] == "the answer"
        assert asyncio.get_running_loop().time() - began >= 0.05
