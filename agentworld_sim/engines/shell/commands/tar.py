"""`tar` of GNU tar, where no archive passes through a pipe.

A command written in Python cannot receive or give arbitrary bytes through a pipe, so archives that
come from standard input or go to standard output stay with the embedded shell's own `tar`.
"""

from __future__ import annotations

import errno
import io
import os
import re
import tarfile
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal

from agentworld_sim.engines.shell.commands._accounts import group_names, user_names
from agentworld_sim.engines.shell.commands._formats import mode_text, moment
from agentworld_sim.engines.shell.commands._options import CommandLine, Options, UsageError
from agentworld_sim.engines.shell.commands._tool import Tool, join_path, strerror, tool
from agentworld_sim.engines.shell.live_files import FileStat

OPTIONS = Options(
    "ctxf:vzjJaC:pOPmho",
    {
        "create": "c", "list": "t", "extract": "x", "get": "x", "file": "f", "verbose": "v",
        "gzip": "z", "gunzip": "z", "bzip2": "j", "xz": "J", "auto-compress": "a",
        "directory": "C", "exclude": ":", "strip-components": ":",
        "to-stdout": "O", "overwrite": "",
        "preserve-permissions": "p", "same-permissions": "p", "no-same-owner": "o",
        "same-owner": "", "no-same-permissions": "", "dereference": "h", "absolute-names": "P",
        "numeric-owner": "", "wildcards": "", "touch": "m",
        "one-file-system": "", "no-recursion": "", "transform": ":", "xform": ":",
    },
    exit_code=64,
)  # fmt: skip
_Mode = Literal["r:*", "r:gz", "r:bz2", "r:xz"]
_READ: Mapping[str, _Mode] = {"z": "r:gz", "j": "r:bz2", "J": "r:xz"}
_NOT_COMPRESSED = {
    "r:gz": "\ngzip: stdin: not in gzip format\n",
    "r:bz2": "bzip2: (stdin) is not a bzip2 file.\n",
    "r:xz": "xz: (stdin): File format not recognized\n",
}
SUFFIXES = {
    ".gz": "gz", ".tgz": "gz", ".taz": "gz", ".bz2": "bz2", ".tbz": "bz2", ".tbz2": "bz2",
    ".xz": "xz", ".txz": "xz",
}  # fmt: skip


def _fatal(text: str) -> UsageError:
    """The run ends here."""
    return UsageError(f"tar: {text}\ntar: Error is not recoverable: exiting now\n", 2)


_HINT = "Try 'tar --help' or 'tar --usage' for more information.\n"


