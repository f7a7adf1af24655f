"""What is wrong is said once, on standard error, with the right exit code and nothing on the wire."""

from __future__ import annotations

import re
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from agentworld_mcp_shim._command import mcp
from agentworld_mcp_shim._command._upstream_options import parse_binds
from agentworld_sim import UsageError

if TYPE_CHECKING:
    from conftest import Shim


def refused(shim: Shim, *arguments: str, code: int = 2, process: bool = False) -> str:
    """Runs the shim, which must give up; gives its one message."""
    done = (shim.processed if process else shim.run)(*arguments)
    assert (done.stdout, done.returncode) == ("", code)
    assert "Traceback" not in done.stderr
    message = done.stderr.removeprefix("agentworld: ").rstrip("\n")
    assert "agentworld: " not in message
    return message


def test_a_command_that_does_not_exist_names_the_nearest_one(shim: Shim) -> None:
    assert refused(shim, "--", "mcp-server-gti", "--verbose") == (
        "there is no command 'mcp-server-gti' in PATH. Did you mean 'mcp-server-git'? What stands"
        " after `--` is the command that starts the MCP server, as in a client's configuration."
    )


def test_a_script_that_cannot_be_executed_is_told_apart(shim: Shim, tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text("print('hello')")
    assert refused(shim, "--", str(script)) == (
        f"the upstream {str(script)!r} is not executable. Start it with its interpreter, for"
        f" example `agentworld mcp -- {Path(sys.executable).name} {script}`."
    )


def test_an_upstream_that_exits_at_once_is_quoted(shim: Shim, raw_upstream: list[str]) -> None:
    command = " ".join(raw_upstream[1:])
    assert refused(shim, *raw_upstream, "complaint", "7") == (
        f"the upstream `{command} complaint 7` exited with code 7 before it listed its tools."
        " It said:\n    It listens to nobody."
    )


def test_an_upstream_that_crashes_while_it_lists_is_quoted(
    shim: Shim, raw_upstream: list[str]
) -> None:
    message = refused(shim, *raw_upstream, "crash")
    assert message.endswith(
        "crash` exited with code 3 before it listed its tools. It said:\n"
        "    Segmentation fault, nearly"
    )


def test_a_real_server_with_a_wrong_option_is_quoted(shim: Shim) -> None:
    message = refused(shim, "--", "mcp-server-git", "--nope", process=True)
    assert "`mcp-server-git --nope` exited with code 2 before it listed its tools." in message
    assert "No such option" in message


def test_secrets_of_an_upstream_are_not_quoted(shim: Shim) -> None:
    shim.environment["MY_API_KEY"] = "value-1234-of-a-key"
    code = "import os, sys; sys.exit('no use for ' + os.environ['MY_API_KEY'])"
    message = refused(shim, "--", sys.executable, "-c", code, "--token=some-word")
    assert "--token=[redacted:token]` exited with code 1" in message
    assert message.endswith("no use for [redacted:secret]")


def test_an_upstream_that_keeps_silent_is_given_up(shim: Shim, raw_upstream: list[str]) -> None:
    message = refused(shim, "--upstream-timeout", "0.5", *raw_upstream, "silent")
    assert message.endswith(
        "silent` did not list its tools within 0.5 s. --upstream-timeout gives it longer. Is it an"
        " MCP server that speaks over stdio?"
    )


def test_a_command_that_is_no_mcp_server_is_quoted(shim: Shim) -> None:
    assert refused(shim, "--", "echo", "hello") == (
        "the upstream `echo hello` exited with code 0 before it listed its tools. On standard"
        " output it printed 'hello', which is not MCP. It said nothing on standard error."
    )


def test_a_command_that_repeats_what_it_hears_is_no_mcp_server(shim: Shim) -> None:
    assert refused(shim, "--", "cat") == (
        "the upstream `cat` does not speak MCP: Method not found."
    )


def test_an_upstream_that_refuses_to_list_is_quoted(shim: Shim, raw_upstream: list[str]) -> None:
    assert refused(shim, *raw_upstream, "refuses").endswith(
        "refuses` does not speak MCP: Not today."
    )


def test_a_url_where_nothing_listens_is_told(shim: Shim) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://user:secret@127.0.0.1:{free.getsockname()[1]}/mcp?key=secret"
        message = refused(shim, "--", url)
    assert re.fullmatch(
        r"the upstream http://127\.0\.0\.1:\d+/mcp did not answer as an MCP server over streamable"
        r" HTTP: All connection attempts failed\. Is it running, and is the path right \(often"
        r" /mcp\)\?",
        message,
    )


def test_a_list_without_end_is_noticed(shim: Shim, raw_upstream: list[str]) -> None:
    assert "never ends: after 2 pages it leads on (cursor 'round-and-round')" in refused(
        shim, *raw_upstream, "loop"
    )


def test_more_tools_than_any_agent_could_use_are_refused(
    shim: Shim, raw_upstream: list[str]
) -> None:
    assert "lists more than 10000 tools" in refused(shim, *raw_upstream, "many", "10001")


def test_a_banner_on_standard_output_does_no_harm(shim: Shim, raw_upstream: list[str]) -> None:
    assert shim.run(*raw_upstream, "banner").returncode == 0


def test_a_bind_for_a_tool_that_is_not_there_names_the_nearest(
    shim: Shim, raw_upstream: list[str]
) -> None:
    assert refused(shim, "--bind", "bahs=terminal/bash", *raw_upstream, "one") == (
        "--bind bahs=terminal/bash: the upstream has no tool 'bahs'. Did you mean 'bash'?"
        " It has: bash."
    )


def test_a_bind_to_what_does_not_exist_names_the_nearest(
    shim: Shim, raw_upstream: list[str]
) -> None:
    said = refused(shim, "--bind", "bash=terminal/bahs", *raw_upstream, "one")
    assert "'terminal/bahs', which does not exist. Did you mean 'terminal/bash'?" in said


def test_a_bind_to_a_toolkit_that_does_not_exist_names_the_nearest(
    shim: Shim, raw_upstream: list[str]
) -> None:
    said = refused(shim, "--bind", "bash=termnal/bash", *raw_upstream, "one")
    assert "there is no toolkit 'termnal'. Did you mean 'terminal'? There are: " in said


def test_a_misspelt_subcommand_is_told_beside_the_command_that_is_not_there(shim: Shim) -> None:
    assert refused(shim, "explian").endswith(
        " Of the subcommands of `agentworld mcp`: Did you mean 'explain'?"
    )


def test_a_bind_between_different_tools_is_refused(shim: Shim, raw_upstream: list[str]) -> None:
    said = refused(shim, "--bind", "bash=deepagents/write_file", *raw_upstream, "one")
    assert (
        "tool 'bash' binds to 'deepagents/write_file': that binding needs file_path, content; command"
        " would be ignored, and 'bash' takes command. They are different tools, or say which argument is"
        " which and what may be left out: 'deepagents/write_file(file_path=command)'." in said
    )


def test_a_bind_without_an_upstream_is_refused(shim: Shim) -> None:
    assert refused(shim, "--bind", "a=terminal/bash") == (
        "--bind is for an upstream's tools. Name the upstream's command after `--`."
    )


@pytest.mark.parametrize("bind", ["bash", "=terminal/bash", "bash=terminal", "bash=/bash"])
def test_a_bind_must_have_both_sides(bind: str) -> None:
    with pytest.raises(UsageError, match="is not of the form NAME=TOOLKIT/TOOL"):
        parse_binds((bind,))


def test_binds_are_split_at_the_last_sign() -> None:
    assert parse_binds(("a=b=terminal/bash",)) == {"a=b": "terminal/bash"}


def test_a_name_is_bound_once() -> None:
    with pytest.raises(UsageError, match="names 'a' twice: x/y and x/z"):
        parse_binds(("a=x/y", "a=x/z"))


def test_memory_and_a_store_contradict_each_other(shim: Shim) -> None:
    assert "Give one of them." in refused(shim, "--memory", "--store", "x.sqlite")


def test_a_scenario_that_does_not_exist_is_named(shim: Shim) -> None:
    assert refused(shim, "--scenario", "failing-tset").startswith(
        "there is no scenario 'failing-tset'. Did you mean 'failing-test'?"
    )


def test_a_world_that_began_otherwise_is_not_mistaken(shim: Shim, tmp_path: Path) -> None:
    assert shim.run("--world", "w").returncode == 0
    other = tmp_path / "other.yaml"
    other.write_text("name: other\ndomains: [terminal]\n")
    assert refused(shim, "--world", "w", "--scenario", str(other)) == (
        "the world 'w' began with the scenario 'mcp-terminal', and --scenario says 'other'. Leave"
        " --scenario out, or choose another id."
    )


def test_a_world_id_that_nobody_could_type_is_refused(shim: Shim) -> None:
    assert refused(shim, "--world", "../x").startswith("'../x' cannot be a world's id.")


def test_a_store_that_is_damaged_is_left_as_it_is(shim: Shim) -> None:
    shim.home.mkdir()
    shim.store.write_bytes(b"this was a store once, before the cat walked over it" * 99)
    before = shim.store.read_bytes()
    assert "is damaged or is no store" in refused(shim, "--world", "w", code=4)
    assert shim.store.read_bytes() == before


def test_a_failure_of_the_store_during_a_call_is_no_result(
    shim: Shim, raw_upstream: list[str]
) -> None:
    import sqlite3

    with shim.started("--world", "w", *raw_upstream, "one") as pipes:
        pipes.call(1, "bash", command="true")
        assert "result" in pipes.receive()
        with sqlite3.connect(shim.store) as other:
            other.execute("DROP TABLE turns")
        other.close()
        pipes.call(2, "bash", command="touch /srv/app/x")
        answer = pipes.receive()
    assert "result" not in answer
    assert answer["error"]["code"] == -32603
    assert answer["error"]["data"] == {"error": "StoreError"}


def test_a_missing_sdk_is_named_with_the_command_that_installs_it(
    shim: Shim, tmp_path: Path
) -> None:
    (tmp_path / "hide").mkdir()
    (tmp_path / "hide" / "sitecustomize.py").write_text("import sys\nsys.modules['mcp'] = None\n")
    shim.environment["PYTHONPATH"] = str(tmp_path / "hide")
    assert refused(shim, "--", sys.executable, "-c", "", process=True) == (
        "this needs the package 'mcp', which is not installed. Install it with"
        " `pip install 'agentworld-sim[mcp]'`."
    )


def test_a_mirror_of_which_nothing_is_answered_says_so_at_the_start(
    shim: Shim, shell: list[str]
) -> None:
    said = shim.run("--access", "*=refuse", *shell).stderr
    assert "none of the 1 tools is answered here" in said
    assert "`agentworld mcp explain`" in said
    assert "is answered here" not in shim.run(*shell).stderr


@pytest.mark.parametrize("installed", ["1.26.0", "2.0.3", "3.0.0"])
def test_another_mcp_package_than_the_shim_needs_is_told(
    installed: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Beside langchain-mcp-adapters pip puts an older one in its place.
    def version(name: str) -> str:
        return installed

    monkeypatch.setattr("importlib.metadata.version", version)
    file = tmp_path / "mcp.json"
    file.write_text("{}")
    done = CliRunner().invoke(mcp, ["wrap", str(file)])
    assert isinstance(done.exception, UsageError)
    text = str(done.exception)
    assert text.startswith(
        f"this environment has mcp {installed}, and agentworld needs mcp>=2.1,<3."
    )
    assert f"`-- {sys.executable} server.py`" in text
    assert "environment of its own" in text
