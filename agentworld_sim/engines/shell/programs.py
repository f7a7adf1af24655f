"""The programs of a machine: its packages and their commands, names that only look installed, which imagined
ones only look, and files of the world that can be run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from posixpath import relpath

from agentworld_sim.engines.shell.live_files import LiveFiles
from agentworld_sim.engines.shell.machine import Machine
from agentworld_sim.types.files import normal_path

DATA = Path(__file__).with_name("data")

MISSING = frozenset(
    "assert bc busybox csv curl dotenv glob help http json log man nano openssl parallel retry semver"
    " template tomlq unzip uuidgen verify vi wget yq zip".split()
)
"""What the embedded shell has, and no Debian package brings or a minimal machine lacks, or may lack. They answer as a
shell answers for a command that is not there."""

_GNU_NOTICE = """\
Copyright (C) {year} Free Software Foundation, Inc.
License GPLv3+: GNU GPL version 3 or later <https://gnu.org/licenses/gpl.html>.
This is free software: you are free to change and redistribute it.
There is NO WARRANTY, to the extent permitted by law.
"""


@dataclass(frozen=True, slots=True)
class Package:
    """One installed package."""

    name: str
    version: str
    summary: str
    arch: str
    commands: tuple[str, ...]
    banner: str
    """First lines of `COMMAND --version`; `{cmd}` stands for the command."""
    gnu_year: str
    """Copyright year of the GNU notice under the banner; empty for none."""
    needs: tuple[str, ...] = ()
    """Modules of Python that compute its commands, from the extra `machine`; or `internet`: it is on machines that
    have one."""

    @property
    def is_program(self) -> bool:
        """Whether a scenario may leave it away."""
        return bool(self.needs) and "internet" not in self.needs

    @classmethod
    def from_control(cls, stanza: str) -> Package:
        """A paragraph as in Debian's control files: a line that begins with a blank goes on, ` .` is empty."""
        lines = stanza.replace("\n .\n", "\n \n").replace("\n ", "\0").splitlines()
        held = dict(line.split(": ", 1) for line in lines)
        banner = held.get("Banner", "").replace("\0", "\n")
        return cls(
            held["Package"],
            held["Version"],
            held["Description"],
            held.get("Architecture", "amd64"),
            tuple(held.get("Commands", "").split()),
            banner + "\n" * bool(banner),
            held.get("Gnu-Year", ""),
            tuple(held.get("Needs", "").split()),
        )


_STANZAS = (DATA / "packages.control").read_text("utf-8").strip().split("\n\n")

_PACKAGES = [Package.from_control(stanza) for stanza in _STANZAS]
_CLIENTS = tuple(package for package in _PACKAGES if "internet" in package.needs)

PACKAGES = tuple(
    package
    for package in _PACKAGES
    if package not in _CLIENTS and all(map(find_spec, package.needs))
)
"""Those of a machine without internet."""

PACKAGE_OF_COMMAND = {
    command: package for package in (*PACKAGES, *_CLIENTS) for command in package.commands
}

CLIENT_NAMES = tuple(command for package in _CLIENTS for command in package.commands)
"""The commands that are on machines with internet."""

COMMAND_NAMES = tuple(sorted(PACKAGE_OF_COMMAND.keys() - CLIENT_NAMES))


def packages_of(machine: Machine) -> tuple[Package, ...]:
    """What is installed on a machine."""
    named = machine.programs
    return tuple(
        package
        for package in PACKAGES + _CLIENTS * machine.has_internet
        if named is None or not package.is_program or not set(named).isdisjoint(package.commands)
    )


def command_names(machine: Machine) -> tuple[str, ...]:
    """The commands of those packages."""
    return tuple(sorted(name for package in packages_of(machine) for name in package.commands))


COMMON_PROGRAMS = frozenset((DATA / "uninstalled_programs.txt").read_text("utf-8").split())
"""Names of programs that agents commonly call and that some machines do not have."""


