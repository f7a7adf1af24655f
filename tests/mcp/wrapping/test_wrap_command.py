"""`agentworld mcp wrap` and `unwrap` as people run them, on files of their own."""

from __future__ import annotations

import functools
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentworld_mcp_shim._listing import Listing
from agentworld_mcp_shim._snapshot_file import save_snapshot
from agentworld_mcp_shim.wrapping._config_files import read_file, write_in_place
from agentworld_sim.errors import UsageError
from tests.mcp.command_runner import run_command

DATA = Path(__file__).parents[2] / "data" / "clients"
VSCODE = DATA / "vscode" / ".vscode" / "mcp.json"
DESKTOP = DATA / "claude_desktop" / "claude_desktop_config.json"
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `agentworld mcp …` in a folder and with a home of its own."""
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AGENTWORLD_HOME", str(tmp_path / "agentworld"))
    return functools.partial(run_command, "mcp")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A copy of VS Code's file, readable by its owner only."""
    path = tmp_path / "shop" / ".vscode" / "mcp.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(VSCODE.read_bytes())
    path.chmod(0o600)
    return path


@pytest.mark.promise("config-untouched")
def test_wrapping_prints_the_new_file_and_changes_nothing(run: Run, config: Path) -> None:
    done = run("wrap", config)
    assert done.returncode == 0
    assert config.read_bytes() == VSCODE.read_bytes()
    assert os.listdir(config.parent) == ["mcp.json"]
    assert '"${input:perplexity-key}"' in done.stdout
    assert done.stdout.count("agentworld_mcp_shim") == 3
    assert "only printed the new file" in done.stderr
    (config.parent / "wrapped.json").write_text(done.stdout)
    assert run("unwrap", "--client", "vscode", config.parent / "wrapped.json").stdout == (
        VSCODE.read_text()
    )


def test_what_the_client_will_start_is_said_before(run: Run, config: Path) -> None:
    said = run("wrap", config, "--world", "lab").stderr
    shim = f"{sys.executable} -E -P -m agentworld_mcp_shim"
    assert f"  perplexity starts: {shim} -- npx -y server-perplexity-ask\n" in said
    assert f"  github starts: {shim}\n" in said
    assert "3 wrapped" in said
    assert (
        "with AGENTWORLD_WORLD, AGENTWORLD_SERVER, AGENTWORLD_WRAPPED, PERPLEXITY_API_KEY" in said
    )


@pytest.mark.promise("no-secret-arguments")
def test_no_secret_is_said_or_becomes_an_argument(run: Run, tmp_path: Path) -> None:
    secrets = ["ghp_AAAABBBBCCCCDDDD1111", "hunter2hunter2", "k3yk3yk3yk3yk3yk3yk3y", "pass-w0rd"]
    path = tmp_path / ".mcp.json"
    servers = {
        "a": {"url": f"https://x.example/mcp?api_key={secrets[2]}"},
        "b": {"url": f"https://user:{secrets[3]}@x.example/mcp"},
        "c": {
            "url": "https://x.example/mcp",
            "headers": {"Authorization": f"Bearer {secrets[0]}", "X-Api-Key": secrets[1]},
        },
        "d": {"command": "s", "env": {"TOKEN": secrets[0]}},
    }
    path.write_text(json.dumps({"mcpServers": servers}, indent=2))
    done = run("wrap", path)
    assert done.returncode == 0
    for entry in json.loads(done.stdout)["mcpServers"].values():
        assert not any(secret in word for secret in secrets for word in entry["args"])
    assert not any(secret in done.stderr for secret in secrets)
    assert "AGENTWORLD_UPSTREAM_HEADERS" in done.stdout


def test_a_secret_that_was_an_argument_already_is_not_said_but_warned_of(
    run: Run, tmp_path: Path
) -> None:
    path = tmp_path / ".mcp.json"
    words = ["--api-key=abcdef", "--token", "ghijkl", "--port", "80", "Bearer mnopqrstu"]
    entry = {"command": "s", "args": words}
    path.write_text(json.dumps({"mcpServers": {"s": entry}}))
    said = run("wrap", path).stderr
    assert (
        "s '--api-key=[redacted:key]' --token '***' --port 80 'Bearer [redacted:token]'\n" in said
    )
    assert "seem to hold a secret" in said


def test_in_place_keeps_permissions_and_a_backup(run: Run, config: Path) -> None:
    done = run("wrap", "--in-place", config)
    backup = config.with_name("mcp.json.agentworld-backup")
    assert (done.returncode, done.stdout) == (0, "")
    assert f"backup: {backup}" in done.stderr
    assert backup.read_bytes() == VSCODE.read_bytes()
    assert "agentworld_mcp_shim" in config.read_text()
    assert stat.S_IMODE(config.stat().st_mode) == stat.S_IMODE(backup.stat().st_mode) == 0o600


