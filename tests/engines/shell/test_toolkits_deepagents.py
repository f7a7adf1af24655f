"""deepagents' tools: the same text, and the same files, as its own code gives on a real directory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from deepagents.backends.protocol import (
    ExecuteResponse,
    FileDownloadResponse,
    FileUploadResponse,
)
from deepagents.backends.sandbox import BaseSandbox
from deepagents.middleware.filesystem import FilesystemMiddleware
from hypothesis import given, strategies as st
from langchain_core.messages import ToolMessage
from langchain_core.tools import StructuredTool

from agentworld_sim.engines.shell.toolkits import _deepagents_texts as texts
from agentworld_sim.toolkits import binding_for
from agentworld_sim.types.tools import ToolSpec

from .toolkit_machine import ToolMachine, live_tree_of, tree_of

FILES: dict[str, bytes | None] = {
    "app.py": b"import os\n\n\ndef main():\n    print('hello')\n    print('hello')\n",
    "empty.txt": b"",
    "blank.txt": b"\n  \n\n",
    "blank_end.txt": b"one\n\n\n",
    "no_newline.txt": b"last line has no newline",
    "crlf.txt": b"one\r\ntwo\r\nthree\r\n",
    "mixed.txt": b"a\r\nb\nc\rd\n",
    "unicode.txt": "naïve café\n日本語\n\U0001f600 smile\n".encode(),
    "latin.txt": b"caf\xe9 hello\n",
    "data.bin": b"\x00\x01\x02hello\xff\n",
    "nul.txt": b"text\x00hello\n",
    "picture.png": b"\x89PNG\r\n\x1a\nhello",
    "long.txt": b"".join(b"line %d hello\n" % n for n in range(1, 251)),
    "wide.txt": b"x" * 100_000 + b"\nshort\n",
    "tall.txt": b"".join(b"%06d %s\n" % (n, b"y" * 90) for n in range(5000)),
    "one_line.json": b'{"a": "' + b"z" * 90_000 + b'"}',
    "huge.txt": b"".join(b"%07d %s\n" % (n, b"w" * 600) for n in range(2000)),
    "src": None,
    "src/a.py": b"alpha = 1\nbeta.* = 2\n",
    "src/b.txt": b"alpha again\r\n",
    "src/deep/er/c.py": b"deep alpha\n",
    "src/{x}.py": b"alpha in braces\n",
    ".hidden/h.py": b"alpha hidden\n",
    ".env": b"alpha=env\n",
    ".git/config": b"alpha git\n",
    "empty_dir": None,
    "with space/f g.py": b"alpha spaced\n",
}


class LocalSandbox(BaseSandbox):
    """The real thing, on a directory of this host."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @property
    def id(self) -> str:
        return "local"

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        done = subprocess.run(
            ["bash", "-c", command],
            check=False,
            cwd=self._root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={
                "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
                "LC_ALL": "C.UTF-8",
            },
        )
        text = done.stdout.decode("utf-8", "replace")
        return ExecuteResponse(output=text, exit_code=done.returncode, truncated=False)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        answers: list[FileUploadResponse] = []
        for path, data in files:
            if Path(path).is_dir():
                answers.append(FileUploadResponse(path=path, error="is_directory"))
            else:
                Path(path).write_bytes(data)
                answers.append(FileUploadResponse(path=path, error=None))
        return answers

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        raise NotImplementedError


