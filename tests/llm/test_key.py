"""The API key goes into one header and nowhere else."""

from __future__ import annotations

import logging
import pickle
import traceback
from pathlib import Path

import pytest

from agentworld_sim.errors import AgentworldError, ModelRefused, ModelUnavailable, UsageError
from agentworld_sim.llm.scripted import (
    Disconnect,
    ErrorReply,
    RawReply,
    Reply,
    ScriptedModelServer,
    StreamError,
)
from tests.llm.harness import SECRET, Connect, asked, raw_server, response

ECHO = f"Incorrect API key provided: {SECRET}. It is wrong."

FAULTS: tuple[Reply, ...] = (
    ErrorReply(400, ECHO),
    ErrorReply(401, ECHO),
    ErrorReply(403, ECHO),
    ErrorReply(404, ECHO),
    ErrorReply(404, f"The model `{SECRET}` does not exist."),
    ErrorReply(429, ECHO),
    ErrorReply(500, ECHO),
    StreamError(message=ECHO),
    Disconnect(),
    RawReply(f"<html><title>{SECRET}</title>", 200, "text/html"),
    RawReply(f"<html><title>{SECRET}</title>", 502, "text/html"),
    RawReply(SECRET),
    RawReply(f'{{"error": {{"message": "{ECHO}"}}}}'),
    RawReply(f'{{"x": "{SECRET}"}}', 400),
)


@pytest.mark.promise("key-stays-secret")
@pytest.mark.parametrize("fault", FAULTS)
async def test_it_is_in_no_error_and_no_log(
    connect: Connect, fault: Reply, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with ScriptedModelServer(lambda _: fault, api_key=SECRET) as server:
        client = connect(server.url, api_key=SECRET, retries=1)
        with pytest.raises(AgentworldError) as raised:
            await client.ask(asked())
    error = raised.value
    told = (
        str(error),
        repr(error),
        repr(vars(error)),
        "".join(traceback.format_exception(error)),
        repr((error.__cause__, error.__context__)),
        repr(client),
        repr(client.settings),
        *(record.getMessage() for record in caplog.records),
        *(repr(vars(record)) for record in caplog.records),
    )
    assert [text for text in told if SECRET in text] == []
    assert SECRET.encode() not in pickle.dumps(error)


@pytest.mark.promise("key-stays-secret")
async def test_it_reaches_the_server_and_is_not_in_the_reply(connect: Connect) -> None:
    with ScriptedModelServer(["fine"], api_key=SECRET) as server:
        client = connect(server.url, api_key=SECRET)
        served, reply = await client.served_model(), await client.ask(asked())
        (request,) = server.requests
    assert request.authorization == "right"
    assert SECRET not in repr((served, reply, request.body))


@pytest.mark.promise("key-stays-secret")
@pytest.mark.parametrize("api_key", ["", SECRET])
async def test_what_the_environment_names_for_another_server_is_not_sent(
    connect: Connect, api_key: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    names = ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "WEBHOOK_SECRET")
    for name in names:
        monkeypatch.setenv(f"OPENAI_{name}", f"theirs-{name}")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "authorization: theirs\nx-own: theirs")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://theirs.invalid/v1")
    (tmp_path / "netrc").write_text("default login theirs password theirs\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    async with raw_server(response()) as raw:
        await connect(raw.url, api_key=api_key).ask(asked())
    (head,) = raw.heads
    sent = {line.partition(":")[0] for line in head.splitlines()[1:] if line}
    common = {"host", "accept", "accept-encoding", "content-type", "content-length", "user-agent"}
    assert sent == common | {"x-session-id"} | ({"authorization"} if api_key else set[str]())
    assert "theirs" not in head and (f"bearer {SECRET}" in head) == bool(api_key)


async def test_space_around_it_is_ignored(connect: Connect) -> None:
    with ScriptedModelServer(["fine"], api_key=SECRET) as server:
        await connect(server.url, api_key=f" {SECRET}\n").ask(asked())


async def test_without_one_there_is_no_header(connect: Connect) -> None:
    with ScriptedModelServer(["fine"], api_key=SECRET) as server:
        with pytest.raises(ModelRefused, match=r"refuses the key \(401.*Set AGENTWORLD_API_KEY"):
            await connect(server.url).ask(asked())
        assert server.requests[0].authorization == "missing"


async def test_a_wrong_one_is_told_without_it(connect: Connect) -> None:
    with ScriptedModelServer(["fine"], api_key="another") as server:
        client = connect(server.url, api_key=SECRET)
        for asking in (client.ask(asked()), client.served_model()):
            with pytest.raises(
                ModelRefused, match="AGENTWORLD_API_KEY is set, but to the wrong key"
            ) as raised:
                await asking
            assert SECRET not in str(raised.value)


@pytest.mark.parametrize("key", [f"{SECRET}\nx", f"{SECRET} x", f"{SECRET}é", f"{SECRET}\x00"])
def test_one_that_no_header_can_carry_is_refused_without_being_shown(
    connect: Connect, key: str
) -> None:
    with pytest.raises(UsageError, match="characters that no HTTP header can carry") as raised:
        connect("http://127.0.0.1:9/v1", api_key=key)
    assert SECRET not in "".join(traceback.format_exception(raised.value))


@pytest.mark.promise("key-stays-secret")
async def test_one_in_the_query_of_the_url_is_in_no_error(connect: Connect) -> None:
    async with raw_server(b"\x00garbage\r\n\r\n") as raw:
        with pytest.raises(ModelUnavailable, match="broke off") as raised:
            await connect(f"{raw.url}?api-key={SECRET}", retries=0).ask(asked())
    assert SECRET not in str(raised.value)
