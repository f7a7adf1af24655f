"""Calls through the shim, made by the official client over stdio, in both protocol eras."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mcp.types import CallToolResult, TextContent

from mcp import Client, MCPError

if TYPE_CHECKING:
    from conftest import Shim

ERAS = pytest.mark.parametrize("mode", ["legacy", "auto"])


async def said(client: Client, name: str, **arguments: Any) -> tuple[str, bool]:
    """The text of an answer, and whether it is an error."""
    result = await client.call_tool(name, arguments)
    return text_of(result), bool(result.is_error)


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A real repository with a file that is not added."""
    path = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", str(path)], check=True, timeout=60)
    (path / "file.txt").write_text("content\n")
    return path


@ERAS
@pytest.mark.promise("upstream-untouched")
async def test_a_bound_tool_is_answered_by_the_world_and_never_called(
    shim: Shim, upstream: list[str], mode: str
) -> None:
    async with shim.client(*upstream, mode=mode) as client:
        result = await client.call_tool("bash", {"command": "cat /srv/app/note.txt; hostname"})
    assert text_of(result).startswith("remember the milk\n")
    assert result.structured_content == {"result": text_of(result)}
    assert not result.is_error
    assert shim.called_for_real() == []


async def test_file_tools_and_the_shell_share_one_machine(shim: Shim, upstream: list[str]) -> None:
    async with shim.client(*upstream) as client:
        await client.call_tool(
            "write_file", {"file_path": "/srv/app/new.txt", "content": "one\ntwo\n"}
        )
        assert await said(client, "bash", command="wc -l < /srv/app/new.txt") == ("2\n", False)
        seen, wrong = await said(client, "read_file", file_path="/srv/app/new.txt")
    assert "two" in seen
    assert not wrong
    assert shim.called_for_real() == []


@ERAS
@pytest.mark.promise("upstream-untouched")
async def test_a_tool_of_a_real_server_that_binds_to_nothing_is_refused_clearly(
    shim: Shim, repository: Path, mode: str
) -> None:
    async with shim.client("--", "mcp-server-git", mode=mode) as client:
        text, wrong = await said(client, "git_add", repo_path=str(repository), files=["file.txt"])
    assert wrong
    assert text == ("'git_add' was not called, and nothing was changed: it is not available here.")
    assert not (repository / ".git" / "index").exists()


async def test_a_tool_of_a_server_that_is_known_is_computed(shim: Shim) -> None:
    async with shim.client("--", "mcp-server-time") as client:
        text, wrong = await said(client, "get_current_time", timezone="Europe/Berlin")
    assert not wrong
    assert '"timezone": "Europe/Berlin"' in text


async def test_a_tool_with_an_unknown_name_is_answered_when_it_is_bound_by_hand(
    shim: Shim, upstream: list[str]
) -> None:
    async with shim.client("--bind", "run_it=terminal/bash", *upstream) as client:
        assert await said(client, "run_it", command="echo here") == ("here\n", False)
    assert shim.called_for_real() == []


async def test_an_output_schema_that_no_text_fits_gives_a_clear_error_and_no_turn(
    shim: Shim, upstream: list[str]
) -> None:
    async with shim.client("--bind", "inspect=terminal/bash", *upstream) as client:
        with pytest.raises(MCPError) as failure:
            await said(client, "inspect", command="touch /srv/app/changed")
        listed, _ = await said(client, "bash", command="ls /srv/app")
    text = str(failure.value)
    assert "no acceptable answer to 'inspect': output-schema: structured content" in text
    assert listed == "note.txt\n"


@ERAS
async def test_results_are_marked_for_people_and_not_in_the_text(
    shim: Shim, upstream: list[str], mode: str
) -> None:
    async with shim.client("--world", "marked", *upstream, mode=mode) as client:
        result = await client.call_tool("bash", {"command": "true"})
        refused = await client.call_tool("send_mail", {"to": "you", "text": "hello"})
    assert result.meta is not None
    assert refused.meta is not None
    mark = result.meta["agentworld/simulated"]
    assert (mark["world"], mark["provenance"], len(mark["ref"])) == ("marked", "computed", 40)
    assert refused.meta["agentworld/simulated"] == {"world": "marked", "access": "refuse"}
    assert "simulated" not in text_of(result) + text_of(refused)


