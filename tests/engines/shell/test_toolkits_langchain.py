"""LangChain's tools: the texts of the real ones."""

from __future__ import annotations

import gc
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from langchain.agents.middleware import HostExecutionPolicy, ShellToolMiddleware
from langchain_core.messages import ToolMessage

from agentworld_sim.toolkits import binding_for
from agentworld_sim.types.tools import ToolSpec

from .toolkit_machine import ToolMachine

# The real tool leaves the pipes of a shell that it had to kill to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

SHELL = "langchain/shell"


class RealShell:
    """`ShellToolMiddleware` on a directory of this host."""

    def __init__(self, root: Path) -> None:
        policy = HostExecutionPolicy(command_timeout=1.0, termination_timeout=0.2)
        self._middleware = ShellToolMiddleware(workspace_root=root, execution_policy=policy)
        self._state: dict[str, Any] = {}
        (self.tool,) = self._middleware.tools

    def call(self, **arguments: Any) -> tuple[str, bool]:
        runtime = SimpleNamespace(state=self._state, tool_call_id="1")
        message = cast("Any", self.tool).func(runtime=runtime, **arguments)
        assert isinstance(message, ToolMessage)
        return str(message.content), message.status == "error"

    def close(self) -> None:
        cast("Any", self._middleware).after_agent(self._state, None)


SESSIONS: list[list[str]] = [
    ["echo hello"],
    ["true"],
    ["printf 'no newline'; false"],
    ["printf 'no newline'; echo", "printf x >&2; echo y", "echo z >&2"],
    ["cd sub; X=1; export Y=2; f() { echo called; }", 'pwd; echo "$X$Y"; f'],
    ["false", "echo $?"],
    ["nosuch", "echo a\nnosuch b", "ls /nope"],
    ["echo out; echo err >&2; exit_code() { return 7; }; exit_code"],
    ["seq 1 150"],
    ["seq 1 100"],
    ["seq 1 120; false"],
    ["cat file.txt; wc -l file.txt"],
    ["echo new > made; cat made", "rm made; cat made"],
    ["set -u; echo ${X-unset}", "echo $UNSET; echo not reached"],
    ["exit 3", "echo fresh; pwd"],
    ["cd sub; exit 0", "pwd"],
    ["set -e; false", "echo again"],
    ["if true; then", "echo after"],
    ["echo 'open", "echo after"],
    ["alias ll='ls -a'; shopt -s expand_aliases", "echo ok"],
    ["cd sub", "cd ..", "cd -", "cd /nope || echo no"],
    ["trap 'echo bye' EXIT", "echo still here"],
]


@pytest.mark.parametrize(
    "commands",
    [
        pytest.param(commands, id=str(commands)[:50], marks=() if n % 6 == 0 else pytest.mark.slow)
        for n, commands in enumerate(SESSIONS)
    ],
)
def test_the_session_reads_as_the_real_one_does(tmp_path: Path, commands: list[str]) -> None:
    root = tmp_path / "w"
    (root / "sub").mkdir(parents=True)
    (root / "file.txt").write_text("one\ntwo\n")
    machine, real = ToolMachine.copy_of(root), RealShell(root)
    for command in commands:
        theirs, is_error = real.call(command=command)
        ours = machine.call(SHELL, command=command)
        # The real one was given one second, so that the test does not take thirty, and the order
        # of its two streams is left to chance.
        wanted = theirs.replace("1.0 s", "30.0 s")
        if "timed out" in ours.text and "timed out" not in wanted:
            # The real shell was gone before the marker's line was sent to it: a race that it rarely
            # wins, and after which it answers no more.
            break
        assert (sorted(ours.text.split("\n")), ours.is_error) == (
            sorted(wanted.split("\n")),
            is_error,
        )
    real.close()
    gc.collect()


def test_a_restart_forgets_the_shell_and_keeps_the_files() -> None:
    machine = ToolMachine()
    machine.call(SHELL, command="cd /tmp; X=1; echo kept > /project/f")
    assert machine.text(SHELL, restart=True) == "Shell session restarted."
    assert machine.text(SHELL, command='pwd; echo "[$X]"; cat f') == "/project\n[]\nkept\n"


