"""`mkdir` and `rm` of GNU coreutils."""

from __future__ import annotations

import errno
import os

from agentworld_sim.engines.shell.commands._formats import apply_mode, is_mode, kind_text
from agentworld_sim.engines.shell.commands._options import CommandLine, Options, UsageError
from agentworld_sim.engines.shell.commands._tool import Tool, base_name, join_path, strerror, tool
from agentworld_sim.engines.shell.live_files import FileStat

_MKDIR = Options("m:pv", {"mode": "m", "parents": "p", "verbose": "v"})
_RM = Options(
    "dfirvR",
    {
        "dir": "d", "force": "f", "interactive": "i", "one-file-system": "",
        "no-preserve-root": "", "preserve-root": "::", "recursive": "r", "verbose": "v",
    },
)  # fmt: skip


@tool
def mkdir(running: Tool) -> None:
    given = _MKDIR.parse(running.name, running.call.argv)
    text = given.value("m")
    if not given.operands:
        raise _MKDIR.refuse(running.name, "missing operand")
    if text is not None and not is_mode(text):
        raise UsageError(f"{running.name}: invalid mode {running.quote(text)}\n")
    usual = 0o777 & ~running.umask
    mode = usual if text is None else apply_mode(text, 0o777, directory=True, umask=running.umask)
    for operand in given.operands:
        _make(running, given, operand, mode, usual)


def _make(running: Tool, given: CommandLine, operand: str, mode: int, usual: int) -> None:
    steps: list[str] = [operand]
    if "p" in given:
        here = "/" if operand.startswith("/") else ""
        steps.clear()
        for part in filter(None, operand.split("/")):
            here = join_path(here, part) if here else part
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
            running.complain(f"cannot create directory {running.quote(step)}: {strerror(error)}")
            return
        if "v" in given:
            running.say(f"{running.name}: created directory {running.name_of(step)}")


@tool
def rm(running: Tool) -> None:
    given = _RM.parse(running.name, running.call.argv)
    if not given.operands:
        if "f" in given:
            return
        raise _RM.refuse(running.name, "missing operand")
    recursive, asks = "r" in given or "R" in given, given.last("f", "i") == "i"
    for operand in given.operands:
        _Remover(running, given, recursive, asks).remove_operand(operand)


class _Remover:
    def __init__(self, running: Tool, given: CommandLine, recursive: bool, asks: bool) -> None:
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
                running.complain(f"cannot remove {quoted(operand)}: {strerror(error)}")
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
                below = join_path(operand, name)
                fine &= self.remove(below, running.files.lstat(running.path(below)))
            if not fine:
                return False
        if self.asks and not running.ask(f"remove {kind_text(stat)} {quoted(operand)}?"):
            return False
        try:
            running.files.remove(running.place(operand), recursive=folder)
        except OSError as error:
            running.complain(f"cannot remove {quoted(operand)}: {strerror(error)}")
            return False
        if "v" in self.given:
            running.say(f"removed {'directory ' if folder else ''}{quoted(operand)}")
        return True
