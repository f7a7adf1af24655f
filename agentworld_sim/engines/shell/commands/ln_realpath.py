"""`ln` and `realpath` of GNU coreutils.

The file system beneath has no hard links: `ln` without `-s` makes a copy.
"""

from __future__ import annotations

import errno
import os

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
            content = os.path.relpath(_resolve(running, source, "m"), os.path.dirname(there))
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


def _resolve(running: Tool, operand: str, how: str) -> str:
    """The operand without links: all (`e`) or all but its last part (`f`) exist, or nothing needs to (`m`).

    Raises:
        OSError: something is missing.
    """
    found = running.call.native([f"-{how}", "--", running.path(operand)], program="readlink")
    if found.exit_code:
        running.files.lstat(running.files.realpath(running.path(operand)))
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), operand)
    return found.stdout.removesuffix("\n")


@tool
def realpath(running: Tool) -> None:
    given = _REALPATH.parse(running.name, running.call.argv)
    if not given.operands:
        raise _REALPATH.refuse(running.name, "missing operand")
    how = given.last("e", "m") or "f"
    to = given.value("relative-to")
    for operand in given.operands:
        try:
            found = _real(running, operand, how, given)
            if to is not None:
                found = os.path.relpath(found, _real(running, to, how, given))
            running.out.append(found + ("\0" if "z" in given else "\n"))
        except OSError as error:
            running.code = 1
            if "q" not in given:
                running.complain(f"{operand or running.name_of(operand)}: {strerror(error)}")


def _real(running: Tool, operand: str, how: str, given: CommandLine) -> str:
    if "s" in given:
        return normal_path(running.path(operand))
    return _resolve(running, operand, how)
