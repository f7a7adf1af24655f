"""The proxy between an agent and its model: what goes through, and what the faults do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import openai
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from agentworld_sim import UsageError
from agentworld_sim.llm.scripted import ScriptedModelServer, ScriptedReply
from agentworld_sim.proxy import FaultSchedule, ModelFault, model_proxy
from agentworld_sim.proxy.model_faults import REFUSAL

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
    """A client of a proxy."""
    schedule = FaultSchedule(faults, **options) if faults else None
    headers = {"authorization": f"Bearer {KEY}"}
    async with (
        model_proxy(upstream, schedule) as url,
        httpx2.AsyncClient(base_url=url.removesuffix("/v1"), headers=headers) as client,
    ):
        yield client


@asynccontextmanager
async def serving(
    answer: Callable[[web.Request], Awaitable[web.StreamResponse]],
) -> AsyncGenerator[str]:
    """The base URL of a model's server that answers so."""
    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    server = TestServer(app)
    await server.start_server()
    try:
        yield str(server.make_url("/v1"))
    finally:
        await server.close()


def body(**others: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": "hi"}], **others}


async def chat(client: httpx2.AsyncClient, **others: Any) -> httpx2.Response:
    return await client.post("/v1/chat/completions", json=body(**others))


def sdk(client: httpx2.AsyncClient) -> Any:
    """OpenAI's client; its types depend on what `stream` says."""
    url = f"{client.base_url}/v1"
    return openai.AsyncOpenAI(api_key=KEY, base_url=url, http_client=client, max_retries=0)


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
    # Those of the connection, and what our server says of itself.
    own = {"date", "content-length", "connection", "transfer-encoding", "server"}
    headers = [{k: v for k, v in one.headers.items() if k not in own} for one in (through, plain)]
    assert headers[0] == headers[1]


async def test_the_callers_key_reaches_the_server_and_no_text_of_ours(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with ScriptedModelServer(["ok"], model="m", api_key=KEY) as server:
        async with proxied(server.url) as client:
            assert (await chat(client)).status_code == 200
            too_long = {"authorization": f"Bearer {KEY}" * 1000}
            assert (await client.get("/v1/models", headers=too_long)).status_code == 400
    assert KEY not in caplog.text + "".join(capfd.readouterr())


async def test_other_paths_methods_and_queries_go_through(model: ScriptedModelServer) -> None:
    async with proxied(model.url, ModelFault(kind="rate-limit")) as client:
        models = await client.get("/v1/models?x=a%2Fb")
        assert models.json()["object"] == "list"
        assert (await client.get("/health")).status_code == 200
        assert (await client.get("/v1/nothing")).status_code == 404
        assert (await client.post("/v1/chat/completions", content=b"no json")).status_code >= 400


async def test_a_stream_is_not_waited_for() -> None:
    gate = asyncio.Event()

    async def pieces(request: web.Request) -> web.StreamResponse:
        reply = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await reply.prepare(request)
        await reply.write(b"data: 1\n\n")
        await gate.wait()
        await reply.write(b"data: 2\n\n")
        return reply

    async with serving(pieces) as url, proxied(url) as client:
        came: list[bytes] = []
        async with client.stream("POST", "/v1/chat/completions", json=body()) as reply:
            async for piece in reply.aiter_raw():
                came.append(piece)
                gate.set()
    assert came == [b"data: 1\n\n", b"data: 2\n\n"]


async def test_a_caller_who_leaves_ends_the_request_to_the_server() -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def endless(_: web.Request) -> web.StreamResponse:
        began.set()
        try:
            return await asyncio.Future()
        finally:
            ended.set()

    async with serving(endless) as url, proxied(url) as client:
        asking = asyncio.ensure_future(chat(client))
        await began.wait()
        asking.cancel()
        await asyncio.wait_for(ended.wait(), 10)


async def test_a_server_that_dies_in_the_middle_of_a_reply_is_no_end_of_it() -> None:
    async def dying(request: web.Request) -> web.StreamResponse:
        reply = web.StreamResponse()
        await reply.prepare(request)
        await reply.write(b"half")
        assert request.transport is not None
        request.transport.close()
        return reply

    async with serving(dying) as url, proxied(url) as client:
        with pytest.raises(httpx2.RemoteProtocolError):
            await chat(client)


async def test_a_server_that_is_not_there_is_502_and_says_where_it_was_looked_for() -> None:
    async with proxied("http://127.0.0.1:9/v1") as client:
        reply = await chat(client)
        assert reply.status_code == 502
        assert "http://127.0.0.1:9" in reply.json()["error"]["message"]


@pytest.mark.parametrize(
    "url",
    ["127.0.0.1:8000", "ftp://x/v1", "http://", "http://[", "https://user:password@host/v1"],
)
async def test_an_upstream_that_is_no_base_url_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(UsageError) as failure:
        async with model_proxy(url):
            pass
    assert "--upstream is the base URL" in str(failure.value)
    assert "password@" not in str(failure.value)


# Faults, as OpenAI's SDK sees them


@pytest.mark.parametrize("stream", [False, True])
async def test_a_refusal_and_an_empty_answer_are_whole_replies(
    model: ScriptedModelServer, stream: bool
) -> None:
    faults = [ModelFault(kind="refusal", nth=(1,)), ModelFault(kind="empty", nth=(2,))]
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
    assert said == [REFUSAL, "", "the answer"]
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


async def test_a_stream_is_cut_after_three_events(model: ScriptedModelServer) -> None:
    async with proxied(model.url, ModelFault(kind="cut-stream")) as client:
        came = b""
        with pytest.raises(httpx2.RemoteProtocolError):
            async with client.stream(
                "POST", "/v1/chat/completions", json=body(stream=True)
            ) as reply:
                async for piece in reply.aiter_raw():
                    came += piece
    assert came.count(b"\n\n") == 3


async def test_of_a_reply_in_one_piece_half_comes(model: ScriptedModelServer) -> None:
    async with proxied(model.url, ModelFault(kind="cut-stream")) as client:
        with pytest.raises(httpx2.RemoteProtocolError):
            await chat(client)


async def test_a_slow_first_token_is_late_and_whole(model: ScriptedModelServer) -> None:
    async with proxied(model.url, ModelFault(kind="slow-first-token", seconds=0.05)) as client:
        began = asyncio.get_running_loop().time()
        assert (await chat(client)).json()["choices"][0]["message"]["content"] == "the answer"
        assert asyncio.get_running_loop().time() - began >= 0.05
