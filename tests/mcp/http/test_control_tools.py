"""The tools by which a client looks after its world."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from mcp import Client
from tests.mcp.http.conftest import Serve, said

if TYPE_CHECKING:
    from tests.mcp.conftest import Shim

NAMES = ["agentworld_world", "agentworld_reset", "agentworld_fork", "agentworld_use"]


async def control(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    """What a control tool returns; it must be what its schema says."""
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    result = await client.call_tool(f"agentworld_{name}", arguments)
    assert not result.is_error, result
    assert result.structured_content is not None
    jsonschema.validate(result.structured_content, tools[f"agentworld_{name}"].output_schema or {})
    assert json.loads(getattr(result.content[0], "text", "")) == result.structured_content
    return result.structured_content


async def refused(client: Client, name: str, **arguments: Any) -> str:
    result = await client.call_tool(f"agentworld_{name}", arguments)
    assert result.is_error
    return "".join(getattr(block, "text", "") for block in result.content)


async def test_they_are_there_only_when_asked_for(shim: Shim, shell: list[str]) -> None:
    async with shim.client(*shell) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["bash"]
    async with shim.client("--control-tools", *shell) as client:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == ["bash", *NAMES]
        assert all("simulat" not in (tool.description or "").lower() for tool in tools)


async def test_a_reset_undoes_all_and_a_fork_keeps_it(shim: Shim, shell: list[str]) -> None:
    async with shim.client("--world", "w", "--control-tools", *shell) as client:
        began = await control(client, "world")
        await said(client, "echo 1 > /srv/x")
        forked = await control(client, "fork")
        assert forked["turns"] == 1
        assert await control(client, "reset") == began
        assert "No such file" in await said(client, "cat /srv/x 2>&1; true")
        assert (await control(client, "use", world=forked["world"]))["world"] == forked["world"]
        assert await said(client, "cat /srv/x") == "1\n"
        assert (await control(client, "use", world="w"))["world"] == "w"
    assert began == {"world": "w", "turns": 0, "ref": began["ref"]}
    async with shim.client("--world", forked["world"], *shell) as client:
        assert await said(client, "cat /srv/x") == "1\n"


@pytest.mark.parametrize("workers", ["1", "2"])
async def test_a_session_moves_to_a_fork_and_other_sessions_do_not(
    serve: Serve, token_file: Path, workers: str
) -> None:
    from tests.mcp.http.conftest import TOKENS

    served = serve("--control-tools", "--workers", workers, "--token-file", str(token_file))
    alice, bob = TOKENS["alice"], TOKENS["bob"]
    async with (
        served.client("legacy", token=alice) as one,
        served.client("legacy", token=alice) as other,
        served.client("legacy", token=bob) as stranger,
    ):
        await said(one, "echo before > /srv/x")
        home = await control(one, "world")
        fork = await control(one, "fork", use=True)
        await said(one, "echo after > /srv/x")
        assert await control(one, "world") != home
        await control(one, "use", world=home["world"])
        assert await said(one, "cat /srv/x") == "before\n"
        assert "No such file" in await said(other, "cat /srv/x 2>&1; true")
        await control(other, "use", world=fork["world"])
        assert await said(other, "cat /srv/x") == "after\n"
        wrong = [
            await refused(stranger, "use", world=name)
            for name in (fork["world"], fork["world"][:-1] + "0", "nothing")
        ]
    names = (fork["world"], fork["world"][:-1] + "0", "nothing")
    assert wrong == [f"there is no world {name!r}." for name in names]


async def test_where_requests_name_their_world_there_is_nothing_to_move(serve: Serve) -> None:
    served = serve("--control-tools")
    async with served.client(path="/worlds/lab/mcp") as client:
        assert "every request says its world itself (url)" in await refused(
            client, "fork", use=True
        )
        assert "every request says its world itself" in await refused(client, "use", world="x")
        forked = await control(client, "fork")
    async with served.client(headers={"agentworld-world": forked["world"]}) as client:
        assert (await control(client, "world"))["world"] == forked["world"]


async def test_wrong_arguments_are_said_so(shim: Shim, shell: list[str]) -> None:
    async with shim.client("--control-tools", *shell) as client:
        assert "validation error" in await refused(client, "use")
        assert "validation error" in await refused(client, "fork", use="yes")
        assert "validation error" in await refused(client, "reset", hard=True)


def test_an_upstream_with_tools_of_these_names_is_not_hidden(shim: Shim, tmp_path: Path) -> None:
    server = tmp_path / "server.py"
    server.write_text(
        "from mcp.server.mcpserver import MCPServer\n"
        "server = MCPServer('x')\n"
        "@server.tool()\n"
        "def agentworld_fork() -> str:\n    return 'mine'\n"
        "server.run('stdio')\n",
        encoding="utf-8",
    )
    done = shim.run("--control-tools", "--", sys.executable, str(server))
    assert done.returncode == 2
    assert "the upstream has tools of its own named agentworld_fork" in done.stderr
