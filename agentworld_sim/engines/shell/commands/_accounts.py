"""The whole lines of `/etc/passwd` and `/etc/group`, for commands that tell who somebody is."""

from __future__ import annotations

from dataclasses import dataclass

from agentworld_sim.engines.shell._command import CommandCall


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


def accounts(call: CommandCall) -> list[Account]:
    found: list[Account] = []
    for line in text_lines(call, "/etc/passwd"):
        fields = line.split(":")
        if len(fields) >= 7 and fields[2].isdigit() and fields[3].isdigit():
            found.append(Account(fields[0], int(fields[2]), int(fields[3]), line))
    return found


def groups(call: CommandCall) -> list[Group]:
    found: list[Group] = []
    for line in text_lines(call, "/etc/group"):
        fields = line.split(":")
        if len(fields) >= 4 and fields[2].isdigit():
            members = tuple(name for name in fields[3].split(",") if name)
            found.append(Group(fields[0], int(fields[2]), members, line))
    return found


def current(call: CommandCall) -> Account:
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
