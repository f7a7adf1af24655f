"""Which world a request is about: the first thing that says so, in both eras of the protocol."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcp import MCPError
from tests.mcp.http.conftest import Serve, calling, said, world_of

if TYPE_CHECKING:
    from tests.mcp.conftest import Shim

MODES = ("auto", "legacy")
KEY = "agentworld/world"


def meta(name: object) -> Any:
    return {KEY: name}


@pytest.mark.parametrize("mode", MODES)
async def test_what_a_request_says_goes_before_what_its_connection_says(
    serve: Serve, mode: str
) -> None:
    served = serve()
    path, header = "/worlds/by-path/mcp", {"agentworld-world": "by-header"}
    async with served.client(mode, path=path, headers=header) as client:
        await said(client, "echo meta > /srv/which", meta=meta("by-meta"))
        await said(client, "echo header > /srv/which")
    async with served.client(mode, path=path) as client:
        await said(client, "echo path > /srv/which")
    async with served.client(mode) as client:
        seen = [
            await said(client, "cat /srv/which", meta=meta(name))
            for name in ("by-meta", "by-header", "by-path")
        ]
        assert "No such file" in await said(client, "cat /srv/which 2>&1; true")
    assert seen == ["meta\n", "header\n", "path\n"]


@pytest.mark.parametrize("mode", MODES)
async def test_the_query_names_a_world_too(serve: Serve, mode: str) -> None:
    served = serve()
    async with served.client(mode, path="/mcp?world=lab") as client:
        assert await world_of(client) == "lab"


async def test_each_session_has_a_world_of_its_own_that_nobody_can_guess(serve: Serve) -> None:
    served = serve()
    worlds: list[str] = []
    for number in range(2):
        async with served.client("legacy") as client:
            assert await said(client, f"echo {number} >> /srv/n; cat /srv/n") == f"{number}\n"
            worlds.append(await world_of(client))
    assert worlds[0] != worlds[1]
    assert all(len(world) == 32 and int(world, 16) for world in worlds)


async def test_clients_without_sessions_share_the_world_of_the_process(serve: Serve) -> None:
    served = serve("--world", "shared")
    async with served.client() as one, served.client() as other:
        await said(one, "echo one >> /srv/both")
        assert await said(other, "cat /srv/both") == "one\n"
        assert await world_of(other) == "shared"


async def test_a_session_id_of_the_newest_protocol_is_not_believed(serve: Serve) -> None:
    served = serve("--world", "shared")
    async with served.client(headers={"mcp-session-id": "made-up"}) as client:
        assert await world_of(client) == "shared"


@pytest.mark.parametrize("mode", MODES)
async def test_a_name_that_no_world_can_have_is_refused(serve: Serve, mode: str) -> None:
    served = serve("--memory")
    async with served.client(mode) as client:
        for name in ("", "../etc/passwd", "a b", "-x", "x" * 200, 7, "\u202eabc"):
            with pytest.raises(MCPError) as failure:
                await client.call_tool("bash", {"command": "true"}, meta=meta(name))
            assert failure.value.error.code == -32602


async def test_the_same_world_is_reached_from_the_command_line(
    serve: Serve, shim: Shim, shell: list[str]
) -> None:
    served = serve()
    async with served.client(path="/worlds/lab/mcp") as client:
        await said(client, "echo over http > /srv/note")
    async with shim.client("--world", "lab", *shell) as client:
        assert await said(client, "cat /srv/note") == "over http\n"


async def test_over_standard_input_a_request_names_any_world_of_the_user(
    shim: Shim, shell: list[str]
) -> None:
    async with shim.client("--world", "own", *shell) as client:
        await said(client, "echo there > /srv/x", meta=meta("other"))
        assert "No such file" in await said(client, "cat /srv/x 2>&1; true")
        assert await said(client, "cat /srv/x", meta=meta("other")) == "there\n"


def test_an_unknown_session_is_none(serve: Serve) -> None:
    served = serve("--memory")
    for session in ("made-up", "0" * 32):
        answer = served.post(calling("true"), {"mcp-session-id": session})
        assert answer.status_code == 404
    assert served.post(calling("true")).status_code == 400


def test_paths_that_are_nothing_say_where_mcp_is(serve: Serve) -> None:
    served = serve("--memory")
    for path in ("/", "/nothing/mcp", "/worlds//mcp", "/worlds/a/b/c/mcp", "/mcp/more"):
        answer = served.get(path)
        assert answer.status_code == 404
        assert "MCP is at /mcp" in answer.json()["error"]["message"]


async def test_each_of_several_upstreams_has_a_path_and_they_share_a_world(
    serve: Serve,
) -> None:
    raw = Path(__file__).parents[2] / "data" / "mcp_raw_upstream.py"
    command = f"{sys.executable} {raw} one"
    served = serve("--upstream", f"a={command}", "--upstream", f"b={command}", own=True)
    async with served.client("legacy", path="/worlds/w/a/mcp") as client:
        await said(client, "echo from a > /srv/x")
    async with served.client(path="/worlds/w/b/mcp") as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["bash"]
        assert await said(client, "cat /srv/x") == "from a\n"
    async with served.client(path="/worlds/w/mcp") as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
    assert names == ["a__bash", "b__bash"]
