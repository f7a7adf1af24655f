"""The tools by which a client looks after its world."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from mcp import Client, MCPError
from tests.mcp.http.conftest import Serve, said

if TYPE_CHECKING:
    from tests.mcp.conftest import Shim

NAMES = ["agentworld_world", "agentworld_reset", "agentworld_fork"]


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
    assert began == {"world": "w", "turns": 0, "ref": began["ref"]}
    async with shim.client("--world", forked["world"], *shell) as client:
        assert await said(client, "cat /srv/x") == "1\n"


@pytest.mark.parametrize("workers", ["1", "2"])
async def test_a_fork_is_reached_by_its_name_and_by_its_principal_alone(
    serve: Serve, token_file: Path, workers: str
) -> None:
    from tests.mcp.http.conftest import TOKENS

    served = serve("--control-tools", "--workers", workers, "--token-file", str(token_file))
    alice, bob = TOKENS["alice"], TOKENS["bob"]
    async with served.client("legacy", token=alice) as client:
        await said(client, "echo before > /srv/x")
        fork = (await control(client, "fork"))["world"]
        await said(client, "echo after > /srv/x")
    headers = {"agentworld-world": fork}
    async with served.client(token=alice, headers=headers) as client:
        assert (await control(client, "world"))["world"] == fork
        assert await said(client, "cat /srv/x") == "before\n"
    async with served.client(token=bob, headers=headers) as client:
        with pytest.raises(MCPError, match="there is no world"):
            await control(client, "world")


async def test_wrong_arguments_are_said_so(shim: Shim, shell: list[str]) -> None:
    async with shim.client("--control-tools", *shell) as client:
        wrong = "'agentworld_reset' does not take these arguments"
        assert wrong in await refused(client, "reset", hard=True)


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
