"""Real calls: only what is named in full is sent to the upstream, and that unharmed."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, ElicitRequestParams, ElicitResult, TextContent

from mcp import Client, MCPError
from tests.mcp.conftest import DATA, SECONDS, Shim

UPSTREAM = [sys.executable, str(DATA / "mcp_relay_upstream.py")]
BEHIND = ["--", *UPSTREAM]
ERAS = pytest.mark.parametrize("mode", ["legacy", "auto"])


def real(*names: str) -> list[str]:
    return [part for name in names for part in ("--access", f"{name}=real")]


def wire(result: CallToolResult) -> dict[str, Any]:
    """A result as JSON, without who sent it."""
    value = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    value.get("_meta", {}).pop("io.modelcontextprotocol/serverInfo", None)
    return value


def text_of(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


@contextmanager
def over_http(shim: Shim) -> Generator[str]:
    """The upstream, listening; gives its URL."""
    command = [*UPSTREAM, "--http"]
    with subprocess.Popen(
        command, env=shim.environment, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"
        finally:
            process.kill()


def awaited(shim: Shim, *names: str) -> None:
    """Lets the upstream wait with these marks until somebody hears of them."""
    for name in names:
        os.mkfifo(shim.marks / f"{name}.pipe")


async def marked(shim: Shim, name: str) -> None:
    """Waits for such a mark."""
    async with asyncio.timeout(SECONDS):
        await asyncio.to_thread((shim.marks / f"{name}.pipe").read_text)


@ERAS
async def test_a_result_comes_through_as_it_is(shim: Shim, mode: str) -> None:
    async with shim.connected(UPSTREAM, mode=mode) as client:
        direct = [
            wire(await client.call_tool("picture", {})),
            wire(await client.call_tool("secret", {"password": "x"})),
            wire(await client.call_tool("secret", {"wrong": 1})),
        ]
    async with shim.client(*real("picture", "secret"), *BEHIND, mode=mode) as client:
        through = [
            wire(await client.call_tool("picture", {})),
            wire(await client.call_tool("secret", {"password": "x"})),
            wire(await client.call_tool("secret", {"wrong": 1})),
        ]
    assert through == direct
    assert [block["type"] for block in direct[0]["content"]] == [
        "text",
        "image",
        "audio",
        "resource",
    ]


@ERAS
@pytest.mark.promise("upstream-untouched")
async def test_only_what_is_named_in_full_reaches_the_upstream(shim: Shim, mode: str) -> None:
    async with shim.client(*real("picture"), *BEHIND, mode=mode) as client:
        await client.call_tool("picture", {})
        for name in ("never", "nobody_has_this", "pictur", "picture "):
            assert (await client.call_tool(name, {})).is_error
        # Not even what a client may ask beside tools.
        with pytest.raises(MCPError):
            await client.read_resource("note://1")
    assert shim.called_for_real() == ["picture"]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("pic*=real", "found 'real' for a pattern"),
        ("@read-only=real", "found 'real' for an annotation"),
        ("pictur=real", "there is no such tool. Did you mean 'picture'?"),
        ("pictur=refuse", "there is no such tool. Did you mean 'picture'?"),
    ],
)
def test_what_is_no_whole_name_is_not_made_real(shim: Shim, rule: str, message: str) -> None:
    ended = shim.run("--access", rule, *BEHIND)
    assert ended.returncode == 2
    assert message in ended.stderr
    assert shim.called_for_real() == []


@ERAS
async def test_a_method_is_real_by_its_name(shim: Shim, mode: str) -> None:
    async with shim.client(*real("resources/read"), *BEHIND, mode=mode) as client:
        read = await client.read_resource("note://1")
    assert [content.model_dump()["text"] for content in read.contents] == ["really"]
    assert shim.called_for_real() == ["note"]


async def test_what_the_upstream_asks_is_asked_of_the_client(shim: Shim) -> None:
    asked: list[str] = []

    async def answer(context: Any, params: ElicitRequestParams) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"colour": "blue"})

    async with shim.client(
        *real("ask"), *BEHIND, mode="legacy", elicitation_callback=answer
    ) as client:
        result = await client.call_tool("ask", {"question": "which one?"})
    assert (text_of(result), asked) == ("blue", ["which one?"])


@ERAS
async def test_progress_arrives_in_order_and_before_the_result(shim: Shim, mode: str) -> None:
    told: list[tuple[float, float | None, str | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    async with shim.client(*real("work"), *BEHIND, mode=mode) as client:
        result = await client.call_tool("work", {"steps": 3}, progress_callback=on_progress)
    assert text_of(result) == "done"
    assert told == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]


@ERAS
async def test_a_cancelled_call_is_cancelled_at_the_upstream(shim: Shim, mode: str) -> None:
    awaited(shim, "waiting", "cancelled")
    async with shim.client(*real("wait", "work"), *BEHIND, mode=mode) as client:
        call = asyncio.create_task(client.call_tool("wait", {}))
        await marked(shim, "waiting")
        call.cancel()
        await marked(shim, "cancelled")
        assert text_of(await client.call_tool("work", {"steps": 0})) == "done"


async def test_a_silent_upstream_is_told_to_stop(shim: Shim) -> None:
    awaited(shim, "cancelled")
    async with shim.client("--answer-within", "2", *real("wait"), *BEHIND) as client:
        with pytest.raises(MCPError, match="was silent for 2 s over tools/call"):
            await client.call_tool("wait", {})
        await marked(shim, "cancelled")


@ERAS
async def test_an_upstream_that_dies_is_an_error_once_and_started_anew(
    shim: Shim, mode: str
) -> None:
    async with shim.client(*real("die", "count"), *BEHIND, mode=mode) as client:
        assert text_of(await client.call_tool("count", {})) == "1"
        assert text_of(await client.call_tool("count", {})) == "2"
        with pytest.raises(MCPError, match="ended before it answered"):
            await client.call_tool("die", {})
        assert text_of(await client.call_tool("count", {})) == "1"


@pytest.mark.promise("no-forwarded-token")
async def test_the_clients_token_and_cookies_are_not_sent_on(shim: Shim) -> None:
    token = "front-token-0123456789abcdef"
    with over_http(shim) as url:
        environment = {
            **shim.environment,
            "AGENTWORLD_MCP_TOKEN": token,
            "AGENTWORLD_UPSTREAM_HEADERS": json.dumps({"Authorization": "Bearer own-key"}),
        }
        command = shim.command("--memory", "--http", "0", *real("picture"), url)
        with _listening(command, environment) as front:
            headers = {"Authorization": f"Bearer {token}", "Cookie": "sid=abc", "X-Own": "1"}
            async with (
                httpx2.AsyncClient(headers=headers, timeout=SECONDS) as http,
                Client(streamable_http_client(front, http_client=http), cache=None) as client,
            ):
                await client.call_tool("picture", {})
    assert "picture" in shim.called_for_real()
    sent = (shim.marks / "headers").read_text(encoding="utf-8")
    assert "own-key" in sent
    for hidden in (token, "sid=abc", "x-own"):
        assert hidden not in sent


@contextmanager
def _listening(command: list[str], environment: dict[str, str]) -> Generator[str]:
    """The shim over HTTP; gives its URL."""
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            for line in process.stderr:
                if "http://" in line:
                    start = line.index("http://")
                    yield line[start:].split()[0].rstrip(".,;")
                    return
            raise AssertionError("the shim ended and never said where it listens")
        finally:
            process.kill()
