"""A real file of each client, wrapped and unwrapped."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from agentworld_mcp_shim._targets import targets_of
from agentworld_mcp_shim.wrapping import CLIENTS, WrapChoice, unwrap_text, wrap_text
from agentworld_mcp_shim.wrapping._config_rewrite import BOM
from agentworld_mcp_shim.wrapping._config_text import read_config

DATA = Path(__file__).parents[2] / "data" / "clients"
PYTHON = "/opt/agentworld/bin/python"
CHOICE = WrapChoice(interpreter=PYTHON, world="lab")
START = ["-E", "-P", "-m", "agentworld_mcp_shim"]
FILES = {
    "claude_desktop/claude_desktop_config.json": "claude-desktop",
    "claude_code/project/.mcp.json": "claude-code",
    "claude_code/home/.claude.json": "claude-code",
    "cursor/.cursor/mcp.json": "cursor",
    "gemini/.gemini/settings.json": "gemini",
    "qwen/.qwen/settings.json": "qwen",
    "windsurf/mcp_config.json": "windsurf",
    "vscode/.vscode/mcp.json": "vscode",
    "vscode/User/settings.json": "vscode",
    "opencode/opencode.json": "opencode",
    "zed/.zed/settings.json": "zed",
    "codex/.codex/config.toml": "codex",
    "goose/goose/config.yaml": "goose",
}
each_file = pytest.mark.parametrize("name", FILES)


def text_of(name: str) -> str:
    """A file's text with its own line endings."""
    return (DATA / name).read_bytes().decode()


def wrapped(name: str, choice: WrapChoice = CHOICE) -> str:
    """A file's text after wrapping."""
    return wrap_text(text_of(name), DATA / name, choice).text


def value_of(name: str, text: str) -> Any:
    """What a parser that is not ours reads; of JSON with comments, what ours does."""
    if name.endswith(".toml"):
        return tomllib.loads(text)
    if name.endswith(".yaml"):
        return yaml.safe_load(text)
    try:
        return json.loads(text.removeprefix(BOM))
    except json.JSONDecodeError:
        return read_config(text.removeprefix(BOM), "jsonc").value


def entry(name: str, *path: str, env: str = "env") -> dict[str, Any]:
    """An entry in the wrapped file, without the source that it keeps."""
    value = value_of(name, wrapped(name))
    for key in path:
        value = value[key]
    assert value[env].pop("AGENTWORLD_WRAPPED") in text_of(name)
    return cast("dict[str, Any]", value)


def test_every_sample_file_is_tested() -> None:
    found = {path.relative_to(DATA).as_posix() for path in DATA.rglob("*") if path.is_file()}
    assert found == set(FILES)
    assert {*FILES.values()} == {client.name for client in CLIENTS}


@each_file
def test_the_client_is_found_out(name: str) -> None:
    assert wrap_text(text_of(name), DATA / name, CHOICE).client.name == FILES[name]


@each_file
def test_unwrapping_gives_back_every_byte(name: str) -> None:
    assert unwrap_text(wrapped(name), DATA / name).text == text_of(name)


@each_file
def test_wrapping_twice_is_wrapping_once(name: str) -> None:
    once = wrapped(name)
    assert once != text_of(name)
    assert wrapped(name, WrapChoice(interpreter="/other/python", world="other")) != once
    again = wrap_text(once, DATA / name, WrapChoice(interpreter="/other/python", world="other"))
    assert again.text == once
    assert {one.fate for one in again.outcomes} <= {"already", "left"}


@each_file
def test_unwrapping_an_original_changes_nothing(name: str) -> None:
    assert unwrap_text(text_of(name), DATA / name).text == text_of(name)


