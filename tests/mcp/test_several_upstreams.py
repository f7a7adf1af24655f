"""Several upstreams in one shim keep their names, their tools and their secrets apart."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agentworld_mcp_shim._listing import Listing
from agentworld_mcp_shim._mirror import MergedMirror, Mirror
from agentworld_mcp_shim._targets import targets_of
from agentworld_sim import UsageError

if TYPE_CHECKING:
    from conftest import Everything, Shim

ERAS = pytest.mark.parametrize("era", ["legacy", "modern"])
DATA = Path(__file__).parents[1] / "data"
RAW = shlex.join([sys.executable, str(DATA / "mcp_raw_upstream.py"), "one"])


def names(pages: list[dict[str, Any]], key: str, name: str = "name") -> list[list[str]]:
    """What each page lists."""
    return [[item[name] for item in page["result"][key]] for page in pages]


@ERAS
def test_tools_and_prompts_are_shown_behind_the_names_of_their_upstreams(
    everything: Everything, era: str
) -> None:
    full = shlex.join(everything.command(era))
    with everything.shown(era, "--upstream", f"shop={full}", "--upstream", f"box={RAW}") as wire:
        greeting = wire.greet()["result"]
        tools, prompts = wire.pages("tools/list"), wire.pages("prompts/list")
        resources = wire.pages("resources/list")
        wire.ask("tools/call", name="box__bash", arguments={"command": "echo one > /srv/app/new"})
        read = wire.ask("tools/call", name="box__bash", arguments={"command": "cat /srv/app/new"})[
            "result"
        ]
        unknown = wire.ask("tools/call", name="bash", arguments={})
    assert names(tools, "tools") == [["shop__place_order", "shop__bash", "box__bash"]]
    assert names(prompts, "prompts") == [["shop__greet", "shop__review"]]
    assert names(resources, "resources", "uri")[0][:2] == ["memo://one", "memo://bytes"]
    assert greeting["instructions"] == "shop: Look around first."
    assert greeting["capabilities"]["tools"] == {"listChanged": True}
    assert read["content"][0]["text"] == "one\n"
    assert "error" in unknown or unknown["result"]["isError"]


def test_a_snapshot_and_a_live_server_stand_beside_each_other(
    everything: Everything, shim: Shim, tmp_path: Path
) -> None:
    path = tmp_path / "shop.json"
    everything.snapshot("-o", str(path), "--", *everything.command())
    for mark in shim.marks.iterdir():
        mark.unlink()
    with everything.shown(
        "legacy", "--snapshot", f"shop={path}", "--upstream", f"box={RAW}"
    ) as wire:
        wire.greet()
        prompt = wire.ask("prompts/get", name="shop__greet")["result"]
        content = wire.ask("resources/read", uri="memo://bytes")["result"]
    assert prompt["messages"][0]["content"]["text"] == "Hello, you!"
    assert content["contents"][0]["uri"] == "memo://bytes"
    assert list(shim.marks.iterdir()) == []


def test_a_clients_file_names_the_servers_and_their_placeholders_are_filled(
    everything: Everything, shim: Shim, tmp_path: Path
) -> None:
    file = tmp_path / ".mcp.json"
    command, *arguments = everything.command()
    with everything.over_http("legacy", EXPECTED_AUTHORIZATION="Bearer s3cret-token") as url:
        shim.environment |= {
            "AGENTWORLD_API_KEY": "ours-alone",
            "SHOP_TOKEN": "s3cret-token",
            "WHERE": str(shim.marks),
        }
        file.write_text(
            "// Written by hand.\n"
            + json.dumps(
                {
                    "mcpServers": {
                        "my shop": {
                            "type": "http",
                            "url": url,
                            "headers": {"Authorization": "Bearer ${SHOP_TOKEN}"},
                        },
                        "box": {
                            "command": command,
                            "args": arguments,
                            "env": {"MARKS": "${env:WHERE}", "AGENTWORLD_MARK": "${NO:-yes}"},
                        },
                    }
                }
            )
        )
        with everything.shown("legacy", "--servers", str(file)) as wire:
            wire.greet()
            listed = names(wire.pages("tools/list"), "tools")
    assert listed == [
        ["my-shop__place_order", "my-shop__bash", "box__place_order", "box__bash"],
    ]
    marks = {path.name for path in shim.marks.iterdir()}
    assert "saw-AGENTWORLD_MARK" in marks
    assert "saw-AGENTWORLD_API_KEY" not in marks


def test_headers_of_the_environment_reach_the_upstream_and_no_message(
    everything: Everything, shim: Shim
) -> None:
    headers = json.dumps({"Authorization": "Bearer s3cret-token"})
    with everything.over_http("modern", EXPECTED_AUTHORIZATION="Bearer s3cret-token") as url:
        refused = shim.run("--", url)
        shim.environment["AGENTWORLD_UPSTREAM_HEADERS"] = headers
        with everything.shown("modern", "--", url) as wire:
            assert len(wire.pages("tools/list")) == 2
        shim.environment["AGENTWORLD_UPSTREAM_HEADERS"] = headers.replace("s3cret", "s4cret")
        wrong = shim.run("-v", "--", url)
    assert refused.returncode == wrong.returncode == 2
    assert "cret-token" not in refused.stderr + wrong.stderr


def test_an_upstream_that_fails_is_named(shim: Shim) -> None:
    silent = shlex.join([sys.executable, "-c", "import sys; sys.exit(3)"])
    for broken, words in ((silent, "exited with code 3"), ("no-such-server", "no command")):
        done = shim.run("--upstream", f"box={RAW}", "--upstream", f"shop={broken}")
        assert (done.stdout, done.returncode) == ("", 2)
        assert done.stderr.startswith("agentworld: upstream 'shop': ")
        assert words in done.stderr
        assert done.stderr.count("agentworld: ") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"upstreams": ["git"]}, "--upstream 'git' is not of the form NAME=COMMAND or NAME=URL"),
        ({"upstreams": ["a__b=x"]}, "--upstream 'a__b=x' is not of the form"),
        ({"upstreams": ["a=x 'y"]}, '--upstream "a=x \'y": No closing quotation in the command.'),
        ({"upstreams": ["a=x", "a=y"]}, "two upstreams are named 'a'"),
        (
            {"command": ["x", "y z"], "upstreams": ["a=x"]},
            "one upstream stands after `--`, and others are named",
        ),
        ({"upstreams": ["a=x", "b=y"], "snapshots": ["no.json"]}, "--snapshot NAME=no.json"),
        ({"snapshots": ["a=a.json", "a=b.json"]}, "two snapshots are given of the upstream 'a'"),
    ],
)
def test_upstreams_that_contradict_each_other_are_refused(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError) as raised:
        targets_of(**arguments, environ={})
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "line 1, column 2: expecting property name"),
        ("{}", "it has no MCP servers where a known client keeps them"),
        ('{"servers": {"a": {}}}', "the server 'a' has neither a 'command' nor a 'url'"),
        (
            '{"servers": {"a": {"command": "x", "args": "y"}}}',
            "the server 'a' cannot be used: its 'args' is not a list",
        ),
        ('{"servers": {"a": {"command": "${X}"}}}', "needs the environment variable 'X'"),
        ('{"servers": {"a": {"command": "${input:k}"}}}', "which only its client can fill"),
    ],
)
def test_a_clients_file_that_cannot_be_used_is_refused(
    tmp_path: Path, content: str, message: str
) -> None:
    file = tmp_path / "servers.json"
    file.write_text(content)
    with pytest.raises(UsageError) as raised:
        targets_of(servers=file, environ={})
    assert message in str(raised.value)


def test_headers_of_the_environment_are_not_given_to_two_servers() -> None:
    with pytest.raises(UsageError) as raised:
        targets_of(
            upstreams=["a=https://a.example/mcp", "b=https://b.example/mcp"],
            environ={"AGENTWORLD_UPSTREAM_HEADERS": '{"Authorization": "s3cret"}'},
        )
    assert "so that none is sent another's" in str(raised.value)
    assert "s3cret" not in str(raised.value)


def mirror(name: str, **lists: list[dict[str, Any]]) -> Mirror:
    methods = {"templates": "resources/templates/list"}
    keys = {"templates": "resourceTemplates"}
    return Mirror(
        Listing(
            identity={"name": name, "version": ""},
            capabilities={"resources": {}},
            lists={
                methods.get(kind, f"{kind}/list"): {None: {keys.get(kind, kind): items}}
                for kind, items in lists.items()
            },
        ),
        upstream=name,
    )


def test_of_two_resources_with_one_uri_the_first_is_shown_and_the_other_is_told() -> None:
    merged = MergedMirror(
        {
            "a": mirror("a", resources=[{"uri": "memo://x", "name": "of a"}]),
            "b": mirror("b", resources=[{"uri": "memo://x", "name": "of b"}, {"uri": "b://y"}]),
        }
    )
    shown = list(merged.listing.items("resources/list"))
    assert [item.get("name") for item in shown] == ["of a", None]
    assert merged.warnings == ["'a' and 'b' both offer 'memo://x': it is read from 'a'."]


def test_a_request_goes_to_the_upstream_that_it_belongs_to_under_its_own_names() -> None:
    merged = MergedMirror(
        {
            "a": mirror("a", resources=[{"uri": "memo://x"}], prompts=[{"name": "greet"}]),
            "b": mirror("b", templates=[{"uriTemplate": "b://{name}/z"}]),
        }
    )
    ref = {"type": "ref/prompt", "name": "a__greet"}
    assert merged.origin("resources/read", {"uri": "memo://x"}) == ("a", {"uri": "memo://x"})
    assert merged.origin("resources/read", {"uri": "b://q/z"}) == ("b", {"uri": "b://q/z"})
    assert merged.origin("resources/read", {"uri": "c://q"}) == ("", {"uri": "c://q"})
    assert merged.origin("prompts/get", {"name": "a__greet"}) == ("a", {"name": "greet"})
    assert merged.origin("completion/complete", {"ref": ref}) == (
        "a",
        {"ref": {"type": "ref/prompt", "name": "greet"}},
    )


def test_a_view_of_one_upstream_has_native_names_and_the_same_faults() -> None:
    tools = [{"name": "bash", "inputSchema": {"type": "object"}}]
    own = mirror("a", tools=tools)
    merged = MergedMirror({"a": own, "b": mirror("b", tools=tools)})
    assert list(own.tools) == ["bash"]
    assert list(merged.tools) == ["a__bash", "b__bash"]
    assert own.tools["bash"].world_name == merged.tools["a__bash"].world_name == "a__bash"
    merged.tools["a__bash"].problems.append("it is odd")
    assert own.tools["bash"].problem == "it is odd"
    assert merged.tools["b__bash"].problem is None
    assert merged.tools["b__bash"].upstream_name == "bash"
