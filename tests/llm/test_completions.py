"""Text completions, for those who deal in tokens."""

from __future__ import annotations

import json

import pytest

from agentworld_sim.errors import ModelFailure, ModelRefused, ModelUnavailable
from tests.llm.harness import Connect, raw_server, response


def page(value: object, status: str = "200 OK") -> bytes:
    return response(json.dumps(value).encode(), status=status, content_type="application/json")


async def test_the_only_choice_comes_as_it_is_and_nothing_is_kept(connect: Connect) -> None:
    choice = {"token_ids": [7, 8], "finish_reason": "stop"}
    async with raw_server(*(page({"choices": [choice]}) for _ in range(2))) as raw:
        client = connect(raw.url)
        assert [await client.complete({"prompt": [5]}) for _ in range(2)] == [choice, choice]
        assert raw.requests == ["post /v1/completions http/1.1"] * 2


async def test_what_may_pass_is_tried_again(connect: Connect, pauses: list[float]) -> None:
    async with raw_server(page({}, "503 Busy"), page({"choices": [{"text": "a"}]})) as raw:
        assert await connect(raw.url).complete({"prompt": [5]}) == {"text": "a"}
    assert len(pauses) == 1


@pytest.mark.parametrize("value", [{"choices": []}, [], {"choices": ["x"]}, {}])
async def test_json_that_is_no_completion_is_refused(connect: Connect, value: object) -> None:
    async with raw_server(page(value)) as raw:
        with pytest.raises(ModelFailure, match="answers with JSON that is no completion"):
            await connect(raw.url).complete({"prompt": [5]})


async def test_a_page_and_a_refusal_are_told_as_such(connect: Connect) -> None:
    login = response(b"<html><title>Sign in</title></html>", content_type="text/html")
    async with raw_server(login, page({"error": "no such thing"}, "400 Bad")) as raw:
        client = connect(raw.url)
        with pytest.raises(ModelUnavailable, match="sends an HTML page titled 'Sign in'"):
            await client.complete({"prompt": [5]})
        with pytest.raises(ModelRefused, match=r"refuses the request \(400\): no such thing"):
            await client.complete({"prompt": [5]})