@dataclass(slots=True)
class _Tar:
    tool: Tool
    given: CommandLine
    folder: str = ""
    found: set[str] = field(default_factory=set[str])
    warned: set[str] = field(default_factory=set[str])
    width: int = 19
    """Of the columns of owners and sizes."""

    def complain(self, text: str) -> None:
        self.tool.complain(text, 2)

    def run(self, mode: str) -> None:
        archive = self.given.value("f") or ""
        if mode == "c":
            self._create(archive)
        elif (opened := self._open(archive)) is not None:
            with opened:
                (self._list if mode == "t" else self._extract)(opened)
            for operand in self.given.operands:
                if operand not in self.found:
                    self.complain(f"{operand}: Not found in archive")
        if self.tool.code == 2:
            self.tool.err.append(
                f"{self.tool.name}: Exiting with failure status due to previous errors\n"
            )

    # Archives as bytes

    def _read(self, archive: str) -> bytes:
        if archive == "-":
            return b64decode(self.tool.call.stdin or "")
        try:
            return self.tool.files.read(self.tool.path(archive))
        except OSError as error:
            raise _fatal(f"{archive}: Cannot open: {strerror(error)}") from None

    def _open(self, archive: str) -> tarfile.TarFile | None:
        data = self._read(archive)
        mode = _READ.get(self.given.last(*_READ) or "", "r:*")
        try:
            return tarfile.open(fileobj=io.BytesIO(data), mode=mode)
        except (tarfile.TarError, EOFError, OSError):
            if mode in _NOT_COMPRESSED:
                self.tool.err.append(_NOT_COMPRESSED[mode])
                raise _fatal(f"Child returned status {2 if mode == 'r:bz2' else 1}") from None
            if data:
                self.complain("This does not look like a tar archive")
            return None

    def _save(self, archive: str, members: Sequence[tuple[tarfile.TarInfo, bytes]]) -> None:
        kind = _READ.get(self.given.last(*_READ) or "", "r:")[2:]
        if "a" in self.given and not kind:
            kind = next((k for suffix, k in SUFFIXES.items() if archive.endswith(suffix)), "")
        plain = io.BytesIO()
        with tarfile.open(fileobj=plain, mode="w", format=tarfile.GNU_FORMAT) as out:
            for info, data in members:
                out.addfile(info, io.BytesIO(data) if info.isfile() else None)
        data = compress(plain.getvalue(), kind)
        if archive == "-":
            self.tool.out.append(b64encode(data).decode())
            return
        path = self.tool.path(archive)
        new = not self.tool.files.exists(path)
        try:
            self.tool.files.write(path, data, mode=0o666 & ~self.tool.umask if new else None)
        except OSError as error:
            raise _fatal(f"{archive}: Cannot open: {strerror(error)}") from None

    # Making

    def _create(self, archive: str) -> None:
        if not self.given.operands:
            raise UsageError(f"tar: Cowardly refusing to create an empty archive\n{_HINT}", 2)
        for folder in self.given.values("C"):
            self._enter(folder)
        members = [member for name in self.given.operands for member in self._member(name)]
        self._rename([info for info, _ in members])
        self._save(archive, members)

    def _rename(self, members: Sequence[tarfile.TarInfo]) -> None:
        """Gives members and the targets of links the names that `--transform` says, by way of `sed`."""
        scripts = self.given.values("transform") + self.given.values("xform")
        if not scripts or not members:
            return
        words = [word for script in scripts for word in ("-e", script)]
        names = "".join(f"{info.name}\n{info.linkname}\n" for info in members)
        done = self.tool.call.native(words, names, program="sed")
        if done.exit_code:
            raise UsageError(f"tar: Invalid transform expression\n{_HINT}", 2)
        lines = done.stdout.split("\n")
        for info, name, target in zip(members, lines[::2], lines[1::2], strict=False):
            info.name, info.linkname = name or info.name, target if info.linkname else ""

    def _enter(self, folder: str) -> None:
        goal = self._inside(folder)
        try:
            if self.tool.stat(goal).kind != "directory":
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        except OSError as error:
            raise _fatal(f"{folder}: Cannot open: {strerror(error)}") from None
        self.folder = goal

    def _inside(self, name: str) -> str:
        return join_path(self.folder, name) if self.folder and not name.startswith("/") else name

    def _member(self, name: str) -> Iterator[tuple[tarfile.TarInfo, bytes]]:
        files = self.tool.files
        if self._is_excluded(name):
            return
        path = self.tool.path(self._inside(name))
        try:
            stat = files.stat(path) if "h" in self.given else files.lstat(path)
        except OSError as error:
            self.complain(f"{name}: Cannot stat: {strerror(error)}")
            return
        info, data = self._info(name, path, stat)
        self._say(info, name, "err" if self.given.value("f") == "-" else "out")
        yield info, data
        if stat.kind == "directory" and "no-recursion" not in self.given:
            for child in files.listdir(path):
                yield from self._member(join_path(name, child))

    def _is_excluded(self, name: str) -> bool:
        patterns = self.given.values("exclude")
        stripped = name.rstrip("/")
        tails = [stripped[i + 1 :] for i, c in enumerate(stripped) if c == "/"]
        return any(
            fnmatchcase(part, p.rstrip("/")) for p in patterns for part in (stripped, *tails)
        )

    def _info(self, name: str, path: str, stat: FileStat) -> tuple[tarfile.TarInfo, bytes]:
        shown = self._member_name(name)
        info = tarfile.TarInfo(shown.rstrip("/") or ".")
        info.mode, info.mtime = stat.mode, stat.mtime_us // 1_000_000
        info.uname = stat.owner
        info.gname = stat.group
        info.uid = user_names(self.tool.call).number(info.uname)
        info.gid = group_names(self.tool.call).number(info.gname)
        data = b""
        if stat.kind == "directory":
            info.type = tarfile.DIRTYPE
        elif stat.kind == "symlink":
            info.type, info.linkname = tarfile.SYMTYPE, self.tool.files.readlink(path)
        elif stat.kind == "fifo":
            info.type = tarfile.FIFOTYPE
        else:
            data = self.tool.files.read(path)
            info.size = len(data)
        return info, data

    def _member_name(self, name: str) -> str:
        if "P" in self.given or not re.match(r"/|(.*/)?\.\.(/|\Z)", name):
            return name
        prefix = re.match(r"/+|(?:.*/)?\.\./?", name)
        cut = prefix[0] if prefix else ""
        if cut and cut not in self.warned:
            self.warned.add(cut)
            self.tool.err.append(
                f"{self.tool.name}: Removing leading `{'/' if cut.startswith('/') else cut}' from"
                " member names\n"
            )
        return name[len(cut) :] or "./"

    def _say(self, info: tarfile.TarInfo, name: str, stream: Literal["out", "err"] = "out") -> None:
        level = sum(option == "v" for option, _ in self.given.options)
        if level:
            shown = name.rstrip("/") + "/" if info.isdir() else name
            line = self._long_line(info, shown) if level > 1 else shown
            getattr(self.tool, stream).append(line + "\n")

    def _long_line(self, info: tarfile.TarInfo, shown: str) -> str:
        """A line of `tar tv`: mode, owners, size, time, name."""
        kind = "directory" if info.isdir() else "symlink" if info.issym() else "file"
        numeric = "numeric-owner" in self.given
        user, group = ("", "") if numeric else (info.uname, info.gname)
        owners = f"{user or info.uid}/{group or info.gid}"
        size = str(info.size)
        # The columns grow with what was shown before, and never shrink.
        self.width = max(self.width, len(owners) + 1 + len(size))
        when = moment(int(info.mtime) * 1_000_000)
        text = "h"[: info.islnk()] + mode_text(kind, info.mode & 0o7777)[info.islnk() :]
        line = (
            f"{text} {owners}{size.rjust(self.width - len(owners))} {when:%Y-%m-%d %H:%M} {shown}"
        )
        line += f" -> {info.linkname}" if info.issym() else ""
        return line + (f" link to {info.linkname}" if info.islnk() else "")

    # Reading

    def _is_wanted(self, info: tarfile.TarInfo) -> bool:
        name = info.name.rstrip("/")
        if self._is_excluded(name):
            return False
        operands = self.given.operands
        if not operands:
            return True
        fine = False
        for operand in operands:
            plain = operand.rstrip("/")
            if "wildcards" in self.given:
                hit = fnmatchcase(name, plain)
            else:
                hit = name == plain or name.startswith(plain + "/")
            if hit:
                self.found.add(operand)
                fine = True
        return fine

    def _list(self, opened: tarfile.TarFile) -> None:
        for info in filter(self._is_wanted, opened):
            shown = info.name.rstrip("/") + "/" if info.isdir() else info.name
            self.tool.say(self._long_line(info, shown) if "v" in self.given else shown)

    def _extract(self, opened: tarfile.TarFile) -> None:
        for folder in self.given.values("C"):
            self._enter(folder)
        strip = int(self.given.value("strip-components") or "0")
        folders: list[tuple[str, tarfile.TarInfo]] = []
        members = list(filter(self._is_wanted, opened))
        self._rename(members)
        for info in members:
            name = self._member_name(info.name)
            parts = [part for part in name.split("/") if part]
            if strip and len(parts) <= strip:
                continue
            name = "/".join(parts[strip:]) if strip else name
            self._say(info, info.name, "err" if "O" in self.given else "out")
            self._unpack(opened, info, name, folders)
        for path, info in reversed(folders):
            if "m" not in self.given:
                self.tool.files.set_mtime(path, int(info.mtime) * 1_000_000)

    def _unpack(
        self,
        opened: tarfile.TarFile,
        info: tarfile.TarInfo,
        name: str,
        folders: list[tuple[str, tarfile.TarInfo]],
    ) -> None:
        files = self.tool.files
        if "O" in self.given:
            if info.isfile():
                self.tool.out.append(content(opened, info).decode("utf-8", "surrogateescape"))
            return
        path = self.tool.path(self._inside(name)).rstrip("/") or "/"
        try:
            parent = path.rpartition("/")[0] or "/"
            files.mkdir(parent, parents=True)
            if info.isdir():
                if not files.exists(path):
                    files.mkdir(path)
                files.chmod(path, info.mode & 0o7777)
                folders.append((path, info))
            else:
                self._make_room(path)
                if info.issym():
                    files.symlink(info.linkname, path)
                    files.set_mtime(path, int(info.mtime) * 1_000_000, follow=False)
                elif info.isfile() or info.islnk():
                    files.write(path, content(opened, info), mode=info.mode & 0o7777)
            self._own(path, info)
        except OSError as error:
            self.complain(f"{name}: Cannot open: {strerror(error)}")

    def _make_room(self, path: str) -> None:
        try:
            there = self.tool.files.lstat(path)
        except OSError:
            return
        if there.kind == "directory":
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        self.tool.files.remove(path)

    def _own(self, path: str, info: tarfile.TarInfo) -> None:
        if info.issym():
            return
        if "o" not in self.given:
            owner = user_names(self.tool.call).lookup(info.uname) or str(info.uid)
            group = group_names(self.tool.call).lookup(info.gname) or str(info.gid)
            self.tool.files.chown(path, owner, group)
        if "m" not in self.given and not info.isdir():
            self.tool.files.set_mtime(path, int(info.mtime) * 1_000_000)