def version_text(command: str) -> str | None:
    """What `command --version` prints; `None` for a command that has no such text."""
    package = PACKAGE_OF_COMMAND.get(command)
    if package is None or not package.banner:
        return None
    text = package.banner.format(cmd=command)
    return text + _GNU_NOTICE.format(year=package.gnu_year) if package.gnu_year else text


SHELLS = frozenset({"bash", "dash", "rbash", "sh"})
"""Interpreters whose scripts the shell runs."""

PROGRAM_FOLDERS = ("/bin", "/sbin", "/usr/bin", "/usr/local/bin", "/usr/local/sbin", "/usr/sbin")
"""Where a program that is called by its whole path may be imagined although no file is there."""

_MACHINE_CODE = (b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\0asm")


@dataclass(frozen=True, slots=True)
class Program:
    """An executable file."""

    path: str
    interpreter: tuple[str, ...] | None
    """Words of its first line, the interpreter without its folder; `None` for a shell script or a
    text without such a line; empty for machine code."""
    line: str = ""
    """The interpreter as written, for example `/usr/bin/env`."""


def program_at(path: str, files: LiveFiles) -> Program | None:
    """The world's executable file at `path`; `None` for anything else, the system's included."""
    try:
        real = files.realpath(path)
        if real.startswith(("/usr/bin/", "/dev/", "/proc/")):
            return None
        stat = files.lstat(real)
        if stat.kind != "file" or not stat.mode & 0o111:
            return None
        data = files.read(real)
    except OSError:
        return None
    return Program(path, *_interpreter(data))


def _interpreter(data: bytes) -> tuple[tuple[str, ...] | None, str]:
    if data.startswith(_MACHINE_CODE) or b"\0" in data[:1_024]:
        return (), ""
    if not data.startswith(b"#!"):
        return None, ""
    text = data[2:512].partition(b"\n")[0].decode("utf-8", "replace").strip(" \t")
    # As the kernel does it: a carriage return is a part of the name.
    words = re.split("[ \t]+", text) if text else []
    if not words:
        return None, ""
    line, words = words[0], [words[0].rpartition("/")[2], *words[1:]]
    if words[0] == "env":
        words = words[1:]
        while words and (words[0].startswith("-") or "=" in words[0]):
            words.pop(0)
        words[:1] = [word.rpartition("/")[2] for word in words[:1]]
    if not words or words[0] in SHELLS:
        return None, line
    return tuple(words), line


def in_path(name: str, env: Mapping[str, str], cwd: str, files: LiveFiles) -> Program | None:
    """The world's own program that `name` finds on the search path."""
    for folder in env.get("PATH", "").split(":"):
        full = folder if folder.startswith("/") else normal_path(f"{cwd}/{folder}")
        if full not in ("/bin", "/usr/bin", "/sbin"):
            found = program_at(f"{full.rstrip('/')}/{name}", files)
            if found is not None:
                return found
    return None


def names_of(path: str, folders: Sequence[str]) -> Iterable[str]:
    """How a script that stands in one of `folders` may call the program at `path`."""
    yield path
    for folder in folders:
        rest = relpath(path, folder)
        if not rest.startswith(".."):
            yield f"./{rest}"
        if "/" in rest:
            yield rest


_READ_ONLY = [
    line
    for line in (DATA / "read_only_commands.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
]
_LOOKS = frozenset(" ".join(line for line in _READ_ONLY if ":" not in line).split())
_SUBCOMMANDS = dict(line.split(": ") for line in _READ_ONLY if ":" in line)


def only_looks(argv: tuple[str, ...]) -> bool:
    """Whether an imagined command changes nothing but, perhaps, files.

    Some commands change what no file of the world tells: a repository's index, a database, containers,
    services. After such a command the same question may have another answer, so it is asked again.
    """
    name = argv[0].rpartition("/")[2]
    if name in _LOOKS or (len(argv) == 2 and argv[1] in ("--version", "-V", "--help", "version")):
        return True
    words = [word for word in argv[1:] if not word.startswith("-")]
    looks = _SUBCOMMANDS.get(name, "").split()
    return bool(words) and (words[0] in looks or (len(words) == 1 and f"+{words[0]}" in looks))
