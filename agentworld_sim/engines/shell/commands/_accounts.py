"""Users and groups, as `/etc/passwd` and `/etc/group` of the world say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from agentworld_sim.engines.shell._command import CommandCall

UNKNOWN_ID = 65_534
"""`nobody`: shown for a name that the machine does not know."""


@dataclass(frozen=True, slots=True)
class Account:
    """One line of `/etc/passwd`."""

    name: str
    uid: int
    gid: int
    line: str


@dataclass(frozen=True, slots=True)
class Group:
    """One line of `/etc/group`."""

    name: str
    gid: int
    members: tuple[str, ...]
    line: str


class Names:
    """Names and numbers, of users or of groups."""

    def __init__(self, numbers: dict[str, int]) -> None:
        self._numbers = numbers
        self._names = {number: name for name, number in reversed(numbers.items())}

    def number(self, name: str) -> int:
        """The id of a name that a file carries; a bare number is its own."""
        if name in self._numbers:
            return self._numbers[name]
        return int(name) if name.isdigit() else UNKNOWN_ID

    def lookup(self, text: str) -> str | None:
        """What `chown` makes of `text`: a known name, or the name or number of a number."""
        if text in self._numbers:
            return text
        digits = text.removeprefix("+")
        if digits.isdigit():
            return self._names.get(int(digits), str(int(digits)))
        return None


def accounts(call: CommandCall) -> list[Account]:
    return [
        Account(fields[0], int(fields[2]), int(fields[3]), line)
        for line, fields in _records(call, "/etc/passwd", 4)
        if fields[3].isdigit()
    ]


def groups(call: CommandCall) -> list[Group]:
    return [
        Group(fields[0], int(fields[2]), tuple(filter(None, ":".join(fields[3:]).split(","))), line)
        for line, fields in _records(call, "/etc/group", 3)
    ]


def _records(call: CommandCall, path: str, least: int) -> Iterator[tuple[str, list[str]]]:
    """Lines of a file of accounts with their fields, where the third is a number."""
    for line in text_lines(call, path):
        fields = line.split(":")
        if len(fields) >= least and fields[2].isdigit():
            yield line, fields


def user_names(call: CommandCall) -> Names:
    return _names(call, ((one.name, one.uid) for one in accounts(call)))


def group_names(call: CommandCall) -> Names:
    return _names(call, ((one.name, one.gid) for one in groups(call)))


def _names(call: CommandCall, pairs: Iterable[tuple[str, int]]) -> Names:
    # The first line of a name counts; without a file, what the machine was set up with.
    found = dict(reversed(list(pairs)))
    known = {"root": 0, **{one.name: one.uid for one in call.machine.extra_users}}
    return Names(dict(reversed(found.items())) or known)


def login_group(call: CommandCall, user: str) -> str | None:
    """The login group of `user`, for `chown user:`."""
    known = next((one for one in accounts(call) if one.name == user), None)
    if known is not None:
        return group_names(call).lookup(str(known.gid))
    names = ("root", *(one.name for one in call.machine.extra_users))
    return user if user in names else None


def current_account(call: CommandCall) -> Account:
    """Who runs the command."""
    user = call.machine.user
    known = next((one for one in accounts(call) if one.name == user), None)
    if known is not None:
        return known
    uid = 0 if user == "root" else 1000
    return Account(user, uid, uid, f"{user}:x:{uid}:{uid}::{call.machine.home}:/bin/bash")


def groups_of(call: CommandCall, account: Account) -> list[tuple[int, str]]:
    """Group ids and names, the login group first; a name may be missing."""
    known = groups(call)
    names = {group.gid: group.name for group in reversed(known)}
    found = [(account.gid, names.get(account.gid, ""))]
    found += [
        (group.gid, group.name)
        for group in known
        if account.name in group.members and group.gid != account.gid
    ]
    return found


def text_lines(call: CommandCall, path: str) -> list[str]:
    """The lines of a text file; none if it cannot be read."""
    try:
        return call.files.read(path).decode(errors="replace").splitlines()
    except OSError:
        return []
