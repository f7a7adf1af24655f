"""Copying within a world: what `cp`, `mv` and `install` share."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field

from agentworld_sim.engines.shell.commands._tool import Tool, joined, why
from agentworld_sim.engines.shell.live_files import FileStat


@dataclass(frozen=True, slots=True)
class CopyRules:
    """How `cp` was asked to copy."""

    recursive: bool = False
    keep: frozenset[str] = frozenset()
    """What is preserved: some of mode, ownership, timestamps, links."""
    links: str = ""
    """`P`: links are copied as links, `L`: always followed, `H`: followed on the command line."""
    make: str = ""
    """`s`: symbolic links instead of copies, `l`: hard links."""
    ask: str = ""
    """`i`: ask before overwriting, `n`: never overwrite, `f`: overwrite."""
    update: bool = False
    verbose: bool = False
    remove_first: bool = False
    backup: str | None = None
    """The suffix of backups."""
    attributes_only: bool = False
    mode: int | None = None
    """Of `install`: the mode of every copy."""


@dataclass(slots=True)
class Copier:
    """One run of copying. Messages go to the tool."""

    tool: Tool
    rules: CopyRules
    made: set[str] = field(default_factory=set[str])
    """Folders that this run has made: a folder is not copied into itself."""
    top: tuple[str, str] = ("", "")
    """The operands that are being copied."""

    def copy(self, source: str, target: str, *, top: bool = True) -> bool:
        """Copies `source` to exactly `target`; gives whether it worked."""
        running, rules = self.tool, self.rules
        try:
            stat = running.lstat(source)
            follow = rules.links == "L" or (rules.links == "H" and top)
            if not rules.links:
                follow = not rules.recursive
            if stat.kind == "symlink" and follow and rules.make != "s":
                stat = running.stat(source)
        except OSError as error:
            running.complain(f"cannot stat {running.name_of(source)}: {why(error)}")
            return False
        if stat.kind == "directory":
            if top:
                self.top = (source, target)
            return self._folder(source, target, stat)
        return self._single(source, target, stat)

    def _folder(self, source: str, target: str, stat: FileStat) -> bool:
        running, rules = self.tool, self.rules
        if not rules.recursive:
            running.complain(f"-r not specified; omitting directory {running.name_of(source)}")
            return False
        new = not running.exists(target)
        if not new and not running.is_directory(target):
            running.complain(
                f"cannot overwrite non-directory {running.name_of(target)} with directory"
                f" {running.name_of(source)}"
            )
            return False
        if new:
            try:
                running.files.mkdir(running.place(target), mode=stat.mode & ~running.umask)
            except OSError as error:
                running.complain(f"cannot create directory {running.name_of(target)}: {why(error)}")
                return False
            if rules.verbose:
                running.say(f"{running.name_of(source)} -> {running.name_of(target)}")
        fine = True
        if new:
            self.made.add(running.files.realpath(running.path(target)))
        for name in running.files.listdir(running.path(source)):
            if self._is_new(joined(source, name)):
                running.complain(
                    f"cannot copy a directory, {running.name_of(self.top[0])}, into itself,"
                    f" {running.name_of(self.top[1])}"
                )
                fine = False
                continue
            fine &= self.copy(joined(source, name), joined(target, name), top=False)
        self._keep(source, target, stat)
        return fine

    def _is_new(self, operand: str) -> bool:
        running = self.tool
        if not self.made or running.lstat(operand).kind != "directory":
            return False
        return running.files.realpath(running.path(operand)) in self.made

    def _single(self, source: str, target: str, stat: FileStat) -> bool:
        running, rules = self.tool, self.rules
        old: FileStat | None = None
        try:
            old = running.files.lstat(running.path(target))
        except OSError:
            pass
        if old is not None:
            verdict = self._may_replace(source, target, stat, old)
            if verdict is not None:
                return verdict
        backup = ""
        if old is not None and rules.backup is not None:
            backup = f" (backup: {running.name_of(target + rules.backup)})"
            running.files.rename(running.place(target), running.place(target + rules.backup))
            old = None
        if old is not None and (rules.remove_first or stat.kind != "file" or old.kind == "fifo"):
            running.files.remove(running.place(target))
            old = None
        try:
            self._make(source, target, stat, old)
        except OSError as error:
            running.complain(f"{self._cannot(source, target, stat)}: {why(error)}")
            return False
        if rules.verbose:
            running.say(f"{running.name_of(source)} -> {running.name_of(target)}{backup}")
        return True

    def _cannot(self, source: str, target: str, stat: FileStat) -> str:
        quoted = self.tool.name_of
        if self.rules.make == "s":
            return f"cannot create symbolic link {quoted(target)} to {quoted(source)}"
        if self.rules.make == "l":
            return f"cannot create hard link {quoted(target)} to {quoted(source)}"
        if stat.kind == "symlink":
            return f"cannot create symbolic link {quoted(target)}"
        return f"cannot create regular file {quoted(target)}"

    def _may_replace(self, source: str, target: str, stat: FileStat, old: FileStat) -> bool | None:
        """`None`: go on; else the outcome, with everything said."""
        running, rules = self.tool, self.rules
        if self._same(source, target, stat, old) and not (rules.make and rules.ask == "f"):
            if rules.ask == "n":
                return True
            running.complain(
                f"{running.name_of(source)} and {running.name_of(target)} are the same file"
            )
            return False
        if running.is_directory(target) and (old.kind == "directory" or stat.kind == "file"):
            running.complain(
                f"cannot overwrite directory {running.name_of(target)} with non-directory"
            )
            return False
        if rules.update and old.mtime_us >= stat.mtime_us:
            return True
        if rules.ask == "n":
            return True
        if rules.ask == "i" and not running.ask(f"overwrite {running.name_of(target)}?"):
            return True
        if rules.make and rules.ask != "f" and not rules.remove_first:
            kind = {"s": "symbolic", "l": "hard"}[rules.make]
            running.complain(
                f"cannot create {kind} link {running.name_of(target)} to"
                f" {running.name_of(source)}: {os.strerror(errno.EEXIST)}"
            )
            return False
        through_link = old.kind == "symlink" and stat.kind == "file" and not rules.remove_first
        if through_link and not running.files.exists(running.path(target)):
            running.complain(f"not writing through dangling symlink {running.name_of(target)}")
            return False
        return None

    def _same(self, source: str, target: str, stat: FileStat, old: FileStat) -> bool:
        files, path = self.tool.files, self.tool.path
        if stat.kind == "symlink":
            return self.tool.place(source) == self.tool.place(target)
        if old.kind == "symlink" and (self.rules.remove_first or self.rules.backup is not None):
            return False
        try:
            return files.realpath(path(source)) == files.realpath(path(target))
        except OSError:
            return False

    def _make(self, source: str, target: str, stat: FileStat, old: FileStat | None) -> None:
        running, rules = self.tool, self.rules
        files = running.files
        if target.endswith("/") and old is None:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), target)
        if rules.make == "s":
            if not source.startswith("/") and "/" in target.rstrip("/"):
                raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), target)
            files.symlink(source, running.place(target))
            return
        if stat.kind == "symlink":
            files.symlink(files.readlink(running.path(source)), running.place(target))
            files.set_mtime(running.place(target), self._link_time(stat), follow=False)
            return
        data = b"" if rules.attributes_only else files.read(running.path(source))
        mode = None if old is not None else (stat.mode & 0o777) & ~running.umask
        if old is None or not rules.attributes_only:
            files.write(running.path(target), data, mode=mode)
        self._keep(source, target, stat)

    def _link_time(self, stat: FileStat) -> int:
        return stat.mtime_us if "timestamps" in self.rules.keep else self.tool.call.clock.now_us()

    def _keep(self, source: str, target: str, stat: FileStat) -> None:
        files, path, keep = self.tool.files, self.tool.path(target), self.rules.keep
        if "ownership" in keep or self.rules.make == "l":
            files.chown(path, stat.owner, stat.group)
        if "mode" in keep or self.rules.make == "l":
            files.chmod(path, stat.mode)
        if self.rules.mode is not None:
            files.chmod(path, self.rules.mode)
        if "timestamps" in keep or self.rules.make == "l":
            files.set_mtime(path, stat.mtime_us)
