"""Gemini CLI's and Qwen Code's tools, in the texts of their sources."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentworld_sim.engines.shell.toolkits._gemini_files import (
    _changed,  # pyright: ignore[reportPrivateUsage]
)

from .toolkit_machine import Content, ToolMachine

FILES: dict[str, Content] = {
    "/work/app.py": "import os\n\n\ndef main():\n    print('hello')\n    print('hello')\n",
    "/work/empty.txt": "",
    "/work/crlf.txt": "one\r\ntwo\r\n",
    "/work/long.txt": "".join(f"line {number}\n" for number in range(1, 3001)),
    "/work/wide.txt": "x" * 3000 + "\nshort",
    "/work/data.bin": b"alpha",
    "/work/control.txt": b"a\0b",
    "/work/icon.svg": "<svg/>",
    "/work/src/a.py": "alpha = 1\n    beta = alpha\n",
    "/work/src/B.PY": "ALPHA\n",
    "/work/src/_c.py": "",
    "/work/src/deep/d.py": "alpha()\n",
    "/work/src/deep/notes.md": "# Alpha\n",
    "/work/void": None,
    "/work/.hidden/e.py": "alpha hidden\n",
    "/work/.git/config": "alpha git\n",
    "/work/.gitignore": "*.log\nout/\n",
    "/work/x.log": "alpha log\n",
    "/work/out/f.py": "alpha out\n",
    "/work/build/g.py": "alpha build\n",
    "/work/node_modules/m/h.py": "alpha module\n",
    "/other/o.py": "alpha other\n",
}


@pytest.fixture
def machine() -> ToolMachine:
    return ToolMachine(FILES)


def shell(machine: ToolMachine, command: str, **more: Any) -> list[str]:
    said = machine.text("gemini-cli/run_shell_command", command=command, **more)
    head, _, rest = said.partition("\nError: ")
    return [head, *f"Error: {rest}".split("\n")]


def test_a_command_is_reported_in_eight_parts(machine: ToolMachine) -> None:
    *said, group = shell(machine, "echo out; echo err >&2; exit 3", description="Tries")
    assert said == [
        "Command: echo out; echo err >&2; exit 3\nDirectory: (root)\nOutput: out\nerr",
        "Error: (none)",
        "Exit Code: 3",
        "Signal: (none)",
        "Background PIDs: (none)",
    ]
    assert group.removeprefix("Process Group PGID: ").isdigit()


def test_no_output_is_said_to_be_empty(machine: ToolMachine) -> None:
    assert shell(machine, "true")[0] == "Command: true\nDirectory: (root)\nOutput: (empty)"


def test_a_command_may_run_elsewhere_in_the_workspace(machine: ToolMachine) -> None:
    said = shell(machine, "pwd", directory="/work/src")[0]
    assert said == "Command: pwd\nDirectory: /work/src\nOutput: /work/src"


def test_nothing_is_kept(machine: ToolMachine) -> None:
    shell(machine, "cd src; export X=1")
    assert shell(machine, 'pwd; echo "[$X]"')[0].endswith("Output: /work\n[]")


@pytest.mark.parametrize(
    "arguments, said",
    [
        ({"command": " "}, "Command cannot be empty."),
        ({"command": "ls", "directory": "src"}, "Directory must be an absolute path."),
        (
            {"command": "ls", "directory": "/other"},
            "Directory '/other' is not within any of the registered workspace directories.",
        ),
    ],
)
def test_a_command_is_refused(machine: ToolMachine, arguments: dict[str, Any], said: str) -> None:
    assert machine.error("gemini-cli/run_shell_command", **arguments) == said


def test_time_limits_are_qwens(machine: ToolMachine) -> None:
    assert shell(machine, "sleep 600; echo done")[0].endswith("Output: done")
    qwen = "qwen-code/run_shell_command"
    said = machine.text(qwen, command="echo a; sleep 600", is_background=False)
    assert said == (
        "Command timed out after 120000ms before it could complete. Below is the output before it"
        " timed out:\na"
    )
    said = machine.text(qwen, command="sleep 2", is_background=False, timeout=1000)
    assert said == (
        "Command timed out after 1000ms before it could complete. There was no output before it timed"
        " out."
    )


READS: list[tuple[dict[str, Any], str, bool]] = [
    ({"absolute_path": "/work/src/a.py"}, "alpha = 1\n    beta = alpha\n", False),
    ({"absolute_path": "/work/empty.txt"}, "", False),
    ({"absolute_path": "/work/icon.svg"}, "<svg/>", False),
    (
        {"absolute_path": "/work/long.txt", "offset": 9, "limit": 2},
        (
            "\nIMPORTANT: The file content has been truncated.\n"
            "Status: Showing lines 10-11 of 3001 total lines.\n"
            "Action: To read more of the file, you can use the 'offset' and 'limit' parameters in a"
            " subsequent 'read_file' call. For example, to read the next section of the file, use offset:"
            " 11.\n\n--- FILE CONTENT (truncated) ---\nline 10\nline 11"
        ),
        False,
    ),
    (
        {"absolute_path": "/work/wide.txt"},
        (
            "\nIMPORTANT: The file content has been truncated.\n"
            "Status: Showing lines 1-2 of 2 total lines.\n"
            "Action: To read more of the file, you can use the 'offset' and 'limit' parameters in a"
            " subsequent 'read_file' call. For example, to read the next section of the file, use offset:"
            f" 2.\n\n--- FILE CONTENT (truncated) ---\n{'x' * 2000}... [truncated]\nshort"
        ),
        False,
    ),
    ({"absolute_path": "/work/data.bin"}, "Cannot display content of binary file: data.bin", False),
    (
        {"absolute_path": "/work/control.txt"},
        "Cannot display content of binary file: control.txt",
        False,
    ),
    ({"absolute_path": "/work/none"}, "File not found: /work/none", True),
    ({"absolute_path": "/work/src"}, "Path is a directory, not a file: /work/src", True),
    (
        {"absolute_path": "app.py"},
        "File path must be absolute, but was relative: app.py. You must provide an absolute path.",
        True,
    ),
    ({"absolute_path": ""}, "The 'absolute_path' parameter must be non-empty.", True),
    (
        {"absolute_path": "/other/o.py"},
        (
            "File path must be within one of the workspace directories: /work or within the project temp"
            " directory: /root/.gemini/tmp"
        ),
        True,
    ),
    ({"absolute_path": "/work/app.py", "offset": -1}, "Offset must be a non-negative number", True),
    ({"absolute_path": "/work/app.py", "limit": 0}, "Limit must be a positive number", True),
]


@pytest.mark.parametrize("arguments, said, is_error", READS)
def test_read_file_says(
    machine: ToolMachine, arguments: dict[str, Any], said: str, is_error: bool
) -> None:
    answer = machine.call("gemini-cli/read_file", **arguments)
    assert (answer.text, answer.is_error) == (said, is_error)


@pytest.mark.parametrize(
    "path, said, is_error",
    [
        ("/work/n/e/w.txt", "Successfully created and wrote to new file: /work/n/e/w.txt.", False),
        ("/work/app.py", "Successfully overwrote file: /work/app.py.", False),
        ("", 'Missing or empty "file_path"', True),
        ("w.txt", "File path must be absolute: w.txt", True),
        ("/work/src", "Path is a directory, not a file: /work/src", True),
        (
            "/other/o.py",
            "File path must be within one of the workspace directories: /work",
            True,
        ),
    ],
)
def test_write_file_says(machine: ToolMachine, path: str, said: str, is_error: bool) -> None:
    answer = machine.call("gemini-cli/write_file", file_path=path, content="new é\n")
    assert (answer.text, answer.is_error) == (said, is_error)
    if not is_error:
        assert machine.read(path) == "new é\n".encode()


NOT_FOUND = (
    "Failed to edit, 0 occurrences found for old_string in /work/app.py. No edits made. The exact text"
    " in old_string was not found. Ensure you're not escaping content incorrectly and check whitespace,"
    " indentation, and context. Use read_file tool to verify."
)
IDENTICAL = "No changes to apply. The old_string and new_string are identical in file: /work/app.py"
BOTH: list[tuple[str, str, str, str]] = [
    ("/work/none.py", "a", "b", "File not found: /work/none.py"),
    ("/work/app.py", "", "b", "File already exists, cannot create: /work/app.py"),
    ("/work/app.py", "absent", "b", NOT_FOUND),
    ("/work/app.py", "os", "os", IDENTICAL),
    ("", "a", "b", "The 'file_path' parameter must be non-empty."),
    ("app.py", "a", "b", "File path must be absolute: app.py"),
    (
        "/other/o.py",
        "a",
        "b",
        "File path must be within one of the workspace directories: /work",
    ),
    (
        "/work/src",
        "a",
        "b",
        "Error preparing edit: EISDIR: illegal operation on a directory, read",
    ),
]


@pytest.mark.parametrize("tool", ["gemini-cli/replace", "qwen-code/edit"])
@pytest.mark.parametrize("path, old, new, said", BOTH)
def test_edits_are_refused(
    machine: ToolMachine, tool: str, path: str, old: str, new: str, said: str
) -> None:
    assert machine.error(tool, file_path=path, old_string=old, new_string=new) == said


def test_replace_counts(machine: ToolMachine) -> None:
    change: dict[str, Any] = {
        "file_path": "/work/app.py",
        "old_string": "hello",
        "new_string": "bye",
    }
    assert machine.error("gemini-cli/replace", **change) == (
        "Failed to edit, Expected 1 occurrence but found 2 for old_string in file: /work/app.py"
    )
    assert machine.error("gemini-cli/replace", **change, expected_replacements=3) == (
        "Failed to edit, Expected 3 occurrences but found 2 for old_string in file: /work/app.py"
    )
    assert machine.text("gemini-cli/replace", **change, expected_replacements=2) == (
        "Successfully modified file: /work/app.py (2 replacements)."
    )
    assert b"hello" not in machine.read("/work/app.py")


def test_an_edit_shows_what_changed(machine: ToolMachine) -> None:
    change: dict[str, Any] = {
        "file_path": "/work/app.py",
        "old_string": "hello",
        "new_string": "bye",
    }
    assert machine.error("qwen-code/edit", **change) == (
        "Failed to edit. Found 2 occurrences for old_string in /work/app.py but replace_all was not"
        " enabled."
    )
    said = machine.text(
        "qwen-code/edit", file_path="/work/app.py", old_string="import os", new_string="import re"
    )
    assert said == (
        "The file: /work/app.py has been updated. Showing lines 1-5 of 7 from the edited file:\n\n---"
        "\n\nimport re\n\n\ndef main():\n    print('hello')"
    )
    said = machine.text("qwen-code/edit", **change, replace_all=True)
    assert "Showing lines 1-7 of 7" in said


@pytest.mark.parametrize(
    "tool, said",
    [
        ("gemini-cli/replace", "Created new file: /work/n/x.txt with provided content."),
        (
            "qwen-code/edit",
            (
                "Created new file: /work/n/x.txt with provided content. Showing lines 1-2 of 2 from the"
                " edited file:\n\n---\n\nnew\n"
            ),
        ),
    ],
)
def test_an_empty_old_string_makes_a_file(machine: ToolMachine, tool: str, said: str) -> None:
    made = machine.text(tool, file_path="/work/n/x.txt", old_string="", new_string="new\n")
    assert (made, machine.read("/work/n/x.txt")) == (said, b"new\n")


def test_line_ends_are_lost_by_one_and_kept_by_the_other(machine: ToolMachine) -> None:
    change = {"file_path": "/work/crlf.txt", "old_string": "one\ntwo", "new_string": "1\n2"}
    machine.text("qwen-code/edit", **change)
    assert machine.read("/work/crlf.txt") == b"1\r\n2\r\n"
    machine.text("gemini-cli/replace", file_path="/work/crlf.txt", old_string="1", new_string="one")
    assert machine.read("/work/crlf.txt") == b"one\n2\n"


SOME = st.lists(st.sampled_from(["a", "b", "c"]), max_size=6)


@given(SOME, SOME)
def test_the_changed_lines_are_all_that_changed(before: list[str], after: list[str]) -> None:
    first, last = _changed(before, after)
    same = len(after) - last
    assert before[: first - 1] == after[: first - 1]
    assert before[len(before) - same :] == after[last:]


LISTS: list[tuple[dict[str, Any], str, bool]] = [
    (
        {"path": "/work/src"},
        "Directory listing for /work/src:\n[DIR] deep\n_c.py\na.py\nB.PY",
        False,
    ),
    (
        {"path": "/work", "ignore": ["*.txt", "node_modules", ".*"]},
        (
            "Directory listing for /work:\n[DIR] build\n[DIR] src\n[DIR] void\napp.py\ndata.bin\nicon.svg"
            "\n\n(2 git-ignored)"
        ),
        False,
    ),
    (
        {"path": "/work/out", "file_filtering_options": {"respect_git_ignore": False}},
        "Directory listing for /work/out:\nf.py",
        False,
    ),
    ({"path": "/work/void"}, "Directory /work/void is empty.", False),
    ({"path": "src"}, "Path must be absolute: src", True),
    ({"path": "/other"}, "Path must be within one of the workspace directories: /work", True),
    ({"path": "/work/app.py"}, "Error: Path is not a directory: /work/app.py", True),
    (
        {"path": "/work/none"},
        "Error listing directory: ENOENT: no such file or directory, stat '/work/none'",
        True,
    ),
]


@pytest.mark.parametrize("arguments, said, is_error", LISTS)
def test_list_directory_says(
    machine: ToolMachine, arguments: dict[str, Any], said: str, is_error: bool
) -> None:
    answer = machine.call("gemini-cli/list_directory", **arguments)
    assert (answer.text, answer.is_error) == (said, is_error)


def found(count: int, pattern: str, where: str, *paths: str, note: str = "") -> str:
    return (
        f'Found {count} file(s) matching "{pattern}" within {where}{note}, sorted by modification time'
        " (newest first):\n" + "\n".join(paths)
    )


GLOBS: list[tuple[dict[str, Any], str, bool]] = [
    ({"pattern": "*.py"}, found(1, "*.py", "/work", "/work/app.py"), False),
    (
        {"pattern": "src/**/*.py"},
        found(
            4,
            "src/**/*.py",
            "/work",
            "/work/src/_c.py",
            "/work/src/a.py",
            "/work/src/B.PY",
            "/work/src/deep/d.py",
        ),
        False,
    ),
    (
        {"pattern": "*.py", "path": "src", "case_sensitive": True},
        found(2, "*.py", "/work/src", "/work/src/_c.py", "/work/src/a.py"),
        False,
    ),
    (
        {"pattern": "**/{f,g,h,e}.py"},
        found(
            2,
            "**/{f,g,h,e}.py",
            "/work",
            "/work/.hidden/e.py",
            "/work/build/g.py",
            note=" (1 additional files were git-ignored)",
        ),
        False,
    ),
    ({"pattern": "*.rs"}, 'No files found matching pattern "*.rs" within /work', False),
    (
        {"pattern": "*.log"},
        'No files found matching pattern "*.log" within /work (1 files were git-ignored)',
        False,
    ),
    (
        {"pattern": "*.log", "respect_git_ignore": False},
        found(1, "*.log", "/work", "/work/x.log"),
        False,
    ),
    ({"pattern": " "}, "The 'pattern' parameter cannot be empty.", True),
    ({"pattern": "*", "path": "none"}, "Search path does not exist /work/none", True),
    ({"pattern": "*", "path": "app.py"}, "Search path is not a directory: /work/app.py", True),
    (
        {"pattern": "*", "path": "/other"},
        'Search path ("/other") resolves outside the allowed workspace directories: /work',
        True,
    ),
]


@pytest.mark.parametrize("arguments, said, is_error", GLOBS)
def test_glob_says(
    machine: ToolMachine, arguments: dict[str, Any], said: str, is_error: bool
) -> None:
    answer = machine.call("gemini-cli/glob", **arguments)
    assert (answer.text, answer.is_error) == (said, is_error)


def test_recent_files_come_first(machine: ToolMachine) -> None:
    machine.text("gemini-cli/write_file", file_path="/work/src/z1.md", content="")
    machine.text("gemini-cli/write_file", file_path="/work/src/z2.md", content="")
    assert machine.text("gemini-cli/glob", pattern="**/*.md") == found(
        3, "**/*.md", "/work", "/work/src/z2.md", "/work/src/z1.md", "/work/src/deep/notes.md"
    )


SEARCHES: list[tuple[dict[str, Any], str]] = [
    (
        {"pattern": "alpha"},
        (
            'Found 6 matches for pattern "alpha" in the workspace directory:\n---\n'
            "File: data.bin\nL1: alpha\n---\nFile: src/B.PY\nL1: ALPHA\n---\n"
            "File: src/a.py\nL1: alpha = 1\nL2: beta = alpha\n---\n"
            "File: src/deep/d.py\nL1: alpha()\n---\nFile: src/deep/notes.md\nL1: # Alpha\n---"
        ),
    ),
    (
        {"pattern": "^alpha\\(", "include": "*.py"},
        (
            'Found 1 match for pattern "^alpha\\(" in the workspace directory (filter: "*.py"):\n---\n'
            "File: src/deep/d.py\nL1: alpha()\n---"
        ),
    ),
    (
        {"pattern": "alpha", "path": "src/deep", "include": "*.{md,txt}"},
        (
            'Found 1 match for pattern "alpha" in path "src/deep" (filter: "*.{md,txt}"):\n---\n'
            "File: notes.md\nL1: # Alpha\n---"
        ),
    ),
    (
        {"pattern": "nothing"},
        'No matches found for pattern "nothing" in the workspace directory.',
    ),
    (
        {"pattern": "nothing", "path": "src", "include": "*.py"},
        'No matches found for pattern "nothing" in path "src" (filter: "*.py").',
    ),
    (
        {"pattern": "(abc"},
        (
            "Error during grep search operation: ripgrep exited with code 2: rg: regex parse error:\n"
            "    (?:(abc)\n    ^\nerror: unclosed group\n"
        ),
    ),
]


@pytest.mark.parametrize("arguments, said", SEARCHES)
def test_search_file_content_says(
    machine: ToolMachine, arguments: dict[str, Any], said: str
) -> None:
    machine = ToolMachine({path: FILES[path] for path in FILES if "long" not in path})
    assert machine.text("gemini-cli/search_file_content", **arguments) == said


@pytest.mark.parametrize(
    "path, said",
    [
        (
            "none",
            (
                "Failed to access path stats for /work/none: Error: ENOENT: no such file or directory,"
                " stat '/work/none'"
            ),
        ),
        (
            "app.py",
            (
                "Failed to access path stats for /work/app.py: Error: Path is not a directory:"
                " /work/app.py"
            ),
        ),
        (
            "/other",
            (
                'Path validation failed: Attempted path "/other" resolves outside the allowed workspace'
                " directories: /work"
            ),
        ),
    ],
)
def test_searches_are_refused(machine: ToolMachine, path: str, said: str) -> None:
    assert machine.error("gemini-cli/search_file_content", pattern="x", path=path) == said


def test_todos_are_repeated(machine: ToolMachine) -> None:
    said = machine.text("qwen-code/todo_write", todos=[{"id": "1", "content": "é"}])
    assert '\n\n[{"id":"1","content":"é"}]. Continue on' in said
    assert machine.text("qwen-code/todo_write", todos=[]).startswith("Todo list has been cleared.")
