"""Permission bits: how they are shown, and how `chmod` reads them."""

from __future__ import annotations

import re

from agentworld_sim.engines.shell.live_files import FileKind

TYPE_LETTER = {"file": "-", "directory": "d", "symlink": "l", "fifo": "p"}
TYPE_BITS = {"file": 0o100000, "directory": 0o040000, "symlink": 0o120000, "fifo": 0o010000}

UMASK = 0o022
"""Of a fresh shell."""

_WHO = {"u": 0o4700, "g": 0o2070, "o": 0o1007, "a": 0o7777}
_PERMISSION = {"r": 0o444, "w": 0o222, "x": 0o111}
_SPECIAL = {"u": 0o4000, "g": 0o2000, "o": 0o1000, "a": 0o7000}
_CLAUSE = re.compile(
    r"(?:[ugoa]*(?:[-+=](?:[rwxXst]*|[ugo]))+|(?:[-+=](?:[rwxXst]*|[ugo]))*[-+=][0-7]+)\Z"
)
_ACTION = re.compile(r"([-+=])([ugo](?![rwxXst])|[0-7]+|[rwxXst]*)")


def permissions(mode: int) -> str:
    """`0o4755` → `rwsr-xr-x`."""
    text = ["rwx"[i % 3] if mode & (0o400 >> i) else "-" for i in range(9)]
    for bit, place, small in ((0o4000, 2, "s"), (0o2000, 5, "s"), (0o1000, 8, "t")):
        if mode & bit:
            text[place] = small if text[place] == "x" else small.upper()
    return "".join(text)


def mode_text(kind: FileKind, mode: int) -> str:
    """The first column of `ls -l`."""
    return TYPE_LETTER[kind] + permissions(mode)


def is_mode(text: str) -> bool:
    """Whether `chmod` can read `text`."""
    if re.match(r"[0-7]+\Z", text):
        return int(text, 8) <= 0o7777
    return bool(text) and all(_CLAUSE.match(clause) for clause in text.split(","))


def changed(text: str, old: int, *, directory: bool, umask: int = UMASK) -> int:
    """`old` after `chmod text`. `text` is one that `is_mode` accepts.

    As in GNU: a directory keeps set-user-ID and set-group-ID unless they are named.
    """
    if text[0] in "01234567":
        mode = int(text, 8)
        keep = 0o6000 if directory and len(text) < 5 else 0
        return mode | (old & keep)
    mode = old
    for clause in text.split(","):
        who = clause[: len(clause) - len(clause.lstrip("ugoa"))]
        for operator, what in _ACTION.findall(clause[len(who) :]):
            mode = _applied(mode, who, operator, what, directory, umask)
    return mode


def _applied(mode: int, who: str, operator: str, what: str, directory: bool, umask: int) -> int:
    affected = 0
    for letter in who or "a":
        affected |= _WHO[letter]
    mentioned = affected
    if what[:1].isdigit():
        value, affected, mentioned = int(what, 8), 0o7777, 0o7777
    else:
        value = _value(what, mode, directory, bool(re.search("[ugoa]", who)))
    if not who and not what[:1].isdigit():
        value &= ~(umask & 0o777)
    value &= affected
    if operator == "+":
        return mode | value
    if operator == "-":
        return mode & ~value
    keep = 0o6000 if directory else 0
    if "s" in what or what[:1].isdigit():
        keep = 0 if not who or what[:1].isdigit() else keep & ~mentioned
    if not who and not what[:1].isdigit():
        mentioned &= 0o7777
    kept = (mode & ~mentioned) | (mode & keep)
    return kept | value


def _value(what: str, mode: int, directory: bool, named: bool) -> int:
    if what in ("u", "g", "o"):
        three = (mode >> {"u": 6, "g": 3, "o": 0}[what]) & 7
        return three * 0o111
    value = 0
    for letter in what:
        if letter == "X":
            value |= 0o111 if directory or mode & 0o111 else 0
        elif letter == "s":
            value |= 0o6000
        elif letter == "t":
            value |= 0o1000
        else:
            value |= _PERMISSION[letter]
    return value
