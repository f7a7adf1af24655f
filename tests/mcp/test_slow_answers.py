"""Answers that take long: progress for who asked for it, and a clear word before clients give up."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from agentworld_sim.llm.scripted import Gate, ScriptedModelServer, ScriptedReply
from mcp import MCPError

if TYPE_CHECKING:
    from conftest import Shim

MAIL = {"to": "a@b.example", "text": "hi"}


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_progress_is_told_while_the_answer_is_being_made(
    shim: Shim, upstream: list[str], mode: str
) -> None:
    gate = Gate()
    told: list[float] = []

    async def progressed(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)
        gate.open()

    reply = ScriptedReply.observation("Message 812 queued.", gate=gate)
    with ScriptedModelServer([reply]) as server:
        async with shim.client("--model-url", server.url, *upstream, mode=mode) as client:
            result = await client.call_tool("send_mail", MAIL, progress_callback=progressed)
    assert not result.is_error
    assert told and told == sorted(told)


async def test_an_answer_that_comes_too_late_is_an_error_of_the_protocol(
    shim: Shim, upstream: list[str]
) -> None:
    gate = Gate()
    replies = [
        ScriptedReply.observation("Message 1 queued.", gate=gate),
        ScriptedReply.observation("Message 2 queued."),
    ]
    options = ("--world", "lab", "--answer-within", "3")
    with ScriptedModelServer(replies) as server:
        async with shim.client("--model-url", server.url, *options, *upstream) as client:
            with pytest.raises(MCPError, match="no answer to 'send_mail' within 3 s") as late:
                await client.call_tool("send_mail", MAIL)
            second = await client.call_tool("send_mail", {**MAIL, "text": "again"})
        gate.open()
    assert late.value.error.data == {"error": "AnswerTooLate"}
    assert not second.is_error
    # The late answer left nothing behind: the second call is the world's first turn.
    shown = await asyncio.create_subprocess_exec(
        *("agentworld", "world", "show", "lab"),
        env=shim.environment,
        stdout=asyncio.subprocess.PIPE,
    )
    printed, _ = await shown.communicate()
    assert printed.decode().count("imagined") == 1
