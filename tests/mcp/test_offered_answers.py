"""What is read, completed and subscribed to is answered without the upstream, or refused clearly."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import Everything, Shim, Wire

ERAS = pytest.mark.parametrize("era", ["legacy", "modern"])
NOT_FOUND = {"legacy": -32002, "modern": -32602}
TEXT = "One line.\nAnother, with \u00fcmlauts.\n"


@pytest.fixture
def snapshot(everything: Everything, shim: Shim, tmp_path: Path) -> str:
    """A snapshot with contents; whatever happened while it was made is forgotten."""
    path = tmp_path / "everything.json"
    done = everything.snapshot("-o", str(path), "--", *everything.command())
    assert done.returncode == 0, done.stderr
    for mark in shim.marks.iterdir():
        mark.unlink()
    return str(path)


def read(wire: Wire, uri: str) -> dict[str, Any]:
    """The one content of a resource."""
    result = wire.ask("resources/read", uri=uri)["result"]
    (content,) = result["contents"]
    if wire.era == "modern":
        assert (result["ttlMs"], result["cacheScope"]) == (0, "private")
    return content


@ERAS
def test_contents_of_the_snapshot_are_read_from_it(
    everything: Everything, shim: Shim, snapshot: str, era: str
) -> None:
    with everything.shown(era, "--snapshot", snapshot) as wire:
        wire.greet()
        text, blob = read(wire, "memo://one"), read(wire, "memo://bytes")
    assert text == {
        "uri": "memo://one",
        "mimeType": "text/plain",
        "_meta": {"z": 1},
        "text": TEXT,
    }
    assert base64.b64decode(blob["blob"]) == bytes(range(256))
    assert list(shim.marks.iterdir()) == []


@ERAS
def test_a_file_of_the_world_is_read_as_the_resource_that_it_is(
    everything: Everything, snapshot: str, era: str
) -> None:
    with everything.shown(era, "--snapshot", snapshot) as wire:
        wire.greet()
        wire.ask("tools/call", name="bash", arguments={"command": "true"})
        listed = read(wire, "file:///srv/app/note.txt")
        unlisted = read(wire, "/srv/app/note.txt")
    assert listed == {
        "uri": "file:///srv/app/note.txt",
        "mimeType": "text/markdown",
        "text": "remember the milk\n",
    }
    assert unlisted == {"uri": "/srv/app/note.txt", "text": "remember the milk\n"}


def test_a_file_that_is_no_text_is_read_as_a_blob(
    everything: Everything, tmp_path: Path, snapshot: str
) -> None:
    scenario = tmp_path / "scenario.yaml"
    blob = base64.b64encode(b"\0\xff").decode()
    scenario.write_text(
        f"name: bytes\ndomains: [terminal]\nfiles:\n  /srv/b:\n    base64: {blob}\n"
    )
    with everything.shown("legacy", "--scenario", str(scenario), "--snapshot", snapshot) as wire:
        wire.greet()
        assert read(wire, "file:///srv/b") == {"uri": "file:///srv/b", "blob": blob}


@ERAS
def test_a_resource_that_nobody_knows_is_not_found_in_the_code_of_the_era(
    everything: Everything, era: str
) -> None:
    with everything.shown(era, "--", *everything.command(era)) as wire:
        wire.greet()
        listed = wire.ask("resources/read", uri="memo://one")["error"]
        unlisted = wire.ask("resources/read", uri="file:///nowhere")["error"]
    assert listed == {
        "code": NOT_FOUND[era],
        "message": "Resource not found: memo://one is listed, but its content is not known. A snapshot"
        " with contents (`agentworld mcp snapshot`) keeps it, and `--access resources/read=real` asks the"
        " server itself.",
        "data": {"uri": "memo://one"},
    }
    assert unlisted == {
        "code": NOT_FOUND[era],
        "message": "Resource not found: file:///nowhere",
        "data": {"uri": "file:///nowhere"},
    }


@ERAS
def test_prompts_come_from_the_snapshot_or_not_at_all(
    everything: Everything, snapshot: str, era: str
) -> None:
    with everything.shown(era, "--snapshot", snapshot) as wire:
        wire.greet()
        greeting = wire.ask("prompts/get", name="greet")["result"]
        styled = wire.ask("prompts/get", name="greet", arguments={"style": "loud"})["error"]
        missing = wire.ask("prompts/get", name="review")["error"]
        unknown = wire.ask("prompts/get", name="gret")["error"]
    assert greeting["messages"] == [
        {"role": "user", "content": {"type": "text", "text": "Hello, you!"}}
    ]
    assert styled["code"] == -32603
    assert "what the prompt 'greet' says with these arguments is not known" in styled["message"]
    assert "--access prompts/get=real" in styled["message"]
    assert missing == {"code": -32602, "message": "Missing required arguments: size"}
    assert unknown == {"code": -32602, "message": "Unknown prompt: gret. Did you mean 'greet'?"}


@ERAS
def test_completions_are_values_that_are_known_or_none(
    everything: Everything, snapshot: str, era: str
) -> None:
    def complete(wire: Wire, ref: dict[str, str], name: str, value: str) -> dict[str, Any]:
        argument = {"name": name, "value": value}
        return wire.ask("completion/complete", ref=ref, argument=argument)["result"]["completion"]

    prompt = {"type": "ref/prompt", "name": "review"}
    memo = {"type": "ref/resource", "uri": "memo://{name}"}
    with everything.shown(era, "--snapshot", snapshot) as wire:
        wire.greet()
        sizes = complete(wire, prompt, "size", "")
        middle = complete(wire, prompt, "size", "mid")
        memos = complete(wire, memo, "name", "b")
        nothing = complete(wire, prompt, "style", "")
    assert sizes == {"values": ["small", "middle", "large"], "total": 3, "hasMore": False}
    assert middle["values"] == ["middle"]
    assert memos["values"] == ["bytes", "broken"]
    assert nothing == {"values": [], "total": 0, "hasMore": False}


def test_log_levels_and_subscriptions_are_accepted(everything: Everything, snapshot: str) -> None:
    with everything.shown("legacy", "--snapshot", snapshot) as wire:
        wire.greet()
        assert wire.ask("logging/setLevel", level="debug") == {"result": {}}
        assert wire.ask("resources/subscribe", uri="memo://one") == {"result": {}}
        assert wire.ask("resources/unsubscribe", uri="memo://one") == {"result": {}}


def test_the_newest_era_may_wait_for_changes(everything: Everything, snapshot: str) -> None:
    with everything.shown("modern", "--snapshot", snapshot) as wire:
        wire.greet()
        wire.send("subscriptions/listen", notifications={"toolsListChanged": True})
        assert wire.receive()["method"] == "notifications/subscriptions/acknowledged"
        assert len(wire.pages("tools/list")) == 2


@ERAS
def test_a_method_that_access_rules_refuse_is_refused(
    everything: Everything, snapshot: str, era: str
) -> None:
    with everything.shown(era, "--access", "resources/read=refuse", "--snapshot", snapshot) as wire:
        wire.greet()
        refused = wire.ask("resources/read", uri="memo://one")["error"]
    assert refused["message"] == "resources/read is refused: the access rules say so."


def test_a_snapshot_without_contents_has_none(everything: Everything, shim: Shim) -> None:
    done = everything.snapshot("--no-contents", "--", *everything.command())
    written = json.loads(done.stdout)
    assert (written["contents"], written["prompts"]) == ({}, {})
    assert "asked-resources-read" not in {path.name for path in shim.marks.iterdir()}


def test_secrets_do_not_get_into_a_snapshot(everything: Everything) -> None:
    done = everything.snapshot(
        "--", *everything.command(), EVERYTHING_PASSWORD="correct horse battery"
    )
    assert done.returncode == 0
    assert "correct horse" not in done.stdout + done.stderr
    text = json.loads(done.stdout)["contents"]["memo://one"]["contents"][0]["text"]
    assert text.startswith(TEXT)


def test_two_snapshots_of_one_server_are_the_same_text(everything: Everything) -> None:
    first, second = (everything.snapshot("--", *everything.command()).stdout for _ in range(2))
    assert first == second


def test_contents_that_are_too_large_or_not_to_be_had_are_left_out_and_told(
    everything: Everything,
) -> None:
    done = everything.snapshot("--", *everything.command())
    assert set(json.loads(done.stdout)["contents"]) == {"memo://one", "memo://bytes"}
    assert "memo://huge has 1048577 bytes; it is left out" in done.stderr
    assert "memo://broken cannot be had, and is left out: Resource not found" in done.stderr
