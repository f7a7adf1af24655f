"""The files that a scenario names become the first tree of a world."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from agentworld_sim.errors import ScenarioError, UsageError, nearest
from agentworld_sim.scenario._content import (
    Base64File,
    CopiedFile,
    Directory,
    FileSpec,
    Link,
    TextFile,
)
from agentworld_sim.scenario._sections import Limits, MachineSpec
from agentworld_sim.scenario._types import to_us
from agentworld_sim.types.files import (
    BlobId,
    Blobs,
    FileEntry,
    FileTree,
    blob_id,
    parent_of,
)

if TYPE_CHECKING:
    from agentworld_sim.ingest.folders import SkippedFile


class NameOnlyBlobs:
    """Names contents without keeping them: enough to hash a tree."""

    def put(self, data: bytes) -> BlobId:
        return blob_id(data)

    def get(self, blob: BlobId) -> bytes:
        raise KeyError(blob)


@dataclass(frozen=True, slots=True)
class TreeSource:
    """What a tree is made of."""

    source: str
    """The scenario's name in messages."""
    base: Path | None
    clock_us: int
    machine: MachineSpec
    files: Mapping[str, FileSpec]
    files_from: str | None
    limits: Limits
    keeps_times: bool = False
    """Files keep their mtimes, as far as these lie before the world's first moment."""
    skipped: list[SkippedFile] = field(default_factory=list["SkippedFile"])
    """What of the named folders was left out."""

    def build(self, blobs: Blobs) -> FileTree:
        """All files, with their parents and the working directory.

        Raises:
            ScenarioError: a source is missing or unreadable, or a limit is exceeded.
        """
        workdir = self.machine.workdir_path
        entries = {workdir: self._with_owner(workdir, FileEntry("directory", 0o755))}
        if self.files_from is not None:
            entries.update(self._folder("files_from", self.files_from, workdir, blobs))
        for path, spec in sorted(self.files.items()):
            entries.update(self._entries(path, spec, blobs))
        try:
            tree = FileTree.from_entries(entries.items(), directory_mtime_us=self.clock_us)
        except ValueError as error:
            raise ScenarioError(f"{self.source}: files: {error}. Move one of the two.") from error
        self._check([entry.size for entry in tree.values() if entry.kind == "file"])
        return tree

    def _entries(self, path: str, spec: FileSpec, blobs: Blobs) -> Iterator[tuple[str, FileEntry]]:
        match spec:
            case TextFile():
                entry = _file(spec.text.encode(), _mode(spec.mode, 0o644), blobs)
            case Base64File():
                entry = _file(spec.base64, _mode(spec.mode, 0o644), blobs)
            case Directory():
                entry = FileEntry("directory", _mode(spec.mode, 0o755))
            case Link():
                entry = FileEntry("symlink", 0o777, content=spec.link)
            case CopiedFile():
                yield from self._copy(path, spec, blobs)
                return
            case _:
                assert_never(spec)
        yield path, self._with_owner(path, entry, spec)

    def _copy(self, path: str, spec: CopiedFile, blobs: Blobs) -> Iterator[tuple[str, FileEntry]]:
        from agentworld_sim.ingest.folders import read_inside

        key = f"files.{path}.from"
        try:
            host = read_inside(self._base(key), spec.from_, limit=self.limits.file_bytes)
        except IsADirectoryError:
            if spec.mode is not None:
                raise ScenarioError(
                    f"{self.source}: files.{path}.mode: {spec.from_!r} is a folder, and its files "
                    "have their own modes. Remove `mode`."
                ) from None
            for below, entry in self._folder(key, spec.from_, path, blobs):
                yield below, self._with_owner(below, entry, spec)
        except (OSError, UsageError) as error:
            raise self._trouble(key, error) from error
        else:
            mode = _mode(spec.mode, _plain_mode(host.mode))
            yield path, self._with_owner(path, _file(host.data, mode, blobs), spec)

    def _folder(
        self, key: str, relative: str, at: str, blobs: Blobs
    ) -> Iterator[tuple[str, FileEntry]]:
        """A folder beside the scenario file. Modes are made plain, and times unless they are kept, as in
        a git checkout: the same scenario is the same world on every machine."""
        from agentworld_sim.ingest.folders import IngestLimits, tree_from_directory

        limits = IngestLimits(self.limits.file_bytes, self.limits.files, self.limits.total_bytes)
        if trouble := unusable(self._base(key), relative):
            raise ScenarioError(f"{self.source}: {key}: {trouble}")
        try:
            found = tree_from_directory(
                self._base(key) / relative,
                blobs,
                at=at,
                limits=limits,
                # What is taken from a folder of the user's, and not from beside a scenario.
                with_history=self.keeps_times,
            )
        except UsageError as error:
            raise self._trouble(key, error) from error
        self.skipped.extend(found.skipped)
        for path, entry in found.tree.items():
            if path == at or path.startswith(at.rstrip("/") + "/"):
                mode = entry.mode if entry.kind == "symlink" else _plain_mode(entry.mode)
                mode = 0o755 if entry.kind == "directory" else mode
                owned = self._with_owner(path, replace(entry, mode=mode))
                mtime_us = min(entry.mtime_us, self.clock_us)
                yield path, replace(owned, mtime_us=mtime_us) if self.keeps_times else owned

    def _with_owner(self, path: str, entry: FileEntry, spec: FileSpec | None = None) -> FileEntry:
        places = (self.machine.home_path, self.machine.workdir_path)
        mine = any(path == p or path.startswith(p.rstrip("/") + "/") for p in places)
        owner = (spec and spec.owner) or (self.machine.user if mine else "root")
        mtime_us = to_us(spec.mtime) if spec and spec.mtime else self.clock_us
        group = (spec and spec.group) or owner
        return replace(entry, owner=owner, group=group, mtime_us=mtime_us)

    def _base(self, key: str) -> Path:
        if self.base is None:
            raise ScenarioError(f"{self.source}: {key}: {NO_FOLDER}")
        return self.base

    def _trouble(self, key: str, error: Exception) -> ScenarioError:
        text = f"{error.strerror}." if isinstance(error, OSError) else str(error)
        return ScenarioError(f"{self.source}: {key}: {text}")

    def _check(self, sizes: list[int]) -> None:
        for name, found, limit in (
            ("file_bytes", max(sizes, default=0), self.limits.file_bytes),
            ("files", len(sizes), self.limits.files),
            ("total_bytes", sum(sizes), self.limits.total_bytes),
        ):
            if found > limit:
                raise ScenarioError(
                    f"{self.source}: limits.{name}: the files need {found:,}; allowed: {limit:,}. "
                    f"Raise the limit, or leave files out."
                )