@ERAS
async def test_an_unknown_tool_gets_the_words_of_the_upstream_itself(
    shim: Shim, upstream: list[str], mode: str
) -> None:
    async with shim.connected(upstream[1:], mode=mode) as client:
        real = await client.call_tool("bahs", {})
    async with shim.client(*upstream, mode=mode) as client:
        result = await client.call_tool("bahs", {})
    assert (result.is_error, result.content) == (real.is_error, real.content)
    assert result.is_error and text_of(result) == "Unknown tool: bahs"


async def test_bad_arguments_are_named_and_reach_nothing(shim: Shim, upstream: list[str]) -> None:
    async with shim.client(*upstream) as client:
        text, wrong = await said(client, "bash", command=3)
    assert wrong
    assert text == (
        "'bash' does not take these arguments: 3 is not of type 'string' (at 'command'). It takes 'command'."
    )
    assert shim.called_for_real() == []


async def test_bad_arguments_change_nothing(shim: Shim, upstream: list[str]) -> None:
    async with shim.client("--world", "w", *upstream) as client:
        await client.call_tool("write_file", {"file_path": "/srv/app/note.txt"})
        result = await client.call_tool("bash", {"command": "cat /srv/app/note.txt"})
    assert text_of(result) == "remember the milk\n"


async def test_a_client_that_starts_a_process_for_each_call_finds_its_files_again(
    shim: Shim, shell: list[str]
) -> None:
    async with shim.client("--world", "kept", *shell) as client:
        await client.call_tool("bash", {"command": "cd /srv/app && echo kept > file && export A=7"})
    async with shim.client("--world", "kept", *shell) as client:
        assert await said(client, "bash", command="pwd; cat file; echo $A") == (
            "/srv/app\nkept\n7\n",
            False,
        )


async def test_the_world_is_named_by_the_environment(shim: Shim, shell: list[str]) -> None:
    shim.environment["AGENTWORLD_WORLD"] = "from-the-environment"
    async with shim.client(*shell) as client:
        await client.call_tool("bash", {"command": "touch /srv/app/mine"})
    async with shim.client("--world", "from-the-environment", *shell) as client:
        assert await said(client, "bash", command="ls /srv/app") == ("mine\nnote.txt\n", False)


async def test_worlds_do_not_see_each_other(shim: Shim, shell: list[str]) -> None:
    async with (
        shim.client("--world", "left", *shell) as left,
        shim.client("--world", "right", *shell) as right,
    ):
        await left.call_tool("bash", {"command": "echo left > /srv/app/side"})
        assert (await said(right, "bash", command="cat /srv/app/side"))[0].endswith(
            "No such file or directory\n"
        )
        assert await said(left, "bash", command="cat /srv/app/side") == ("left\n", False)


async def test_clients_of_one_world_see_each_other_at_once(shim: Shim, shell: list[str]) -> None:
    async with (
        shim.client("--world", "shared", *shell) as one,
        shim.client("--world", "shared") as other,
    ):
        await one.call_tool("bash", {"command": "echo from one > /srv/app/shared"})
        assert await said(other, "bash", command="cat /srv/app/shared") == ("from one\n", False)
        await asyncio.gather(
            *(
                client.call_tool("bash", {"command": f"echo {number} >> /srv/app/lines"})
                for number in range(4)
                for client in (one, other)
            )
        )
        assert await said(one, "bash", command="wc -l < /srv/app/lines") == ("8\n", False)


async def test_a_world_in_memory_leaves_nothing_behind(shim: Shim, shell: list[str]) -> None:
    async with shim.client("--memory", *shell) as client:
        assert await said(client, "bash", command="echo once") == ("once\n", False)
    assert not shim.home.exists()


async def test_the_world_serves_its_own_tools_without_an_upstream(shim: Shim) -> None:
    async with shim.client() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert await said(client, "bash", command="cat /srv/app/note.txt") == (
            "remember the milk\n",
            False,
        )
    assert tools["bash"].input_schema["required"] == ["command"]


async def test_a_cancelled_call_leaves_no_trace_and_the_next_one_works(
    shim: Shim, shell: list[str]
) -> None:
    async with shim.client("--world", "cancelled", *shell) as client:
        await client.call_tool("bash", {"command": "true"})
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await client.call_tool("bash", {"command": "touch /srv/app/x; while :; do :; done"})
        assert await said(client, "bash", command="ls /srv/app") == ("note.txt\n", False)


async def test_bytes_that_are_not_text_reach_the_client_replaced(
    shim: Shim, shell: list[str]
) -> None:
    async with shim.client(*shell) as client:
        text, wrong = await said(client, "bash", command="printf 'a\\377b'")
    assert (text, wrong) == ("a\ufffdb", False)
