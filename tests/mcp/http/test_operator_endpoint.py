"""Controls that an operator switches beside the clients, and those of a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from agentworld_sim.store.home import open_store
from tests.mcp.http.conftest import SECONDS, Serve, Served, said, world_of

if TYPE_CHECKING:
    from tests.mcp.conftest import Shim

TOKEN = "the-operator-has-this-token"
OUTAGE = {"kind": "fault", "name": "outage", "tool": "bash", "error": "out of order"}


@pytest.fixture
def operators(tmp_path: Path) -> Path:
    file = tmp_path / "operators"
    file.write_text(f"ops {TOKEN}\n", encoding="utf-8")
    file.chmod(0o600)
    return file


def operate(
    served: Served, method: str, path: str, body: Any = None, token: str = TOKEN
) -> httpx2.Response:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    url = f"{served.base}/operator/{path}"
    return httpx2.request(method, url, json=body, headers=headers, timeout=SECONDS)


async def test_an_operator_switches_a_control_under_a_running_client(
    serve: Serve, operators: Path
) -> None:
    served = serve("--operator-token-file", str(operators))
    async with served.client("legacy") as client:
        assert await said(client, "echo hi") == "hi\n"
        world = await world_of(client)
        assert {"world": world, "turns": 2} in operate(served, "GET", "worlds").json()["worlds"]
        changed = operate(served, "POST", f"worlds/{world}", {"add": [OUTAGE]}).json()
        assert (changed["world"], changed["controls"]) == (world, [OUTAGE])
        assert operate(served, "GET", f"worlds/{world}").json() == changed
        assert "out of order" in str(await client.call_tool("bash", {"command": "echo hi"}))
        assert "operator" not in str(await client.list_tools()).lower()
        operate(served, "POST", f"worlds/{world}", {"remove": ["outage"]})
        assert await said(client, "echo hi") == "hi\n"


async def test_no_client_may_and_without_a_token_file_nobody(
    serve: Serve, operators: Path, token_file: Path
) -> None:
    served = serve("--operator-token-file", str(operators), "--token-file", str(token_file))
    alice = token_file.read_text(encoding="utf-8").split()[1]
    for token in ("", alice, TOKEN[:-1], f"{TOKEN}x"):
        refused = operate(served, "GET", "worlds", token=token)
        assert (refused.status_code, "www-authenticate" in refused.headers) == (401, True)
    assert served.get("/mcp", {"authorization": f"Bearer {TOKEN}"}).status_code == 401
    assert operate(serve(), "GET", "worlds").status_code == 404


async def test_what_an_operator_cannot_do_is_told_with_its_status(
    serve: Serve, operators: Path
) -> None:
    served = serve("--operator-token-file", str(operators))
    async with served.client() as client:
        world = await world_of(client)
    wrong: list[tuple[str, str, Any, int, str]] = [
        ("GET", "worlds/nope", None, 404, "there is no world 'nope'"),
        ("GET", "elsewhere", None, 404, "/operator/worlds"),
        ("DELETE", f"worlds/{world}", None, 405, "DELETE"),
        ("POST", "worlds", {}, 405, "POST"),
        ("POST", f"worlds/{world}", {"ad": []}, 400, "either or both"),
        ("POST", f"worlds/{world}", [1], 400, "either or both"),
        ("POST", f"worlds/{world}", {"add": [{"kind": "falt"}]}, 400, "Did you mean 'fault'?"),
        ("POST", f"worlds/{world}", {"remove": ["x"]}, 400, "no control 'x' is declared"),
    ]
    for method, path, body, status, text in wrong:
        answer = operate(served, method, path, body)
        assert (answer.status_code, text in answer.json()["error"]) == (status, True), answer.text


def test_an_operator_needs_a_token_that_no_client_has(shim: Shim, operators: Path) -> None:
    shim.environment["AGENTWORLD_MCP_TOKEN"] = TOKEN
    done = shim.run("--http", "0", "--operator-token-file", str(operators))
    assert done.returncode == 2
    assert "an operator has the same token as a client" in done.stderr
    assert TOKEN not in done.stderr


async def test_every_world_is_given_the_controls_of_a_file(serve: Serve, tmp_path: Path) -> None:
    file = tmp_path / "outage.yaml"
    file.write_text("controls:\n- {kind: fault, name: outage, tool: bash, error: out, times: 1}\n")
    served = serve("--controls", str(file))
    for name in ("one", "two"):
        async with served.client(path=f"/worlds/{name}/mcp") as client:
            assert "out" in str(await client.call_tool("bash", {"command": "echo hi"}))
            assert await said(client, "echo hi") == "hi\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot be read: No such file or directory"),
        ("controls: [{kind: falt}]", "1:19: controls[0].kind: there is no kind of control 'falt'"),
        ("- kind: fault", "a mapping of keys to values"),
    ],
)
def test_a_file_of_controls_that_is_wrong_ends_the_start(
    shim: Shim, tmp_path: Path, text: str | None, message: str
) -> None:
    file = tmp_path / "controls.yaml"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    done = shim.run("--controls", str(file))
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr


def test_a_world_that_was_only_given_controls_is_not_kept(shim: Shim, tmp_path: Path) -> None:
    file = tmp_path / "controls.yaml"
    file.write_text("controls: [{kind: fault, name: x, tool: bash, error: no}]", encoding="utf-8")
    assert shim.run("--controls", str(file)).returncode == 0
    assert open_store(str(shim.home / "worlds.sqlite")).worlds() == []


def test_an_operator_is_about_serving_over_http(shim: Shim, operators: Path) -> None:
    done = shim.run("--operator-token-file", str(operators))
    assert (done.returncode, "--operator-token-file" in done.stderr) == (2, True)