def test_a_command_that_takes_too_long_ends_the_session() -> None:
    machine = ToolMachine()
    machine.call(SHELL, command="cd /tmp")
    before = machine.now_us
    assert machine.error(SHELL, command="echo begun; sleep 600") == (
        "Error: Command timed out after 30.0 seconds."
    )
    assert machine.now_us - before == 30_100_000
    assert machine.text(SHELL, command="pwd") == "/project\n"


@pytest.mark.parametrize(
    "arguments, said",
    [
        ({}, "Shell tool requires either 'command' or 'restart'."),
        ({"command": None}, "Shell tool requires either 'command' or 'restart'."),
        ({"command": "ls", "restart": True}, "Specify only one of 'command' or 'restart'."),
        (
            {"command": ""},
            "Shell tool expects a 'command' string when restart is not requested.",
        ),
    ],
)
def test_the_session_says_what_it_expects(arguments: dict[str, Any], said: str) -> None:
    assert ToolMachine().error(SHELL, **arguments) == said


SH = [
    "echo out; echo err >&2; echo out2",
    "nosuch",
    "echo a; nosuch b; echo c",
    "cd /nope",
    "echo a > /nope/x",
    "cat < /nope",
    "./nope.sh",
    ". /nope",
    "/etc/passwd",
    "/tmp",
    "set -u; echo $x",
    "readonly r=1; r=2",
    "test a -eq 1",
    "[ a -eq 1 ]",
    "local x",
    "kill %1",
    "echo a; )",
    "echo 'abc",
    'echo "abc',
    "echo a >",
    "echo a | | b",
    "done",
    "echo one\nnosuch two\necho three",
    "exit 3",
    "ls /nope; echo $?",
]


