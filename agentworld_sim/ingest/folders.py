"""How much of a folder may become a world, and the message when it is too much."""

from __future__ import annotations

import errno
import os
import re
import stat
import unicodedata
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from agentworld_sim.errors import UsageError
from agentworld_sim.ingest.ignore import IgnoreRules, is_secret
from agentworld_sim.plain_text import count_of
from agentworld_sim.types.files import Blobs, FileEntry, FileTree, normal_path

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class IngestLimits:
    """Bounds on what `tree_from_directory` takes in."""

    file_bytes: int = 16 * 1024**2
    """Bytes of any one file."""
    files: int = 20_000
    """Number of files."""
    total_bytes: int = 256 * 1024**2
    """Bytes of all files together."""


def check_limits(root: Path, sizes: Mapping[str, int], limits: IngestLimits) -> None:
    """Refuse a folder that is too big, naming what makes it so.

    Raises:
        UsageError: a limit is exceeded.
    """
    large = {path: size for path, size in sizes.items() if size > limits.file_bytes}
    if large:
        _refuse(
            f"{root}: {count_of(len(large), 'file')} larger than {_bytes(limits.file_bytes)}",
            ((path, _bytes(size)) for path, size in _biggest(large)),
            "file_bytes",
        )
    if len(sizes) > limits.files:
        per_folder = Counter(path.rpartition("/")[0] + "/" for path in sizes)
        _refuse(
            f"{root} holds {len(sizes):,} files; the limit is {limits.files:,}",
            ((folder, count_of(count, "file")) for folder, count in _biggest(per_folder)),
            "files",
        )
    total = sum(sizes.values())
    if total > limits.total_bytes:
        _refuse(
            f"{root} holds {_bytes(total)}; the limit is {_bytes(limits.total_bytes)}",
            ((path, _bytes(size)) for path, size in _biggest(sizes)),
            "total_bytes",
        )


def _refuse(what: str, offenders: Iterable[tuple[str, str]], limit: str) -> None:
    lines = "\n".join(f"  {path}  {measure}" for path, measure in offenders)
    raise UsageError(
        f"{what}. The biggest:\n{lines}\n"
        f"Leave them out with lines in .agentworldignore, or raise `limits.{limit}`."
    )


