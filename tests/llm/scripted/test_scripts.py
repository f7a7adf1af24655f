"""Where the answers come from: a sequence, a function, and what happens when there is none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import httpx2
import pytest

from agentworld_sim.llm.scripted import (
    ModelRequest,
    Script,
    ScriptedModelServer,
    ScriptedReply,
    ScriptError,
)

Ask = Callable[..., httpx2.Response]


def content_of(response: httpx2.Response) -> str:
    return response.json()["choices"][0]["message"]["content"]


def test_a_sequence_is_answered_in_order(ask: Ask) -> None:
    with ScriptedModelServer(["one", ScriptedReply("two"), "three"]) as server:
        assert [content_of(ask(server)) for _ in range(2)] == ["one", "two"]
        assert server.remaining == 1


def test_a_function_answers_what_it_is_asked(ask: Ask) -> None:
    def script(request: ModelRequest) -> str:
        return f"{request.index}: {request.last_user.upper()}"

    with ScriptedModelServer(script) as server:
        assert [content_of(ask(server, text)) for text in ("a", "b")] == ["0: A", "1: B"]
        assert server.remaining is None


def test_a_function_may_be_async(ask: Ask) -> None:
    async def script(request: ModelRequest) -> ScriptedReply:
        await asyncio.sleep(0)
        return ScriptedReply(request.last_user)

    with ScriptedModelServer(script) as server:
        assert content_of(ask(server, "echo")) == "echo"


def test_a_used_up_script_fails_the_request_and_the_test(ask: Ask) -> None:
    told = (
        "The script has 1 reply, and all were given: there is none for request 2. "
        "Script one more, or give a function that answers every request."
    )
    with pytest.raises(ScriptError) as caught, ScriptedModelServer(["one"]) as server:
        ask(server)
        refused = ask(server)
        assert refused.status_code == 500
        assert refused.json()["error"]["message"] == told
    assert str(caught.value) == told


def test_a_function_that_raises_fails_the_request_and_the_test(ask: Ask) -> None:
    def script(request: ModelRequest) -> str:
        raise KeyError("turn 3")

    wanted = pytest.raises(ScriptError, match="raised KeyError")
    with wanted as caught, ScriptedModelServer(script) as server:
        assert ask(server).status_code == 500
    assert isinstance(caught.value.__cause__, KeyError)


def test_an_answer_of_a_wrong_type_fails_the_request_and_the_test(ask: Ask) -> None:
    script = cast(Script, lambda _: 7)  # pyright: ignore[reportUnknownLambdaType]
    told = r"The script gave 7\. It can give a string or one of: ScriptedReply, "
    with pytest.raises(ScriptError, match=told), ScriptedModelServer(script) as server:
        assert ask(server).status_code == 500


@pytest.mark.parametrize("script", ["text", ScriptedReply("text"), 7])
def test_one_reply_is_no_script(script: object) -> None:
    with pytest.raises(ScriptError, match=r"A script is a sequence of replies .* as \[reply\]"):
        ScriptedModelServer(cast(Script, script))


def test_a_wrong_reply_is_named_before_the_server_starts() -> None:
    with pytest.raises(ScriptError, match=r"The script gave 7\."):
        ScriptedModelServer(cast(Script, ["a", 7]))


def test_the_error_of_a_test_is_not_hidden_by_that_of_the_script(ask: Ask) -> None:
    with pytest.raises(ZeroDivisionError), ScriptedModelServer() as server:
        ask(server)
        _: Any = 1 / 0


def test_refused_requests_take_nothing_from_the_script(ask: Ask) -> None:
    with ScriptedModelServer(["one"]) as server:
        assert ask(server, model="another").status_code == 404
        assert content_of(ask(server)) == "one"