@pytest.mark.skipif(
    Path("/bin/sh").resolve().name != "dash",
    reason="ShellTool runs /bin/sh: compared where that is dash, as on Debian and Ubuntu",
)
@pytest.mark.parametrize("command", SH)
def test_the_terminal_speaks_as_sh_does(tmp_path: Path, command: str) -> None:
    real = subprocess.run(
        command,
        shell=True,
        check=False,
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    machine = ToolMachine({"/etc/passwd": "root:x:0:0:root:/root:/bin/bash\n", "/tmp": None})
    assert machine.text("langchain/terminal", commands=command) == real.stdout


def test_the_terminal_joins_commands_and_keeps_nothing() -> None:
    machine = ToolMachine({"/tmp": None})
    assert machine.text("langchain/terminal", commands=["cd /tmp", "X=1", "pwd"]) == "/tmp\n"
    assert machine.text("langchain/terminal", commands='pwd; echo "[$X]"') == "/project\n[]\n"


FILES = {
    "/project/a.txt": "alpha\r\nbeta\n",
    "/project/bytes": b"\xff\xfe",
    "/project/empty": None,
    "/project/sub/b.txt": "b\n",
    "/project/sub/deep/c.txt": "c\n",
    "/other/d.txt": "d\n",
}


@pytest.mark.parametrize(
    "tool, arguments, said",
    [
        ("read_file", {"file_path": "a.txt"}, "alpha\nbeta\n"),
        ("read_file", {"file_path": "/other/d.txt"}, "d\n"),
        ("read_file", {"file_path": "no.txt"}, "Error: no such file or directory: no.txt"),
        ("read_file", {"file_path": "./sub"}, "Error: [Errno 21] Is a directory: 'sub'"),
        (
            "read_file",
            {"file_path": "bytes"},
            "Error: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
        ),
        ("write_file", {"file_path": "n/e/w", "text": "x"}, "File written successfully to n/e/w."),
        (
            "write_file",
            {"file_path": "sub", "text": "x"},
            "Error: [Errno 21] Is a directory: 'sub'",
        ),
        (
            "write_file",
            {"file_path": "a.txt/x", "text": "x"},
            "Error: [Errno 17] File exists: 'a.txt'",
        ),
        (
            "write_file",
            {"file_path": "a.txt/x/y", "text": "x"},
            "Error: [Errno 20] Not a directory: 'a.txt/x'",
        ),
        ("list_directory", {}, "bytes\nsub\nempty\na.txt"),
        ("list_directory", {"dir_path": "sub"}, "deep\nb.txt"),
        ("list_directory", {"dir_path": "empty"}, "No files found in directory empty"),
        (
            "list_directory",
            {"dir_path": "nope"},
            "Error: [Errno 2] No such file or directory: 'nope'",
        ),
        ("list_directory", {"dir_path": "a.txt"}, "Error: [Errno 20] Not a directory: 'a.txt'"),
        (
            "copy_file",
            {"source_path": "a.txt", "destination_path": "sub/a2.txt"},
            "File copied successfully from a.txt to sub/a2.txt.",
        ),
        (
            "copy_file",
            {"source_path": "no", "destination_path": "x"},
            "Error: [Errno 2] No such file or directory: 'no'",
        ),
        (
            "copy_file",
            {"source_path": "sub", "destination_path": "x"},
            "Error: [Errno 21] Is a directory: 'sub'",
        ),
        (
            "copy_file",
            {"source_path": "a.txt", "destination_path": "no/x"},
            "Error: [Errno 2] No such file or directory: 'no/x'",
        ),
        (
            "copy_file",
            {"source_path": "a.txt", "destination_path": "a.txt"},
            "Error: 'a.txt' and 'a.txt' are the same file",
        ),
        (
            "move_file",
            {"source_path": "sub", "destination_path": "empty"},
            "File moved successfully from sub to empty.",
        ),
        (
            "move_file",
            {"source_path": "no", "destination_path": "x"},
            "Error: no such file or directory no",
        ),
        (
            "move_file",
            {"source_path": "sub", "destination_path": "sub/deep"},
            "Error: Cannot move a directory 'sub' into itself 'sub/deep'.",
        ),
        (
            "move_file",
            {"source_path": "a.txt", "destination_path": "no/x"},
            "Error: [Errno 2] No such file or directory: 'no/x'",
        ),
        ("file_delete", {"file_path": "a.txt"}, "File deleted successfully: a.txt."),
        ("file_delete", {"file_path": "no"}, "Error: no such file or directory: no"),
        ("file_delete", {"file_path": "sub"}, "Error: [Errno 21] Is a directory: 'sub'"),
        ("file_search", {"pattern": "*.txt"}, "a.txt\nsub/b.txt\nsub/deep/c.txt"),
        ("file_search", {"pattern": "*.txt", "dir_path": "sub"}, "b.txt\ndeep/c.txt"),
        (
            "file_search",
            {"pattern": "*.py", "dir_path": "sub"},
            "No files found for pattern *.py in directory sub",
        ),
        (
            "file_search",
            {"pattern": "*", "dir_path": "nope"},
            "No files found for pattern * in directory nope",
        ),
    ],
)
def test_file_tools_say(tool: str, arguments: dict[str, Any], said: str) -> None:
    assert ToolMachine(FILES).text(f"langchain/{tool}", **arguments) == said


def test_files_end_up_where_the_tools_say() -> None:
    machine = ToolMachine(FILES)
    machine.text("langchain/write_file", file_path="sub/b.txt", text="more\n", append=True)
    machine.text("langchain/copy_file", source_path="a.txt", destination_path="empty")
    machine.text("langchain/move_file", source_path="sub", destination_path="empty")
    assert sorted(machine.changed) == [
        "/project/empty/sub",
        "/project/empty/sub/b.txt",
        "/project/empty/sub/deep",
        "/project/empty/sub/deep/c.txt",
        "/project/sub",
        "/project/sub/b.txt",
        "/project/sub/deep",
        "/project/sub/deep/c.txt",
    ]
    assert machine.read("/project/empty/sub/b.txt") == b"b\nmore\n"
    assert machine.read("/project/empty/a.txt") == b"alpha\r\nbeta\n"
    original = machine.live.files.stat("/project/a.txt")
    assert machine.live.files.stat("/project/empty/a.txt").mtime_us == original.mtime_us


def test_the_shell_as_published_binds(tmp_path: Path) -> None:
    real = RealShell(tmp_path)
    schema = cast("Any", real.tool).tool_call_schema.model_json_schema()
    schema["properties"].pop("runtime", None)
    binding = binding_for(ToolSpec(name="shell", input_schema=schema))
    assert binding is not None
    assert (binding.id, binding.keeps) == (SHELL, "all")
