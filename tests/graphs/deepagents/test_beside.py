"""The same results as deepagents' own backends give on real files."""

from __future__ import annotations

import inspect
import subprocess
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import pytest
from deepagents.backends import FilesystemBackend, LocalShellBackend
from deepagents.backends.protocol import (
    BackendProtocol,
    ExecuteResponse,
    FileDownloadResponse,
    FileUploadResponse,
    SandboxBackendProtocol,
)
from deepagents.backends.sandbox import BaseSandbox

from agentworld_graphs import SimulatedSandbox

TREE: dict[str, bytes] = {
    "app.py": b"import os\n\n\ndef main():\n    print('hello')\n    print('hello')\n",
    "empty.txt": b"",
    "no_newline.txt": b"last line has no newline",
    "crlf.txt": b"one\r\ntwo\r\nthree\r\n",
    "unicode.txt": "naïve café\n日本語\n\U0001f600 smile\n".encode(),
    "data.bin": b"\x00\x01\x02hello\xff\n",
    "picture.png": b"\x89PNG\r\n\x1a\nhello",
    "long.txt": b"".join(b"line %d hello\n" % n for n in range(1, 251)),
    "src/a.py": b"alpha = 1\nbeta.* = 2\n",
    "src/deep/c.py": b"deep alpha\n",
    "with space/f g.py": b"alpha spaced\n",
}

Use = Callable[[BackendProtocol, str], Any]

READS: list[Use] = [
    *(lambda b, r, name=name: b.read(f"{r}/{name}") for name in [*TREE, "none", "src"]),
    *(lambda b, r, w=w: b.read(f"{r}/long.txt", *w) for w in [(0, 5), (248, 9), (300, 2), (3, 0)]),
    lambda b, r: b.read(f"{r}/crlf.txt", 1, 1),
]
LOOKS: list[Use] = [
    lambda b, r: b.ls(f"{r}/none"),
    lambda b, r: b.grep("alpha", f"{r}/src"),
    lambda b, r: b.grep("beta.*", f"{r}/src"),
    lambda b, r: b.grep("alpha", f"{r}/src", "*.txt"),
    lambda b, r: b.grep("nowhere", f"{r}/src"),
    lambda b, r: b.glob("*.py", f"{r}/src"),
    lambda b, r: b.glob("**/*.py", f"{r}/src"),
    lambda b, r: b.glob("deep/*", f"{r}/src"),
    lambda b, r: b.glob("*.{py,txt}", f"{r}/src"),
    lambda b, r: b.glob("../*", f"{r}/src"),
]
CHANGES: list[Use] = [
    lambda b, r: b.write(f"{r}/new/er/file.txt", "text\n"),
    lambda b, r: b.write(f"{r}/app.py", "other\n"),
    lambda b, r: b.edit(f"{r}/long.txt", "line 7 ", "LINE 7 "),
    lambda b, r: b.edit(f"{r}/long.txt", "hello", "bye"),
    lambda b, r: b.edit(f"{r}/long.txt", "hello", "bye", replace_all=True),
    lambda b, r: b.edit(f"{r}/long.txt", "not there", "x"),
    lambda b, r: b.edit(f"{r}/crlf.txt", "one\ntwo", "1\n2"),
    lambda b, r: b.edit(f"{r}/none.txt", "a", "b"),
    lambda b, r: b.edit(f"{r}/app.py", "", "b"),
    lambda b, r: b.delete(f"{r}/src"),
    lambda b, r: b.delete(f"{r}/none"),
]
COMMANDS = [
    "echo hello; echo again",
    "cat app.py | grep -c print",
    "exit 3",
    "ls src; cat src/a.py",
    "for f in *.txt; do wc -l < $f; done",
    "cd src && pwd | sed 's|.*/||'; false",
    "printf 'no newline'",
    "true",
]


