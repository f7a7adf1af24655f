"""`cp`, `mv` and `install` of GNU coreutils."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence

from agentworld_sim.engines.shell._command import Command
from agentworld_sim.engines.shell.commands._copy import Copier, CopyRules
from agentworld_sim.engines.shell.commands._modes import changed, is_mode
from agentworld_sim.engines.shell.commands._options import Options, Parsed, UsageError
from agentworld_sim.engines.shell.commands._people import groups, users
from agentworld_sim.engines.shell.commands._tool import Tool, base_name, joined, tool, why

_COMMON = {
    "backup": "::", "force": "f", "interactive": "i", "no-clobber": "n",
    "no-target-directory": "T", "strip-trailing-slashes": "", "suffix": "S",
    "target-directory": "t", "update": "u", "verbose": "v", "context": "Z",
}  # fmt: skip

_CP = Options(
    "abdfHilLnprst:uvxPRS:TZ",
    {
        **_COMMON, "archive": "a", "attributes-only": "", "copy-contents": "", "dereference": "L",
        "link": "l", "no-dereference": "P", "no-preserve": ":", "one-file-system": "x",
        "parents": "", "path": "", "preserve": "::", "recursive": "R", "remove-destination": "",
        "sparse": ":", "reflink": "::", "symbolic-link": "s", "debug": "",
    },
)  # fmt: skip
_MV = Options("bfint:uvS:TZ", _COMMON)
_INSTALL = Options(
    "bcsDdg:m:o:pt:TvS:Z",
    {
        "backup": "::", "compare": "C", "directory": "d", "group": "g", "mode": "m",
        "no-target-directory": "T", "owner": "o", "preserve-timestamps": "p", "strip": "s",
        "strip-program": ":", "suffix": "S", "target-directory": "t", "verbose": "v",
        "preserve-context": "", "context": "Z",
    },
)  # fmt: skip
_ALL_KEPT = frozenset({"mode", "ownership", "timestamps", "links"})


def _targets(running: Tool, given: Parsed, spec: Options) -> tuple[Sequence[str], str, bool]:
    """Sources, target, and whether the target is a folder to put them into."""
    operands, folder = list(given.operands), given.value("t")
    if not operands:
        raise spec.refuse(running.name, "missing file operand")
    if folder is not None:
        if not running.is_directory(folder):
            try:
                running.stat(folder)
                reason = os.strerror(errno.ENOTDIR)
            except OSError as error:
                reason = why(error)
            text = f"{running.name}: target directory {running.name_of(folder)}: {reason}\n"
            raise UsageError(text)
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
        try:
            running.stat(target)
            reason = os.strerror(errno.ENOTDIR)
        except OSError as error:
            reason = why(error)
        raise UsageError(f"{running.name}: target {running.name_of(target)}: {reason}\n")
    return operands, target, False


def _backup(given: Parsed) -> str | None:
    wanted = any(name in given for name in ("b", "backup", "S"))
    if given.value("backup") in ("none", "off"):
        return None
    return (given.value("S") or "~") if wanted else None


def _cp_rules(given: Parsed) -> CopyRules:
    keep: set[str] = set()
    links = ""
    for name, value in given.options:
        if name in ("a", "p"):
            keep |= {"mode", "ownership", "timestamps"}
        if name in ("a", "d", "P"):
            links = "P"
        elif name in ("L", "H"):
            links = name
        elif name == "preserve":
            asked = set((value or "mode,ownership,timestamps").split(","))
            keep |= _ALL_KEPT if "all" in asked else asked
        elif name == "no-preserve":
            keep -= _ALL_KEPT if value == "all" else set(value.split(","))
    ask = given.last("i", "n") or ("f" if "f" in given else "")
    return CopyRules(
        recursive=any(name in given for name in ("r", "R", "a")),
        keep=frozenset(keep),
        links=links,
        make=given.last("s", "l") or "",
        ask=ask,
        update="u" in given,
        verbose="v" in given or "debug" in given,
        remove_first="remove-destination" in given,
        backup=_backup(given),
        attributes_only="attributes-only" in given,
    )


@tool
def cp(running: Tool) -> None:
    given = _CP.parse(running.name, running.call.argv)
    sources, target, into = _targets(running, given, _CP)
    copier = Copier(running, _cp_rules(given))
    if "parents" in given and not into:
        raise _CP.refuse(running.name, "with --parents, the destination must be a directory")
    done: dict[str, str] = {}
    for source in sources:
        if "strip-trailing-slashes" in given:
            source = source.rstrip("/") or "/"
        if "parents" in given:
            if not _parents(running, copier, source, target):
                continue
            goal = joined(target, source.strip("/"))
        else:
            name = base_name(source)
            goal = joined(target, name) if into and name not in (".", "..") else target
            goal = joined(target, name) if into and name == ".." else goal
        if goal in done and not running.is_directory(source):
            running.complain(
                f"will not overwrite just-created {running.name_of(goal)} with"
                f" {running.name_of(source)}"
            )
            continue
        copier.copy(source, goal)
        if into and len(sources) > 1:
            done[goal] = source


def _parents(running: Tool, copier: Copier, source: str, target: str) -> bool:
    parts = source.strip("/").split("/")[:-1]
    here, there = "/" if source.startswith("/") else "", target
    for part in parts:
        here, there = joined(here, part) if here else part, joined(there, part)
        try:
            stat = running.stat(here)
        except OSError as error:
            running.complain(f"failed to get attributes of {running.name_of(here)}: {why(error)}")
            return False
        if not running.exists(there):
            running.files.mkdir(running.place(there), mode=stat.mode)
            if copier.rules.verbose:
                running.say(f"{here} -> {there}")
    return True


@tool
def mv(running: Tool) -> None:
    given = _MV.parse(running.name, running.call.argv)
    sources, target, into = _targets(running, given, _MV)
    for source in sources:
        if "strip-trailing-slashes" in given:
            source = source.rstrip("/") or "/"
        _move(running, given, source, joined(target, base_name(source)) if into else target)


def _move(running: Tool, given: Parsed, source: str, target: str) -> None:
    quoted = running.name_of
    try:
        stat = running.lstat(source)
    except OSError as error:
        running.complain(f"cannot stat {quoted(source)}: {why(error)}")
        return
    try:
        here, there = running.place(source), running.place(target)
    except OSError as error:
        running.complain(f"cannot move {quoted(source)} to {quoted(target)}: {why(error)}")
        return
    if base_name(source) in (".", ".."):
        running.complain(
            f"cannot move {quoted(source)} to {quoted(target)}: Device or resource busy"
        )
        return
    if here == there:
        if given.last("i", "f", "n") != "n":
            running.complain(f"{quoted(source)} and {quoted(target)} are the same file")
        return
    if stat.kind == "directory" and there.startswith(here + "/"):
        running.complain(
            f"cannot move {quoted(source)} to a subdirectory of itself, {quoted(target)}"
        )
        return
    backup = ""
    if running.exists(target):
        if not _may_replace(running, given, source, target):
            return
        suffix = _backup(given)
        if suffix is not None:
            backup = f" (backup: {quoted(target + suffix)})"
            running.files.rename(there, there + suffix)
        else:
            running.files.remove(there, recursive=True)
    elif target.endswith("/") and stat.kind != "directory":
        running.complain(f"cannot move {quoted(source)} to {quoted(target)}: Not a directory")
        return
    try:
        running.files.rename(here, there)
    except OSError as error:
        running.complain(f"cannot move {quoted(source)} to {quoted(target)}: {why(error)}")
        return
    if "v" in given:
        running.say(f"renamed {quoted(source)} -> {quoted(target)}{backup}")


def _may_replace(running: Tool, given: Parsed, source: str, target: str) -> bool:
    quoted = running.name_of
    here, there = running.lstat(source), running.files.lstat(running.path(target))
    ask = given.last("i", "f", "n")
    if ask == "n" or ("u" in given and there.mtime_us >= here.mtime_us):
        return False
    if here.kind == "directory" and there.kind != "directory":
        running.complain(
            f"cannot overwrite non-directory {quoted(target)} with directory {quoted(source)}"
        )
        return False
    if there.kind == "directory" and here.kind != "directory":
        running.complain(f"cannot overwrite directory {quoted(target)} with non-directory")
        return False
    if ask == "i" and not running.ask(f"overwrite {quoted(target)}?"):
        return False
    if there.kind == "directory" and running.files.listdir(running.path(target)):
        reason = os.strerror(errno.ENOTEMPTY)
        running.complain(f"cannot move {quoted(source)} to {quoted(target)}: {reason}")
        return False
    return True


@tool
def install(running: Tool) -> None:
    given = _INSTALL.parse(running.name, running.call.argv)
    text = given.value("m")
    if text is not None and not is_mode(text):
        raise UsageError(f"{running.name}: invalid mode {running.quote(text)}\n")
    mode = 0o755 if text is None else changed(text, 0, directory=False, umask=0)
    owner, group = given.value("o"), given.value("g")
    if owner is not None and users(running.call).found(owner) is None:
        raise UsageError(f"{running.name}: invalid user {running.quote(owner)}\n")
    if group is not None and groups(running.call).found(group) is None:
        raise UsageError(f"{running.name}: invalid group {running.quote(group)}\n")
    if "d" in given:
        _install_folders(running, given, mode)
        return
    operands = given.operands
    if "D" in given and len(operands) > 1:
        whole = given.value("t") or operands[-1]
        folder = whole if "t" in given else os.path.dirname(whole.rstrip("/"))
        if folder and not running.exists(folder):
            _folders(running, folder, "v" in given)
    elif "D" in given and "t" in given and operands:
        _folders(running, given.value("t") or "", "v" in given)
    sources, target, into = _targets(running, given, _INSTALL)
    keep = frozenset({"timestamps"}) if "p" in given else frozenset[str]()
    rules = CopyRules(
        keep=keep, mode=mode, verbose="v" in given, remove_first=True, backup=_backup(given)
    )
    for source in sources:
        if running.is_directory(source):
            running.complain(f"omitting directory {running.name_of(source)}")
            continue
        goal = joined(target, base_name(source)) if into else target
        new = running.exists(goal)
        if new and "v" in given and rules.backup is None:
            running.say(f"removed {running.name_of(goal)}")
        if Copier(running, rules).copy(source, goal):
            running.files.chown(running.path(goal), owner, group)


def _install_folders(running: Tool, given: Parsed, mode: int) -> None:
    if not given.operands:
        raise _INSTALL.refuse(running.name, "missing file operand")
    for operand in given.operands:
        _folders(running, operand, "v" in given)
        if running.is_directory(operand):
            running.files.chmod(running.path(operand), mode)
            running.files.chown(running.path(operand), given.value("o"), given.value("g"))


def _folders(running: Tool, operand: str, verbose: bool) -> None:
    here = "/" if operand.startswith("/") else ""
    for part in operand.strip("/").split("/"):
        here = joined(here, part) if here else part
        if running.is_directory(here):
            continue
        try:
            running.files.mkdir(running.place(here), mode=0o755)
        except OSError as error:
            running.complain(f"cannot create directory {running.name_of(here)}: {why(error)}")
            return
        if verbose:
            running.say(f"{running.name}: creating directory {running.name_of(here)}")


COMMANDS: Mapping[str, Command] = {"cp": cp, "mv": mv, "install": install}
