"""A user's folder becomes files of a world: what comes in, what stays out, and what is refused."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from agentworld_sim.errors import UsageError
from agentworld_sim.ingest import folders as _ingest
from agentworld_sim.ingest.folders import (
    IngestLimits,
    IngestResult,
    read_inside,
    tree_from_directory,
)
from agentworld_sim.types.files import FileEntry, MemoryBlobs, blob_id


def fill(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def names(found: IngestResult, at: str = "/srv/app") -> list[str]:
    return [p.removeprefix(at + "/") for p in found.tree if p.startswith(at + "/")]


def reasons(found: IngestResult) -> dict[str, str]:
    return {skipped.path: skipped.reason for skipped in found.skipped}


def test_a_folder_becomes_a_tree_with_its_modes_and_times(tmp_path: Path) -> None:
    fill(tmp_path, {"src/run.sh": "echo hi\n"})
    (tmp_path / "src/run.sh").chmod(0o750)
    os.utime(tmp_path / "src/run.sh", ns=(0, 1_700_000_000_123_456_789))
    os.utime(tmp_path / "src", ns=(0, 5_000))
    os.utime(tmp_path, ns=(0, 7_000))
    (tmp_path / "src").chmod(0o755)
    tmp_path.chmod(0o700)
    blobs = MemoryBlobs()
    found = tree_from_directory(tmp_path, blobs, at="/srv/app", clock_us=42)
    content = blobs.put(b"echo hi\n")
    assert dict(found.tree) == {
        "/": FileEntry("directory", 0o755, 42),
        "/srv": FileEntry("directory", 0o755, 42),
        "/srv/app": FileEntry("directory", 0o700, 7),
        "/srv/app/src": FileEntry("directory", 0o755, 5),
        "/srv/app/src/run.sh": FileEntry("file", 0o750, 1_700_000_000_123_456, content, 8),
    }
    assert (found.skipped, found.files, found.total_bytes) == ((), 1, 8)
    assert blobs.get(content) == b"echo hi\n"


def test_a_folder_can_become_the_root(tmp_path: Path) -> None:
    fill(tmp_path, {"etc/motd": "hi"})
    assert list(tree_from_directory(tmp_path, MemoryBlobs(), at="/").tree) == [
        "/",
        "/etc",
        "/etc/motd",
    ]


def test_ignored_files_stay_out_and_the_rule_is_named(tmp_path: Path) -> None:
    fill(
        tmp_path,
        {
            ".git/HEAD": "",
            ".gitignore": "# logs\n\n*.log\n!keep.log\n/build/\n",
            "a.log": "",
            "keep.log": "",
            "build/out": "",
            "sub/build/kept": "",
            "sub/.gitignore": "!a.log\nlocal.txt\n",
            "sub/a.log": "",
            "sub/local.txt": "",
            "sub/deep/b.log": "",
        },
    )
    found = tree_from_directory(tmp_path, MemoryBlobs())
    assert names(found) == [
        ".gitignore",
        "keep.log",
        "sub",
        "sub/.gitignore",
        "sub/a.log",
        "sub/build",
        "sub/build/kept",
        "sub/deep",
    ]
    assert reasons(found) == {
        ".git/": "version control data",
        "a.log": "ignored by .gitignore: *.log",
        "build/": "ignored by .gitignore: /build/",
        "sub/deep/b.log": "ignored by .gitignore: *.log",
        "sub/local.txt": "ignored by sub/.gitignore: local.txt",
    }


def test_history_comes_without_hooks_programs_and_tokens(tmp_path: Path) -> None:
    settings = (
        "[core] editor = s3cret\n\tsshCommand = ssh \\\n -i s3cret\n\tbare = false\n[http]\n\textraheader = AUTHORIZATION: s3cret\n[credential]\n\thelper = !s3cret\n"
        '[remote "origin"]\n\turl = https://me:s3cret@host.test/r.git\n'
    )
    history = {
        ".git/HEAD": "ref: refs/heads/main\n",
        ".git/refs/heads/main": "",
        ".git/config": settings,
        ".git/logs/HEAD": "pull https://me:s3c@ret@host.test/\n",
    }
    fill(tmp_path, {"a": "", **history, ".git/hooks/pre-commit": "", ".git/lfs/x": "", "sub/.git/HEAD": ""})  # fmt: skip
    blobs = MemoryBlobs()
    found = tree_from_directory(tmp_path, blobs, with_history=True)
    assert {*names(found)} >= {"a", *history}
    assert reasons(found) == {
        ".git/hooks/": "no history",
        ".git/lfs/": "no history",
        "sub/.git/": "version control data",
    }
    kept = blobs.get(found.tree["/srv/app/.git/config"].content).decode()
    assert kept == ('[core]\tbare = false\n[remote "origin"]\n\turl = https://host.test/r.git\n')
    moves = blobs.get(found.tree["/srv/app/.git/logs/HEAD"].content)
    assert moves == b"pull https://host.test/\n"
    (tmp_path / ".git" / "lfs" / "x").write_bytes(bytes(10_000_001))
    found = tree_from_directory(tmp_path, MemoryBlobs(), with_history=True)
    assert ".git/HEAD" in names(found)
    (tmp_path / ".git" / "index").write_bytes(bytes(10_000_001))
    assert reasons(tree_from_directory(tmp_path, MemoryBlobs(), with_history=True)) == {
        ".git/": "version control data",
        "sub/.git/": "version control data",
    }
    (tmp_path / ".git" / "index").unlink()
    (tmp_path / ".agentworldignore").write_text("/.git/\n")
    ignored = reasons(tree_from_directory(tmp_path, MemoryBlobs(), with_history=True))
    assert ignored[".git/"] == "ignored by .agentworldignore: /.git/"


def test_agentworldignore_wins_over_gitignore(tmp_path: Path) -> None:
    fill(
        tmp_path,
        {
            ".agentworldignore": "!sub/dist.js\nbig.bin\n",
            "sub/.gitignore": "dist.js\n!big.bin\n",
            "sub/dist.js": "",
            "sub/big.bin": "",
        },
    )
    found = tree_from_directory(tmp_path, MemoryBlobs())
    assert "sub/dist.js" in names(found)
    assert reasons(found) == {"sub/big.bin": "ignored by .agentworldignore: big.bin"}


def test_the_same_files_are_ignored_as_by_git(tmp_path: Path) -> None:
    git = shutil.which("git")
    assert git, "git is needed for this test: install it"
    fill(
        tmp_path,
        {
            ".gitignore": "*.o\n!main.o\ndoc/*.txt\n**/tmp\n/only-top\na?c\n[xy].md\nend/\n\\#x\n",
            "a.o": "",
            "main.o": "",
            "doc/a.txt": "",
            "doc/sub/a.txt": "",
            "p/q/tmp/file": "",
            "p/only-top": "",
            "only-top": "",
            "abc": "",
            "x.md": "",
            "z.md": "",
            "end/file": "",
            "p/end": "",
            "#x": "",
            "p/.gitignore": "*\n!.gitignore\n!keep/\n!keep/**\n",
            "p/gone": "",
            "p/keep/file": "",
        },
    )
    subprocess.run([git, "init", "-q", str(tmp_path)], check=True)
    listed = subprocess.run(
        [git, "-C", str(tmp_path), "ls-files", "--others", "--exclude-standard"],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull},
    ).stdout.splitlines()
    found = tree_from_directory(tmp_path, MemoryBlobs())
    files = [p for p in names(found) if found.tree["/srv/app/" + p].kind == "file"]
    assert sorted(files) == sorted(listed)


@pytest.mark.promise("folder-copies")
def test_secrets_stay_out_unless_asked_for(tmp_path: Path) -> None:
    secret = [
        ".env",
        ".env.local",
        "prod.env",
        ".envrc",
        "credentials.json",
        "id_ed25519",
        "tls/Server.PEM",
        ".netrc",
    ]
    open_ = [".env.example", "id_ed25519.pub", "environment", "keys.txt"]
    fill(tmp_path, dict.fromkeys([*secret, *open_, ".ssh/config"], "x"))
    found = tree_from_directory(tmp_path, MemoryBlobs())
    assert [p for p in names(found) if p != "tls"] == sorted(open_)
    reason = "looks like a secret (include_secrets lets it in)"
    assert reasons(found) == dict.fromkeys([*secret, ".ssh/"], reason)
    everything = tree_from_directory(tmp_path, MemoryBlobs(), include_secrets=True)
    assert everything.skipped == ()
    assert set(secret) < set(names(everything))


@pytest.mark.promise("folder-copies")
def test_links_inside_are_kept_and_links_that_leave_are_reported(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    fill(folder, {"a/file": "x"})
    fill(tmp_path, {"outside": "secret"})
    for name, target in {
        "a/up": "../a/file",
        "dangling": "nowhere",
        "a/out": "../../outside",
        "absolute": "/etc/passwd",
        "sly": "a/../../outside",
        "folder": "a",
        "whole": str(folder.resolve() / "a/file"),
    }.items():
        (folder / name).symlink_to(target)
    found = tree_from_directory(folder, MemoryBlobs())
    links = {p: e.content for p, e in found.tree.items() if e.kind == "symlink"}
    assert links == {
        "/srv/app/a/up": "../a/file",
        "/srv/app/dangling": "nowhere",
        "/srv/app/folder": "a",
        "/srv/app/whole": "/srv/app/a/file",
    }
    assert reasons(found) == {
        "a/out": "links to ../../outside, outside the folder",
        "absolute": "links to /etc/passwd, outside the folder",
        "sly": "links to a/../../outside, outside the folder",
    }


def test_special_files_and_names_that_are_not_utf8_are_reported(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / os.fsdecode(b"caf\xe9")).write_text("x")
    found = tree_from_directory(tmp_path, MemoryBlobs())
    assert names(found) == []
    assert reasons(found) == {
        "caf\ufffd": "its name is not UTF-8",
        "pipe": "not a file, folder or link",
    }


def test_a_skipped_thing_prints_as_one_line(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (skipped,) = tree_from_directory(tmp_path, MemoryBlobs()).skipped
    assert str(skipped) == "pipe: not a file, folder or link"


def test_a_file_over_the_limit_is_named(tmp_path: Path) -> None:
    fill(tmp_path, {"big.bin": "x" * 3000, "small": "x"})
    with pytest.raises(UsageError) as caught:
        tree_from_directory(tmp_path, MemoryBlobs(), limits=IngestLimits(file_bytes=1024))
    assert str(caught.value) == (
        f"{tmp_path}: 1 file larger than 1.0 KiB. The biggest:\n"
        "  big.bin  2.9 KiB\n"
        "Leave them out with lines in .agentworldignore, or raise `limits.file_bytes`."
    )


def test_too_many_files_name_the_fullest_folders(tmp_path: Path) -> None:
    fill(tmp_path, {f"cache/{n}": "" for n in range(5)} | {"a": ""})
    with pytest.raises(UsageError) as caught:
        tree_from_directory(tmp_path, MemoryBlobs(), limits=IngestLimits(files=4))
    assert str(caught.value) == (
        f"{tmp_path} holds 6 files; the limit is 4. The biggest:\n"
        "  cache/  5 files\n"
        "  /  1 file\n"
        "Leave them out with lines in .agentworldignore, or raise `limits.files`."
    )


def test_far_too_many_files_stop_the_listing(tmp_path: Path) -> None:
    fill(tmp_path, {str(n): "" for n in range(12)})
    with pytest.raises(UsageError, match=r"holds more than 10 files; the limit is 1\. Name a smal"):
        tree_from_directory(tmp_path, MemoryBlobs(), limits=IngestLimits(files=1))


def test_too_many_bytes_name_the_biggest_files(tmp_path: Path) -> None:
    fill(tmp_path, {"a": "x" * 700, "b": "x" * 900})
    with pytest.raises(UsageError) as caught:
        tree_from_directory(tmp_path, MemoryBlobs(), limits=IngestLimits(total_bytes=1000))
    assert str(caught.value) == (
        f"{tmp_path} holds 1.6 KiB; the limit is 1000 bytes. The biggest:\n"
        "  b  900 bytes\n"
        "  a  700 bytes\n"
        "Leave them out with lines in .agentworldignore, or raise `limits.total_bytes`."
    )


def test_an_unreadable_file_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path, {"a": "", "locked": ""})
    real_open = os.open

    def refusing(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        # root may read everything, so permissions alone cannot show this.
        if path == "locked":
            raise PermissionError(13, "Permission denied", path)
        return real_open(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(_ingest.os, "open", refusing)
    with pytest.raises(UsageError) as caught:
        tree_from_directory(tmp_path, MemoryBlobs())
    assert str(caught.value) == (
        f"{tmp_path}/locked cannot be read (permission denied). Make it readable, or leave it out "
        "with a line in .agentworldignore."
    )


def test_a_missing_folder_and_a_file_in_its_place_are_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"/nowhere does not exist, or went away .*Check the path"):
        tree_from_directory(tmp_path / "nowhere", MemoryBlobs())
    fill(tmp_path, {"file": ""})
    with pytest.raises(UsageError, match=r"/file is not a folder\. Name a folder\."):
        tree_from_directory(tmp_path / "file", MemoryBlobs())


def test_folders_nested_too_deep_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "/".join(["d"] * 120)).mkdir(parents=True)
    with pytest.raises(UsageError, match=r"nested more than 100 deep\. Leave the folder out"):
        tree_from_directory(tmp_path, MemoryBlobs())


def test_a_file_that_becomes_a_link_while_reading_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "project"
    fill(folder, {"a": "x", "sub/b": "x"})
    fill(tmp_path, {"other/b": "secret"})
    check = _ingest.check_limits

    def swapping(root: Path, sizes: dict[str, int], limits: IngestLimits) -> None:
        # Between the listing and the reading, the folder is replaced by a link to another one.
        check(root, sizes, limits)
        shutil.rmtree(folder / "sub")
        (folder / "sub").symlink_to("../other")

    monkeypatch.setattr(_ingest, "check_limits", swapping)
    blobs = MemoryBlobs()
    with pytest.raises(UsageError, match=r"sub/b is, or lies behind, a symbolic link"):
        tree_from_directory(folder, blobs)
    assert blob_id(b"secret") not in blobs


@pytest.mark.parametrize("path", ["../outside", "/etc/passwd", "a/../../outside", "", ".."])
def test_one_file_is_never_read_from_outside(tmp_path: Path, path: str) -> None:
    fill(tmp_path, {"project/a/x": "", "outside": "secret"})
    with pytest.raises(UsageError, match=r"leaves .*Give a path below it"):
        read_inside(tmp_path / "project", path, limit=100)


def test_one_file_is_not_read_through_links_or_over_its_limit(tmp_path: Path) -> None:
    fill(tmp_path, {"real/x": "content"})
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "file-link").symlink_to("real/x")
    os.mkfifo(tmp_path / "pipe")
    assert read_inside(tmp_path, "real/x", limit=7).data == b"content"
    for path in ("link/x", "file-link"):
        with pytest.raises(UsageError, match="symbolic link; links are not followed"):
            read_inside(tmp_path, path, limit=100)
    with pytest.raises(UsageError, match=r"real/x is larger than 6 bytes"):
        read_inside(tmp_path, "real/x", limit=6)
    with pytest.raises(UsageError, match=r"pipe is not a regular file"):
        read_inside(tmp_path, "pipe", limit=6)
    with pytest.raises(IsADirectoryError):
        read_inside(tmp_path, "real", limit=6)


def test_names_with_control_characters_are_left_out(tmp_path: Path) -> None:
    for name in ("Icon\r", "plain", "zero\u200bwidth"):
        (tmp_path / name).write_text("")
    found = tree_from_directory(tmp_path, MemoryBlobs())
    assert names(found) == ["plain"]
    assert set(reasons(found).values()) == {"its name holds a control character"}