def test_wrapping_again_in_place_changes_neither_file_nor_backup(run: Run, config: Path) -> None:
    run("wrap", "--in-place", "--server", "github", config)
    once = config.read_bytes()
    run("wrap", "--in-place", "--server", "github", config)
    assert config.read_bytes() == once
    run("wrap", "--in-place", config)
    backups = sorted(path for path in config.parent.iterdir() if "backup" in path.name)
    assert backups == [config.with_name("mcp.json.agentworld-backup")]
    assert backups[0].read_bytes() == VSCODE.read_bytes()


def test_a_backup_of_something_else_is_not_written_over(run: Run, config: Path) -> None:
    other = config.with_name("mcp.json.agentworld-backup")
    other.write_text("precious")
    run("wrap", "--in-place", config)
    assert other.read_text() == "precious"
    second = config.with_name("mcp.json.agentworld-backup.1")
    assert second.read_bytes() == VSCODE.read_bytes()
    run("unwrap", "--in-place", config)
    assert (other.read_text(), config.read_bytes()) == ("precious", VSCODE.read_bytes())


@pytest.mark.promise("config-untouched")
def test_unwrapping_in_place_leaves_the_file_as_it_was_and_no_backup(
    run: Run, config: Path
) -> None:
    run("wrap", "--in-place", config)
    done = run("unwrap", "--in-place", config)
    assert done.returncode == 0
    assert config.read_bytes() == VSCODE.read_bytes()
    assert os.listdir(config.parent) == ["mcp.json"]
    assert stat.S_IMODE(config.stat().st_mode) == 0o600


def test_a_link_stays_a_link(run: Run, config: Path, tmp_path: Path) -> None:
    link = tmp_path / "link" / "mcp.json"
    link.parent.mkdir()
    link.symlink_to(config)
    run("wrap", "--in-place", "--client", "vscode", link)
    assert link.is_symlink()
    assert "agentworld_mcp_shim" in config.read_text()
    assert os.listdir(link.parent) == ["mcp.json"]
    assert config.with_name("mcp.json.agentworld-backup").exists()


def test_a_file_that_changed_meanwhile_is_not_written(config: Path) -> None:
    read = read_file(config)
    config.write_text("{}")
    with pytest.raises(UsageError, match="was changed while this ran; nothing was written"):
        write_in_place(read, "new")
    assert config.read_text() == "{}"
    assert os.listdir(config.parent) == ["mcp.json"]


def test_another_file_gets_the_permissions_of_the_first(
    run: Run, config: Path, tmp_path: Path
) -> None:
    output = tmp_path / "wrapped.json"
    done = run("wrap", config, "-o", output)
    assert (done.returncode, done.stdout) == (0, "")
    assert stat.S_IMODE(output.stat().st_mode) == 0o600
    assert config.read_bytes() == VSCODE.read_bytes()
    assert run("wrap", config, "-o", config).returncode == 2
    assert run("wrap", config, "-o", output, "--in-place").returncode == 2
    assert "cannot be written" in run("wrap", config, "-o", tmp_path / "no" / "f").stderr


def test_dry_run_shows_a_difference_and_changes_nothing(run: Run, config: Path) -> None:
    done = run("wrap", "--in-place", "--dry-run", config)
    assert done.stdout.startswith(f"--- {config}\n+++ {config}\n@@ ")
    assert '-      "command": "npx",\n' in done.stdout
    assert f'+      "command": "{sys.executable}",\n' in done.stdout
    assert "\x1b[" not in done.stdout
    assert config.read_bytes() == VSCODE.read_bytes()
    assert os.listdir(config.parent) == ["mcp.json"]


def test_dry_run_is_coloured_on_a_terminal(config: Path) -> None:
    done = run_command("mcp", "wrap", "--dry-run", config, color=True)
    assert '\x1b[31m-      "command": "npx",' in done.stdout
    assert "\x1b[32m+" in done.stdout


