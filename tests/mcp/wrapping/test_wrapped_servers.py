"""A wrapped entry, started as its client starts it: the SDK's client connects and is answered."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agentworld_mcp_shim.wrapping import WrapChoice, wrap_text
from agentworld_sim.errors import UsageError
from agentworld_sim.store import SqliteStore
from mcp import Client, StdioServerParameters

if TYPE_CHECKING:
    from conftest import Shim

DATA = Path(__file__).parents[2] / "data"
SECRET = "s3cr3t-of-the-upstream"


def filled(value: Any, variables: Mapping[str, str]) -> Any:
    """A value as clients fill in its placeholders, such as Claude Code, Cursor and VS Code."""
    if isinstance(value, str):
        return re.sub(r"\$\{(?:env:|input:)?(\w+)\}", lambda m: variables[m.group(1)], value)
    if isinstance(value, list):
        return [filled(one, variables) for one in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        return {k: filled(v, variables) for k, v in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return value


def wrapped(entry: dict[str, Any], client: str = "claude-code") -> dict[str, Any]:
    """The entry of a file with this one server, after wrapping."""
    text = json.dumps({"mcpServers": {"it": entry}})
    choice = WrapChoice(interpreter=sys.executable, world="lab")
    rewritten = wrap_text(text, Path("/x/.mcp.json"), choice, client=client)
    return json.loads(rewritten.text)["mcpServers"]["it"]


@asynccontextmanager
async def connected(shim: Shim, entry: dict[str, Any], **more: str) -> AsyncGenerator[Client]:
    """The official client, connected to what the entry starts."""
    parameters = StdioServerParameters(
        command=entry["command"],
        args=entry["args"],
        env={**shim.environment, **entry["env"], **more},
        cwd=entry.get("cwd"),
    )
    async with asyncio.timeout(60), Client(parameters, cache=None) as client:
        yield client


async def answered(shim: Shim, entry: dict[str, Any], **more: str) -> tuple[list[str], str]:
    """What the entry's server offers, and what its shell says."""
    async with connected(shim, entry, **more) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        result = await client.call_tool("bash", {"command": "echo $((6*7)); whoami"})
    (content,) = result.content
    assert content.type == "text"
    return names, content.text


@pytest.fixture
def keyed() -> Generator[str]:
    """The URL of a running server that wants its key."""
    with serving("mcp_keyed_upstream.py") as url:
        yield url


