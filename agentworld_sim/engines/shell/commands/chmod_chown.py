"""`chmod`, `chown` and `chgrp` of GNU coreutils."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from agentworld_sim.engines.shell.commands._accounts import group_names, login_group, user_names
from agentworld_sim.engines.shell.commands._formats import apply_mode, is_mode, permissions
from agentworld_sim.engines.shell.commands._options import CommandLine, Options, UsageError
from agentworld_sim.engines.shell.commands._tool import Tool, join_path, strerror, tool
from agentworld_sim.engines.shell.live_files import FileStat

_CHMOD = Options(
    "RcfvrwxXstugoa,=+-",
    {
        "changes": "c", "recursive": "R", "no-preserve-root": "", "preserve-root": "",
        "quiet": "f", "reference": ":", "silent": "f", "verbose": "v",
    },
)  # fmt: skip
_CHOWN = Options(
    "RfhHLP",
    {
        "recursive": "R", "dereference": "", "no-dereference": "h", "no-preserve-root": "",
        "preserve-root": "", "quiet": "f", "silent": "f", "reference": ":",
    },
)  # fmt: skip


@tool
def chmod(running: Tool) -> None:
    modes, words = _mode_words(running.call.argv)
    given = _CHMOD.parse(running.name, words)
    operands = list(given.operands)
    reference = given.value("reference")
    text = ",".join(modes)
    if reference is None and not modes:
        if not operands:
            raise _CHMOD.refuse(running.name, "missing operand")
        text = operands.pop(0)
    if not operands:
        said = f"missing operand after {running.quote(text)}" if text else "missing operand"
        raise _CHMOD.refuse(running.name, said)
    if reference is not None:
        text = f"{running.reference(reference).mode:o}"
    elif not is_mode(text):
        raise _CHMOD.refuse(running.name, f"invalid mode: {running.quote(text)}")
    for operand in operands:
        for name, stat in _walk(running, given, operand, links_too=False):
            _set_mode(running, given, name, stat, text, bool(modes))


def _mode_words(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """Modes that look like options (`-x`, `-rw`), and the other words."""
    modes: list[str] = []
    words: list[str] = []
    ended = False
    for word in argv:
        ended = ended or word == "--"
        letters = word[1:]
        looks = word.startswith("-") and letters[:1] not in ("", "-") and not ended
        if looks and letters[0] in "rwxXstugoa0123456789,=+":
            modes.append(word)
        else:
            words.append(word)
    return modes, words


def _set_mode(
    running: Tool, given: CommandLine, name: str, stat: FileStat, text: str, dashed: bool
) -> None:
    if stat.kind == "symlink":
        if "v" in given:
            quoted = running.name_of(name)
            running.say(f"neither symbolic link {quoted} nor referent has been changed")
        return
    folder = stat.kind == "directory"
    new = apply_mode(text, stat.mode, directory=folder, umask=running.umask)
    running.files.chmod(running.path(name), new)
    if "v" in given or ("c" in given and new != stat.mode):
        old_text = f"{stat.mode:04o} ({permissions(stat.mode)})"
        quoted = running.name_of(name)
        if new == stat.mode:
            running.say(f"mode of {quoted} retained as {old_text}")
        else:
            new_text = f"{new:04o} ({permissions(new)})"
            running.say(f"mode of {quoted} changed from {old_text} to {new_text}")
    wanted = apply_mode(text, stat.mode, directory=folder, umask=0)
    if dashed and wanted != new:
        running.complain(
            f"{name}: new permissions are {permissions(new)}, not {permissions(wanted)}"
        )


def _walk(
    running: Tool, given: CommandLine, operand: str, *, links_too: bool
) -> Iterator[tuple[str, FileStat]]:
    """The operand and, with `-R`, all below; complaints are made here."""
    try:
        link = running.lstat(operand)
        stat = link if links_too and ("h" in given or "R" in given) else running.stat(operand)
    except OSError as error:
        if "f" in given:
            running.code = 1
        elif running.exists(operand):
            kind = "cannot dereference" if links_too else "cannot operate on dangling symlink"
            reason = f": {strerror(error)}" if links_too else ""
            running.complain(f"{kind} {running.name_of(operand)}{reason}")
        else:
            running.complain(f"cannot access {running.name_of(operand)}: {strerror(error)}")
        if "v" in given and not links_too and not running.exists(operand):
            running.say(f"{running.name_of(operand)} could not be accessed")
        return
    yield operand, stat
    if "R" in given and stat.kind == "directory":
        base = running.path(operand).rstrip("/")
        for path, found in islice(running.files.walk(base or "/"), 1, None):
            yield join_path(operand, path[len(base) + 1 :]), found


def _owners(running: Tool, spec: str) -> tuple[str | None, str | None]:
    """The user and the group that `[OWNER][:[GROUP]]` means.

    Raises:
        UsageError: a name is not known.
    """
    shown = running.quote(spec.removeprefix(":") if running.name.endswith("chgrp") else spec)
    owner_text, colon, group_text = spec.partition(":")
    owner = user_names(running.call).lookup(owner_text) if owner_text else None
    group = group_names(running.call).lookup(group_text) if group_text else None
    for kind, text, found in (("user", owner_text, owner), ("group", group_text, group)):
        if text and found is None:
            raise UsageError(f"{running.name}: invalid {kind}: {shown}\n")
    if owner is not None and colon and not group_text:
        if owner.isdigit():
            raise UsageError(f"{running.name}: invalid spec: {shown}\n")
        group = login_group(running.call, owner)
    return owner, group


@tool
def chown(running: Tool) -> None:
    given = _CHOWN.parse(running.name, running.call.argv)
    operands, groups_only = list(given.operands), running.name.endswith("chgrp")
    reference = given.value("reference")
    if len(operands) < (1 if reference is not None else 2):
        after = f" after {running.quote(operands[-1])}" if operands else ""
        raise _CHOWN.refuse(running.name, f"missing operand{after}")
    if reference is None:
        owner, group = _owners(running, ":" * groups_only + operands.pop(0))
    else:
        stat = running.reference(reference)
        owner, group = None if groups_only else stat.owner, stat.group
    for operand in operands:
        for name, stat in _walk(running, given, operand, links_too=True):
            follow = stat.kind != "symlink"
            running.files.chown(running.path(name), owner, group, follow=follow)