def _biggest(sizes: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(sizes.items(), key=lambda item: (-item[1], item[0]))[:_SHOWN]


def _bytes(count: int) -> str:
    size = float(count)
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{count} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"


_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, opening a pipe that took a file's place would wait for a writer.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

_HISTORY = re.compile(
    r"\.git(/(HEAD|ORIG_HEAD|MERGE_\w+|config|index|packed-refs|shallow|(refs|logs|objects)(/.*)?))?"
)
_HISTORY_FILES = 5_000
_HISTORY_FILE_BYTES = 10_000_000
_HISTORY_BYTES = 50_000_000
"""A repository with more is left out: the machine's files have limits, and folders came without it before."""

_PUBLIC = re.compile(rb"\[(core|user|remote|branch)\b", re.IGNORECASE)
_OF_THE_HOST = re.compile(
    rb"(?im)(^|\])[ \t]*(?:alternateRefsCommand|askPass|attributesFile|editor|excludesFile|fsmonitor|gitProxy|hooksPath"
    rb"|pager|proxy|receivepack|signingKey|sshCommand|uploadpack|worktree)[ \t]*=(?:.*\\\n)*.*\n?"
)
"""Settings in these sections that name programs and files of the host."""

_MAX_DEPTH = 100
# One descriptor is held per level, and the usual limit of a process is 1,024.


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """One thing of the folder that is not in the world."""

    path: str
    """Relative to the folder; a trailing slash means the whole directory."""
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


@dataclass(frozen=True, slots=True)
class IngestResult:
    """The files of a folder, and what was left out of them."""

    tree: FileTree
    skipped: tuple[SkippedFile, ...] = ()
    files: int = 0
    total_bytes: int = 0


@dataclass(frozen=True, slots=True)
class HostFile:
    """A regular file of the host, read in one go."""

    data: bytes
    mode: int
    mtime_us: int


@dataclass(frozen=True, slots=True)
class _ListedPath:
    """What the listing saw at one relative path."""

    path: str
    status: os.stat_result
    target: str = ""


def tree_from_directory(
    directory: str | os.PathLike[str],
    blobs: Blobs,
    *,
    at: str = "/srv/app",
    clock_us: int = 0,
    limits: IngestLimits | None = None,
    include_secrets: bool = False,
    with_history: bool = False,
) -> IngestResult:
    """Read `directory` into a tree that starts at `at`.

    Left out and reported: `.git` (see `with_history`), what `.gitignore` and `.agentworldignore` name (nested, in git's
    own syntax; the latter wins), files that look like secrets, links that leave the folder, sockets
    and other special files, and names that are not UTF-8 or hold a control character. Permission bits and mtimes are kept;
    everything belongs to root.

    Args:
        at: the path in the world that the folder becomes.
        clock_us: mtime of the directories above `at`, in microseconds since the epoch.
        limits: how much may come in.
        include_secrets: let `.env`, private keys and the like in.
        with_history: let a git repository's history in: no hooks, and of its settings none that may hold a secret.

    Raises:
        UsageError: the folder is missing or unreadable, is over a limit, or changed while it was
            being read. Nothing is left half done.
    """
    root = Path(directory)
    limits = limits or IngestLimits()
    base = normal_path(at)
    skipped: list[SkippedFile] = []
    with _open_root(root) as root_fd:
        walk = _Walk(root, base, IgnoreRules(), include_secrets, limits.files, skipped)
        walk.with_history = with_history and _is_small(root / ".git")
        found = list(walk.listing(root_fd, ""))
        check_limits(
            root,
            {f.path: f.status.st_size for f in found if stat.S_ISREG(f.status.st_mode)},
            limits,
        )
        entries = {base: _directory_entry(os.fstat(root_fd))}
        total = files = 0
        for item in found:
            entry, size = _entry(root, root_fd, item, blobs, limits)
            entries[base.rstrip("/") + "/" + item.path] = entry
            files += entry.kind == "file"
            total += size
    tree = FileTree.from_entries(entries.items(), directory_mtime_us=clock_us)
    return IngestResult(tree, tuple(sorted(skipped, key=lambda s: s.path)), files, total)


def _is_small(repository: Path) -> bool:
    """Whether it is a folder with a history that fits into a machine."""
    sizes: list[int] = []
    for folder, _, names in os.walk(repository):
        inside = f".git{folder.removeprefix(str(repository))}"
        taken = [name for name in names if _HISTORY.fullmatch(f"{inside}/{name}")]
        with _as_usage_errors(Path(folder)):
            sizes += [os.lstat(f"{folder}/{name}").st_size for name in taken]
        if len(sizes) > _HISTORY_FILES or sum(sizes) > _HISTORY_BYTES:
            return False
    return 0 < max(sizes, default=0) <= _HISTORY_FILE_BYTES


def _public(path: str, data: bytes) -> bytes:
    """A file of a repository without names and passwords in addresses; its settings without the sections that hold
    programs and headers, and without programs and files of the host in the others."""
    if path == ".git/config":
        public, kept = True, list[bytes]()
        for line in data.splitlines(keepends=True):
            if line.lstrip().startswith(b"["):
                public = bool(_PUBLIC.match(line.lstrip()))
            kept += [line] * public
        data = _OF_THE_HOST.sub(rb"\1", b"".join(kept))
    return re.sub(rb"://[^/\s]*@", b"://", data)


def read_inside(base: str | os.PathLike[str], relative: str, *, limit: int) -> HostFile:
    """One regular file below `base`, reached through no symbolic link.

    Raises:
        FileNotFoundError, IsADirectoryError, PermissionError: as the system says.
        UsageError: the path leaves `base`, passes a link, is special, or is over `limit` bytes.
    """
    root = Path(base)
    with _open_root(root) as root_fd:
        return _read_file(root, root_fd, relative, limit)


@dataclass(slots=True)
class _Walk:
    root: Path
    at: str
    rules: IgnoreRules
    include_secrets: bool
    file_limit: int
    skipped: list[SkippedFile]
    files: int = 0
    with_history: bool = False

    def listing(self, fd: int, prefix: str, depth: int = 0) -> Iterator[_ListedPath]:
        """Everything below the open directory `fd` that belongs in the world, parents first."""
        if depth > _MAX_DEPTH:
            raise UsageError(
                f"{self.root / prefix}: folders are nested more than {_MAX_DEPTH} deep. "
                "Leave the folder out with a line in .agentworldignore."
            )
        self.rules.enter(prefix, lambda name: _rules_text(self.root, fd, prefix, name))
        with _as_usage_errors(self.root / prefix):
            names = sorted(os.listdir(fd))
        for name in names:
            path = prefix + name
            with _as_usage_errors(self.root / path):
                status = os.stat(name, dir_fd=fd, follow_symlinks=False)
            is_directory = stat.S_ISDIR(status.st_mode)
            shown = path + "/" if is_directory else path
            if reason := self._reason_to_skip(name, path, status):
                printable = shown.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
                self.skipped.append(SkippedFile(printable, reason))
            elif is_directory:
                yield _ListedPath(path, status)
                with _as_usage_errors(self.root / path), _open(name, _DIRECTORY, fd) as below:
                    yield from self.listing(below, path + "/", depth + 1)
            elif stat.S_ISLNK(status.st_mode):
                with _as_usage_errors(self.root / path):
                    target = os.readlink(name, dir_fd=fd)
                    home = f"{self.root.resolve()}/"
                inside = target.removeprefix(home)
                if inside != target and not _link_leaves("", inside):
                    yield _ListedPath(path, status, f"{self.at.rstrip('/')}/{inside}")
                elif reason := _link_leaves(path, target):
                    self.skipped.append(SkippedFile(path, reason))
                else:
                    yield _ListedPath(path, status, target)
            else:
                self._count()
                yield _ListedPath(path, status)

    def _reason_to_skip(self, name: str, path: str, status: os.stat_result) -> str:
        try:
            path.encode()
        except UnicodeEncodeError:
            return "its name is not UTF-8"
        if any(unicodedata.category(char) in ("Cc", "Cf") for char in name):
            return "its name holds a control character"
        is_directory = stat.S_ISDIR(status.st_mode)
        if self.with_history and path.startswith(".git/"):
            return "" if _HISTORY.fullmatch(path) else "no history"
        if name == ".git" and not (self.with_history and path == name):
            return "version control data"
        if reason := self.rules.why_ignored(path, is_directory=is_directory):
            return reason
        if not self.include_secrets and is_secret(path, is_directory=is_directory):
            return "looks like a secret (include_secrets lets it in)"
        if not (is_directory or stat.S_ISLNK(status.st_mode) or stat.S_ISREG(status.st_mode)):
            return "not a file, folder or link"
        return ""

    def _count(self) -> None:
        self.files += 1
        # A home directory by mistake: listing millions of files first would help nobody.
        if self.files > 10 * self.file_limit:
            raise UsageError(
                f"{self.root} holds more than {self.files - 1:,} files; the limit is "
                f"{self.file_limit:,}. Name a smaller folder, or leave parts of it out with "
                ".agentworldignore."
            )


def _entry(
    root: Path, root_fd: int, item: _ListedPath, blobs: Blobs, limits: IngestLimits
) -> tuple[FileEntry, int]:
    if stat.S_ISDIR(item.status.st_mode):
        return _directory_entry(item.status), 0
    if stat.S_ISLNK(item.status.st_mode):
        return FileEntry("symlink", 0o777, _mtime_us(item.status), item.target), 0
    with _as_usage_errors(root / item.path):
        file = _read_file(root, root_fd, item.path, limits.file_bytes)
    plain = item.path.startswith(".git/") and not item.path.startswith(
        (".git/objects/", ".git/index")
    )
    data = _public(item.path, file.data) if plain else file.data
    return FileEntry("file", file.mode, file.mtime_us, blobs.put(data), len(data)), len(data)


def _read_file(root: Path, root_fd: int, relative: str, limit: int) -> HostFile:
    *above, name = PurePosixPath(relative).parts or ("",)
    if relative.startswith("/") or ".." in above or name in ("", ".."):
        raise UsageError(f"{relative!r} leaves {root}. Give a path below it.")
    fd = os.dup(root_fd)
    try:
        for part in above:
            fd = _swap(fd, os.open(part, _DIRECTORY, dir_fd=fd))
        fd = _swap(fd, os.open(name, _FILE, dir_fd=fd))
        status = os.fstat(fd)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), relative)
        if not stat.S_ISREG(status.st_mode):
            raise UsageError(f"{root / relative} is not a regular file.")
        data = _read(fd, limit + 1)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK) or _passes_link(root, relative, error):
            raise UsageError(
                f"{root / relative} is, or lies behind, a symbolic link; links are not followed."
            ) from error
        raise
    finally:
        os.close(fd)
    if len(data) > limit:
        raise UsageError(f"{root / relative} is larger than {limit:,} bytes.")
    return HostFile(data, stat.S_IMODE(status.st_mode), _mtime_us(status))