@contextmanager
def serving(script: str) -> Generator[str]:
    """A server of the test data, over HTTP on a free port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with subprocess.Popen([sys.executable, str(DATA / script), str(port)]) as process:
        try:
            until = time.monotonic() + 60
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    assert time.monotonic() < until and process.poll() is None
                    os.sched_yield()
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()


async def test_a_wrapped_command_is_mirrored_and_answered_from_the_world(shim: Shim) -> None:
    entry = {"command": sys.executable, "args": [str(DATA / "mcp_upstream.py")], "env": {"A": "1"}}
    names, text = await answered(shim, wrapped(entry))
    assert "send_mail" in names
    assert text.splitlines()[0] == "42"
    assert shim.called_for_real() == []
    with closing(SqliteStore(shim.store)) as store:
        assert [world.id for world in store.worlds()] == ["lab"]


@pytest.mark.slow
async def test_the_servers_of_a_file_share_a_world(shim: Shim) -> None:
    raw = {"command": sys.executable, "args": [str(DATA / "mcp_raw_upstream.py"), "one"]}
    real = {"command": sys.executable, "args": [str(DATA / "mcp_upstream.py")]}
    async with connected(shim, wrapped(raw)) as client:
        await client.call_tool("bash", {"command": "echo shared > /tmp/note"})
    async with connected(shim, wrapped(real)) as client:
        result = await client.call_tool("bash", {"command": "cat /tmp/note"})
    (content,) = result.content
    assert content.type == "text"
    assert content.text.strip() == "shared"
    assert shim.called_for_real() == []


@pytest.mark.slow
async def test_a_wrapped_url_is_asked_with_its_headers_and_nothing_more(
    shim: Shim, keyed: str
) -> None:
    entry = {"type": "http", "url": keyed, "headers": {"Authorization": "Bearer ${THE_KEY}"}}
    started = filled(wrapped(entry), {"THE_KEY": SECRET})
    assert not any(SECRET in word for word in started["args"])
    names, text = await answered(shim, started)
    assert names == ["bash"]
    assert text.splitlines()[0] == "42"


@pytest.mark.slow
async def test_the_shim_fills_in_what_the_client_does_not(shim: Shim, keyed: str) -> None:
    entry = wrapped(
        {"type": "http", "url": keyed + "?key=1", "headers": {"Authorization": "Bearer ${THE_KEY}"}}
    )
    assert entry["env"]["AGENTWORLD_UPSTREAM_URL"] == keyed + "?key=1"
    names, _ = await answered(shim, entry, THE_KEY=SECRET)
    assert names == ["bash"]


def test_a_placeholder_without_a_value_is_an_error_that_names_it(shim: Shim) -> None:
    entry = wrapped({"url": "http://127.0.0.1:9/mcp", "headers": {"Authorization": "${NOT_SET}"}})
    done = subprocess.run(
        [entry["command"], *entry["args"]],
        env={**shim.environment, **entry["env"]},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "AGENTWORLD_UPSTREAM_HEADERS" in done.stderr
    assert "'NOT_SET'" in done.stderr


@pytest.mark.slow
async def test_code_in_the_folder_where_the_client_starts_it_does_not_become_the_shim(
    shim: Shim, tmp_path: Path
) -> None:
    for module in ("agentworld_mcp_shim", "agentworld_sim", "mcp", "json", "click"):
        (tmp_path / f"{module}.py").write_text("raise SystemExit('taken over')")
    raw = [str(DATA / "mcp_raw_upstream.py"), "one"]
    entry = wrapped({"command": sys.executable, "args": ["-P", *raw], "cwd": str(tmp_path)})
    names, text = await answered(shim, entry, PYTHONPATH="", PYTHONHOME="")
    assert names == ["bash"]
    assert text.splitlines()[0] == "42"


@pytest.mark.slow
async def test_variables_meant_for_a_python_server_do_not_reach_the_python_of_the_shim(
    shim: Shim, tmp_path: Path
) -> None:
    (tmp_path / "click.py").write_text("raise SystemExit('taken over')")
    raw = [str(DATA / "mcp_raw_upstream.py"), "one"]
    entry = wrapped({"command": sys.executable, "args": raw, "env": {"PYTHONPATH": str(tmp_path)}})
    assert (await answered(shim, entry))[0] == ["bash"]


def test_the_kept_entry_is_not_given_to_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    from agentworld_mcp_shim._process import inherited_environment

    monkeypatch.setenv("AGENTWORLD_WRAPPED", '{"env": {"TOKEN": "s3cret"}}')
    assert "AGENTWORLD_WRAPPED" not in inherited_environment()


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"AGENTWORLD_UPSTREAM_HEADERS": "s3cret"}, "is not a JSON object of strings"),
        ({"AGENTWORLD_UPSTREAM_HEADERS": '["s3cret"]'}, "is not a JSON object of strings"),
        ({"AGENTWORLD_UPSTREAM_HEADERS": '{"A": 1}'}, "'A' is no string"),
        ({"AGENTWORLD_UPSTREAM_HEADERS": '{"A": "s3cret\\nB: c"}'}, "has a line break"),
        (
            {"AGENTWORLD_UPSTREAM_HEADERS": '{"A": "${input:key} s3cret"}'},
            "still has the placeholder '${input:key}'",
        ),
    ],
)
def test_headers_that_cannot_be_sent_are_refused_without_quoting_them(
    environment: dict[str, str], said: str
) -> None:
    from agentworld_mcp_shim._targets import upstream_headers

    with pytest.raises(UsageError) as raised:
        upstream_headers(environment)
    assert said in str(raised.value)
    assert "s3cret" not in str(raised.value)


def test_headers_and_the_url_are_read_with_their_placeholders_filled() -> None:
    from agentworld_mcp_shim._targets import upstream_headers, upstream_url

    environment = {
        "AGENTWORLD_UPSTREAM_HEADERS": '{"Authorization": "Bearer ${TOKEN}", "X": "${env:NO:-d}"}',
        "AGENTWORLD_UPSTREAM_URL": "https://${HOST}/mcp",
        "TOKEN": "${not a placeholder}",
        "HOST": "x.example",
    }
    assert upstream_headers(environment) == {
        "Authorization": "Bearer ${not a placeholder}",
        "X": "d",
    }
    assert upstream_url(environment) == "https://x.example/mcp"
    assert upstream_url({}) is None
    with pytest.raises(UsageError, match="is no http"):
        upstream_url({"AGENTWORLD_UPSTREAM_URL": "ftp://x"})
