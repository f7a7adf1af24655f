"""The `agentworld` command, as a user runs it."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from agentworld_sim import ToolCall, ToolSpec, World
from agentworld_sim.cli import cli
from agentworld_sim.cli._main import SUMMARIES
from agentworld_sim.store.home import open_store
from tests.cli.in_process import run_command

Run = Callable[..., subprocess.CompletedProcess[str]]
COMMANDS = (
    "controls demo doctor machine mcp prompt proxy serve shell train version web world".split()
)
AGENTWORLD = str(Path(sys.executable).with_name("agentworld"))


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return {**kept, "AGENTWORLD_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}


@pytest.fixture
def agentworld(tmp_path: Path, environment: dict[str, str]) -> Run:
    def run(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return run_command(arguments, environment=environment, folder=tmp_path, stdin=stdin)

    return run


def test_the_installed_command_stands_in_for_bash_c(environment: dict[str, str]) -> None:
    done = subprocess.run(
        [AGENTWORLD, "shell", "-c", "md5sum; echo err >&2; exit 3"],
        env=environment,
        input=bytes(range(256)),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr, done.returncode) == (
        b"e2c865db4162bed963bfaa9ef6ac18f0  -\n",
        b"err\n",
        3,
    )


def test_help_says_of_each_command_what_the_command_says() -> None:
    for name, summary in SUMMARIES.items():
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        assert command.get_short_help_str(limit=200) == summary


def test_help_teaches_and_names_every_command(agentworld: Run) -> None:
    done = agentworld("--help")
    assert done.returncode == 0
    for word in (*COMMANDS, "agentworld world diff mine --patch"):
        assert word in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(agentworld: Run, command: str) -> None:
    done = agentworld(command, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith(f"Usage: agentworld {command}")


def test_version_names_what_a_bug_report_needs(agentworld: Run) -> None:
    done = agentworld("version")
    assert [line.split()[0] for line in done.stdout.splitlines()][:3] == [
        "agentworld-sim",
        "python",
        "bashkit",
    ]


@pytest.mark.parametrize(
    ("script", "stdin"),
    [
        ("echo out; echo err >&2; exit 3", ""),
        ("cat; echo done", "from outside\n"),
        ("sort | uniq -c | sort -rn | head -2", "b\na\nb\n"),
        ("read line; echo got $line; cat", "one\ntwo\n"),
        ("nosuchcommand", ""),
        ("if then", ""),
        ("cat /no/such/file", ""),
        ("printf 'no newline'", ""),
        ("false", ""),
    ],
)
def test_shell_c_stands_in_for_bash_c(agentworld: Run, script: str, stdin: str) -> None:
    ours = agentworld("shell", "-c", script, stdin=stdin)
    real = subprocess.run(
        ["bash", "-c", script], input=stdin, capture_output=True, text=True, check=False
    )
    assert (ours.stdout, ours.stderr, ours.returncode) == (
        real.stdout,
        real.stderr,
        real.returncode,
    )


def test_shell_c_takes_positional_parameters_as_bash_does(agentworld: Run) -> None:
    script = 'echo "$0|$1|$2|$#"'
    ours = agentworld("shell", "-c", script, "name", "a b", "c")
    assert ours.stdout == "name|a b|c|2\n"


def test_what_follows_the_command_may_look_like_an_option(agentworld: Run) -> None:
    done = agentworld("shell", "-c", 'echo "$0 $1"', "--name", "--wrld=x")
    assert (done.returncode, done.stdout) == (0, "--name --wrld=x\n")
    assert agentworld("shell", "-lc", "echo login").stdout == "login\n"


def test_a_named_world_keeps_its_files_between_calls(agentworld: Run) -> None:
    assert agentworld("shell", "--world", "lab", "-c", "echo kept > note").returncode == 0
    assert agentworld("shell", "--world", "lab", "-c", "cat note").stdout == "kept\n"
    assert agentworld("shell", "--world", "other", "-c", "cat note").returncode == 1


def test_a_script_on_standard_input_runs_in_one_shell(agentworld: Run) -> None:
    done = agentworld("shell", stdin="x=5\ncd /tmp\necho $x $PWD\n")
    assert done.stdout == "5 /tmp\n"


def test_a_folder_becomes_a_world_and_the_world_a_patch(agentworld: Run, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "README.md").write_text("teh project\n")
    (project / ".gitignore").write_text("secret.txt\n")
    (project / "secret.txt").write_text("hidden")
    done = agentworld(
        "shell", "--from", "project", "--world", "fix", "-c", "ls; sed -i s/teh/the/ README.md"
    )
    assert (done.stdout, done.stderr) == ("README.md\n", "")
    assert (project / "README.md").read_text() == "teh project\n"
    assert "README.md" in agentworld("world", "diff", "fix").stdout
    diff = json.loads(agentworld("world", "diff", "fix", "--json").stdout)
    assert [one["path"] for one in diff["files"]] == ["/srv/app/README.md"]
    both = agentworld("world", "diff", "fix", "--json", "--patch")
    assert both.returncode == 2 and "Give one of them" in both.stderr
    patch = agentworld("world", "diff", "fix", "--patch", "--below", "/srv/app").stdout
    subprocess.run(["git", "apply"], input=patch, text=True, cwd=project, check=True)
    assert (project / "README.md").read_text() == "the project\n"


def test_worlds_are_listed_shown_forked_and_removed(agentworld: Run) -> None:
    agentworld("shell", "--world", "one", "-c", "echo hi > f")
    assert agentworld("world", "fork", "one", "two").stdout == "two\n"
    agentworld("shell", "--world", "two", "-c", "rm f")
    listed = agentworld("world", "ls").stdout
    assert "(fork of one)" in listed
    found = json.loads(agentworld("world", "ls", "--json").stdout)
    assert [(one["id"], one["turns"], one["forked_from"]) for one in found] == [
        ("one", 1, None),
        ("two", 2, "one"),
    ]
    shown = agentworld("world", "show", "two").stdout
    assert "computed" in shown
    assert "rm f" in shown
    assert len(agentworld("world", "show", "two", "--jsonl").stdout.splitlines()) == 2
    assert agentworld("world", "rm", "one").returncode == 0
    assert agentworld("shell", "--world", "two", "-c", "ls").stdout == ""
    assert "one " not in agentworld("world", "ls").stdout


def test_the_branches_that_met_are_shown_with_what_was_lost(
    agentworld: Run, tmp_path: Path
) -> None:
    agentworld("shell", "--world", "one", "-c", "echo > f")

    async def meet() -> str:
        store = open_store(tmp_path / "home" / "worlds.sqlite")
        async with await World.open("one", store=store) as world:
            world.add_tools([ToolSpec(name="run", binds_to="shell/run")])
            calls = [ToolCall("run", {"command": f"echo {name} > f"}) for name in "ab"]
            tips = [(await world.step(call, at=world.root)).ref for call in calls]
            met = await world.merge(tips)
            await world.rewind(met)
        store.close()
        return met

    met = asyncio.run(meet())
    lines = agentworld("world", "show", "one").stdout.splitlines()
    assert f"merge     {met}  of 2 branches" in lines
    assert lines[-1].startswith("conflict  file /root/f: changed by both branches; the one up to ")


def test_a_world_is_put_back_and_forward_again(agentworld: Run) -> None:
    for name in ("a", "b"):
        agentworld("shell", "--world", "one", "-c", f"touch /root/{name}")
    back = agentworld("world", "rewind", "one")
    assert back.returncode == 0
    assert agentworld("shell", "--world", "one", "-c", "ls /root").stdout == ""
    stood = back.stdout.split()[-1].strip(")")
    assert agentworld("world", "rewind", "one", "--to", stood).returncode == 0
    assert agentworld("shell", "--world", "one", "-c", "ls /root").stdout == "a\nb\n"
    unknown = agentworld("world", "rewind", "one", "--to", "f" * 40)
    assert unknown.returncode == 2
    assert "in the history of the world 'one'" in unknown.stderr


def test_the_environment_names_the_store(
    agentworld: Run, environment: dict[str, str], tmp_path: Path
) -> None:
    environment["AGENTWORLD_STORE"] = str(tmp_path / "elsewhere.sqlite")
    agentworld("shell", "--world", "one", "-c", "true")
    assert (tmp_path / "elsewhere.sqlite").is_file()
    assert not (tmp_path / "home").exists()


def test_a_password_on_the_command_line_is_refused_without_repeating_it(agentworld: Run) -> None:
    done = agentworld("mcp", "--store", "postgresql://u:secret@127.0.0.1:1/db", "--", "true")
    assert done.returncode == 2
    assert "AGENTWORLD_STORE" in done.stderr
    assert "secret" not in done.stderr + done.stdout


def test_an_empty_store_says_how_to_begin(agentworld: Run) -> None:
    done = agentworld("world", "ls")
    assert (done.returncode, done.stdout) == (0, "")
    assert "agentworld shell --world NAME" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["world", "show", "nope"], 2, "there is no world 'nope'"),
        (["world", "rm", "nope"], 2, "there is no world 'nope'"),
        (["shell", "--scenario", "failing-tset", "-c", "ls"], 2, "Did you mean 'failing-test'?"),
        (["shell", "--scenario", "x", "--from", ".", "-c", "ls"], 2, "Give one of them"),
        (["shell", "--package", "absent", "-c", "ls"], 2, "there is no wheel for 'absent'"),
        (["machine", "packages", "add", "x", "--to", "/proc/x"], 2, "cannot be kept in /proc/x"),
        (["shell", "--from", "nowhere", "-c", "ls"], 2, "'nowhere' is not a folder"),
        (["shell", "--from", __file__, "-c", "ls"], 2, "A scenario file goes to `--scenario`"),
        (["web", "failing-test"], 2, "the scenario 'failing-test' has no internet"),
        (["web", "fictional-web", "--port", "x"], 2, "'x' is not a valid integer"),
        (["shell", "--world", "a b", "-c", "ls"], 2, "'a b' cannot be a world's id"),
        (["shel"], 2, "No such command 'shel'. Did you mean 'shell'?"),
        (
            ["qqq"],
            2,
            "There are: bench, controls, demo, doctor, evidence, fiction, machine, mcp, prompt, proxy, serve, shell, train, version, web, world.",
        ),
        (["shell", "--model-ulr", "x", "-c", "ls"], 2, "No such option '--model-ulr'"),
        (["shell", "--wrld=x"], 2, "No such option '--wrld'. Did you mean '--world'?"),
        (["shell", "script.sh"], 2, "'script.sh' stands where nothing is expected"),
        (["shell", "--model-url", "", "-c", "ls"], 2, "--model-url is empty"),
        (["shell", "--seed", "x", "-c", "ls"], 2, "'x' is not a valid integer"),
    ],
)
def test_a_mistake_gets_one_clear_message(
    agentworld: Run, arguments: list[str], code: int, message: str
) -> None:
    done = agentworld(*arguments)
    assert done.returncode == code
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_broken_scenario_names_key_line_and_what_is_allowed(
    agentworld: Run, tmp_path: Path
) -> None:
    (tmp_path / "bad.yaml").write_text("name: bad\ndomains: [terminal]\nsede: 3\n")
    done = agentworld("shell", "--scenario", "bad.yaml", "-c", "ls")
    assert done.returncode == 2
    assert "bad.yaml:3" in done.stderr
    assert "'seed'" in done.stderr


def test_a_world_that_exists_is_not_begun_again(agentworld: Run) -> None:
    agentworld("shell", "--world", "lab", "-c", "true")
    done = agentworld("shell", "--world", "lab", "--scenario", "failing-test", "-c", "ls")
    assert done.returncode == 2
    assert "the world 'lab' exists already, and --scenario says how to begin one" in done.stderr


def test_a_corrupt_store_is_said_and_left_as_it_is(agentworld: Run, tmp_path: Path) -> None:
    agentworld("shell", "--world", "lab", "-c", "true")
    (store,) = (tmp_path / "home").glob("*.sqlite")
    for extra in (tmp_path / "home").glob("*.sqlite-*"):
        extra.unlink()
    store.write_bytes(b"not a database at all, but long enough to be looked at" * 40)
    before = store.read_bytes()
    done = agentworld("world", "ls")
    assert done.returncode == 4
    assert "is damaged or is no store" in done.stderr
    assert store.read_bytes() == before


@pytest.mark.slow
def test_ctrl_c_in_the_middle_of_a_call_ends_it_and_leaves_the_world(
    agentworld: Run, tmp_path: Path, environment: dict[str, str]
) -> None:
    agentworld("shell", "--world", "lab", "-c", "echo kept > note")
    running = subprocess.Popen(
        [AGENTWORLD, "shell", "--world", "lab", "-c", "echo lost > note; while :; do :; done"],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with pytest.raises(subprocess.TimeoutExpired):
        running.wait(timeout=4)
    running.send_signal(signal.SIGINT)
    stdout, stderr = running.communicate(timeout=30)
    assert running.returncode == 130
    assert "Traceback" not in stdout + stderr
    assert agentworld("shell", "--world", "lab", "-c", "cat note").stdout == "kept\n"


def test_the_interactive_shell_keeps_its_state_and_shows_a_debian_prompt(
    environment: dict[str, str],
) -> None:
    parent, child = pty.openpty()
    running = subprocess.Popen(
        [AGENTWORLD, "shell"], env=environment, stdin=child, stdout=child, stderr=child
    )
    os.close(child)
    os.write(parent, b"cd /tmp; x=7\nfor i in 1 2; do\necho loop $i $x\ndone\nexit 3\n")
    seen = b""
    while True:
        try:
            data = os.read(parent, 4096)
        except OSError:
            break
        if not data:
            break
        seen += data
    os.close(parent)
    assert running.wait(timeout=30) == 3
    text = seen.decode().replace("\r\n", "\n")
    assert "root@debian:~# " in text
    assert "root@debian:/tmp# " in text
    assert "loop 1 7\nloop 2 7\n" in text


def test_ctrl_c_at_the_prompt_gives_up_the_line_and_stays(environment: dict[str, str]) -> None:
    parent, child = pty.openpty()
    running = subprocess.Popen(
        [AGENTWORLD, "shell"], env=environment, stdin=child, stdout=child, stderr=child
    )
    os.close(child)
    seen = _read_until(parent, b"root@debian:~# ")
    os.write(parent, b"for i in 1 2; do\n")
    seen += _read_until(parent, b"\n> ")
    given_up = b""
    while b"root@debian:~# " not in given_up:
        # Python's line editing misses a signal that comes between its prompt and its waiting.
        running.send_signal(signal.SIGINT)
        while select.select([parent], [], [], 1)[0]:
            given_up += os.read(parent, 4096)
    seen += given_up
    os.write(parent, b"echo still $((40 + 2))\n")
    seen += _read_until(parent, b"still 42\r\nroot@debian:~# ")
    os.write(parent, b"exit 5\n")
    assert running.wait(timeout=30) == 5
    os.close(parent)
    assert b"Traceback" not in seen


def _read_until(terminal: int, wanted: bytes) -> bytes:
    seen = b""
    while wanted not in seen:
        readable, _, _ = select.select([terminal], [], [], 60)
        assert readable, f"nothing comes after {seen!r}"
        seen += os.read(terminal, 4096)
    return seen


def test_completion_is_written_for_the_users_shell(environment: dict[str, str]) -> None:
    done = run_command((), environment={**environment, "_AGENTWORLD_COMPLETE": "bash_source"})
    assert done.returncode == 0
    assert "complete -o nosort -F _agentworld_completion agentworld" in done.stdout