def _passes_link(root: Path, relative: str, error: OSError) -> bool:
    """`O_DIRECTORY | O_NOFOLLOW` on a link reports ENOTDIR, which says too little."""
    if error.errno != errno.ENOTDIR:
        return False
    parts = PurePosixPath(relative).parts
    return any(root.joinpath(*parts[:n]).is_symlink() for n in range(1, len(parts) + 1))


def _read(fd: int, limit: int) -> bytes:
    parts: list[bytes] = []
    while limit > 0 and (part := os.read(fd, min(limit, 1 << 20))):
        parts.append(part)
        limit -= len(part)
    return b"".join(parts)


def _swap(old: int, new: int) -> int:
    os.close(old)
    return new


def _rules_text(root: Path, fd: int, prefix: str, name: str) -> str | None:
    try:
        with _open(name, _FILE, fd) as rules_fd:
            if not stat.S_ISREG(os.fstat(rules_fd).st_mode):
                return None
            return _read(rules_fd, 1 << 20).decode("utf-8", "replace")
    except OSError as error:
        # git does not follow a linked .gitignore either.
        if error.errno in (errno.ENOENT, errno.ELOOP):
            return None
        raise UsageError(_trouble(root / prefix / name, error)) from error


def _link_leaves(path: str, target: str) -> str:
    """Why a link is not kept. Judged by its text alone: nothing on the host is ever followed."""
    if target.startswith("/"):
        return f"links to {target}, outside the folder"
    depth = path.count("/")
    for part in target.split("/"):
        depth += -1 if part == ".." else part not in ("", ".")
        if depth < 0:
            return f"links to {target}, outside the folder"
    try:
        target.encode()
    except UnicodeEncodeError:
        return "the target of the link is not UTF-8"
    return ""


