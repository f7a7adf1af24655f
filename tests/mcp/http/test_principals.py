"""Tokens, and whose a world is."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as some

from agentworld_mcp_shim._http._sessions import SignedSessions
from agentworld_mcp_shim._world_keys import owner_prefix, store_id
from agentworld_sim.runtime.world_history import check_world_id
from mcp import MCPError
from tests.mcp.http.conftest import TOKENS, Serve, calling, initialize, said, world_of

if TYPE_CHECKING:
    from tests.mcp.conftest import Shim

ALICE, BOB = TOKENS["alice"], TOKENS["bob"]


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


@pytest.mark.promise("bound-worlds")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_world_of_one_principal_cannot_be_reached_by_another(
    serve: Serve, token_file: Path, mode: str
) -> None:
    served = serve("--token-file", str(token_file))
    async with served.client(mode, token=ALICE, path="/worlds/lab/mcp") as client:
        await said(client, "echo of alice > /srv/secret")
        full = await world_of(client)
    assert full.endswith(".lab")
    never = full.replace(".lab", ".other")
    async with served.client(mode, token=BOB, path="/worlds/lab/mcp") as client:
        assert "No such file" in await said(client, "cat /srv/secret 2>&1; true")
    answers: list[tuple[int, str]] = []
    for name in (full, never):
        async with served.client(mode, token=BOB, headers={"agentworld-world": name}) as client:
            with pytest.raises(MCPError) as failure:
                await client.call_tool("bash", {"command": "cat /srv/secret"})
            error = failure.value.error
            answers.append((error.code, error.message.replace(name, "NAME")))
    assert answers == [(-32602, "there is no world 'NAME'.")] * 2
    async with served.client(mode, token=ALICE, headers={"agentworld-world": full}) as client:
        assert await said(client, "cat /srv/secret") == "of alice\n"


@pytest.mark.promise("bound-worlds")
def test_a_session_of_one_principal_is_none_for_another(serve: Serve, token_file: Path) -> None:
    for workers in ("1", "2"):
        served = serve("--token-file", str(token_file), "--workers", workers)
        session = {"mcp-session-id": served.begin(bearer(ALICE))}
        mine = served.post(calling("echo hi"), {**bearer(ALICE), **session})
        others = served.post(calling("echo hi"), {**bearer(BOB), **session})
        unknown = served.post(calling("echo hi"), {**bearer(BOB), "mcp-session-id": "f" * 32})
        assert mine.status_code == 200
        assert (others.status_code, others.text) == (404, unknown.text)


@pytest.mark.promise("bound-worlds")
@given(
    name=some.from_regex(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,94}", fullmatch=True),
    one=some.text(min_size=1),
    other=some.text(min_size=1),
)
def test_no_name_leads_into_the_worlds_of_another_principal(
    name: str, one: str, other: str
) -> None:
    for principal in (one, other):
        try:
            world = store_id(name, principal)
        except MCPError:
            continue
        check_world_id(world)
        assert world.startswith(owner_prefix(principal))
        assert store_id(world, principal) == world
        if one != other:
            with pytest.raises(MCPError, match="there is no world"):
                store_id(world, other if principal == one else one)
        with pytest.raises(MCPError, match="there is no world"):
            store_id(world, None)


@given(data=some.data())
def test_no_changed_session_id_is_taken(
    tmp_path_factory: pytest.TempPathFactory, data: some.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("sessions")
    here, there = SignedSessions(folder, b"secret"), SignedSessions(folder, b"secret")
    stranger = SignedSessions(folder, b"other secret")
    session = here.begin("alice")
    assert there.alive(session, "alice")
    assert not there.alive(session, None)
    assert not there.alive(session, "bob")
    assert not there.alive(stranger.begin("alice"), "alice")
    place = data.draw(some.integers(0, len(session) - 1))
    letter = data.draw(some.characters())
    assert letter == session[place] or not there.alive(
        session[:place] + letter + session[place + 1 :], "alice"
    )
    other = here.begin("alice")
    there.end(session, "alice")
    assert (here.alive(session, "alice"), here.alive(other, "alice")) == (False, True)


async def test_a_principal_without_a_session_has_one_world(serve: Serve, token_file: Path) -> None:
    served = serve("--token-file", str(token_file))
    async with served.client(token=ALICE) as client:
        await said(client, "echo 1 > /srv/x")
        assert await world_of(client) == store_id("main", "alice")
    async with served.client(token=ALICE) as client:
        assert await said(client, "cat /srv/x") == "1\n"
    async with served.client(token=BOB) as client:
        assert "No such file" in await said(client, "cat /srv/x 2>&1; true")


def test_whoever_has_no_token_is_told_to_bring_one(serve: Serve, token_file: Path) -> None:
    served = serve("--token-file", str(token_file))
    answer = served.post(initialize())
    assert (answer.status_code, answer.headers["www-authenticate"]) == (
        401,
        'Bearer realm="agentworld"',
    )
    for wrong in ("Bearer", "Bearer nobody-has-this-token", f"Basic {ALICE}", ALICE):
        answer = served.post(initialize(), {"authorization": wrong})
        assert answer.status_code == 401
        assert 'error="invalid_token"' in answer.headers["www-authenticate"]
    assert served.get("/metrics").status_code == 401
    assert served.get("/anything").status_code == 401
    assert served.get("/healthz").status_code == 200
    assert served.get("/metrics", bearer(ALICE)).status_code == 200


@pytest.mark.parametrize("variable", ["AGENTWORLD_MCP_TOKEN", "AGENTWORLD_MCP_TOKENS"])
def test_a_token_is_in_no_log_and_no_argument_list_and_no_environment_of_a_child(
    serve: Serve, shim: Shim, token_file: Path, variable: str
) -> None:
    token = "this-token-is-secret-0123"
    value = token if variable.endswith("TOKEN") else f'{{"carol": "{token}"}}'
    served = serve(
        "-v", "--workers", "2", "--token-file", str(token_file), environment={variable: value}
    )
    for given_token in (token, ALICE, "wrong-token-0123456789"):
        served.post(initialize(), bearer(given_token))
    listed = subprocess.run(["ps", "-ef", "ww"], capture_output=True, text=True, check=True)
    children = Path(f"/proc/{served.process.pid}/task/{served.process.pid}/children").read_text()
    environments = [Path(f"/proc/{child}/environ").read_bytes() for child in children.split()]
    served.process.terminate()
    code, log = served.ended()
    assert code == 143
    for secret in (token, ALICE, BOB, "wrong-token"):
        assert secret not in listed.stdout
        assert secret not in log
        assert all(secret.encode() not in one for one in environments)
    assert len(environments) >= 2


def run(shim: Shim, *arguments: str, **environment: str) -> tuple[int, str]:
    shim.environment.update(environment)
    done = shim.run("--http", *arguments)
    return done.returncode, done.stderr


def test_a_network_is_not_listened_to_without_tokens(shim: Shim) -> None:
    for address in ("0.0.0.0:0", "[::]:0", "192.0.2.1:0", "example.com:0"):
        code, told = run(shim, address)
        assert code == 2
        assert "can be reached from other machines, and no tokens are set" in told


def test_tokens_that_others_can_read_are_refused(shim: Shim, token_file: Path) -> None:
    token_file.chmod(0o644)
    code, told = run(shim, "0", "--token-file", str(token_file))
    assert code == 2
    assert "can be read by others (its mode is 644)" in told


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("alice\n", "line 1 of"),
        ("# nobody\n\n", "has no tokens"),
        ("alice short\n", "at least 16 visible ASCII characters"),
        ("alice alice-has-this-token-0001\nbob alice-has-this-token-0001\n", "the same token"),
    ],
)
def test_a_token_file_that_is_wrong_is_refused_without_quoting_it(
    shim: Shim, token_file: Path, text: str, message: str
) -> None:
    token_file.write_text(text, encoding="utf-8")
    code, told = run(shim, "0", "--token-file", str(token_file))
    assert code == 2
    assert message in told
    assert "alice-has-this-token" not in told


def test_tokens_in_a_variable_must_be_an_object(shim: Shim) -> None:
    for wrong in ("[]", "{", '{"a": 1}', "{}", '"x"'):
        code, told = run(shim, "0", AGENTWORLD_MCP_TOKENS=wrong)
        assert code == 2
        assert "is not a JSON object of principals and their tokens" in told


def test_the_token_file_must_be_there(shim: Shim, tmp_path: Path) -> None:
    code, told = run(shim, "0", "--token-file", str(tmp_path / "none"))
    assert code == 2
    assert f"the token file {tmp_path / 'none'} cannot be read: {os.strerror(2)}" in told
