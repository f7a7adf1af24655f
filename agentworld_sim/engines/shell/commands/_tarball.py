"""Archives as bytes and as lines: what `tar` needs besides its doings."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Sequence

from agentworld_sim.engines.shell.commands._figures import moment
from agentworld_sim.engines.shell.commands._modes import mode_text
from agentworld_sim.engines.shell.commands._options import Options

OPTIONS = Options(
    "ctxrudAf:vzjJaC:pkOPmhT:X:bB:iUwlWSsnoZ",
    {
        "create": "c", "list": "t", "extract": "x", "get": "x", "append": "r", "update": "u",
        "diff": "d", "compare": "d", "delete": "", "concatenate": "A", "file": "f", "verbose": "v",
        "gzip": "z", "gunzip": "z", "bzip2": "j", "xz": "J", "auto-compress": "a",
        "directory": "C", "exclude": ":", "exclude-from": "X", "strip-components": ":",
        "to-stdout": "O", "keep-old-files": "k", "skip-old-files": "", "overwrite": "",
        "preserve-permissions": "p", "same-permissions": "p", "no-same-owner": "o",
        "same-owner": "", "no-same-permissions": "", "dereference": "h", "absolute-names": "P",
        "files-from": "T", "transform": ":", "xform": ":", "owner": ":", "group": ":",
        "numeric-owner": "", "mtime": ":", "mode": ":", "sort": ":", "wildcards": "",
        "no-wildcards": "", "no-recursion": "", "recursion": "", "touch": "m", "format": ":",
        "exclude-vcs": "", "totals": "", "null": "", "one-file-system": "", "warning": ":",
        "full-time": "", "remove-files": "", "ignore-failed-read": "", "checkpoint": "::",
    },
    exit_code=64,
)  # fmt: skip
VCS = (
    "CVS",
    ".git",
    ".gitignore",
    ".gitattributes",
    ".svn",
    ".hg",
    ".bzr",
    "_darcs",
    "RCS",
    "SCCS",
)
_RECORD = 10_240
COMPRESSION = {"z": "gz", "j": "bz2", "J": "xz"}
SUFFIXES = {
    ".gz": "gz", ".tgz": "gz", ".taz": "gz", ".bz2": "bz2", ".tbz": "bz2", ".tbz2": "bz2",
    ".xz": "xz", ".txz": "xz",
}  # fmt: skip


def content(opened: tarfile.TarFile, info: tarfile.TarInfo) -> bytes:
    if not (info.isfile() or info.islnk()):
        return b""
    stream = opened.extractfile(info)
    return stream.read() if stream is not None else b""


def shown_name(info: tarfile.TarInfo) -> str:
    return info.name.rstrip("/") + "/" if info.isdir() else info.name


def long_line(info: tarfile.TarInfo, shown: str, width: int = 19) -> str:
    """A line of `tar tv`: mode, owners, size, time, name."""
    return aligned(info, shown, width, numeric=False)[0]


def aligned(info: tarfile.TarInfo, shown: str, width: int, numeric: bool) -> tuple[str, int]:
    kind = "directory" if info.isdir() else "symlink" if info.issym() else "file"
    owners = (
        f"{info.uid}/{info.gid}"
        if numeric
        else f"{info.uname or info.uid}/{info.gname or info.gid}"
    )
    size = str(info.size)
    # The columns grow with what was shown before, and never shrink.
    width = max(width, len(owners) + 1 + len(size))
    when = moment(int(info.mtime) * 1_000_000)
    text = mode_text(kind, info.mode & 0o7777)
    if info.islnk():
        text = "h" + text[1:]
    line = f"{text} {owners}{size.rjust(width - len(owners))} {when:%Y-%m-%d %H:%M} {shown}"
    if info.issym():
        line += f" -> {info.linkname}"
    if info.islnk():
        line += f" link to {info.linkname}"
    return line, width


def tarfile_kind(data: bytes) -> str:
    """The compression of `data` by its first bytes."""
    for start, kind in ((b"\x1f\x8b", "gz"), (b"BZh", "bz2"), (b"\xfd7zXZ\0", "xz")):
        if data.startswith(start):
            return kind
    return ""


def packed(data: bytes, kind: str, seconds: int) -> bytes:
    """`data` compressed; the same bytes for the same moment."""
    import bz2
    import gzip
    import lzma

    del seconds  # a pipe into gzip has no time to keep
    if kind == "gz":
        return gzip.compress(data, 6, mtime=0)
    if kind == "bz2":
        return bz2.compress(data)
    return lzma.compress(data) if kind == "xz" else data


def words(argv: Sequence[str]) -> list[str]:
    """The old form without a dash: letters first, then their arguments in order."""
    if not argv or argv[0].startswith("-"):
        return list(argv)
    letters, rest = argv[0], list(argv[1:])
    words: list[str] = []
    for letter in letters:
        words.append("-" + letter)
        if letter in "fCTXb" and rest:
            words.append(rest.pop(0))
    return words + rest


def renamed(name: str, rules: Sequence[str]) -> str:
    """`name` after `--transform` rules of the form `s/…/…/flags`."""
    for rule in rules:
        found = re.fullmatch(r"s(.)(.*?)\1(.*?)\1(\w*)", rule)
        if found:
            count = 0 if "g" in found[4] else 1
            name = re.sub(found[2], re.sub(r"&", r"\\g<0>", found[3]), name, count=count)
    return name
