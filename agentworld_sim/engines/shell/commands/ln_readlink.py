"""`ln`, `readlink` and `realpath` of GNU coreutils.

The file system beneath has no hard links: `ln` without `-s` makes a copy.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping

from agentworld_sim.engines.shell._command import Command
from agentworld_sim.engines.shell.commands._options import CommandLine, Options
from agentworld_sim.engines.shell.commands._tool import Tool, base_name, join_path, strerror, tool
from agentworld_sim.types.files import normal_path

_LN = Options(
    "fnrst:vT",
    {
        "no-dereference": "n", "no-target-directory": "T", "force": "f",
        "target-directory": "t", "relative": "r", "symbolic": "s", "verbose": "v",
    },
)  # fmt: skip
_READLINK = Options(
    "efmnqsvz",
    {
        "canonicalize": "f", "canonicalize-existing": "e", "canonicalize-missing": "m",
        "no-newline": "n", "quiet": "q", "silent": "s", "verbose": "v", "zero": "z",
    },
)  # fmt: skip
_REALPATH = Options(
    "emqsz",
    {
        "canonicalize-existing": "e", "canonicalize-missing": "m", "relative-to": ":",
        "quiet": "q", "strip": "s", "no-symlinks": "s", "zero": "z",
    },
)  # fmt: skip


@tool
def ln(running: Tool) -> None:
    given = _LN.parse(running.name, running.call.argv)
    operands, folder = list(given.operands), given.value("t")
    if not operands:
        raise _LN.refuse(running.name, "missing file operand")
    if folder is None and "T" not in given:
        if len(operands) == 1:
            folder = "."
        elif _folder_target(running, given, operands[-1]):
            folder = operands.pop()
        elif len(operands) > 2:
            raise running.no_folder(operands[-1], "target")
    elif folder is not None and not running.is_directory(folder):
        raise running.no_folder(folder, "target")
    if folder is None:
        if len(operands) != 2:
            reason = (
                "missing destination file operand after" if len(operands) < 2 else "extra operand"
            )
            raise _LN.refuse(running.name, f"{reason} {running.name_of(operands[-1])}")
        _link(running, given, operands[0], operands[1])
        return
    for source in operands:
        name = base_name(source)
        _link(running, given, source, name if folder == "." else join_path(folder, name))


def _folder_target(running: Tool, given: CommandLine, target: str) -> bool:
    if not running.is_directory(target):
        return False
    return not ("n" in given and running.lstat(target.rstrip("/")).kind == "symlink")


def _link(running: Tool, given: CommandLine, source: str, target: str) -> None:
    files, quoted, symbolic = running.files, running.name_of, "s" in given
    if not symbolic and not _may_be_linked(running, source):
        return
    content = source
    kind = "symbolic" if symbolic else "hard"
    try:
        there = running.place(target)
        if "r" in given and symbolic:
            content = os.path.relpath(_resolve(running, source), os.path.dirname(there))
        if running.exists(target) and not _make_room(running, given, source, target, there):
            return
        if symbolic:
            files.symlink(content, there)
            files.set_mtime(there, running.call.clock.now_us(), follow=False)
        else:
            _copy_link_target(running, source, there)
    except OSError as error:
        running.complain(f"failed to create {kind} link {quoted(target)}: {strerror(error)}")
        return
    if "v" in given:
        running.say(f"{quoted(target)} {'->' if symbolic else '=>'} {quoted(content)}")


def _make_room(running: Tool, given: CommandLine, source: str, target: str, there: str) -> bool:
    if "f" not in given:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
    if running.files.lstat(there).kind == "directory":
        running.complain(f"{target}: cannot overwrite directory")
        return False
    if running.path(source) == running.path(target) or (
        "s" not in given and normal_path(running.path(source)) == there
    ):
        running.complain(
            f"{running.name_of(source)} and {running.name_of(target)} are the same file"
        )
        return False
    running.files.remove(there)
    return True


def _may_be_linked(running: Tool, source: str) -> bool:
    try:
        stat = running.lstat(source)
    except OSError as error:
        running.complain(f"failed to access {running.name_of(source)}: {strerror(error)}")
        return False
    if stat.kind == "directory":
        running.complain(f"{source}: hard link not allowed for directory")
        return False
    return True


def _copy_link_target(running: Tool, source: str, there: str) -> None:
    files, path = running.files, running.path(source)
    stat = files.lstat(path)
    if stat.kind == "symlink":
        files.symlink(files.readlink(path), there)
    else:
        files.write(there, files.read(path), mode=stat.mode)
        files.chown(there, stat.owner, stat.group)
        files.set_mtime(there, stat.mtime_us)


def _resolve(running: Tool, operand: str) -> str:
    """All links followed; parts that do not exist are kept as they are written."""
    done = "/"
    for part in running.path(operand).split("/"):
        if part in ("", "."):
            continue
        if part == "..":
            done = os.path.dirname(done)
            continue
        done = join_path(done, part)
        try:
            done = running.files.realpath(done)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise
    return done


def _canonical(running: Tool, operand: str, how: str) -> str:
    """`-e`: everything exists, `-f`: all but the last part, `-m`: nothing needs to."""
    if how == "m":
        return _resolve(running, operand)
    parts = running.path(operand).split("/")
    done = "/"
    for index, part in enumerate(parts):
        if part in ("", "."):
            continue
        if done != "/" and running.files.lstat(done).kind != "directory":
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), operand)
        done = os.path.dirname(done) if part == ".." else join_path(done, part)
        done = running.files.realpath(done)
        last = not any(parts[index + 1 :])
        if (how == "e" or not last) and not running.files.exists(done):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), operand)
    as_folder = operand.endswith("/") and running.files.exists(done)
    if as_folder and running.files.lstat(done).kind != "directory":
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), operand)
    return done


@tool
def readlink(running: Tool) -> None:
    given = _READLINK.parse(running.name, running.call.argv)
    how = given.last("e", "f", "m")
    if not given.operands:
        raise _READLINK.refuse(running.name, "missing operand")
    end = "\0" if "z" in given else "\n"
    if "n" in given and len(given.operands) > 1:
        running.err.append(f"{running.name}: ignoring --no-newline with multiple arguments\n")
    elif "n" in given:
        end = ""
    for operand in given.operands:
        try:
            if how:
                found = _canonical(running, operand, how)
            else:
                found = running.files.readlink(running.path(operand))
            running.out.append(found + end)
        except OSError as error:
            running.code = 1
            if "v" in given:
                running.complain(f"{operand}: {strerror(error)}")


@tool
def realpath(running: Tool) -> None:
    given = _REALPATH.parse(running.name, running.call.argv)
    if not given.operands:
        raise _REALPATH.refuse(running.name, "missing operand")
    how = given.last("e", "m") or "f"
    end = "\0" if "z" in given else "\n"
    to = given.value("relative-to")
    for operand in given.operands:
        try:
            found = _real(running, operand, how, given)
            if to is not None:
                found = os.path.relpath(found, _real(running, to, how, given))
            running.out.append(found + end)
        except OSError as error:
            running.code = 1
            if "q" not in given:
                running.complain(f"{operand or running.name_of(operand)}: {strerror(error)}")


def _real(running: Tool, operand: str, how: str, given: CommandLine) -> str:
    if "s" not in given:
        return _canonical(running, operand, how)
    path = normal_path(running.path(operand))
    if how == "e" and not running.files.exists(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), operand)
    return path


COMMANDS: Mapping[str, Command] = {"ln": ln, "readlink": readlink, "realpath": realpath}