@each_file
def test_nothing_but_the_servers_changes(name: str) -> None:
    """And no comment is lost, nor a line ending."""
    servers = {o.server for o in wrap_text(text_of(name), DATA / name, CHOICE).outcomes}
    old, new = value_of(name, text_of(name)), value_of(name, wrapped(name))

    def without(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        held = cast("dict[str, Any]", value)
        return {k: without(v) for k, v in held.items() if k not in servers}

    assert without(old) == without(new)
    assert list(new) == list(old)
    comments = re.findall(r"// .*|# .*|/\*.*?\*/", text_of(name))
    assert [comment for comment in comments if comment not in wrapped(name)] == []
    assert ("\r\n" in text_of(name)) == ("\r\n" in wrapped(name))
    assert wrapped(name).count("\r\n") in (0, wrapped(name).count("\n"))


@each_file
def test_names_placeholders_and_unknown_keys_are_kept(name: str) -> None:
    text = wrapped(name)
    for word in ("${", "timeout", "disabledTools", "envFile", "trust", "cwd", "dev", "env_keys"):
        assert text.count(word) >= text_of(name).count(word), word


@each_file
def test_every_wrapped_entry_starts_the_shim_with_its_world(name: str) -> None:
    outcomes = [
        o for o in wrap_text(text_of(name), DATA / name, CHOICE).outcomes if o.fate == "wrapped"
    ]
    assert outcomes
    for one in outcomes:
        assert one.command[:5] == (PYTHON, *START)
        assert {"AGENTWORLD_WORLD", "AGENTWORLD_WRAPPED"} <= set(one.variables)


def test_a_command_goes_behind_the_shim_with_its_arguments_and_environment() -> None:
    assert entry("claude_desktop/claude_desktop_config.json", "mcpServers", "git") == {
        "command": PYTHON,
        "args": [*START, "--", "uvx", "mcp-server-git", "--repository", "/home/ada/notes"],
        "env": {
            "AGENTWORLD_WORLD": "lab",
            "AGENTWORLD_SERVER": "git",
            "GIT_AUTHOR_NAME": "Ada É",
            "GIT_TOKEN": "ghp_0123456789abcdefghijklmnopqrstuvwxyz",
        },
    }


def test_an_http_server_becomes_a_command_whose_headers_are_variables() -> None:
    assert entry("vscode/.vscode/mcp.json", "servers", "github") == {
        "type": "stdio",
        "command": PYTHON,
        "args": START,
        "env": {
            "AGENTWORLD_UPSTREAM_URL": "https://api.githubcopilot.com/mcp/",
            "AGENTWORLD_WORLD": "lab",
            "AGENTWORLD_SERVER": "github",
            "AGENTWORLD_UPSTREAM_HEADERS": '{"Authorization": "Bearer ${input:perplexity-key}"}',
        },
    }


def test_a_url_is_not_among_the_arguments() -> None:
    for name, server in (
        ("windsurf/mcp_config.json", "remote"),
        ("cursor/.cursor/mcp.json", "search"),
        ("claude_code/project/.mcp.json", "tickets"),
    ):
        found = entry(name, "mcpServers", server)
        assert found["args"] == START
        assert found["env"]["AGENTWORLD_UPSTREAM_URL"] in text_of(name)


def test_a_token_that_codex_takes_from_a_variable_is_forwarded_to_the_shim() -> None:
    assert entry("codex/.codex/config.toml", "mcp_servers", "github") == {
        "command": PYTHON,
        "args": START,
        "env": {
            "AGENTWORLD_UPSTREAM_URL": "https://api.githubcopilot.com/mcp/",
            "AGENTWORLD_UPSTREAM_HEADERS": '{"Authorization": "Bearer ${GITHUB_PAT}"}',
            "AGENTWORLD_WORLD": "lab",
            "AGENTWORLD_SERVER": "github",
        },
        "env_vars": ["GITHUB_PAT"],
        "tool_timeout_sec": 45.0,
    }


def test_goose_keeps_its_own_headers_where_an_environment_is_there_already() -> None:
    found = entry("goose/goose/config.yaml", "extensions", "tickets", env="envs")
    assert found["type"] == "stdio"
    assert found["args"] == START
    assert found["envs"]["AGENTWORLD_UPSTREAM_URL"] == "https://tickets.example.com/mcp"
    headers = found["envs"]["AGENTWORLD_UPSTREAM_HEADERS"]
    assert headers == '{"Authorization": "Bearer ${TICKETS_TOKEN}"}'


def test_an_entry_that_is_switched_off_stays_so() -> None:
    assert entry("codex/.codex/config.toml", "mcp_servers", "my clock")["enabled"] is False
    assert entry("windsurf/mcp_config.json", "mcpServers", "remote")["disabled"] is True
    assert entry("goose/goose/config.yaml", "extensions", "clock", env="envs")["enabled"] is False


def test_what_cannot_be_wrapped_is_left_alone_with_the_reason() -> None:
    def left(name: str) -> list[tuple[str, str]]:
        outcomes = wrap_text(text_of(name), DATA / name, CHOICE).outcomes
        return [(one.server, one.reason) for one in outcomes if one.fate == "left"]

    ((server, reason),) = left("claude_code/project/.mcp.json")
    assert (server, "SSE" in reason, "streamable HTTP" in reason) == ("events", True, True)
    assert left("goose/goose/config.yaml") == [
        ("developer", "it is of type 'builtin', which Goose runs within itself")
    ]
    assert left("gemini/.gemini/settings.json")[0][0] == "events"


def test_a_list_of_servers_shares_a_world_that_another_file_does_not() -> None:
    def found(name: str, path: str, choice: WrapChoice) -> list[str]:
        text = wrap_text(text_of(name), Path(path), choice).text
        values = value_of(name, text)["mcpServers"].values()
        return [v["env"]["AGENTWORLD_WORLD"] for v in values if "env" in v]

    name, shared = "claude_desktop/claude_desktop_config.json", WrapChoice(interpreter=PYTHON)
    first = found(name, "/home/ada/shop/.mcp.json", shared)
    assert len(set(first)) == 1 and first[0].startswith("shop-")
    assert set(first).isdisjoint(found(name, "/home/bob/shop/.mcp.json", shared))


def test_only_the_servers_that_were_named_are_wrapped() -> None:
    name = "claude_desktop/claude_desktop_config.json"
    text = wrap_text(text_of(name), DATA / name, CHOICE, servers=["git"]).text
    servers = value_of(name, text)["mcpServers"]
    assert [s for s, v in servers.items() if v["command"] == PYTHON] == ["git"]
    assert unwrap_text(text, DATA / name, servers=["git"]).text == text_of(name)


def test_later_edits_elsewhere_survive_unwrapping() -> None:
    name = "vscode/.vscode/mcp.json"
    edit = ('"password": true', '"password": false')
    back = unwrap_text(wrapped(name).replace(*edit), DATA / name).text
    assert back == text_of(name).replace(*edit)


def test_opencode_has_a_command_with_its_arguments_and_an_environment() -> None:
    assert entry("opencode/opencode.json", "mcp", "files", env="environment") == {
        "type": "local",
        "command": [
            *(PYTHON, *START, "--", "npx", "-y"),
            *("@modelcontextprotocol/server-filesystem", "."),
        ],
        "environment": {
            "AGENTWORLD_WORLD": "lab",
            "AGENTWORLD_SERVER": "files",
            "API_KEY": "{env:FILES_KEY}",
        },
        "timeout": 10000,
    }
    tickets = entry("opencode/opencode.json", "mcp", "tickets", env="environment")
    assert tickets["type"] == "local"
    assert tickets["enabled"] is False
    headers = tickets["environment"]["AGENTWORLD_UPSTREAM_HEADERS"]
    assert headers == '{"Authorization": "Bearer {env:TICKETS_TOKEN}"}'


def test_a_file_with_another_name_is_told_by_its_keys() -> None:
    def client(text: str) -> str:
        return wrap_text(text, Path("/x/file.json"), CHOICE).client.name

    assert client('{"mcpServers": {"a": {"command": "x"}}}') == "claude-code"
    assert client('{"mcpServers": {"a": {"httpUrl": "http://x/mcp"}}}') == "gemini"
    assert client('{"mcpServers": {"a": {"serverUrl": "http://x/mcp"}}}') == "windsurf"
    assert client('{"mcp": {"servers": {"a": {"command": "x"}}}}') == "vscode"
    assert client('{"mcp": {"a": {"type": "local", "command": ["x"]}}}') == "opencode"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[mcp_servers.a.env]\nX = '1'\n", "it has no table of its own"),
        ("mcp_servers.a.command = 'x'\n", "it has no table of its own"),
        (
            "[mcp_servers.a]\ncommand = 'x'\n[tui]\n[mcp_servers.a.env]\nX = '1'\n",
            "other tables stand between its parts",
        ),
        ("[[mcp_servers.a]]\ncommand = 'x'\n", "it has no table of its own"),
        ("mcp_servers = { a = { command = 'x' }, b = 1 }\n", "it is no map of keys"),
    ],
)
def test_tables_of_toml_that_do_not_stand_together_are_left(text: str, reason: str) -> None:
    rewritten = wrap_text(text, Path("/x/config.toml"), CHOICE)
    assert any(reason in one.reason for one in rewritten.outcomes)
    assert unwrap_text(rewritten.text, Path("/x/config.toml")).text == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            '{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}',
            "stands twice in the file",
        ),
        ('{"mcpServers": {"a": {"command": "x", "command": "y"}}}', "a key stands twice in it"),
    ],
)
def test_entries_with_the_same_key_twice_are_left(text: str, reason: str) -> None:
    rewritten = wrap_text(text, Path("/x/.mcp.json"), CHOICE)
    assert rewritten.text == text
    assert reason in rewritten.outcomes[0].reason


def test_entries_that_yaml_aliases_share_are_left() -> None:
    text = "extensions:\n  a: &a {cmd: x}\n  b: *a\n  c:\n    cmd: y\n"
    rewritten = wrap_text(text, Path("/x/config.yaml"), CHOICE)
    reasons = [one.reason for one in rewritten.outcomes]
    assert reasons == [*["YAML aliases share parts of it; write them out"] * 2, ""]


def test_the_servers_of_any_client_can_be_mirrored_together() -> None:
    targets = targets_of(
        servers=DATA / "codex/.codex/config.toml", environ={"GITHUB_PAT": "s3cret"}
    )
    assert [target.name for target in targets] == [
        "context7",
        "my-clock",
        "files",
        "github",
        "figma",
    ]
    by_name = {target.name: target for target in targets}
    assert by_name["files"].command == ("npx",)
    assert by_name["files"].env == {"ROOT": "/srv"}
    assert by_name["github"].headers == {"Authorization": "Bearer s3cret"}
    assert by_name["figma"].headers == {"X-Figma-Region": "us-east-1"}
