"""`cp` and `mv` of GNU coreutils."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from agentworld_sim.engines.shell.commands._options import CommandLine, Options
from agentworld_sim.engines.shell.commands._tool import Tool, base_name, join_path, strerror, tool
from agentworld_sim.engines.shell.live_files import FileStat

_COMMON = {
    "force": "f", "interactive": "i", "no-clobber": "n", "no-target-directory": "T",
    "target-directory": "t", "update": "u", "verbose": "v",
}  # fmt: skip
_CP = Options(
    "adfHiLnprt:uvxPRT",
    {
        **_COMMON, "archive": "a", "dereference": "L", "no-dereference": "P", 
        "one-file-system": "x", "preserve": "p", "recursive": "R", "reflink": "::",
    },
)  # fmt: skip
_MV = Options("fint:uvT", _COMMON)


@dataclass(frozen=True, slots=True)
class _CopyRules:
    """How to copy."""

    recursive: bool = False
    keep: bool = False
    """Whether mode, ownership and times are kept."""
    links: str = ""
    """`P`: links are copied as links, `L`: always followed, `H`: followed on the command line."""
    ask: str = ""
    """`i`: ask before overwriting, `n`: never overwrite, `f`: overwrite."""
    update: bool = False
    verbose: bool = False


@dataclass(slots=True)
class _Copier:
    """One run of copying. Messages go to the tool."""

    tool: Tool
    rules: _CopyRules
    made: set[str] = field(default_factory=set[str])
    """Folders that this run has made: a folder is not copied into itself."""
    top: tuple[str, str] = ("", "")
    """The operands that are being copied."""

    def copy(self, source: str, target: str, *, top: bool = True) -> None:
        """Copies `source` to exactly `target`."""
        running, rules = self.tool, self.rules
        try:
            stat = running.lstat(source)
            follow = rules.links == "L" or (rules.links == "H" and top)
            if not rules.links:
                follow = not rules.recursive
            if stat.kind == "symlink" and follow:
                stat = running.stat(source)
        except OSError as error:
            running.complain(f"cannot stat {running.name_of(source)}: {strerror(error)}")
            return
        if stat.kind != "directory":
            self._single(source, target, stat)
            return
        if top:
            self.top = (source, target)
        self._folder(source, target, stat)

    def _folder(self, source: str, target: str, stat: FileStat) -> None:
        running, quoted = self.tool, self.tool.name_of
        if not self.rules.recursive:
            running.complain(f"-r not specified; omitting directory {quoted(source)}")
            return
        if not running.exists(target):
            try:
                running.files.mkdir(running.place(target), mode=stat.mode & ~running.umask)
            except OSError as error:
                running.complain(f"cannot create directory {quoted(target)}: {strerror(error)}")
                return
            if self.rules.verbose:
                running.say(f"{quoted(source)} -> {quoted(target)}")
            self.made.add(running.files.realpath(running.path(target)))
        elif not running.is_directory(target):
            running.complain(
                f"cannot overwrite non-directory {quoted(target)} with directory {quoted(source)}"
            )
            return
        for name in running.files.listdir(running.path(source)):
            if self._is_new(join_path(source, name)):
                running.complain(
                    f"cannot copy a directory, {quoted(self.top[0])}, into itself,"
                    f" {quoted(self.top[1])}"
                )
            else:
                self.copy(join_path(source, name), join_path(target, name), top=False)
        self._keep(target, stat)

    def _is_new(self, operand: str) -> bool:
        running = self.tool
        if not self.made or running.lstat(operand).kind != "directory":
            return False
        return running.files.realpath(running.path(operand)) in self.made

    def _single(self, source: str, target: str, stat: FileStat) -> None:
        running, quoted = self.tool, self.tool.name_of
        old: FileStat | None = None
        try:
            old = running.files.lstat(running.path(target))
        except OSError:
            pass
        if old is not None and not self._may_replace(source, target, stat, old):
            return
        if old is not None and (stat.kind != "file" or old.kind == "fifo"):
            running.files.remove(running.place(target))
            old = None
        try:
            self._make(source, target, stat, old)
        except OSError as error:
            kind = "symbolic link" if stat.kind == "symlink" else "regular file"
            running.complain(f"cannot create {kind} {quoted(target)}: {strerror(error)}")
            return
        if self.rules.verbose:
            running.say(f"{quoted(source)} -> {quoted(target)}")

    def _may_replace(self, source: str, target: str, stat: FileStat, old: FileStat) -> bool:
        """Whether the copy takes the place of what is there; else everything is said."""
        running, rules, quoted = self.tool, self.rules, self.tool.name_of
        if self._same(source, target, stat):
            if rules.ask != "n":
                running.complain(f"{quoted(source)} and {quoted(target)} are the same file")
            return False
        if running.is_directory(target) and (old.kind == "directory" or stat.kind == "file"):
            running.complain(f"cannot overwrite directory {quoted(target)} with non-directory")
            return False
        if rules.ask == "n" or (rules.update and old.mtime_us >= stat.mtime_us):
            return False
        if rules.ask == "i" and not running.ask(f"overwrite {quoted(target)}?"):
            return False
        through_link = old.kind == "symlink" and stat.kind == "file"
        if through_link and not running.files.exists(running.path(target)):
            running.complain(f"not writing through dangling symlink {quoted(target)}")
            return False
        return True

    def _same(self, source: str, target: str, stat: FileStat) -> bool:
        files, path = self.tool.files, self.tool.path
        if stat.kind == "symlink":
            return self.tool.place(source) == self.tool.place(target)
        try:
            return files.realpath(path(source)) == files.realpath(path(target))
        except OSError:
            return False

    def _make(self, source: str, target: str, stat: FileStat, old: FileStat | None) -> None:
        running, files = self.tool, self.tool.files
        if target.endswith("/") and old is None:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), target)
        if stat.kind == "symlink":
            files.symlink(files.readlink(running.path(source)), running.place(target))
            files.set_mtime(running.place(target), self._link_time(stat), follow=False)
            return
        data = files.read(running.path(source))
        mode = None if old is not None else (stat.mode & 0o777) & ~running.umask
        files.write(running.path(target), data, mode=mode)
        self._keep(target, stat)

    def _link_time(self, stat: FileStat) -> int:
        return stat.mtime_us if self.rules.keep else self.tool.call.clock.now_us()

    def _keep(self, target: str, stat: FileStat) -> None:
        if self.rules.keep:
            files, path = self.tool.files, self.tool.path(target)
            files.chown(path, stat.owner, stat.group)
            files.chmod(path, stat.mode)
            files.set_mtime(path, stat.mtime_us)


def _targets(running: Tool, given: CommandLine, spec: Options) -> tuple[Sequence[str], str, bool]:
    """Sources, target, and whether the target is a folder to put them into."""
    operands, folder = list(given.operands), given.value("t")
    if not operands:
        raise spec.refuse(running.name, "missing file operand")
    if folder is not None:
        if not running.is_directory(folder):
            raise running.no_folder(folder, "target directory")
        return operands, folder, True
    if len(operands) == 1:
        raise spec.refuse(
            running.name, f"missing destination file operand after {running.name_of(operands[0])}"
        )
    target = operands.pop()
    if "T" in given:
        if len(operands) > 1:
            raise spec.refuse(running.name, f"extra operand {running.name_of(target)}")
        return operands, target, False
    if running.is_directory(target):
        return operands, target, True
    if len(operands) > 1:
        raise running.no_folder(target, "target")
    return operands, target, False


def _cp_rules(given: CommandLine) -> _CopyRules:
    links = given.last("a", "d", "P", "L", "H") or ""
    ask = given.last("i", "n") or ("f" if "f" in given else "")
    return _CopyRules(
        recursive=any(name in given for name in ("r", "R", "a")),
        keep=any(name in given for name in ("a", "p")),
        links="P" if links in ("a", "d") else links,
        ask=ask,
        update="u" in given,
        verbose="v" in given,
    )


@tool
def cp(running: Tool) -> None:
    given = _CP.parse(running.name, running.call.argv)
    sources, target, into = _targets(running, given, _CP)
    copier = _Copier(running, _cp_rules(given))
    done: dict[str, str] = {}
    for source in sources:
        name = base_name(source)
        goal = join_path(target, name) if into and name != "." else target
        if goal in done and not running.is_directory(source):
            running.complain(
                f"will not overwrite just-created {running.name_of(goal)} with"
                f" {running.name_of(source)}"
            )
            continue
        copier.copy(source, goal)
        if into and len(sources) > 1:
            done[goal] = source


class _Refusal(Exception):
    """Why one operand stays where it is; the text is what `mv` says."""


@tool
def mv(running: Tool) -> None:
    given = _MV.parse(running.name, running.call.argv)
    sources, target, into = _targets(running, given, _MV)
    for source in sources:
        try:
            _move(running, given, source, join_path(target, base_name(source)) if into else target)
        except _Refusal as refused:
            running.complain(str(refused))


def _move(running: Tool, given: CommandLine, source: str, target: str) -> None:
    quoted = running.name_of
    try:
        stat = running.lstat(source)
    except OSError as error:
        raise _Refusal(f"cannot stat {quoted(source)}: {strerror(error)}") from None
    try:
        here, there = running.place(source), running.place(target)
        if base_name(source) in (".", ".."):
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
        if here == there:
            if given.last("i", "f", "n") != "n":
                raise _Refusal(f"{quoted(source)} and {quoted(target)} are the same file")
            return
        if stat.kind == "directory" and there.startswith(here + "/"):
            raise _Refusal(
                f"cannot move {quoted(source)} to a subdirectory of itself, {quoted(target)}"
            )
        if running.exists(target):
            if not _may_replace(running, given, source, target):
                return
            running.files.remove(there, recursive=True)
        elif target.endswith("/") and stat.kind != "directory":
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        running.files.rename(here, there)
    except OSError as error:
        raise _Refusal(
            f"cannot move {quoted(source)} to {quoted(target)}: {strerror(error)}"
        ) from None
    if "v" in given:
        running.say(f"renamed {quoted(source)} -> {quoted(target)}")


def _may_replace(running: Tool, given: CommandLine, source: str, target: str) -> bool:
    quoted = running.name_of
    here, there = running.lstat(source), running.files.lstat(running.path(target))
    ask = given.last("i", "f", "n")
    if ask == "n" or ("u" in given and there.mtime_us >= here.mtime_us):
        return False
    if here.kind == "directory" and there.kind != "directory":
        raise _Refusal(
            f"cannot overwrite non-directory {quoted(target)} with directory {quoted(source)}"
        )
    if there.kind == "directory" and here.kind != "directory":
        raise _Refusal(f"cannot overwrite directory {quoted(target)} with non-directory")
    if ask == "i" and not running.ask(f"overwrite {quoted(target)}?"):
        return False
    if there.kind == "directory" and running.files.listdir(running.path(target)):
        raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY))
    return True
