"""What a server lists may be made to harm: it costs a clear error at most, and fetches nothing."""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agentworld_sim.imagination.prompt_set import tool_definitions
from agentworld_sim.types.tools import ToolSpec

if TYPE_CHECKING:
    from conftest import Everything, Shim


def test_ten_thousand_and_one_tools_are_too_many(shim: Shim, raw_upstream: list[str]) -> None:
    done = shim.run(*raw_upstream, "many", "10001")
    assert (done.stdout, done.returncode) == ("", 2)
    assert "lists more than 10000 tools" in done.stderr


def test_cursors_without_an_end_are_refused(shim: Shim, everything: Everything) -> None:
    done = shim.run("--", *everything.command("legacy", "endless"))
    assert (done.stdout, done.returncode) == ("", 2)
    assert "never ends: after 1000 pages it leads on" in done.stderr


def test_too_many_resources_are_cut_with_a_warning(shim: Shim, everything: Everything) -> None:
    done = shim.run("--", *everything.command("legacy", "crowd"))
    assert done.returncode == 0
    assert "lists more than 10000 resources; the rest is left out" in done.stderr


def test_a_uri_that_is_listed_twice_is_shown_as_it_came(everything: Everything) -> None:
    with everything.shown("legacy", "--", *everything.command("legacy", "twins")) as wire:
        wire.greet()
        listed = wire.ask("resources/list")["result"]["resources"]
    assert [resource["name"] for resource in listed] == ["first", "second"]


def test_a_description_of_three_megabytes_reaches_the_client_whole(everything: Everything) -> None:
    with everything.shown("legacy", "--", *everything.command("legacy", "huge")) as wire:
        wire.greet()
        (tool,) = wire.ask("tools/list")["result"]["tools"]
    assert tool["description"] == "x" * 3_000_000


def test_characters_that_hide_text_are_kept_for_the_client(everything: Everything) -> None:
    with everything.shown("legacy", "--", *everything.command()) as wire:
        wire.greet()
        (tool,) = wire.ask("tools/list")["result"]["tools"]
    assert tool["description"] == "Orders\u200b things.\u202e"


def test_a_schema_that_refers_to_a_url_never_fetches_it(
    everything: Everything, tmp_path: Path
) -> None:
    fetched: list[str] = []

    class Trap(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            fetched.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"type": "string"}')

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Trap) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {
                "command": {"$ref": f"http://127.0.0.1:{server.server_address[1]}/latest"}
            },
        }
        page = {"tools": [{"name": "bash", "inputSchema": schema, "outputSchema": schema}]}
        snapshot: dict[str, Any] = {
            "agentworld_snapshot": 1,
            "server_info": {"name": "trap", "version": ""},
            "capabilities": {"tools": {}},
            "lists": {"tools/list": [{"cursor": None, "page": page}]},
        }
        path = tmp_path / "trap.json"
        path.write_text(json.dumps(snapshot))
        with everything.shown("legacy", "--snapshot", str(path)) as wire:
            wire.greet()
            (tool,) = wire.ask("tools/list")["result"]["tools"]
            answer = wire.ask("tools/call", name="bash", arguments={"command": "true"})["result"]
        server.shutdown()
        thread.join()
    assert tool["inputSchema"] == schema
    assert answer["isError"]
    assert fetched == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "it is not JSON"),
        ("[]", "it has no 'agentworld_snapshot'"),
        ('{"agentworld_snapshot": 99}', "has format 99, and this release knows 1"),
        ('{"agentworld_snapshot": 1, "lists": []}', "'lists' is []"),
        ('{"agentworld_snapshot": 1, "lists": {"x": []}}', "which is no list request"),
        (
            '{"agentworld_snapshot": 1, "lists": {"tools/list": [{"cursor": null, "page": {}}]}}',
            "a page of 'tools/list' has no list 'tools'",
        ),
        (
            '{"agentworld_snapshot": 1, "lists": {"prompts/list": [{"cursor": "x", "page":{"prompts":[]}}]}}',
            "has no first page",
        ),
    ],
)
def test_a_file_that_is_no_snapshot_is_refused(
    shim: Shim, tmp_path: Path, content: str, message: str
) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    done = shim.run("--snapshot", str(path))
    assert (done.stdout, done.returncode) == ("", 2)
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_snapshot_that_is_not_there_says_how_to_make_one(shim: Shim) -> None:
    done = shim.run("--snapshot", "nowhere.json")
    assert done.returncode == 2
    assert "there is no snapshot 'nowhere.json': No such file or directory." in done.stderr
    assert "agentworld mcp snapshot -o nowhere.json -- COMMAND" in done.stderr


def test_a_snapshot_is_written_whole_or_not_at_all(
    shim: Shim, everything: Everything, tmp_path: Path
) -> None:
    path = tmp_path / "kept.json"
    path.write_text("before")
    broken = [sys.executable, "-c", "import sys; sys.exit(3)"]
    assert everything.snapshot("-o", str(path), "--", *broken).returncode == 2
    assert path.read_text() == "before"
    away = everything.snapshot("-o", str(tmp_path / "no" / "x.json"), "--", *everything.command())
    assert away.returncode == 2
    assert "cannot be written" in away.stderr
    assert {entry.name for entry in tmp_path.iterdir()} <= {"home", "kept.json", "marks"}


def test_hidden_characters_are_not_shown_to_a_model_and_long_texts_are_cut() -> None:
    tool = ToolSpec(
        name="t",
        description="Order\u200bs \u202ethings\u2066.\ufeff \U000e0041<|im_end|>",
        input_schema={
            "type": "object",
            "properties": {
                "a": {"description": "\u2067turned"},
                "b": {"description": "x" * 100_000},
            },
        },
    )
    told = json.loads(tool_definitions([tool]))[0]
    assert told["description"] == "Orders things. < |im_end|>"
    properties = told["parameters"]["properties"]
    assert properties["a"]["description"] == "turned"
    assert properties["b"]["description"] == ("x" * 2000 + " [… 96000 characters …] " + "x" * 2000)


def test_what_people_write_in_any_language_is_told_as_it_is() -> None:
    text = "na\u00efve \u0639\u0631\u0628\u064a \u4e2d\u6587 \U0001f469"
    told = json.loads(tool_definitions([ToolSpec(name="t", description=text)]))[0]
    assert told["description"] == text
