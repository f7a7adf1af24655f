"""What changed between two trees: as values, as lines for people, and as a patch for git."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from agentworld_sim.diff._gitdiff import GitFile, file_patch
from agentworld_sim.types.files import Blobs, FileEntry, FileTree, normal_path

ChangeKind = Literal["added", "removed", "kind", "modified", "mode", "owner", "mtime"]
"""The most important thing that happened to a path; `FileChange` carries both entries."""

_LETTERS: dict[ChangeKind, str] = {
    "added": "A",
    "removed": "D",
    "kind": "T",
    "modified": "M",
    "mode": "M",
    "owner": "M",
    "mtime": "M",
}


@dataclass(frozen=True, slots=True, repr=False)
class FileChange:
    """One path that differs. Its text form is one line: `M /srv/app/run  mode 0644 → 0755`."""

    path: str
    kind: ChangeKind
    before: FileEntry | None
    after: FileEntry | None

    def __repr__(self) -> str:
        return f"FileChange({str(self)!r})"

    def __str__(self) -> str:
        details = "; ".join(self._details())
        return f"{_LETTERS[self.kind]} {self.path}" + (f"  {details}" if details else "")

    def _details(self) -> Iterator[str]:
        before, after = self.before, self.after
        if before is None or after is None:
            return
        if before.kind != after.kind:
            yield f"{before.kind} → {after.kind}"
        elif before.kind == "symlink" and before.content != after.content:
            yield f"link {before.content} → {after.content}"
        if before.mode != after.mode:
            yield f"mode {before.mode:04o} → {after.mode:04o}"
        if (before.owner, before.group) != (after.owner, after.group):
            yield f"owner {before.owner}:{before.group} → {after.owner}:{after.group}"
        if self.kind == "mtime":
            yield "mtime"


def tree_diff(before: FileTree, after: FileTree, *, mtimes: bool = False) -> list[FileChange]:
    """The paths that differ, in order.

    Args:
        before: the older tree.
        after: the newer tree.
        mtimes: also list paths whose modification time alone differs.
    """
    changes: list[FileChange] = []
    for path in before.changes_to(after):
        old, new = before.get(path), after.get(path)
        kind = _kind_of(old, new)
        if kind != "mtime" or mtimes:
            changes.append(FileChange(path, kind, old, new))
    return changes


def patch_text(before: FileTree, after: FileTree, blobs: Blobs, *, root: str = "/") -> str:
    """A patch in git's own format that turns `before` into `after`; `git apply` accepts it.

    It says what git can say: files, whether they are executable, and symbolic links. Empty
    directories, owners, times, other permission bits and pipes are not part of it, and neither are
    paths inside a `.git` directory, which git refuses.

    Args:
        before: the older tree.
        after: the newer tree.
        blobs: the contents of both trees.
        root: paths are written relative to this directory, and only those below it.
    """
    prefix = normal_path(root).rstrip("/") + "/"
    parts: list[str] = []
    for path in sorted(before.changes_to(after), key=lambda path: path.encode()):
        relative = path.removeprefix(prefix)
        if not path.startswith(prefix) or _inside_git(relative):
            continue
        old, new = _git_file(before.get(path), blobs), _git_file(after.get(path), blobs)
        if old == new:
            continue
        if old and new and old.is_link != new.is_link:
            # git writes a change of type as a removal and an addition.
            parts += [file_patch(relative, old, None), file_patch(relative, None, new)]
        else:
            parts.append(file_patch(relative, old, new))
    return "".join(parts)


def _kind_of(before: FileEntry | None, after: FileEntry | None) -> ChangeKind:
    if before is None:
        return "added"
    if after is None:
        return "removed"
    if before.kind != after.kind:
        return "kind"
    if before.content != after.content:
        return "modified"
    if before.mode != after.mode:
        return "mode"
    if (before.owner, before.group) != (after.owner, after.group):
        return "owner"
    return "mtime"


def _git_file(entry: FileEntry | None, blobs: Blobs) -> GitFile | None:
    if entry is None:
        return None
    if entry.kind == "file":
        return GitFile(0o100755 if entry.mode & 0o100 else 0o100644, blobs.get(entry.content))
    if entry.kind == "symlink":
        return GitFile(0o120000, entry.content.encode())
    return None


def _inside_git(relative: str) -> bool:
    return any(part.lower() == ".git" for part in relative.split("/"))