class LocalSandbox(BaseSandbox):
    """deepagents' own sandbox code over a shell of this host, in a folder of the test."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._files = FilesystemBackend(root_dir=str(root), virtual_mode=False)

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
            timeout=timeout,
        )
        return ExecuteResponse(done.stdout.decode("utf-8", "replace"), done.returncode)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        return self._files.upload_files(files)

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        return self._files.download_files(paths)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    for name, content in TREE.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root


@pytest.fixture
def ours(root: Path) -> SimulatedSandbox:
    sandbox = SimulatedSandbox()
    sandbox.upload_files([(f"{root}/{name}", content) for name, content in TREE.items()])
    return sandbox


def plain(result: Any) -> Any:
    """A result as values, with lists in one order: real folders have none."""
    values = asdict(result)
    for name in ("entries", "matches"):
        if values.get(name):
            values[name].sort(key=_where)
    return values


def _where(one: dict[str, Any]) -> tuple[str, int]:
    return one["path"], one.get("line", 0)


@pytest.mark.parametrize("use", [*READS, *LOOKS, *CHANGES])
def test_a_result_is_that_of_a_sandbox(root: Path, ours: SimulatedSandbox, use: Use) -> None:
    real = LocalSandbox(root)
    assert plain(use(ours, str(root))) == plain(use(real, str(root)))
    assert content_of(ours, str(root)) == {
        str(path): path.read_bytes() for path in root.rglob("*") if path.is_file()
    }


def content_of(sandbox: SimulatedSandbox, root: str) -> dict[str, bytes]:
    listed = sandbox.execute(f"find '{root}' -type f").output.splitlines()
    return {
        one.path: one.content for one in sandbox.download_files(listed) if one.content is not None
    }


def test_listings_are_those_of_a_sandbox(root: Path, ours: SimulatedSandbox) -> None:
    for path in (root, root / "src", f"{root}/src/"):
        assert plain(ours.ls(str(path))) == plain(LocalSandbox(root).ls(str(path)))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_gives_what_a_shell_gives(
    root: Path, ours: SimulatedSandbox, command: str
) -> None:
    real = LocalShellBackend(root_dir=str(root), virtual_mode=False, inherit_env=True)
    got = ours.execute(f"cd '{root}'; {command}")
    expected = real.execute(command)
    # That backend leaves out the last line break and tells exit codes in the text as well.
    text = expected.output.removesuffix(f"\n\nExit code: {expected.exit_code}")
    shown = got.output.removesuffix("\n") or "<no output>"
    assert (shown, got.exit_code, got.truncated) == (
        text.removesuffix("\n"),
        expected.exit_code,
        expected.truncated,
    )


async def test_changes_leave_the_files_that_a_file_backend_leaves(
    root: Path, ours: SimulatedSandbox
) -> None:
    """Side by side with `FilesystemBackend`, whose texts are its own but whose files must be ours."""
    real = FilesystemBackend(root_dir=str(root), virtual_mode=True)
    # It gives all lines of a file that it edits the line ends of this host.
    await ours.adelete(f"{root}/crlf.txt")
    (root / "crlf.txt").unlink()
    for use in CHANGES:
        theirs, got = use(real, ""), use(ours, str(root))
        assert (theirs.error is None) == (got.error is None)
        assert getattr(theirs, "occurrences", None) == getattr(got, "occurrences", None)
    assert content_of(ours, str(root)) == {
        str(path): path.read_bytes() for path in root.rglob("*") if path.is_file()
    }


@pytest.mark.parametrize("use", LOOKS)
def test_searches_find_what_a_file_backend_finds(
    root: Path, ours: SimulatedSandbox, use: Use
) -> None:
    theirs = plain(use(FilesystemBackend(root_dir=str(root), virtual_mode=True), ""))
    got = plain(use(ours, str(root)))

    def found(result: dict[str, Any]) -> list[Any]:
        matches: list[dict[str, Any]] = result.get("matches") or []
        return [(one["path"].removeprefix(str(root)), one.get("text")) for one in matches]

    assert found(got) == found(theirs)


@pytest.mark.parametrize(
    "name",
    [name for name in dir(SandboxBackendProtocol) if not name.startswith("_") and name != "id"],
)
def test_every_method_takes_what_the_protocol_says(name: str) -> None:
    theirs = inspect.signature(getattr(SandboxBackendProtocol, name)).parameters
    got = inspect.signature(getattr(SimulatedSandbox, name)).parameters
    assert {key: (one.kind, one.default) for key, one in got.items()} == {
        key: (one.kind, one.default) for key, one in theirs.items()
    }
    assert name in vars(SimulatedSandbox)
    twin = cast("Any", getattr(SimulatedSandbox, f"a{name}", None))
    if twin is not None:
        assert inspect.iscoroutinefunction(twin)
