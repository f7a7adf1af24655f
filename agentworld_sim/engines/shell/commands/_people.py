"""Users and groups by name and number, as `/etc/passwd` and `/etc/group` of the world say."""

from __future__ import annotations

from agentworld_sim.engines.shell._command import CommandCall
from agentworld_sim.engines.shell.live_files import LiveFiles
from agentworld_sim.engines.shell.machine import Machine

UNKNOWN_ID = 65_534
"""`nobody`: shown for a name that the machine does not know."""


class People:
    """Names and numbers of one kind."""

    def __init__(self, numbers: dict[str, int]) -> None:
        self._numbers = numbers
        self._names = {number: name for name, number in reversed(numbers.items())}

    def number(self, name: str) -> int:
        """The id of a name that a file carries; a bare number is its own."""
        if name in self._numbers:
            return self._numbers[name]
        return int(name) if name.isdigit() else UNKNOWN_ID

    def found(self, text: str) -> str | None:
        """What `chown` makes of `text`: a known name, or the name or number of a number."""
        if text in self._numbers:
            return text
        digits = text.removeprefix("+")
        if digits.isdigit():
            return self._names.get(int(digits), str(int(digits)))
        return None


def users(call: CommandCall) -> People:
    known = _numbers(call.files, "/etc/passwd")
    return People(known or {"root": 0, **{u.name: u.uid for u in call.machine.extra_users}})


def groups(call: CommandCall) -> People:
    known = _numbers(call.files, "/etc/group")
    return People(known or {"root": 0, **{u.name: u.gid for u in call.machine.extra_users}})


def login_group(call: CommandCall, user: str) -> str | None:
    """The login group of `user`, for `chown user:`."""
    for line in _lines(call.files, "/etc/passwd"):
        fields = line.split(":")
        if len(fields) > 3 and fields[0] == user:
            return groups(call).found(fields[3])
    return next((name for name in _machine_groups(call.machine, user)), None)


def _machine_groups(machine: Machine, user: str) -> list[str]:
    if user == "root":
        return ["root"]
    return [known.name for known in machine.extra_users if known.name == user]


def _numbers(files: LiveFiles, path: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for line in _lines(files, path):
        fields = line.split(":")
        if len(fields) > 2 and fields[2].isdigit():
            found.setdefault(fields[0], int(fields[2]))
    return found


def _lines(files: LiveFiles, path: str) -> list[str]:
    try:
        return files.read(path).decode(errors="replace").splitlines()
    except OSError:
        return []
