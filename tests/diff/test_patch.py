"""Differences between trees, and patches that the real git accepts."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from agentworld_sim.diff import patch_text, tree_diff
from agentworld_sim.types.files import FileEntry, FileTree, MemoryBlobs
from tests.properties import examples

GIT = shutil.which("git")
ENVIRONMENT = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}

Content = tuple[str, bytes]
"""`("644" | "755" | "link", data)`."""


def tree_of(files: dict[str, Content], blobs: MemoryBlobs) -> FileTree:
    return FileTree.from_entries(
        (
            "/" + path,
            FileEntry("symlink", 0o777, content=data.decode())
            if kind == "link"
            else FileEntry("file", int(kind, 8), content=blobs.put(data), size=len(data)),
        )
        for path, (kind, data) in files.items()
    )


def write(folder: Path, files: dict[str, Content]) -> None:
    for path, (kind, data) in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if kind == "link":
            target.symlink_to(data.decode())
        else:
            target.write_bytes(data)
            target.chmod(int(kind, 8))


def read(folder: Path) -> dict[str, Content]:
    found: dict[str, Content] = {}
    for above, directories, names in os.walk(folder):
        for name in [*names, *(d for d in directories if (Path(above) / d).is_symlink())]:
            path = Path(above) / name
            relative = str(path.relative_to(folder))
            if path.is_symlink():
                found[relative] = ("link", os.readlink(path).encode())
            else:
                kind = "755" if path.stat().st_mode & 0o100 else "644"
                found[relative] = (kind, path.read_bytes())
    return found


def git_apply(folder: Path, patch: str, *options: str) -> None:
    assert GIT, "git is needed for these tests: install it"
    if patch:
        subprocess.run(
            [GIT, "apply", *options, "-"],
            input=patch.encode(),
            cwd=folder,
            env={**ENVIRONMENT, "GIT_CEILING_DIRECTORIES": str(folder.parent)},
            check=True,
            capture_output=True,
        )


def check_round_trip(before: dict[str, Content], after: dict[str, Content]) -> str:
    blobs = MemoryBlobs()
    patch = patch_text(tree_of(before, blobs), tree_of(after, blobs), blobs)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "work"
        folder.mkdir()
        write(folder, before)
        git_apply(folder, patch)
        assert read(folder) == after
        git_apply(folder, patch, "--reverse")
        assert read(folder) == before
    return patch


LINES = st.lists(
    st.sampled_from(
        [b"a", b"b", b"  indented", b"-", b"+++ b/x", b"@@ -1 +1 @@", b"", b"\r", b"\xc3\xa9"]
    ),
    max_size=24,
)


def joined(lines: list[bytes], end: bytes) -> bytes:
    return b"\n".join(lines) + end


TEXT = st.builds(joined, LINES, st.sampled_from([b"", b"\n"]))
DATA = TEXT | st.binary(max_size=200) | st.just(b"\0" * 5000)
# No link to itself: where such a link becomes a directory, git refuses its own patches too (ELOOP).
LINK = st.sampled_from([b"elsewhere", b"../up", b"/etc/passwd", b"with space", b"line\nbreak"])
CONTENT = st.tuples(st.sampled_from(["644", "755"]), DATA) | st.tuples(st.just("link"), LINK)
NAME = st.sampled_from(
    ["a", "b c", "é", 'q"uote', "back\\slash", "tab\there", "-dash", "new\nline"]
)
PATH = st.lists(NAME, min_size=1, max_size=3).map("/".join)


def without_conflicts(files: dict[str, Content]) -> dict[str, Content]:
    """No file may be a directory of another one."""
    return {
        path: content
        for path, content in files.items()
        if not any(other.startswith(path + "/") for other in files)
    }


FILES = st.dictionaries(PATH, CONTENT, max_size=6).map(without_conflicts)


@settings(max_examples=examples(60), deadline=None)
@given(before=FILES, after=FILES)
def test_git_apply_turns_the_tree_before_into_the_tree_after_and_back(
    before: dict[str, Content], after: dict[str, Content]
) -> None:
    check_round_trip(before, after)


@settings(max_examples=examples(30), deadline=None)
@given(before=TEXT, after=TEXT, more=st.integers(0, 12))
def test_git_apply_accepts_edits_of_one_text(before: bytes, after: bytes, more: int) -> None:
    padding = b"".join(b"line %d\n" % n for n in range(more))
    check_round_trip(
        {"f": ("644", padding + before + padding)}, {"f": ("644", padding + after + padding)}
    )


def test_a_patch_reads_as_git_writes_it() -> None:
    before: dict[str, Content] = {
        "src/run.sh": ("644", b"one\ntwo\n"),
        "old name": ("644", b"x"),
        "same": ("644", b"s"),
    }
    after: dict[str, Content] = {
        "src/run.sh": ("755", b"one\n2\n"),
        "caf\u00e9": ("link", b"src"),
        "same": ("644", b"s"),
    }
    assert check_round_trip(before, after) == (
        'diff --git "a/caf\\303\\251" "b/caf\\303\\251"\n'
        "new file mode 120000\n"
        "index 0000000000000000000000000000000000000000..e8310385c56dc4bbe379f43400f3181f6a59f260\n"
        "--- /dev/null\n"
        '+++ "b/caf\\303\\251"\n'
        "@@ -0,0 +1 @@\n"
        "+src\n"
        "\\ No newline at end of file\n"
        "diff --git a/old name b/old name\n"
        "deleted file mode 100644\n"
        "index c1b0730e0133447badcfd47fd144e254807b06e1..0000000000000000000000000000000000000000\n"
        "--- a/old name\t\n"
        "+++ /dev/null\n"
        "@@ -1 +0,0 @@\n"
        "-x\n"
        "\\ No newline at end of file\n"
        "diff --git a/src/run.sh b/src/run.sh\n"
        "old mode 100644\n"
        "new mode 100755\n"
        "index 814f4a422927b82f5f8a43f8fab6d3839e3983f2..99b356dcd03dde0755c749bcd4cae4b2b73a8fa8\n"
        "--- a/src/run.sh\n"
        "+++ b/src/run.sh\n"
        "@@ -1,2 +1,2 @@\n"
        " one\n"
        "-two\n"
        "+2\n"
    )


def test_a_patch_equals_the_one_git_itself_makes(tmp_path: Path) -> None:
    before: dict[str, Content] = {
        "a b": ("644", b"".join(b"line %d\n" % n for n in range(40))),
        "bin": ("644", b"\0\1\2" * 50),
        "gone": ("755", b"x\n"),
    }
    after: dict[str, Content] = {
        "a b": ("644", b"".join(b"line %d\n" % n for n in range(40) if n not in (3, 30))),
        "bin": ("755", b"\0\1\2" * 60),
        "empty": ("644", b""),
    }
    write(tmp_path, before)

    def git(*arguments: str) -> str:
        assert GIT
        return subprocess.run(
            [GIT, *arguments], cwd=tmp_path, env=ENVIRONMENT, check=True, capture_output=True
        ).stdout.decode()

    git("init", "-q")
    git("add", "-A")
    tree = git("write-tree").strip()
    for path in before:
        (tmp_path / path).unlink()
    write(tmp_path, after)
    git("add", "-A")
    theirs = git("diff", "--cached", "--binary", "--full-index", "--no-renames", tree)
    blobs = MemoryBlobs()
    ours = patch_text(tree_of(before, blobs), tree_of(after, blobs), blobs)

    def without_binary_and_headings(patch: str) -> list[str]:
        # git compresses binary content its own way, and repeats a line after the second `@@`.
        kept = [line.split(" @@")[0] for line in patch.splitlines()]
        first = kept.index("GIT binary patch")
        return kept[:first] + kept[kept.index("diff --git a/empty b/empty") :]

    def without_empty(lines: list[str]) -> list[str]:
        return [line for line in lines if line]

    assert without_empty(without_binary_and_headings(ours)) == without_empty(
        without_binary_and_headings(theirs)
    )


def test_paths_outside_the_root_and_inside_git_directories_are_left_out() -> None:
    blobs = MemoryBlobs()
    after = tree_of(
        {
            "srv/app/x": ("644", b"1\n"),
            "srv/app/.git/HEAD": ("644", b"2\n"),
            "srv/application": ("644", b"3\n"),
            "etc/x": ("644", b"4\n"),
        },
        blobs,
    )
    patch = patch_text(FileTree.from_entries([]), after, blobs, root="/srv/app")
    assert [line for line in patch.splitlines() if line.startswith("diff")] == [
        "diff --git a/x b/x"
    ]


def test_what_git_cannot_say_makes_no_patch() -> None:
    before = FileTree.from_entries([("/f", FileEntry("file", 0o644, content="c"))])
    after = FileTree.from_entries(
        [
            ("/f", FileEntry("file", 0o600, 5, "c", owner="dana")),
            ("/pipe", FileEntry("fifo")),
            ("/empty", FileEntry("directory", 0o755)),
        ]
    )

    class Same(MemoryBlobs):
        def get(self, blob: str) -> bytes:
            return b"same"

    assert patch_text(before, after, Same()) == ""


def test_a_large_rewrite_stays_quick_and_correct() -> None:
    before = b"".join(b"old %d\n" % n for n in range(6000))
    after = b"".join(b"new %d\n" % n for n in range(6000))
    patch = check_round_trip({"f": ("644", before)}, {"f": ("644", after)})
    assert patch.count("@@ -") == 1


def test_a_difference_is_one_line_for_people() -> None:
    before = FileTree.from_entries(
        [
            ("/a", FileEntry("file", 0o644, content="1")),
            ("/gone", FileEntry("file")),
            ("/kind", FileEntry("file", 0o777)),
            ("/link", FileEntry("symlink", 0o777, content="x")),
            ("/mode", FileEntry("file", 0o644)),
            ("/owner", FileEntry("file", 0o644)),
            ("/time", FileEntry("file", 0o644, 1)),
        ]
    )
    after = FileTree.from_entries(
        [
            ("/a", FileEntry("file", 0o644, content="2")),
            ("/kind", FileEntry("symlink", 0o777, content="a")),
            ("/link", FileEntry("symlink", 0o777, content="y")),
            ("/mode", FileEntry("file", 0o755)),
            ("/new", FileEntry("file")),
            ("/owner", FileEntry("file", 0o644, owner="dana", group="staff")),
            ("/time", FileEntry("file", 0o644, 2)),
        ]
    )
    lines = [
        "M /a",
        "D /gone",
        "T /kind  file → symlink",
        "M /link  link x → y",
        "M /mode  mode 0644 → 0755",
        "A /new",
        "M /owner  owner root:root → dana:staff",
    ]
    assert [str(change) for change in tree_diff(before, after)] == lines
    assert [str(change) for change in tree_diff(before, after, mtimes=True)] == [
        *lines,
        "M /time  mtime",
    ]
    assert tree_diff(before, before) == []


@pytest.mark.parametrize(
    ("kind", "path"),
    [("added", "/new"), ("removed", "/old")],
)
def test_a_change_carries_both_entries(kind: str, path: str) -> None:
    entry = FileEntry("file", 0o600)
    with_it = FileTree.from_entries([(path, entry)])
    without = FileTree.from_entries([])
    before, after = (without, with_it) if kind == "added" else (with_it, without)
    (change,) = tree_diff(before, after)
    assert (change.kind, change.before, change.after) == (
        kind,
        before.get(path),
        after.get(path),
    )
