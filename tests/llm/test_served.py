"""Which model a server serves."""

from __future__ import annotations

import asyncio
import json
import re

import pytest

from agentworld_sim.errors import ModelRefused, ModelUnavailable
from agentworld_sim.llm.chat import ServedModel
from agentworld_sim.llm.client import models_in
from agentworld_sim.llm.scripted import ScriptedModelServer
from tests.llm.harness import MODEL, Connect, asked, raw_server, response

NOT_FOUND = response(
    b'{"detail": "Not Found"}', status="404 Not Found", content_type="application/json"
)


def listing(*names: str) -> bytes:
    body = json.dumps({"data": [{"id": name} for name in names]}).encode()
    return response(body, content_type="application/json")


async def test_the_named_model_is_found_among_several(connect: Connect) -> None:
    with ScriptedModelServer(model=("tiny", MODEL), max_model_len=4096) as server:
        assert await connect(server.url).served_model() == ServedModel(MODEL, 4096)


async def test_the_only_model_needs_no_name(connect: Connect) -> None:
    with ScriptedModelServer(["fine"]) as server:
        client = connect(server.url, model="")
        assert (await client.ask(asked())).parameters["model"] == MODEL
        assert await client.served_model() == ServedModel(MODEL, 262_144)


async def test_it_is_asked_once(connect: Connect) -> None:
    with ScriptedModelServer() as server:
        client = connect(server.url)
        await asyncio.gather(*(client.served_model() for _ in range(10)))
        await client.served_model()
        assert server.access_log == ["GET /v1/models"]


async def test_a_failure_is_not_remembered(connect: Connect) -> None:
    async with raw_server(response(b"", status="401 No"), listing(MODEL)) as raw:
        client = connect(raw.url)
        with pytest.raises(ModelRefused):
            await client.served_model()
        assert await client.served_model() == ServedModel(MODEL, None)


async def test_a_wrong_name_lists_what_there_is(connect: Connect) -> None:
    with ScriptedModelServer(model=("tiny", MODEL)) as server:
        client = connect(server.url, model="tinny")
        told = re.escape(
            "(model 'tinny') does not serve that model. Did you mean 'tiny'? It serves 'tiny',"
            f" '{MODEL}'. Set AGENTWORLD_MODEL to one of them."
        )
        with pytest.raises(ModelRefused, match=told):
            await client.served_model()


async def test_several_models_want_a_name(connect: Connect) -> None:
    with ScriptedModelServer(model=("tiny", MODEL)) as server:
        client = connect(server.url, model="")
        with pytest.raises(ModelRefused, match=r"serves several models\. It serves 'tiny', '"):
            await client.ask(asked())


async def test_a_server_without_models_says_so(connect: Connect) -> None:
    async with raw_server(listing()) as raw:
        with pytest.raises(ModelRefused, match=r"serves no model yet\. It serves nothing"):
            await connect(raw.url, model="").served_model()


async def test_a_long_list_is_cut(connect: Connect) -> None:
    async with raw_server(listing(*(f"m{n}" for n in range(50)))) as raw:
        with pytest.raises(ModelRefused, match=r"'m19' and 30 more\. Set"):
            await connect(raw.url).served_model()


@pytest.mark.parametrize("status", ["404 Not Found", "405 Not Allowed"])
async def test_a_server_without_a_list_is_taken_at_the_word_of_the_settings(
    connect: Connect, status: str
) -> None:
    # Its whole life: not here, and not below /v1 either, where the URL already is.
    missing = response(b"", status=status)
    async with raw_server(missing, missing) as raw:
        assert await connect(raw.url).served_model() == ServedModel(MODEL, None)


async def test_a_server_without_a_list_wants_a_name(connect: Connect) -> None:
    async with raw_server(NOT_FOUND) as raw:
        with pytest.raises(ModelRefused, match=r"no such address \(404: Not Found\)"):
            await connect(raw.url, model="").served_model()


async def test_a_missing_v1_is_noticed(connect: Connect) -> None:
    with ScriptedModelServer() as server:
        told = re.escape(f"An API answers at {server.url}: set AGENTWORLD_MODEL_URL to that.")
        with pytest.raises(ModelRefused, match=told):
            await connect(server.root_url).served_model()


async def test_a_page_in_the_place_of_the_list_is_told_with_the_right_url(
    connect: Connect,
) -> None:
    page = response(b"<html><title>Hello</title>", content_type="text/html")
    async with raw_server(page, listing(MODEL)) as raw:
        root = raw.url.removesuffix("/v1")
        told = "sends an HTML page titled 'Hello' for its list of models. An API answers at"
        with pytest.raises(ModelUnavailable, match=re.escape(f"{told} {root}/v1")):
            await connect(root).served_model()


async def test_a_list_is_tried_again_like_everything(connect: Connect) -> None:
    async with raw_server(response(b"", status="503 Busy"), listing(MODEL)) as raw:
        assert await connect(raw.url).served_model() == ServedModel(MODEL, None)


async def test_a_model_that_goes_away_is_looked_for_again(connect: Connect) -> None:
    gone = response(
        b'{"error": {"message": "The model `old` does not exist.", "code": 404}}',
        status="404 Not Found",
        content_type="application/json",
    )
    async with raw_server(listing("old"), gone, listing("new"), listing("new")) as raw:
        client = connect(raw.url, model="")
        with pytest.raises(ModelRefused, match="'new'"):
            await client.ask(asked())
        assert await client.served_model() == ServedModel("new", None)


@pytest.mark.parametrize(
    ("answer", "models"),
    [
        ({"data": [{"id": "a", "max_model_len": 5}]}, {"a": 5}),
        ({"data": [{"id": "a", "context_length": 5}]}, {"a": 5}),
        ({"data": [{"id": "a", "max_model_len": None}, {"id": "b"}]}, {"a": None, "b": None}),
    ],
)
def test_lists_of_models_are_read(answer: object, models: dict[str, int | None]) -> None:
    assert models_in(answer) == models


@pytest.mark.parametrize(
    ("entry", "owner"),
    [
        ({"id": MODEL, "object": "model", "owned_by": "llamacpp"}, "llamacpp"),
        # As OpenRouter documents its list.
        ({"id": MODEL, "context_length": 8192, "supported_parameters": ["top_p"]}, "openrouter"),
        ({"id": MODEL}, ""),
    ],
)
async def test_whose_a_model_is_stands_in_the_list(
    connect: Connect, entry: dict[str, object], owner: str
) -> None:
    told = json.dumps({"data": [{"id": "other", "owned_by": "x"}, entry]}).encode()
    async with raw_server(response(told, content_type="application/json")) as raw:
        assert (await connect(raw.url).served_model()).owner == owner


@pytest.mark.parametrize("text", ['{"data": [{}, 3, null]}', '{"data": null}', "[]", "null"])
def test_lists_that_are_none_hold_no_models(text: str) -> None:
    assert models_in(json.loads(text)) == {}
