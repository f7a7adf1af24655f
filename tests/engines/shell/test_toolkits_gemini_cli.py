"""Gemini CLI's and Qwen Code's tools, in the texts of their sources."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentworld_sim.engines.shell.toolkits.gemini_cli import (
    _difference_range,  # pyright: ignore[reportPrivateUsage]
)

from .toolkit_machine import Content, ToolMachine

FILES: dict[str, Content] = {
    "/project/app.py": "import os\n\n\ndef main():\n    print('hello')\n    print('hello')\n",
    "/project/empty.txt": "",
    "/project/crlf.txt": "one\r\ntwo\r\n",
    "/project/long.txt": "".join(f"line {number}\n" for number in range(1, 3001)),
    "/project/wide.txt": "x" * 3000 + "\nshort",
    "/project/data.bin": b"alpha",
    "/project/control.txt": b"a\0b",
    "/project/icon.svg": "<svg/>",
    "/project/src/a.py": "alpha = 1\n    beta = alpha\n",
    "/project/src/B.PY": "ALPHA\n",
    "/project/src/_c.py": "",
    "/project/src/deep/d.py": "alpha()\n",
    "/project/src/deep/notes.md": "# Alpha\n",
    "/project/void": None,
    "/project/.hidden/e.py": "alpha hidden\n",
    "/project/.git/config": "alpha git\n",
    "/project/.gitignore": "*.log\nout/\n",
    "/project/x.log": "alpha log\n",
    "/project/out/f.py": "alpha out\n",
    "/project/build/g.py": "alpha build\n",
    "/project/node_modules/m/h.py": "alpha module\n",
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
    said = shell(machine, "pwd", directory="/project/src")[0]
    assert said == "Command: pwd\nDirectory: /project/src\nOutput: /project/src"


def test_nothing_is_kept(machine: ToolMachine) -> None:
    shell(machine, "cd src; export X=1")
    assert shell(machine, 'pwd; echo "[$X]"')[0].endswith("Output: /project\n[]")


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
    ({"absolute_path": "/project/src/a.py"}, "alpha = 1\n    beta = alpha\n", False),
    ({"absolute_path": "/project/empty.txt"}, "", False),
    ({"absolute_path": "/project/icon.svg"}, "<svg/>", False),
    (
        {"absolute_path": "/project/long.txt", "offset": 9, "limit": 2},
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
        {"absolute_path": "/project/wide.txt"},
        (
            "\nIMPORTANT: The file content has been truncated.\n"
            "Status: Showing lines 1-2 of 2 total lines.\n"
            "Action: To read more of the file, you can use the 'offset' and 'limit' parameters in a"
            " subsequent 'read_file' call. For example, to read the next section of the file, use offset:"
            f" 2.\n\n--- FILE CONTENT (truncated) ---\n{'x' * 2000}... [truncated]\nshort"
        ),
        False,
    ),
    (
        {"absolute_path": "/project/data.bin"},
        "Cannot display content of binary file: data.bin",
        False,
    ),
    (
        {"absolute_path": "/project/control.txt"},
        "Cannot display content of binary file: control.txt",
        False,
    ),
    ({"absolute_path": "/project/none"}, "File not found: /project/none", True),
    ({"absolute_path": "/project/src"}, "Path is a directory, not a file: /project/src", True),
    (
        {"absolute_path": "app.py"},
        "File path must be absolute, but was relative: app.py. You must provide an absolute path.",
        True,
    ),
    ({"absolute_path": ""}, "The 'absolute_path' parameter must be non-empty.", True),
    (
        {"absolute_path": "/other/o.py"},
        (
            "File path must be within one of the workspace directories: /project or within the project temp"
            " directory: /root/.gemini/tmp"
        ),
        True,
    ),
    (
        {"absolute_path": "/project/app.py", "offset": -1},
        "Offset must be a non-negative number",
        True,
    ),
    ({"absolute_path": "/project/app.py", "limit": 0}, "Limit must be a positive number", True),
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
        (
            "/project/n/e/w.txt",
            "Successfully created and wrote to new file: /project/n/e/w.txt.",
            False,
        ),
        ("/project/app.py", "Successfully overwrote file: /project/app.py.", False),
        ("", 'Missing or empty "file_path"', True),
        ("w.txt", "File path must be absolute: w.txt", True),
        ("/project/src", "Path is a directory, not a file: /project/src", True),
        (
            "/other/o.py",
            "File path must be within one of the workspace directories: /project",
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
    "Failed to edit, 0 occurrences found for old_string in /project/app.py. No edits made. The exact text"
    " in old_string was not found. Ensure you're not escaping content incorrectly and check whitespace,"
    " indentation, and context. Use read_file tool to verify."
)
IDENTICAL = (
    "No changes to apply. The old_string and new_string are identical in file: /project/app.py"
)
BOTH: list[tuple[str, str, str, str]] = [
    ("/project/none.py", "a", "b", "File not found: /project/none.py"),
    ("/project/app.py", "", "b", "File already exists, cannot create: /project/app.py"),
    ("/project/app.py", "absent", "b", NOT_FOUND),
    ("/project/app.py", "os", "os", IDENTICAL),
    ("", "a", "b", "The 'file_path' parameter must be non-empty."),
    ("app.py", "a", "b", "File path must be absolute: app.py"),
    (
        "/other/o.py",
        "a",
        "b",
        "File path must be within one of the workspace directories: /project",
    ),
    (
        "/project/src",
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
        "file_path": "/project/app.py",
        "old_string": "hello",
        "new_string": "bye",
    }
    assert machine.error("gemini-cli/replace", **change) == (
        "Failed to edit, Expected 1 occurrence but found 2 for old_string in file: /project/app.py"
    )
    assert machine.error("gemini-cli/replace", **change, expected_replacements=3) == (
        "Failed to edit, Expected 3 occurrences but found 2 for old_string in file: /project/app.py"
    )
    assert machine.text("gemini-cli/replace", **change, expected_replacements=2) == (
        "Successfully modified file: /project/app.py (2 replacements)."
    )
    assert b"hello" not in machine.read("/project/app.py")


def test_an_edit_shows_what_changed(machine: ToolMachine) -> None:
    change: dict[str, Any] = {
        "file_path": "/project/app.py",
        "old_string": "hello",
        "new_string": "bye",
    }
    assert machine.error("qwen-code/edit", **change) == (
        "Failed to edit. Found 2 occurrences for old_string in /project/app.py but replace_all was not"
        " enabled."
    )
    said = machine.text(
        "qwen-code/edit",
        file_path="/project/app.py",
        old_string="import os",
        new_string="import re",
    )
    assert said == (
        "The file: /project/app.py has been updated. Showing lines 1-5 of 7 from the edited file:\n\n---"
        "\n\nimport re\n\n\ndef main():\n    print('hello')"
    )
    said = machine.text("qwen-code/edit", **change, replace_all=True)
    assert "Showing lines 1-7 of 7" in said


@pytest.mark.parametrize(
    "tool, said",
    [
        ("gemini-cli/replace", "Created new file: /project/n/x.txt with provided content."),
        (
            "qwen-code/edit",
            (
                "Created new file: /project/n/x.txt with provided content. Showing lines 1-2 of 2 from the"
                " edited file:\n\n---\n\nnew\n"
            ),
        ),
    ],
)
def test_an_empty_old_string_makes_a_file(machine: ToolMachine, tool: str, said: str) -> None:
    made = machine.text(tool, file_path="/project/n/x.txt", old_string="", new_string="new\n")
    assert (made, machine.read("/project/n/x.txt")) == (said, b"new\n")


def test_line_ends_are_lost_by_one_and_kept_by_the_other(machine: ToolMachine) -> None:
    change = {"file_path": "/project/crlf.txt", "old_string": "one\ntwo", "new_string": "1\n2"}
    machine.text("qwen-code/edit", **change)
    assert machine.read("/project/crlf.txt") == b"1\r\n2\r\n"
    machine.text(
        "gemini-cli/replace", file_path="/project/crlf.txt", old_string="1", new_string="one"
    )
    assert machine.read("/project/crlf.txt") == b"one\n2\n"


SOME = st.lists(st.sampled_from(["a", "b", "c"]), max_size=6)


@given(SOME, SOME)
def test_the_changed_lines_are_all_that_changed(before: list[str], after: list[str]) -> None:
    first, last = _difference_range(before, after)
    same = len(after) - last
    assert before[: first - 1] == after[: first - 1]
    assert before[len(before) - same :] == after[last:]


LISTS: list[tuple[dict[str, Any], str, bool]] = [
    (
        {"path": "/project/src"},
        "Directory listing for /project/src:\n[DIR] deep\n_c.py\na.py\nB.PY",
        False,
    ),
    (
        {"path": "/project", "ignore": ["*.txt", "node_modules", ".*"]},
        (
            "Directory listing for /project:\n[DIR] build\n[DIR] src\n[DIR] void\napp.py\ndata.bin\nicon.svg"
            "\n\n(2 git-ignored)"
        ),
        False,
    ),
    (
        {"path": "/project/out", "file_filtering_options": {"respect_git_ignore": False}},
        "Directory listing for /project/out:\nf.py",
        False,
    ),
    ({"path": "/project/void"}, "Directory /project/void is empty.", False),
    ({"path": "src"}, "Path must be absolute: src", True),
    ({"path": "/other"}, "Path must be within one of the workspace directories: /project", True),
    ({"path": "/project/app.py"}, "Error: Path is not a directory: /project/app.py", True),
    (
        {"path": "/project/none"},
        "Error listing directory: ENOENT: no such file or directory, stat '/project/none'",
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
    ({"pattern": "*.py"}, found(1, "*.py", "/project", "/project/app.py"), False),
    (
        {"pattern": "src/**/*.py"},
        found(
            4,
            "src/**/*.py",
            "/project",
            "/project/src/_c.py",
            "/project/src/a.py",
            "/project/src/B.PY",
            "/project/src/deep/d.py",
        ),
        False,
    ),
    (
        {"pattern": "*.py", "path": "src", "case_sensitive": True},
        found(2, "*.py", "/project/src", "/project/src/_c.py", "/project/src/a.py"),
        False,
    ),
    (
        {"pattern": "**/{f,g,h,e}.py"},
        found(
            2,
            "**/{f,g,h,e}.py",
            "/project",
            "/project/.hidden/e.py",
            "/project/build/g.py",
            note=" (1 additional files were git-ignored)",
        ),
        False,
    ),
    ({"pattern": "*.rs"}, 'No files found matching pattern "*.rs" within /project', False),
    (
        {"pattern": "*.log"},
        'No files found matching pattern "*.log" within /project (1 files were git-ignored)',
        False,
    ),
    (
        {"pattern": "*.log", "respect_git_ignore": False},
        found(1, "*.log", "/project", "/project/x.log"),
        False,
    ),
    ({"pattern": " "}, "The 'pattern' parameter cannot be empty.", True),
    ({"pattern": "*", "path": "none"}, "Search path does not exist /project/none", True),
    ({"pattern": "*", "path": "app.py"}, "Search path is not a directory: /project/app.py", True),
    (
        {"pattern": "*", "path": "/other"},
        'Search path ("/other") resolves outside the allowed workspace directories: /project',
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
    machine.text("gemini-cli/write_file", file_path="/project/src/z1.md", content="")
    machine.text("gemini-cli/write_file", file_path="/project/src/z2.md", content="")
    assert machine.text("gemini-cli/glob", pattern="**/*.md") == found(
        3,
        "**/*.md",
        "/project",
        "/project/src/z2.md",
        "/project/src/z1.md",
        "/project/src/deep/notes.md",
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
                "Failed to access path stats for /project/none: Error: ENOENT: no such file or directory,"
                " stat '/project/none'"
            ),
        ),
        (
            "app.py",
            (
                "Failed to access path stats for /project/app.py: Error: Path is not a directory:"
                " /project/app.py"
            ),
        ),
        (
            "/other",
            (
                'Path validation failed: Attempted path "/other" resolves outside the allowed workspace'
                " directories: /project"
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
