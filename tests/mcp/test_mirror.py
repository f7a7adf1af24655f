"""What a client is shown is what the upstream shows, to the letter."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mcp.types import PaginatedRequestParams

from agentworld_mcp_shim._listing import Listing
from agentworld_mcp_shim._mirror import Mirror
from mcp import Client, MCPError

if TYPE_CHECKING:
    from conftest import Shim

ERAS = pytest.mark.parametrize("mode", ["legacy", "auto"])
UPSTREAM = Path(__file__).parents[1] / "data" / "mcp_upstream.py"


async def shown(client: Client) -> dict[str, Any]:
    """Everything a client learns by connecting and listing."""
    listed = await client.list_tools()
    info = client.server_info
    return {
        "protocol": client.protocol_version,
        "server": info and info.model_dump(by_alias=True, exclude_none=True),
        "instructions": client.instructions,
        "listing": listed.model_dump(by_alias=True, exclude_none=True),
    }


@ERAS
async def test_a_client_cannot_tell_the_mirror_from_the_upstream(
    shim: Shim, upstream: list[str], mode: str
) -> None:
    async with (
        shim.connected(upstream[1:], mode=mode) as direct,
        shim.client(*upstream, mode=mode) as client,
    ):
        ours, theirs = await shown(client), await shown(direct)
    assert ours == theirs


@ERAS
@pytest.mark.parametrize("server", ["mcp-server-git", "mcp-server-time"])
async def test_published_servers_are_mirrored_to_the_letter(
    shim: Shim, server: str, mode: str
) -> None:
    async with (
        shim.connected([server], mode=mode) as direct,
        shim.client("--", server, mode=mode) as client,
    ):
        ours, theirs = await shown(client), await shown(direct)
    assert ours == theirs


async def test_pages_stay_pages(shim: Shim, raw_upstream: list[str]) -> None:
    async with shim.client(*raw_upstream, "pages", "2") as client:
        names: list[list[str]] = []
        cursors: list[str | None] = []
        cursor: str | None = None
        for _ in range(3):
            page = await client.session.list_tools(params=PaginatedRequestParams(cursor=cursor))
            names.append([tool.name for tool in page.tools])
            cursors.append(cursor := page.next_cursor)
        with pytest.raises(MCPError, match="Invalid cursor: page-9") as raised:
            await client.session.list_tools(params=PaginatedRequestParams(cursor="page-9"))
        second = await client.call_tool("bash", {"command": "echo from page two"})
    assert names == [["tool_0"], ["tool_1", "bash"], ["tool_2"]]
    assert cursors == ["page-1", "page-2", None]
    assert raised.value.error.code == -32602
    assert not second.is_error


async def test_five_thousand_tools_are_mirrored_and_answered(
    shim: Shim, raw_upstream: list[str]
) -> None:
    async with shim.client(*raw_upstream, "many", "5000") as client:
        assert len((await client.list_tools()).tools) == 5000
        assert not (await client.call_tool("bash", {"command": "true"})).is_error
        assert (await client.call_tool("tool_4000", {"command": "true"})).is_error


async def test_a_malformed_tool_is_refused_with_the_reason_and_the_others_work(
    shim: Shim, raw_upstream: list[str]
) -> None:
    async with shim.client(*raw_upstream, "malformed") as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]
        assert not (await client.call_tool("bash", {"command": "true"})).is_error
        texts = {
            name: str((await client.call_tool(name, {"command": "true", "commands": ""})).content)
            for name in ("schema_is_text", "no_properties", "execute", "terminal", "no_schema")
        }
    # A tool without an input schema is no tool: a client would reject the whole list for it.
    assert {"bash", "execute", "terminal"} <= set(listed)
    assert not {"schema_is_text", "no_schema"} & set(listed)
    for name, reason in {
        "schema_is_text": "its inputSchema is not an object",
        "no_properties": "the properties of its inputSchema are not an object",
        "execute": "its input schema is malformed: 'one' is not of type 'integer'",
        "terminal": "its input or output schema is malformed: the schema refers to another document",
        "no_schema": "it has no inputSchema",
    }.items():
        assert f"{name!r} was not called, and nothing was changed: {reason}" in texts[name]


def test_malformed_tools_are_warned_of_on_standard_error(
    shim: Shim, raw_upstream: list[str]
) -> None:
    with shim.started(*raw_upstream, "malformed") as pipes:
        pipes.call(1, "bash", command="true")
        assert pipes.receive()["id"] == 1
        assert pipes.process.stdin is not None
        pipes.process.stdin.close()
        pipes.process.stdin = None
        code, said = pipes.ended()
    assert code == 0
    assert "tool 7 of the upstream has no name; it is left out." in said
    assert "'no_schema' is refused: it has no inputSchema." in said
    assert "'execute' is refused: its input schema is malformed" in said


async def test_two_different_tools_of_one_name_are_refused_and_equal_ones_are_one(
    shim: Shim, raw_upstream: list[str]
) -> None:
    async with shim.client(*raw_upstream, "duplicates") as client:
        assert len((await client.list_tools()).tools) == 4
        assert not (await client.call_tool("bash", {"command": "true"})).is_error
        refused = await client.call_tool("execute", {"command": "true"})
    assert "the upstream lists two different tools of that name" in str(refused.content)


def listing(*tools: object) -> Listing:
    return Listing(
        identity={"name": "x", "version": ""},
        lists={"tools/list": {None: {"tools": list(tools)}}},
    )


def test_a_tool_that_an_old_protocol_cannot_express_is_left_out_there_only() -> None:
    newer = {
        "name": "newer",
        "inputSchema": {"type": "object"},
        "outputSchema": {"type": "array"},
    }
    plain = {"name": "plain", "inputSchema": {"type": "object"}}
    mirror = Mirror(listing(plain, newer))
    old, new = (
        mirror.list_page("tools/list", None, "2025-11-25"),
        mirror.list_page("tools/list", None, "2026-07-28"),
    )
    assert old is not None
    assert new is not None
    assert [tool["name"] for tool in old["tools"]] == ["plain"]
    assert [tool["name"] for tool in new["tools"]] == ["plain", "newer"]


def test_what_we_do_not_know_of_a_tool_is_kept() -> None:
    tool = {"name": "t", "inputSchema": {"type": "object"}, "x-later": {"a": 1}}
    page = Mirror(listing(tool)).list_page("tools/list", None, "2026-07-28")
    assert page is not None
    assert page["tools"] == [tool]


@contextmanager
def over_http(environment: dict[str, str]) -> Generator[str]:
    """The real upstream behind a URL."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with subprocess.Popen(
        [sys.executable, str(UPSTREAM), str(port)],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    ) as process:
        assert process.stderr is not None
        try:
            assert any("running on" in line for line in process.stderr)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.kill()


@ERAS
async def test_an_upstream_behind_a_url_is_mirrored_and_never_called(shim: Shim, mode: str) -> None:
    with over_http(shim.environment) as url:
        async with shim.client("--", url, mode=mode) as client:
            info = client.server_info
            assert (info and info.name) == "really-does-it"
            result = await client.call_tool("bash", {"command": "cat /srv/app/note.txt"})
    assert result.structured_content == {"result": "remember the milk\n"}
    assert shim.called_for_real() == []
