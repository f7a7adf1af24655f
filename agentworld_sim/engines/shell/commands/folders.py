"""`mkdir`, `rmdir`, `rm` and `unlink` of GNU coreutils."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping

from agentworld_sim.engines.shell._command import Command
from agentworld_sim.engines.shell.commands._modes import changed, is_mode
from agentworld_sim.engines.shell.commands._options import Options, Parsed, UsageError
from agentworld_sim.engines.shell.commands._tool import Tool, base_name, joined, tool, why
from agentworld_sim.engines.shell.live_files import FileStat

_MKDIR = Options("m:pvZ", {"mode": "m", "parents": "p", "verbose": "v", "context": "Z"})
_RMDIR = Options(
    "pv", {"ignore-fail-on-non-empty": "", "parents": "p", "path": "p", "verbose": "v"}
)
_RM = Options(
    "dfirvIR",
    {
        "dir": "d", "force": "f", "interactive": "::", "one-file-system": "",
        "no-preserve-root": "", "preserve-root": "::", "recursive": "r", "verbose": "v",
    },
)  # fmt: skip
_UNLINK = Options("", {})


@tool
def mkdir(running: Tool) -> None:
    given = _MKDIR.parse(running.name, running.call.argv)
    text = given.value("m")
    if not given.operands:
        raise _MKDIR.refuse(running.name, "missing operand")
    if text is not None and not is_mode(text):
        raise UsageError(f"{running.name}: invalid mode {running.quote(text)}\n")
    usual = 0o777 & ~running.umask
    mode = usual if text is None else changed(text, 0o777, directory=True, umask=running.umask)
    for operand in given.operands:
        _make(running, given, operand, mode, usual)


def _make(running: Tool, given: Parsed, operand: str, mode: int, usual: int) -> None:
    steps: list[str] = [operand]
    if "p" in given:
        here = "/" if operand.startswith("/") else ""
        steps.clear()
        for part in filter(None, operand.split("/")):
            here = joined(here, part) if here else part
            steps.append(here)
    for step in steps:
        if "p" in given and (step in ("/", ".", "..") or running.is_directory(step)):
            continue
        try:
            if running.exists(step):
                # With -p, what stands in the way of deeper folders is no folder.
                code = errno.EEXIST if step == steps[-1] else errno.ENOTDIR
                raise OSError(code, os.strerror(code), step)
            running.files.mkdir(running.place(step), mode=mode if step == steps[-1] else usual)
        except OSError as error:
            running.complain(f"cannot create directory {running.quote(step)}: {why(error)}")
            return
        if "v" in given:
            running.say(f"{running.name}: created directory {running.name_of(step)}")


@tool
def rmdir(running: Tool) -> None:
    given = _RMDIR.parse(running.name, running.call.argv)
    if not given.operands:
        raise _RMDIR.refuse(running.name, "missing operand")
    for operand in given.operands:
        if not _remove_folder(running, given, operand, top=True) or "p" not in given:
            continue
        above = os.path.dirname(operand.rstrip("/"))
        while above and above != "/":
            if not _remove_folder(running, given, above, top=False):
                break
            above = os.path.dirname(above)


def _remove_folder(running: Tool, given: Parsed, operand: str, *, top: bool) -> bool:
    if "v" in given:
        running.say(f"{running.name}: removing directory, {running.name_of(operand)}")
    try:
        if base_name(operand) == ".":
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), operand)
        if running.lstat(operand).kind != "directory":
            raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), operand)
        if running.files.listdir(running.path(operand)):
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), operand)
        running.files.remove(running.place(operand), recursive=True)
    except OSError as error:
        if "ignore-fail-on-non-empty" in given and error.errno == errno.ENOTEMPTY:
            return False
        directory = "" if top else "directory "
        running.complain(f"failed to remove {directory}{running.name_of(operand)}: {why(error)}")
        return False
    return True


@tool
def rm(running: Tool) -> None:
    given = _RM.parse(running.name, running.call.argv)
    if not given.operands:
        if "f" in given:
            return
        raise _RM.refuse(running.name, "missing operand")
    asks = _asks(given)
    recursive = "r" in given or "R" in given
    if asks == "once":
        count = len(given.operands)
        if count > 3 or recursive:
            plural = "" if count == 1 else "s"
            kind = " recursively" if recursive else ""
            if not running.ask(f"remove {count} argument{plural}{kind}?"):
                return
    for operand in given.operands:
        _Remover(running, given, recursive, asks == "always").remove_operand(operand)


def _asks(given: Parsed) -> str:
    last = given.last("f", "i", "I", "interactive")
    if last == "interactive":
        word = given.value("interactive") or "always"
        return {"never": "", "no": "", "none": "", "once": "once"}.get(word, "always")
    return {"i": "always", "I": "once"}.get(last or "", "")


class _Remover:
    def __init__(self, running: Tool, given: Parsed, recursive: bool, asks: bool) -> None:
        self.tool, self.given, self.recursive, self.asks = running, given, recursive, asks

    def remove_operand(self, operand: str) -> None:
        running, quoted = self.tool, self.tool.name_of
        if base_name(operand) in (".", "..") and self.recursive:
            running.complain(
                f"refusing to remove '.' or '..' directory: skipping {quoted(operand)}"
            )
            return
        try:
            stat = running.lstat(operand)
        except OSError as error:
            missing = error.errno in (errno.ENOENT, errno.ENOTDIR)
            if not ("f" in self.given and missing):
                running.complain(f"cannot remove {quoted(operand)}: {why(error)}")
            return
        everything = stat.kind == "directory" and self.recursive and running.place(operand) == "/"
        if everything and "no-preserve-root" not in self.given:
            same = "" if operand == "/" else f" (same as {quoted('/')})"
            running.complain(f"it is dangerous to operate recursively on {quoted(operand)}{same}")
            running.complain("use --no-preserve-root to override this failsafe")
            return
        self.remove(operand, stat)

    def remove(self, operand: str, stat: FileStat) -> bool:
        running, quoted = self.tool, self.tool.name_of
        folder = stat.kind == "directory"
        if folder and not self.recursive and "d" not in self.given:
            running.complain(f"cannot remove {quoted(operand)}: {os.strerror(errno.EISDIR)}")
            return False
        names = running.files.listdir(running.path(operand)) if folder else []
        if names and not self.recursive:
            running.complain(f"cannot remove {quoted(operand)}: {os.strerror(errno.ENOTEMPTY)}")
            return False
        if names:
            if self.asks and not running.ask(f"descend into directory {quoted(operand)}?"):
                return False
            fine = True
            for name in names:
                below = joined(operand, name)
                fine &= self.remove(below, running.files.lstat(running.path(below)))
            if not fine:
                return False
        if self.asks and not running.ask(f"remove {_kind(stat)} {quoted(operand)}?"):
            return False
        try:
            running.files.remove(running.place(operand), recursive=folder)
        except OSError as error:
            running.complain(f"cannot remove {quoted(operand)}: {why(error)}")
            return False
        if "v" in self.given:
            running.say(f"removed {'directory ' if folder else ''}{quoted(operand)}")
        return True


def _kind(stat: FileStat) -> str:
    if stat.kind == "file":
        return "regular file" if stat.size else "regular empty file"
    return {"directory": "directory", "symlink": "symbolic link", "fifo": "fifo"}[stat.kind]


@tool
def unlink(running: Tool) -> None:
    given = _UNLINK.parse(running.name, running.call.argv)
    if not given.operands:
        raise _UNLINK.refuse(running.name, "missing operand")
    if len(given.operands) > 1:
        raise _UNLINK.refuse(running.name, f"extra operand {running.quote(given.operands[1])}")
    operand = given.operands[0]
    try:
        if running.lstat(operand).kind == "directory":
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), operand)
        running.files.remove(running.place(operand))
    except OSError as error:
        running.complain(f"cannot unlink {running.name_of(operand)}: {why(error)}")


COMMANDS: Mapping[str, Command] = {"mkdir": mkdir, "rmdir": rmdir, "rm": rm, "unlink": unlink}
