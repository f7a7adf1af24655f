"""Claude Code's tools, in the texts of published transcripts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentworld_sim.engines.shell.toolkits.claude_code import (
    _replace,  # pyright: ignore[reportPrivateUsage]
)

from .toolkit_machine import Content, ToolMachine

TEXTS = {
    "/project/app.py": "import os\n\n\ndef main():\n    print('hello')\n    print('hello')\n",
    "/project/empty.txt": "",
    "/project/no_newline.txt": "one\ntwo",
    "/project/crlf.txt": "one\r\ntwo\r\n",
    "/project/long.txt": "".join(f"line {number}\n" for number in range(1, 3001)),
    "/project/wide.txt": "x" * 3000 + "\n",
    "/project/big.txt": "word " * 60_000,
    "/project/dense.txt": "".join("y" * 1000 + "\n" for _ in range(200)),
    "/project/unicode.txt": "naïve\n日本語\n",
    "/project/nul.txt": "alpha\0\n",
    "/project/src/a.py": "alpha = 1\nbeta = 2\n\ngamma = alpha\ndelta = 4\nepsilon = 5\nalpha()\n",
    "/project/src/b.js": "// alpha\n",
    "/project/src/deep/c.py": "print('alpha')\n",
    "/project/.hidden/d.py": "alpha hidden\n",
    "/project/.git/config": "alpha git\n",
    "/project/.gitignore": "build/\n*.log\n!keep.log\n",
    "/project/build/out.py": "alpha built\n",
    "/project/x.log": "alpha log\n",
    "/project/keep.log": "alpha kept\n",
    "/other/e.py": "alpha other\n",
}


FILES: dict[str, Content] = {**TEXTS, "/project/data.bin": b"\0\1alpha"}


@pytest.fixture
def machine() -> ToolMachine:
    return ToolMachine(FILES)


def bash(machine: ToolMachine, command: str, **more: Any) -> tuple[str, bool]:
    answer = machine.call("claude-code/Bash", command=command, **more)
    return answer.text, answer.is_error


@pytest.mark.parametrize(
    "command, said, is_error",
    [
        ("echo hello", "hello", False),
        ("true", "(Bash completed with no output)", False),
        ("printf '\\n\\n  a\\n\\n'", "  a", False),
        ("echo out; echo err >&2; echo more", "out\nerr\nmore", False),
        ("exit 3", "Exit code 3", True),
        ("echo out; nosuch", "Exit code 127\nout\nbash: line 1: nosuch: command not found", True),
        ("cd src && pwd", "/project/src", False),
        ("cd /other && pwd", "/other\nShell cwd was reset to /project", False),
        ("cd /other; false", "Exit code 1\nShell cwd was reset to /project", True),
        ("grep nothing app.py", "(Bash completed with no output)", False),
        ("cat app.py | grep nothing", "(Bash completed with no output)", False),
        ("grep x missing.txt", "Exit code 2\ngrep: missing.txt: No such file or directory", True),
        ("[ a = b ]", "(Bash completed with no output)", False),
        ("grep nothing app.py; false", "Exit code 1", True),
    ],
)
def test_bash_says(machine: ToolMachine, command: str, said: str, is_error: bool) -> None:
    assert bash(machine, command) == (said, is_error)


def test_bash_keeps_where_it_is_and_nothing_else(machine: ToolMachine) -> None:
    bash(machine, "cd src; X=1; export Y=2; f() { :; }; set -e")
    assert bash(machine, 'pwd; echo "[$X$Y]"; false; echo on; f') == (
        "Exit code 127\n/project/src\n[]\non\nbash: line 1: f: command not found",
        True,
    )
    assert machine.text("claude-code/Read", file_path="b.js") == "1\t// alpha\n2\t"


def test_bash_cuts_long_output(machine: ToolMachine) -> None:
    said, _ = bash(machine, "seq 1 10000")
    assert said.endswith("\n\n... [3779 lines truncated] ...")
    assert said.index("\n\n...") == 30_000


@pytest.mark.parametrize(
    "command, more, said",
    [
        ("echo begun; sleep 600", {}, "Command timed out after 2m 0s\nbegun"),
        ("sleep 6", {"timeout": 5000}, "Command timed out after 5s"),
        ("sleep 600; echo x", {"timeout": 9_000_000}, None),
        ("sleep 700", {"timeout": 9_000_000}, "Command timed out after 10m 0s"),
    ],
)
def test_bash_gives_up(
    machine: ToolMachine, command: str, more: dict[str, Any], said: str | None
) -> None:
    wanted = ("x", False) if said is None else (f"Exit code 143\n{said}", True)
    assert bash(machine, command, **more) == wanted


def test_a_command_in_the_background_writes_where_it_says(machine: ToolMachine) -> None:
    said, _ = bash(machine, "echo ready", run_in_background=True)
    name = said.split("ID: ")[1].split(".")[0]
    path = f"/tmp/claude-0/-project/tasks/{name}.output"
    assert said == (
        f"Command running in background with ID: {name}. Output is being written to: {path}. You will"
        " be notified when it completes. To check interim output, use Read on that file path."
    )
    assert machine.text("claude-code/Read", file_path=path) == "1\tready\n2\t"


READS: list[tuple[dict[str, Any], str, bool]] = [
    ({"file_path": "/project/no_newline.txt"}, "1\tone\n2\ttwo", False),
    ({"file_path": "/project/crlf.txt"}, "1\tone\n2\ttwo\n3\t", False),
    ({"file_path": "/project/unicode.txt"}, "1\tnaïve\n2\t日本語\n3\t", False),
    (
        {"file_path": "/project/long.txt", "offset": 10, "limit": 2},
        "10\tline 10\n11\tline 11",
        False,
    ),
    ({"file_path": "/project/long.txt", "offset": 3000}, "3000\tline 3000\n3001\t", False),
    (
        {"file_path": "/project/no_newline.txt", "offset": 9},
        (
            "<system-reminder>Warning: the file exists but is shorter than the provided offset (9). The"
            " file has 2 lines.</system-reminder>"
        ),
        False,
    ),
    (
        {"file_path": "/project/empty.txt"},
        (
            "<system-reminder>Warning: the file exists but is shorter than the provided offset (1). The"
            " file has 1 lines.</system-reminder>"
        ),
        False,
    ),
    ({"file_path": "/project/wide.txt"}, "1\t" + "x" * 2000 + "... [truncated]\n2\t", False),
    (
        {"file_path": "/project/big.txt"},
        (
            "File content (293KB) exceeds maximum allowed size (256KB). Use offset and limit parameters"
            " to read specific portions of the file, or search for specific content instead of reading"
            " the whole file."
        ),
        True,
    ),
    (
        {"file_path": "/project/dense.txt"},
        (
            "File content (50224 tokens) exceeds maximum allowed tokens (25000). Use offset and limit"
            " parameters to read specific portions of the file, or search for specific content instead of"
            " reading the whole file."
        ),
        True,
    ),
    (
        {"file_path": "/project/none.txt"},
        "File does not exist. Note: your current working directory is /project.",
        True,
    ),
    (
        {"file_path": "/project/src/a.ts"},
        "File does not exist. Note: your current working directory is /project. Did you mean a.py?",
        True,
    ),
    (
        {"file_path": "/project/src"},
        "EISDIR: illegal operation on a directory, read '/project/src'",
        True,
    ),
    (
        {"file_path": "/project/data.bin"},
        (
            "<tool_use_error>This tool cannot read binary files. The file appears to be a binary .bin"
            " file. Please use appropriate tools for binary file analysis.</tool_use_error>"
        ),
        True,
    ),
]


@pytest.mark.parametrize("arguments, said, is_error", READS)
def test_read_says(
    machine: ToolMachine, arguments: dict[str, Any], said: str, is_error: bool
) -> None:
    answer = machine.call("claude-code/Read", **arguments)
    assert (answer.text, answer.is_error) == (said, is_error)


def test_read_gives_two_thousand_lines(machine: ToolMachine) -> None:
    lines = machine.text("claude-code/Read", file_path="/project/long.txt").split("\n")
    assert (lines[0], lines[-1], len(lines)) == ("1\tline 1", "2000\tline 2000", 2000)


UNREAD = (
    "<tool_use_error>File has not been read yet. Read it first before writing to it."
    "</tool_use_error>"
)
CHANGED = (
    "<tool_use_error>File has been modified since read, either by the user or by a linter. Read it"
    " again before attempting to write it.</tool_use_error>"
)


def test_a_file_must_be_read_before_it_is_changed(machine: ToolMachine) -> None:
    change = {"file_path": "/project/app.py", "old_string": "import os", "new_string": "import re"}
    assert machine.error("claude-code/Edit", **change) == UNREAD
    assert machine.error("claude-code/Write", file_path="/project/app.py", content="x") == UNREAD
    machine.text("claude-code/Read", file_path="/project/app.py")
    bash(machine, "sed -i s/hello/bye/ app.py")
    assert machine.error("claude-code/Edit", **change) == CHANGED
    assert machine.error("claude-code/Write", file_path="/project/app.py", content="x") == CHANGED
    machine.text("claude-code/Read", file_path="/project/app.py")
    updated = "The file /project/app.py has been updated successfully."
    assert machine.text("claude-code/Edit", **change) == updated
    # What the tool wrote itself, it knows.
    assert machine.text("claude-code/Write", file_path="/project/app.py", content="x") == updated
    assert machine.read("/project/app.py") == b"x"


def test_new_files_need_no_reading(machine: ToolMachine) -> None:
    assert machine.text("claude-code/Write", file_path="/project/n/e/w.txt", content="é\n") == (
        "File created successfully at: /project/n/e/w.txt"
    )
    assert machine.read("/project/n/e/w.txt") == "é\n".encode()
    made = machine.text(
        "claude-code/Edit", file_path="/project/made.txt", old_string="", new_string="new\n"
    )
    assert made == "The file /project/made.txt has been updated successfully."
    assert machine.read("/project/made.txt") == b"new\n"


EDITS: list[tuple[str, str, str, str]] = [
    ("app.py", "a", "a", "No changes to make: old_string and new_string are exactly the same."),
    (
        "none.py",
        "a",
        "b",
        "File does not exist. Note: your current working directory is /project.",
    ),
    ("app.py", "", "x", "Cannot create new file - file already exists."),
    ("app.py", "absent\n  x", "b", "String to replace not found in file.\nString: absent\n  x"),
    (
        "app.py",
        "print('hello')",
        "pass",
        (
            "Found 2 matches of the string to replace, but replace_all is false. To replace all"
            " occurrences, set replace_all to true. To replace only one occurrence, please provide more"
            " context to uniquely identify the instance.\nString: print('hello')"
        ),
    ),
]


@pytest.mark.parametrize("path, old, new, said", EDITS)
def test_edit_refuses(machine: ToolMachine, path: str, old: str, new: str, said: str) -> None:
    machine.call("claude-code/Read", file_path=f"/project/{path}")
    answer = machine.error(
        "claude-code/Edit", file_path=f"/project/{path}", old_string=old, new_string=new
    )
    assert answer == f"<tool_use_error>{said}</tool_use_error>"


@pytest.mark.parametrize(
    "path, old, new, everywhere, content",
    [
        ("app.py", "hello", "bye", True, TEXTS["/project/app.py"].replace("hello", "bye")),
        ("crlf.txt", "one\ntwo", "1\n2\n3", False, "1\r\n2\r\n3\r\n"),
        ("unicode.txt", "日本", "\U0001f680", False, "naïve\n\U0001f680語\n"),
        ("no_newline.txt", "one", "", False, "two"),
        (
            "src/a.py",
            "beta = 2\n",
            "",
            False,
            TEXTS["/project/src/a.py"].replace("beta = 2\n", ""),
        ),
    ],
)
def test_edit_changes(
    machine: ToolMachine, path: str, old: str, new: str, everywhere: bool, content: str
) -> None:
    path = f"/project/{path}"
    machine.text("claude-code/Read", file_path=path)
    said = machine.text(
        "claude-code/Edit", file_path=path, old_string=old, new_string=new, replace_all=everywhere
    )
    tail = ". All occurrences were successfully replaced." if everywhere else " successfully."
    assert said == f"The file {path} has been updated{tail}"
    assert machine.read(path).decode() == content


TEXT = st.text("ab\n", max_size=12)


@given(TEXT, st.text("ab\n", min_size=1, max_size=3), st.text("abc\n", max_size=3), st.booleans())
def test_replacing_is_what_it_says(text: str, old: str, new: str, everywhere: bool) -> None:
    replaced = _replace(text, old, new, everywhere=everywhere)
    if old not in text:
        assert replaced == text
    elif new or old.endswith("\n") or old + "\n" not in text:
        assert replaced == text.replace(old, new, -1 if everywhere else 1)
    else:
        assert len(replaced) <= len(text) - len(old) - 1


GLOBS: list[tuple[dict[str, Any], str]] = [
    ({"pattern": "**/*.py"}, "app.py\nsrc/a.py\nsrc/deep/c.py\n.hidden/d.py\nbuild/out.py"),
    ({"pattern": "*.py"}, "app.py\nsrc/a.py\nsrc/deep/c.py\n.hidden/d.py\nbuild/out.py"),
    ({"pattern": "src/*.{py,js}"}, "src/a.py\nsrc/b.js"),
    ({"pattern": "*.py", "path": "src"}, "src/a.py\nsrc/deep/c.py"),
    ({"pattern": "*.py", "path": "/other"}, "/other/e.py"),
    ({"pattern": "/project/src/**/*.py"}, "src/a.py\nsrc/deep/c.py"),
    ({"pattern": "[!a]*.py", "path": "/project/src"}, "src/deep/c.py"),
    ({"pattern": "*.rs"}, "No files found"),
]


@pytest.mark.parametrize("arguments, said", GLOBS)
def test_glob_says(machine: ToolMachine, arguments: dict[str, Any], said: str) -> None:
    assert machine.text("claude-code/Glob", **arguments) == said


def test_glob_gives_a_hundred() -> None:
    machine = ToolMachine({f"/project/{number:03}.txt": "" for number in range(101)})
    lines = machine.text("claude-code/Glob", pattern="*.txt").split("\n")
    assert lines[:2] == ["000.txt", "001.txt"]
    assert lines[99:] == [
        "099.txt",
        "(Results are truncated. Consider using a more specific path or pattern.)",
    ]


@pytest.mark.parametrize(
    "tool, arguments, said",
    [
        (
            "Glob",
            {"pattern": "*", "path": "/none"},
            "Directory does not exist: /none. Note: your current working directory is /project.",
        ),
        ("Glob", {"pattern": "*", "path": "app.py"}, "Path is not a directory: /project/app.py"),
        (
            "Grep",
            {"pattern": "x", "path": "none"},
            "Path does not exist: /project/none. Note: your current working directory is /project.",
        ),
    ],
)
def test_searches_refuse(
    machine: ToolMachine, tool: str, arguments: dict[str, Any], said: str
) -> None:
    answer = machine.error(f"claude-code/{tool}", **arguments)
    assert answer == f"<tool_use_error>{said}</tool_use_error>"


ALL = "keep.log\n.hidden/d.py\nsrc/deep/c.py\nsrc/b.js\nsrc/a.py"
GREPS: list[tuple[dict[str, Any], str]] = [
    ({"pattern": "alpha"}, f"Found 5 files\n{ALL}"),
    ({"pattern": "alpha", "glob": "*.js"}, "Found 1 file\nsrc/b.js"),
    (
        {"pattern": "alpha", "glob": "*.{js,py}", "path": "src"},
        "Found 3 files\nsrc/deep/c.py\nsrc/b.js\nsrc/a.py",
    ),
    ({"pattern": "alpha", "glob": "src/**"}, "Found 3 files\nsrc/deep/c.py\nsrc/b.js\nsrc/a.py"),
    ({"pattern": "alpha", "glob": "!src"}, "Found 2 files\nkeep.log\n.hidden/d.py"),
    ({"pattern": "alpha", "type": "py"}, "Found 3 files\n.hidden/d.py\nsrc/deep/c.py\nsrc/a.py"),
    ({"pattern": "alpha", "path": "/other"}, "Found 1 file\n/other/e.py"),
    ({"pattern": "alpha", "head_limit": 2}, "Found 2 files limit: 2\nkeep.log\n.hidden/d.py"),
    ({"pattern": "alpha", "head_limit": 2, "offset": 4}, "Found 1 file offset: 4\nsrc/a.py"),
    ({"pattern": "ALPHA"}, "No files found"),
    ({"pattern": "ALPHA", "-i": True, "glob": "*.js"}, "Found 1 file\nsrc/b.js"),
    ({"pattern": "alpha", "glob": "*.js", "output_mode": "content"}, "src/b.js:1:// alpha"),
    (
        {"pattern": "alpha", "glob": "*.js", "output_mode": "content", "-n": False},
        "src/b.js:// alpha",
    ),
    (
        {"pattern": "^alpha", "path": "src/a.py", "output_mode": "content"},
        "1:alpha = 1\n7:alpha()",
    ),
    (
        {"pattern": "gamma|alpha\\(", "path": "src/a.py", "output_mode": "content", "-C": 1},
        "3-\n4:gamma = alpha\n5-delta = 4\n6-epsilon = 5\n7:alpha()",
    ),
    (
        {"pattern": "^alpha", "path": "src/a.py", "output_mode": "content", "-A": 1},
        "1:alpha = 1\n2-beta = 2\n--\n7:alpha()",
    ),
    (
        {"pattern": "alpha", "path": "src/a.py", "output_mode": "content", "head_limit": 1},
        "1:alpha = 1\n\n[Showing results with pagination = limit: 1]",
    ),
    ({"pattern": "none", "output_mode": "content"}, "No matches found"),
    (
        {"pattern": "alpha", "output_mode": "count", "path": "src"},
        "src/a.py:3\nsrc/b.js:1\nsrc/deep/c.py:1\n\nFound 5 total occurrences across 3 files.",
    ),
    (
        {"pattern": "alpha", "output_mode": "count", "glob": "*.js"},
        "src/b.js:1\n\nFound 1 total occurrence across 1 file.",
    ),
    (
        {"pattern": "beta.*gamma", "path": "src/a.py", "output_mode": "content", "multiline": True},
        "2:beta = 2\n3:\n4:gamma = alpha",
    ),
    (
        {"pattern": "x{3000}", "path": "wide.txt", "output_mode": "content"},
        "1:[Omitted long matching line]",
    ),
    ({"pattern": "(x+x+)+y", "path": "wide.txt"}, "No files found"),
    ({"pattern": "-alpha"}, "No files found"),
]


@pytest.mark.parametrize("arguments, said", GREPS)
def test_grep_says(machine: ToolMachine, arguments: dict[str, Any], said: str) -> None:
    assert machine.text("claude-code/Grep", **arguments) == said


@pytest.mark.parametrize(
    "pattern, said",
    [
        ("(abc", "rg: regex parse error:\n    (?:(abc)\n    ^\nerror: unclosed group"),
        (
            "(?=x)",
            (
                "rg: regex parse error:\n    (?:(?=x))\n       ^^^\nerror: look-around, including"
                " look-ahead and look-behind, is not supported\n\nConsider enabling PCRE2 with the"
                " --pcre2 flag, which can handle backreferences\nand look-around."
            ),
        ),
        (
            "a\\nb",
            (
                'rg: the literal "\\n" is not allowed in a regex\n\nConsider enabling multiline mode with'
                " the --multiline flag (or -U for short).\nWhen multiline mode is enabled, new line"
                " characters can be matched."
            ),
        ),
    ],
)
def test_grep_refuses_patterns_as_ripgrep_does(
    machine: ToolMachine, pattern: str, said: str
) -> None:
    assert machine.error("claude-code/Grep", pattern=pattern) == said


def test_todos_are_taken_note_of(machine: ToolMachine) -> None:
    todos = [{"content": "x", "status": "pending", "activeForm": "y"}]
    assert machine.text("claude-code/TodoWrite", todos=todos) == (
        "Todos have been modified successfully. Ensure that you continue to use the todo list to track"
        " your progress. Please proceed with the current tasks if applicable"
    )