def test_the_bytes_of_a_file_with_windows_line_endings_are_kept(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "claude_desktop_config.json"
    path.write_bytes(DESKTOP.read_bytes())
    run("wrap", "--in-place", path)
    data = path.read_bytes()
    assert data.startswith(b"\xef\xbb\xbf{\r\n")
    assert data.count(b"\n") == data.count(b"\r\n")
    run("unwrap", "--in-place", path)
    assert path.read_bytes() == DESKTOP.read_bytes()


def test_servers_that_stay_real_are_named_and_counted_in_the_exit_code(
    run: Run, tmp_path: Path
) -> None:
    path = tmp_path / ".mcp.json"
    entries = {"sse": {"type": "sse", "url": "https://x.example/e"}, "ok": {"command": "s"}}
    path.write_text(json.dumps({"mcpServers": entries}))
    done = run("wrap", path)
    assert done.returncode == 1
    assert json.loads(done.stdout)["mcpServers"]["sse"] == entries["sse"]
    assert "sse: left as it is: it speaks the older SSE transport" in done.stderr
    assert "It stays real." in done.stderr
    named = run("wrap", path, "--server", "sse")
    assert (named.returncode, named.stdout) == (2, "")
    assert run("wrap", path, "--server", "ok").returncode == 0


def test_a_model_is_named_in_the_environment(run: Run, config: Path) -> None:
    url = "http://127.0.0.1:8000/v1"
    done = run("wrap", config, "--model-url", url, "--model", "world")
    assert done.stdout.count(f'"AGENTWORLD_MODEL_URL": "{url}"') == 3
    assert done.stdout.count('"AGENTWORLD_MODEL": "world"') == 3
    config.write_text(done.stdout)
    assert run("unwrap", config).stdout == VSCODE.read_text()
    assert run("wrap", config, "--model", "world").returncode == 2
    assert "is no http(s) URL" in run("wrap", config, "--model-url", "localhost").stderr


def test_a_world_that_the_entry_names_itself_is_kept(run: Run, tmp_path: Path) -> None:
    path = tmp_path / ".mcp.json"
    text = '{"mcpServers": {"s": {"command": "s", "env": {"AGENTWORLD_WORLD": "mine"}}}}'
    path.write_text(text)
    done = run("wrap", path, "--world", "lab")
    assert json.loads(done.stdout)["mcpServers"]["s"]["env"] == {
        "AGENTWORLD_WORLD": "mine",
        "AGENTWORLD_SERVER": "s",
        "AGENTWORLD_WRAPPED": '{"command": "s", "env": {"AGENTWORLD_WORLD": "mine"}}',
    }
    path.write_text(done.stdout)
    assert run("unwrap", path).stdout == text


def test_an_entry_that_keeps_no_source_is_not_unwrapped(run: Run, tmp_path: Path) -> None:
    path = tmp_path / ".mcp.json"
    by_hand = {"command": "agentworld", "args": ["mcp", "--", "uvx", "server"]}
    path.write_text(json.dumps({"mcpServers": {"a": by_hand}}))
    assert run("wrap", path).stdout == path.read_text()
    done = run("unwrap", path)
    assert (done.returncode, done.stdout) == (1, path.read_text())
    assert (
        "a: left as it is: it has no AGENTWORLD_WRAPPED, so it was wrapped by hand" in done.stderr
    )


def test_what_was_changed_in_a_wrapped_entry_is_named_when_it_goes(
    run: Run, tmp_path: Path
) -> None:
    path = tmp_path / ".mcp.json"
    text = '{"mcpServers": {"s": {"command": "s", "args": ["a"], "timeout": 1}}}'
    path.write_text(text)
    wrapped = json.loads(run("wrap", path).stdout)
    entry = wrapped["mcpServers"]["s"]
    entry["env"]["AGENTWORLD_WORLD"] = "other"
    path.write_text(json.dumps(wrapped))
    assert "note:" not in run("unwrap", path).stderr
    entry["timeout"] = 2
    entry["args"].append("b")
    entry["env"]["MINE"] = "1"
    path.write_text(json.dumps(wrapped))
    done = run("unwrap", path)
    assert "what was changed since it was wrapped is gone: args, env, timeout" in done.stderr
    assert json.loads(done.stdout) == json.loads(text)


def test_servers_with_names_alike_are_refused(run: Run, tmp_path: Path) -> None:
    path = tmp_path / ".mcp.json"
    path.write_text(
        json.dumps({"mcpServers": {"git hub": {"command": "a"}, "git-hub": {"command": "b"}}})
    )
    done = run("wrap", path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "the servers 'git hub' and 'git-hub' would share their tables" in done.stderr
    once = run("wrap", "--server", "git hub", path).stdout
    path.write_text(once)
    assert run("wrap", path).returncode == 2
    assert run("wrap", "--world", "other", path).returncode == 0


def test_a_snapshot_stands_for_a_server_and_counts_what_refuses(run: Run, tmp_path: Path) -> None:
    def tool(name: str, **properties: Any) -> dict[str, Any]:
        schema = {"type": "object", "properties": properties, "required": [*properties]}
        return {"name": name, "description": name, "inputSchema": schema}

    bash = tool("bash", command={"type": "string"})
    page = {"tools": [bash, tool("frobnicate")]}
    save_snapshot(tmp_path / "s.json", Listing(identity={}, lists={"tools/list": {None: page}}))
    path = tmp_path / ".mcp.json"
    path.write_text('{"mcpServers": {"s": {"command": "s"}, "t": {"command": "t"}}}')
    done = run("wrap", "--snapshot", "s=s.json", path)
    assert done.returncode == 0
    assert "  s: 1 of its 2 tools will refuse. `agentworld mcp explain --snapshot" in done.stderr
    assert "--snapshot NAME=FILE counts them here" in done.stderr
    entry = json.loads(done.stdout)["mcpServers"]["s"]
    assert entry["args"][-2:] == ["--snapshot", str(tmp_path / "s.json")]
    alone = run(
        "wrap", "--server", "s", "--snapshot", "s=s.json", "--model-url", "http://x/v1", path
    )
    assert "will refuse" not in alone.stderr
    assert "is not of the form NAME=FILE" in run("wrap", "--snapshot", "s.json", path).stderr
    assert "no server 'x'" in run("wrap", "--snapshot", "x=s.json", path).stderr


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("x.json", '{"mcpServers": {"a": }}', "line 1, column 22: expecting value"),
        ("x.json", '{"mcpServers": {}\n', "line 2, column 1: expecting"),
        ("x.json", '{\n "a": "b\n}', "line 2, column 7: unterminated string"),
        ("x.json", '{"a": 1} x', "line 1, column 10: extra data"),
        ("x.json", '{"tools": {}}', "its keys are 'tools'. Known are: 'context_servers' (Zed)"),
        ("x.json", "[]", "it is empty or no map of keys"),
        ("x.json", '{"mcpServers": []}', "its 'mcpServers' is not a map of servers"),
        ("x.toml", "a = \n", "line 1, column 5: invalid value"),
        ("x.toml", 'model = "x"\n', "its keys are 'model'"),
        ("x.yaml", "a: [1\nb: 2", "line 2, column 2"),
        ("x.yaml", "a: 1\n---\nb: 2\n", "line 2, column 1: but found another document"),
        ("x.yaml", "GOOSE_MODEL: x\n", "its keys are 'GOOSE_MODEL'"),
    ],
)
def test_a_file_that_cannot_be_understood_is_refused_with_the_place(
    run: Run, tmp_path: Path, name: str, text: str, said: str
) -> None:
    path = tmp_path / name
    path.write_text(text)
    done = run("wrap", "--in-place", path)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"agentworld: {path}: " in done.stderr
    assert said in done.stderr
    assert path.read_text() == text


