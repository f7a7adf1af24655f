"""Walking directories as file tools do: sorted, with or without what git ignores."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from agentworld_sim.engines.shell.live_files import FileStat, LiveFiles
from agentworld_sim.ingest.ignore import IgnoreRules
from agentworld_sim.types.files import parent_of

Skip = Callable[[str, bool], bool]
"""Whether to leave out a path (relative to where the walk started) that is or is not a directory."""


def skip_nothing(path: str, is_directory: bool) -> bool:
    """A `Skip` that skips nothing."""
    return False


def files_below(
    files: LiveFiles, top: str, *, skip: Skip = skip_nothing, links: bool = False
) -> Iterator[tuple[str, FileStat]]:
    """Every file below the directory `top`, by its path relative to it, in byte order.

    Args:
        files: Where to look.
        top: An absolute path.
        skip: Called with the relative path; a skipped directory is not entered.
        links: Whether symbolic links are given too. They are never followed.
    """
    yield from _below(files, top.rstrip("/"), "", skip, links)


def _below(
    files: LiveFiles, top: str, prefix: str, skip: Skip, links: bool
) -> Iterator[tuple[str, FileStat]]:
    for name in files.listdir(f"{top}/{prefix}"):
        path = prefix + name
        try:
            info = files.lstat(f"{top}/{path}")
        except OSError:
            continue
        if skip(path, info.kind == "directory"):
            continue
        if info.kind == "directory":
            yield from _below(files, top, path + "/", skip, links)
        elif info.kind == "file" or (links and info.kind == "symlink"):
            yield path, info


class GitIgnore:
    """What the `.gitignore` files of a repository leave out. Outside a repository: nothing."""

    def __init__(self, files: LiveFiles, top: str) -> None:
        """Finds the repository that the directory `top` lies in."""
        self._files = files
        self._rules = IgnoreRules()
        self._entered: set[str] = set()
        self._root = top
        while not files.exists(f"{self._root.rstrip('/')}/.git"):
            if self._root == "/":
                self._root = ""
                return
            self._root = parent_of(self._root)
        self._root = self._root.rstrip("/") + "/"

    def covers(self, path: str, is_directory: bool) -> bool:
        """Whether git ignores the absolute path, or a directory above it."""
        if not self._root or not path.startswith(self._root):
            return False
        inner = path[len(self._root) :]
        self._enter("")
        parts = inner.split("/")
        for depth in range(1, len(parts) + 1):
            above = "/".join(parts[:depth])
            folder = depth < len(parts) or is_directory
            if self._rules.why_ignored(above, is_directory=folder):
                return True
            if folder:
                self._enter(above + "/")
        return False

    def _enter(self, prefix: str) -> None:
        if prefix not in self._entered:
            self._entered.add(prefix)
            self._rules.enter(prefix, lambda name: self._text(prefix + name))

    def _text(self, inner: str) -> str | None:
        if not inner.endswith(".gitignore"):
            return None
        try:
            return self._files.read(self._root + inner).decode("utf-8", "replace")
        except OSError:
            return None
