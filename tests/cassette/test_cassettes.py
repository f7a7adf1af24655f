"""Cassettes: what is written, what is not, and what is found again."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentworld_sim import Observation, ToolCall, ToolSpec, UsageError, World
from agentworld_sim.cassette import Cassette, CassetteMiss, Recorder
from agentworld_sim.cassette.replay import ReplayEngine
from agentworld_sim.errors import WorldFailure
from agentworld_sim.redaction.records import Redaction, secret_kind
from agentworld_sim.whole_file import write_file

READ = ToolSpec(name="read", input_schema={"type": "object"})
SEND = ToolSpec(name="send", input_schema={"type": "object"})

SECRETS = {
    "github": "ghp_" + "A1b2" * 9,
    "openai": "sk-" + "proj-abcdefghij1234567890",
    "aws": "AKIA" + "ABCDEFGH12345678",
    "jwt": "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
    "pem": "-----BEGIN RSA PRIVATE " + "KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----",
}


def recorded(
    folder: Path, *answers: tuple[str, dict[str, Any], str], volatile: tuple[str, ...] = ()
) -> Cassette:
    path = folder / "calls.yaml"
    recorder = Recorder(path, tools=[READ, SEND], volatile=volatile)
    for name, arguments, text in answers:
        recorder.add(ToolCall(name, arguments), Observation(text=text, provenance="real"))
    return Cassette.load(path)


async def world_of(cassette: Cassette, *, volatile: tuple[str, ...] = ()) -> World:
    world = await World.create(engines=[ReplayEngine(cassette, volatile=volatile)])
    world.add_tools([READ, SEND])
    return world


async def said(world: World, name: str, arguments: dict[str, Any]) -> str:
    return (await world.step(ToolCall(name, arguments))).observation.text


def test_what_is_recorded_is_loaded(tmp_path: Path) -> None:
    observation = Observation(
        text="[image: image/png]",
        structured={"id": 1},
        content=({"type": "image", "mimeType": "image/png", "data": "AAAA"},),
        is_error=True,
        provenance="real",
    )
    path = tmp_path / "a.yaml"
    Recorder(path, tools=[READ], volatile=["*.at"]).add(ToolCall("read", {"n": 1}), observation)
    cassette = Cassette.load(path)
    (turn,) = cassette.trajectory
    assert (turn.call.name, turn.call.arguments) == ("read", {"n": 1})
    assert turn.observation == observation
    assert (cassette.tools, cassette.volatile, cassette.model) == ((READ,), ("*.at",), False)


def test_a_file_is_continued_and_a_torn_last_line_is_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    recorded(tmp_path, ("read", {"n": 1}, "one"))
    path = tmp_path / "calls.yaml"
    with path.open("ab") as file:
        file.write(b"- real: read\n  argum")
    assert len(Cassette.load(path).trajectory) == 1
    assert "torn" in caplog.text
    assert [turn.observation.text for turn in recorded(tmp_path, ("read", {}, "2")).trajectory] == [
        "one",
        "2",
    ]


def test_many_threads_write_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "many.yaml"
    recorder = Recorder(path, tools=[])
    other = Recorder(path, tools=[])

    def write(number: int) -> None:
        for writer in (recorder, other):
            writer.add(ToolCall("read", {"n": number}), Observation(text="x" * 20_000))

    threads = [threading.Thread(target=write, args=(n,)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    numbers = sorted(turn.call.arguments["n"] for turn in Cassette.load(path).trajectory)
    assert numbers == sorted([*range(20), *range(20)])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "it is no mapping"),
        ("name: x\n", "has no key `agentworld_cassette`"),
        ("agentworld_cassette: 9\n", "has format 9 .* and this version reads 2"),
        (
            "agentworld_cassette: 2\nmodel: false\ntools: [3]\nanswers:\n",
            r"this is no tool .* \(line 3\)",
        ),
    ],
)
def test_what_is_no_cassette_is_told_with_its_line(
    tmp_path: Path, content: str, message: str
) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        Cassette.load(path)


def test_a_file_that_is_not_there_or_no_cassette_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        Cassette.load(tmp_path / "none.yaml")
    other = tmp_path / "notes.txt"
    other.write_text("my notes\n", encoding="utf-8")
    with pytest.raises(UsageError, match="no cassette"):
        Recorder(other, tools=[])
    ours = tmp_path / "test.yaml"
    write_file(ours, Cassette(model=True, computed=("Bash a b",)).text())
    with pytest.raises(UsageError, match=r"is a test's"):
        Recorder(ours, tools=[])
    assert other.read_text(encoding="utf-8") == "my notes\n"


@pytest.mark.promise("redacted-cassettes")
@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
def test_a_secret_is_nowhere_in_the_file(tmp_path: Path, secret: str) -> None:
    path = tmp_path / "secret.yaml"
    recorder = Recorder(path, tools=[READ], secrets=["correct-horse"])
    recorder.add(
        ToolCall("read", {"note": f"use {secret} please", "deep": [{"x": secret}]}),
        Observation(
            text=f"done with {secret} and correct-horse",
            structured={"password": "plain-word", "url": "https://bob:hunter2@host/x"},
            content=({"type": "text", "text": f"Authorization: Bearer {'z' * 30}"},),
        ),
    )
    text = path.read_text(encoding="utf-8")
    for hidden in (*secret.split("\n"), "correct-horse", "plain-word", "hunter2", "z" * 30):
        assert json.dumps(hidden)[1:-1] not in text
    assert text.count("[redacted:") >= 7


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("password", "password"),
        ("X-Api-Key", "key"),
        ("aws_secret_access_key", "secret"),
        ("accessToken", "token"),
        ("GITHUB_TOKEN", "token"),
        ("credentials", "secret"),
        ("next_page_token", None),
        ("nextPageToken", None),
        ("max_tokens", None),
        ("token_count", None),
        ("has_password", None),
        ("primaryKey", None),
        ("secretary", None),
    ],
)
def test_secrets_are_known_by_the_names_of_their_keys(name: str, kind: str | None) -> None:
    assert secret_kind(name) == kind


@pytest.mark.parametrize("name", ["PWD", "OLDPWD"])
def test_the_directories_of_a_shell_are_no_passwords(name: str) -> None:
    redaction = Redaction()
    assert redaction.value({name: "/srv/app"}) == {name: "/srv/app"}
    assert redaction.text(f"{name}=/srv/app\n") == f"{name}=/srv/app\n"
    assert redaction.text(f"Server=db;{name}=hunter2;") == f"Server=db;{name}=[redacted:password];"
    assert redaction.value({name: "hunter2"}) == {name: "[redacted:password]"}
    assert secret_kind(name) == "password"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text("abc :=/\"'\\[]", max_size=30),
        lambda inner: (
            st.lists(inner) | st.dictionaries(st.sampled_from(["a", "token", "b"]), inner)
        ),
        max_leaves=10,
    )
)
def test_what_is_redacted_stays_as_it_is_when_redacted_again(value: Any) -> None:
    once = Redaction().value(value)
    again = Redaction()
    assert again.value(once) == once


async def test_calls_are_answered_as_recorded_in_whatever_order(tmp_path: Path) -> None:
    cassette = recorded(
        tmp_path, ("read", {"n": 1}, "one"), ("read", {"n": 2}, "two"), ("read", {"n": 1}, "three")
    )
    world = await world_of(cassette)
    assert [await said(world, "read", {"n": n}) for n in (2, 1, 1)] == ["two", "one", "three"]
    turns = await world.trajectory()
    assert {turn.observation.provenance for turn in turns} == {"replayed"}


async def test_a_fork_goes_on_counting_from_where_it_began(tmp_path: Path) -> None:
    cassette = recorded(tmp_path, ("read", {}, "first"), ("read", {}, "second"))
    world = await world_of(cassette)
    assert await said(world, "read", {}) == "first"
    fork = await world.fork()
    assert [await said(world, "read", {}), await said(fork, "read", {})] == ["second", "second"]


async def test_a_near_miss_names_the_nearest_call_and_what_differs(tmp_path: Path) -> None:
    cassette = recorded(
        tmp_path, ("read", {"path": "/a", "lines": 3}, "x"), ("send", {"to": "you"}, "ok")
    )
    world = await world_of(cassette)
    with pytest.raises(CassetteMiss) as missed:
        await said(world, "read", {"path": "/b", "lines": 3, "token": "let-me-in"})
    message = str(missed.value)
    assert 'path: recorded "/a", now "/b"' in message
    assert "token: not recorded" in message
    assert "let-me-in" not in message
    assert isinstance(missed.value, WorldFailure)
    assert world.ref == world.root


async def test_what_was_never_recorded_or_not_so_often_is_a_miss(tmp_path: Path) -> None:
    world = await world_of(recorded(tmp_path, ("read", {}, "once")))
    await said(world, "read", {})
    with pytest.raises(CassetteMiss, match="recorded for time 1, now time 2"):
        await said(world, "read", {})
    with pytest.raises(CassetteMiss, match=r"Recorded were calls of: read\."):
        await said(world, "send", {})


async def test_volatile_fields_make_no_difference(tmp_path: Path) -> None:
    cassette = recorded(
        tmp_path, ("read", {"id": 1, "meta": {"at": "10:00"}}, "x"), volatile=("read.meta.at",)
    )
    world = await world_of(cassette)
    assert await said(world, "read", {"id": 1, "meta": {"at": "11:30"}}) == "x"
    other = await world_of(cassette, volatile=("*.id",))
    assert await said(other, "read", {"id": 2, "meta": {}}) == "x"


async def test_what_was_redacted_matches_any_secret(tmp_path: Path) -> None:
    cassette = recorded(
        tmp_path, ("send", {"password": "one", "header": "Bearer abcdefgh123"}, "sent")
    )
    world = await world_of(cassette)
    asked = {"password": "quite another", "header": "Bearer zyxwvuts987"}
    assert await said(world, "send", asked) == "sent"