def _directory_entry(status: os.stat_result) -> FileEntry:
    return FileEntry("directory", stat.S_IMODE(status.st_mode), _mtime_us(status))


def _mtime_us(status: os.stat_result) -> int:
    return status.st_mtime_ns // 1000


@contextmanager
def _open(name: str, flags: int, dir_fd: int) -> Generator[int]:
    fd = os.open(name, flags, dir_fd=dir_fd)
    try:
        yield fd
    finally:
        os.close(fd)


@contextmanager
def _open_root(root: Path) -> Generator[int]:
    try:
        # The folder itself may be named through a link: that is the user's own choice.
        fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise UsageError(_trouble(root, error)) from error
    try:
        yield fd
    finally:
        os.close(fd)


@contextmanager
def _as_usage_errors(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(_trouble(path, error)) from error


_TROUBLE: dict[int, Callable[[Path], str]] = {
    errno.ENOENT: lambda path: (
        f"{path} does not exist, or went away while it was being read. Check the path and try again."
    ),
    errno.ENOTDIR: lambda path: f"{path} is not a folder. Name a folder.",
    errno.EACCES: lambda path: (
        f"{path} cannot be read (permission denied). Make it readable, or leave it out with a line "
        "in .agentworldignore."
    ),
}


def _trouble(path: Path, error: OSError) -> str:
    known = _TROUBLE.get(error.errno or 0)
    return known(path) if known else f"{path} cannot be read ({error.strerror or error})."