def test_a_missing_file_a_folder_and_odd_bytes_are_refused(run: Run, tmp_path: Path) -> None:
    assert "there is no file 'no.json'" in run("wrap", "no.json").stderr
    assert "is a folder" in run("wrap", tmp_path).stderr
    (tmp_path / "utf16.json").write_bytes("{}".encode("utf-16"))
    assert "is not UTF-8" in run("wrap", "utf16.json").stderr


def test_unknown_servers_and_clients_are_refused_with_the_nearest(run: Run, config: Path) -> None:
    done = run("wrap", "--server", "githup", config)
    assert done.returncode == 2
    assert "no server 'githup' in the file. Did you mean 'github'?" in done.stderr
    done = run("wrap", "--client", "vscod", config)
    assert "no client 'vscod' is known. Did you mean 'vscode'?" in done.stderr
    done = run("wrap", "--client", "cursor", config)
    assert "Cursor keeps its servers in 'mcpServers', and there is nothing there" in done.stderr
    assert "cannot be a world's id" in run("wrap", "--world", "a b", config).stderr


def test_without_a_file_the_usual_places_are_listed_and_nothing_is_changed(
    run: Run, tmp_path: Path
) -> None:
    assert "no client's configuration file was found" in run("wrap").stderr
    for place, sample in (
        (tmp_path / ".vscode" / "mcp.json", VSCODE),
        (tmp_path / "home" / ".claude.json", DATA / "claude_code" / "home" / ".claude.json"),
        (tmp_path / "home" / ".codex" / "config.toml", DATA / "codex" / ".codex" / "config.toml"),
    ):
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(sample.read_bytes())
    (tmp_path / ".mcp.json").write_text("{")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    done = run("wrap")
    assert done.returncode == 0
    assert ".vscode/mcp.json  (VS Code)\n  perplexity\n  github\n  fetch\n" in done.stdout
    assert ".mcp.json  (Claude Code)\n  .mcp.json: line 1, column 2" in done.stdout
    assert f"{tmp_path}/home/.codex/config.toml  (Codex)\n  context7\n" in done.stdout
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