class Pair:
    """The real tools on a directory, and ours on a machine with the same content."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name, content in FILES.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                path.mkdir(exist_ok=True)
            else:
                path.write_bytes(content)
        (root / "link.py").symlink_to("app.py")
        (root / "broken").symlink_to("nowhere")
        self.machine = ToolMachine.copy_of(root)
        middleware = FilesystemMiddleware(backend=LocalSandbox(root))
        self.tools = {tool.name: cast("StructuredTool", tool) for tool in middleware.tools}

    def real(self, tool: str, arguments: dict[str, Any]) -> tuple[str | None, bool]:
        runtime = SimpleNamespace(tool_call_id="", state={})
        function = self.tools[tool].func
        assert function is not None
        message = function(runtime=runtime, **arguments)
        assert isinstance(message, ToolMessage)
        text = message.content if isinstance(message.content, str) else None
        return text, message.status == "error"

    def ours(self, tool: str, arguments: dict[str, Any]) -> tuple[str | None, bool]:
        answer = self.machine.call(f"deepagents/{tool}", **arguments)
        return None if answer.structured is not None else answer.text, answer.is_error

    def resolved(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """`@/x` stands for a path in the root."""
        return {
            name: str(self.root) + value[1:]
            if isinstance(value, str) and (value == "@" or value.startswith("@/"))
            else value
            for name, value in arguments.items()
        }


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    root = tmp_path / "w"
    root.mkdir()
    return Pair(root)


READS: list[tuple[str, dict[str, Any]]] = [
    *(("read_file", {"file_path": f"@/{name}"}) for name in FILES),
    ("read_file", {"file_path": "@/link.py"}),
    ("read_file", {"file_path": "@/broken"}),
    ("read_file", {"file_path": "@/missing.py"}),
    ("read_file", {"file_path": "@"}),
    ("read_file", {"file_path": "@/long.txt", "offset": 240, "limit": 100}),
    ("read_file", {"file_path": "@/long.txt", "offset": 249, "limit": 1}),
    ("read_file", {"file_path": "@/long.txt", "offset": 250}),
    ("read_file", {"file_path": "@/long.txt", "offset": 999}),
    ("read_file", {"file_path": "@/long.txt", "offset": -3, "limit": 2}),
    ("read_file", {"file_path": "@/long.txt", "limit": 0}),
    ("read_file", {"file_path": "@/empty.txt", "limit": 0}),
    ("read_file", {"file_path": "@/blank.txt", "limit": 0}),
    ("read_file", {"file_path": "@/blank_end.txt", "offset": 1, "limit": 2}),
    ("read_file", {"file_path": "@/blank.txt", "offset": 1, "limit": 1}),
    ("read_file", {"file_path": "@/long.txt", "limit": -5}),
    ("read_file", {"file_path": "@/crlf.txt", "offset": 1}),
    ("read_file", {"file_path": "@/tall.txt", "limit": 5000}),
    ("read_file", {"file_path": "@/tall.txt", "offset": 4000, "limit": 2000}),
    ("read_file", {"file_path": "@/tall.txt", "offset": -1, "limit": 2000}),
    ("read_file", {"file_path": "@/wide.txt", "offset": 1}),
    ("read_file", {"file_path": "@/huge.txt", "limit": 2000}),
    ("read_file", {"file_path": "@/huge.txt", "limit": 3}),
    ("read_file", {"file_path": "@/huge.txt", "offset": 1999}),
    ("read_file", {"file_path": "@/../etc/passwd"}),
    ("read_file", {"file_path": "~/x"}),
    ("read_file", {"file_path": "C:/x"}),
    ("read_file", {"file_path": "@//./src//a.py"}),
    ("ls", {"path": "@/src"}),
    ("ls", {"path": "@/src/"}),
    ("ls", {"path": "@/empty_dir"}),
    ("ls", {"path": "@/missing"}),
    ("ls", {"path": "@/app.py"}),
    ("ls", {"path": "../x"}),
    *(
        ("glob", {"pattern": pattern, "path": "@"})
        for pattern in (
            "*.py",
            "**/*.py",
            "/*.py",
            "src/**",
            "src/*",
            "**",
            "*",
            "*.{py,txt}",
            "[!a]*.txt",
            "[^a]*.txt",
            ".*",
            ".hidden/*",
            "**/h.py",
            "nothing*",
            "../x",
            "src/**/c.py",
            "src/{x}.py",
            "*.PY",
            "sr?/a.py",
            "src/",
            "link.py",
            "broken",
            "with space/*",
        )
    ),
    ("glob", {"pattern": "*.py", "path": "@/missing"}),
    ("glob", {"pattern": "*.py", "path": "@/app.py"}),
    ("glob", {"pattern": "*.py", "path": "@/src"}),
    ("glob", {"pattern": "{a,b}" * 11, "path": "@"}),
    ("glob", {"pattern": "*", "path": "../x"}),
    *(
        ("grep", {"pattern": "alpha", "output_mode": mode, "path": path})
        for mode in ("files_with_matches", "content", "count")
        for path in ("@", "@/src", "@/src/a.py", "@/missing", None)
    ),
    *(
        ("grep", {"pattern": "alpha", "glob": glob, "path": path})
        for glob in (
            "*.py",
            "src/*.py",
            "src/**/*.py",
            "/src/*.py",
            "**/*.py",
            "*.{py,txt}",
            ".*",
            "../*",
        )
        for path in ("@", None, "@/src/a.py")
    ),
    ("grep", {"pattern": "hello", "path": "@", "output_mode": "content"}),
    ("grep", {"pattern": "hello", "path": "@/data.bin"}),
    ("grep", {"pattern": "hello", "path": "@/latin.txt", "output_mode": "content"}),
    ("grep", {"pattern": "alpha|beta", "path": "@"}),
    ("grep", {"pattern": "beta.*", "path": "@", "output_mode": "content"}),
    ("grep", {"pattern": "no.*thing", "path": "@"}),
    ("grep", {"pattern": "nothing at all", "path": "@"}),
    ("grep", {"pattern": "alpha\nbeta", "path": "@/src", "output_mode": "content"}),
    ("grep", {"pattern": "line", "path": "@/long.txt", "output_mode": "content", "max_count": 3}),
    ("grep", {"pattern": "line", "path": "@/long.txt", "output_mode": "count", "max_count": 250}),
    ("grep", {"pattern": "yyy", "path": "@/tall.txt", "output_mode": "content"}),
    ("grep", {"pattern": "yyy", "path": "@/tall.txt", "output_mode": "content", "max_count": 4999}),
    ("grep", {"pattern": "-hello", "path": "@"}),
    ("grep", {"pattern": "x", "path": "../x"}),
    ("execute", {"command": "echo out; echo err >&2; pwd"}),
    ("execute", {"command": "exit 3"}),
    ("execute", {"command": "cat missing.txt"}),
    ("execute", {"command": "true", "timeout": -1}),
    ("execute", {"command": "true", "timeout": 4000}),
    ("execute", {"command": "printf no-newline"}),
]


def _sorted_if_unordered(tool: str, text: str | None) -> object:
    """The real `ls` lists in the order of the disk."""
    return sorted(text.strip("[]").split(", ")) if tool == "ls" and text else text


@pytest.mark.slow
def test_reads_as_the_real_tools_do(pair: Pair) -> None:
    """One directory for all calls: none of them changes anything."""
    different: list[str] = []
    for tool, given_arguments in READS:
        arguments = {n: v for n, v in pair.resolved(given_arguments).items() if v is not None}
        theirs, ours = pair.real(tool, arguments), pair.ours(tool, arguments)
        shown = [(_sorted_if_unordered(tool, text), error) for text, error in (theirs, ours)]
        if shown[0] != shown[1]:
            different.append(
                f"{tool} {given_arguments}\n  real {theirs!r:.900}\n  ours {ours!r:.900}"
            )
    assert not different, "\n".join(different)


CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("write_file", {"file_path": "@/new.txt", "content": "new\n"}),
    ("write_file", {"file_path": "@/app.py", "content": ""}),
    ("write_file", {"file_path": "@/a/b/c.txt", "content": "deep é\r\n"}),
    ("write_file", {"file_path": "@/src", "content": "x"}),
    ("write_file", {"file_path": "../x", "content": "x"}),
    ("write_file", {"file_path": "@/link.py", "content": "through the link\n"}),
    ("edit_file", {"file_path": "@/app.py", "old_string": "import os", "new_string": "import re"}),
    ("edit_file", {"file_path": "@/app.py", "old_string": "hello", "new_string": "bye"}),
    (
        "edit_file",
        {"file_path": "@/app.py", "old_string": "hello", "new_string": "bye", "replace_all": True},
    ),
    ("edit_file", {"file_path": "@/app.py", "old_string": "absent", "new_string": "x"}),
    ("edit_file", {"file_path": "@/app.py", "old_string": "", "new_string": "x"}),
    ("edit_file", {"file_path": "@/app.py", "old_string": "os", "new_string": "os"}),
    ("edit_file", {"file_path": "@/crlf.txt", "old_string": "one\ntwo", "new_string": "1\n2\n2b"}),
    ("edit_file", {"file_path": "@/mixed.txt", "old_string": "b\nc", "new_string": "B\nC"}),
    ("edit_file", {"file_path": "@/app.py", "old_string": "os\r\n", "new_string": "re\r\n"}),
    ("edit_file", {"file_path": "@/no_newline.txt", "old_string": "newline\n", "new_string": "x"}),
    ("edit_file", {"file_path": "@/unicode.txt", "old_string": "日本", "new_string": "\U0001f680"}),
    ("edit_file", {"file_path": "@/latin.txt", "old_string": "hello", "new_string": "x"}),
    ("edit_file", {"file_path": "@/src", "old_string": "a", "new_string": "b"}),
    ("edit_file", {"file_path": "@/missing", "old_string": "a", "new_string": "b"}),
    ("edit_file", {"file_path": "@/link.py", "old_string": "main", "new_string": "start"}),
    ("delete", {"file_path": "@/app.py"}),
    ("delete", {"file_path": "@/src"}),
    ("delete", {"file_path": "@/missing"}),
    ("delete", {"file_path": "@/link.py"}),
    ("delete", {"file_path": "@/broken"}),
    ("delete", {"file_path": "~/x"}),
    ("execute", {"command": "mkdir made && cd made && echo hi > file && export A=1"}),
]


@pytest.mark.parametrize("tool, arguments", CHANGES, ids=lambda value: str(value)[:60])
def test_changes_as_the_real_tools_do(pair: Pair, tool: str, arguments: dict[str, Any]) -> None:
    arguments = pair.resolved(arguments)
    assert pair.ours(tool, arguments) == pair.real(tool, arguments)
    assert live_tree_of(pair.machine, pair.root) == tree_of(pair.root)


def test_a_command_that_takes_too_long_says_so() -> None:
    machine = ToolMachine()
    said = machine.text("deepagents/execute", command="echo begun; sleep 600")
    assert said == (
        "Error: Command timed out after 120 seconds. For long-running commands, re-run using the"
        " timeout parameter.\n[Command failed with exit code 124]"
    )
    said = machine.text("deepagents/execute", command="sleep 6", timeout=5)
    assert said == (
        "Error: Command timed out after 5 seconds (custom timeout). The command may be stuck or"
        " require more time.\n[Command failed with exit code 124]"
    )
    assert machine.text("deepagents/execute", command="sleep 6; echo done", timeout=10) == (
        "done\n\n[Command succeeded with exit code 0]"
    )


def test_nothing_of_a_shell_is_kept_but_files_are() -> None:
    machine = ToolMachine()
    machine.call("deepagents/execute", command="cd /tmp; X=1; echo kept > /project/f")
    assert machine.text("deepagents/execute", command='pwd; echo "[$X]"; cat f') == (
        "/project\n[]\nkept\n\n[Command succeeded with exit code 0]"
    )


@pytest.mark.parametrize("tool", [one.name for one in FilesystemMiddleware().tools])
def test_the_tools_as_published_bind(tool: str) -> None:
    published = next(one for one in FilesystemMiddleware().tools if one.name == tool)
    schema = cast("Any", published.tool_call_schema).model_json_schema()
    binding = binding_for(ToolSpec(name=tool, input_schema=schema))
    assert binding is not None
    assert binding.id == f"deepagents/{tool}"


LINES = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=8), min_size=1
).filter(lambda lines: any(line.strip() for line in lines))


@given(LINES, st.integers(1, 7), st.booleans())
def test_pages_put_together_are_the_file(lines: list[str], limit: int, newline: bool) -> None:
    text = "\n".join(lines) + ("\n" if newline or not lines[-1] else "")
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page = texts.page_of(text.encode(), offset, limit)
        assert page.total == len(text.removesuffix("\n").split("\n"))
        seen += page.body.split("\n")
        offset = page.next_offset
    assert seen == text.removesuffix("\n").split("\n")