NO_FOLDER = (
    "the scenario is a text without a folder, so there is nothing to copy from. "
    "Save it as a file, or give `base_dir`."
)


def source_problems(
    files: Mapping[str, FileSpec], files_from: str | None, base: Path | None
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """What is wrong with the paths that a scenario copies from, by key."""
    if files_from is not None:
        trouble = NO_FOLDER if base is None else unusable(base, files_from)
        if not trouble and base and not (base / files_from).is_dir():
            trouble = f"{files_from!r} is not a folder. Name one, or use `files` with `from`."
        if trouble:
            yield ("files_from",), trouble
    for path, spec in files.items():
        if isinstance(spec, CopiedFile):
            trouble = NO_FOLDER if base is None else unusable(base, spec.from_)
            if trouble:
                yield ("files", path, "from"), trouble


def path_conflicts(files: Mapping[str, FileSpec]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Paths below something that is not a directory."""
    for path, spec in files.items():
        if path == "/" and not isinstance(spec, Directory):
            yield ("files", path), "the root is a directory. Use {directory: true}."
        above = path
        while above != "/":
            above = parent_of(above)
            spec = files.get(above)
            if spec is not None and not isinstance(spec, Directory | CopiedFile):
                kind = "link" if isinstance(spec, Link) else "file"
                yield (
                    ("files", path),
                    f"{above!r} is a {kind}, so nothing can be below it. Move one of the two.",
                )
                break


def unusable(base: Path, relative: str) -> str:
    """Why nothing can be copied from `relative`, or an empty string."""
    at = base
    for part in Path(relative).parts:
        try:
            status = os.lstat(at / part)
        except OSError:
            try:
                hint = nearest(part, os.listdir(at))
            except OSError:
                hint = ""
            return f"{relative!r} is not in {base}.{hint} Add it there, or correct the path."
        at /= part
        if stat.S_ISLNK(status.st_mode):
            return f"{at} is a symbolic link; links are not followed. Copy the content instead."
    return ""


def _file(data: bytes, mode: int, blobs: Blobs) -> FileEntry:
    return FileEntry("file", mode, content=blobs.put(data), size=len(data))


def _mode(given: int | None, default: int) -> int:
    return default if given is None else given


def _plain_mode(mode: int) -> int:
    return 0o755 if mode & 0o100 else 0o644