def content(opened: tarfile.TarFile, info: tarfile.TarInfo) -> bytes:
    stream = opened.extractfile(info)
    return stream.read() if stream is not None else b""


def compress(data: bytes, kind: str) -> bytes:
    """`data` compressed; a pipe into gzip has no time to keep."""
    import bz2
    import gzip
    import lzma

    if kind == "gz":
        return gzip.compress(data, 6, mtime=0)
    if kind == "bz2":
        return bz2.compress(data)
    return lzma.compress(data) if kind == "xz" else data


def old_style_options(argv: Sequence[str]) -> list[str]:
    """The old form without a dash: letters first, then their arguments in order."""
    if not argv or argv[0].startswith("-"):
        return list(argv)
    letters, rest = argv[0], list(argv[1:])
    words: list[str] = []
    for letter in letters:
        words.append("-" + letter)
        if letter in "fC" and rest:
            words.append(rest.pop(0))
    return words + rest


@tool
def tar(running: Tool) -> None:
    try:
        given = OPTIONS.parse(running.name, old_style_options(running.call.argv))
    except UsageError as refused:
        text = refused.result.stderr.replace(
            f"Try '{running.name} --help' for", "Try 'tar --help' or 'tar --usage' for"
        )
        raise UsageError(text, 64) from None
    mode = given.last("c", "t", "x")
    if mode is None:
        said = "You must specify one of the '-Acdtrux', '--delete' or '--test-label' options"
        raise UsageError(f"{running.name}: {said}\n{_HINT}", 2)
    _Tar(running, given).run(mode)
