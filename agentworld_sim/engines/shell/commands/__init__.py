"""Commands written here because the embedded shell's own differ from a plain Debian machine's.

Each module holds the commands of one kind, as functions of their names.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from functools import cache, lru_cache, partial
from importlib import import_module
from typing import cast

from bashkit import Bash

from agentworld_sim.engines.shell._command import (
    HELPER,
    Command,
    CommandCall,
    CommandResult,
    Endless,
)
from agentworld_sim.engines.shell.bash_shims import (
    APART_AWK,
    DEVICE_DD,
    ENDLESS,
    FORKS,
    RECURSIVE_GREP,
)
from agentworld_sim.engines.shell.file_times import DeadlinePassed
from agentworld_sim.engines.shell.image import PROGRAM_START
from agentworld_sim.engines.shell.machine import Machine
from agentworld_sim.engines.shell.programs import (
    CLIENT_NAMES,
    MISSING,
    PACKAGE_OF_COMMAND,
    command_names,
)
from agentworld_sim.errors import AgentworldError, EngineFailure, UsageError
from agentworld_sim.registry import Registry

_MODULES: Mapping[str, str] = {
    "apt": "apt",
    "awk_jq": "jq",
    "chmod_chown": "chmod chown",
    "cp_mv": "cp mv",
    "date_timeout": "date sleep timeout",
    "diff_cmp": "diff",
    "identity": "arch getent hostname logname uname which whoami",
    "expr_seq_dd": "expr seq yes",
    "find_xargs": "find xargs",
    "helper": "enable logout",
    "ln_realpath": "ln realpath",
    "ls": "ls",
    "mkdir_rm": "mkdir rm",
    "ps_df_free": "ps watch df free nproc uptime",
    "shuf_mktemp": "mktemp shuf",
    "stat_touch_du": "stat touch truncate du",
    "text_tools": "file",
}
"""The modules, which are imported when one of their commands is first called, and their commands."""

FUNCTIONS: Mapping[str, tuple[str, str]] = {
    **{name: (module, name) for module, names in _MODULES.items() for name in names.split()},
    **dict.fromkeys(sorted(MISSING), ("apt", "missing")),
    "apt-get": ("apt", "apt"),
    "chgrp": ("chmod_chown", "chown"),
    "groups": ("identity", "groups_"),
    "id": ("identity", "id_"),
    APART_AWK: ("awk_jq", "awk"),
    DEVICE_DD: ("expr_seq_dd", "dd"),
    ENDLESS: ("expr_seq_dd", "endless"),
    FORKS: ("expr_seq_dd", "forks"),
    HELPER: ("helper", "helper"),
    RECURSIVE_GREP: ("recursive_grep", "grep"),
    PROGRAM_START: ("helper", "nothing"),
}
"""The module and the function of each command."""


def late_command(module: str, function: str) -> Command:
    """A function of a module beside this one, which is imported when it is called."""

    def command(call: CommandCall) -> CommandResult:
        return getattr(import_module(f".{module}", __name__), function)(call)

    return command


_PROGRAMS: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(
        ("python", "python3", "python3.12"), (".wasi.python.python_program", "python3")
    ),
    "git": (".git.git_program", "git"),
    "openssl": ("openssl_program", "openssl"),
    "sqlite3": ("sqlite_shell", "sqlite3"),
}
"""The module, seen from here, and the function of each program of ours. It is there when what its package in
`data/packages.control` needs is installed."""


def _read(value: object) -> Command:
    if not callable(value):
        raise TypeError(
            f"{value!r} is no function that takes a CommandCall and gives a CommandResult"
        )
    return cast("Command", value)


known_programs = Registry[Command](
    "agentworld.programs",
    what="program",
    builtin=lambda: {name: late_command(*place) for name, place in _PROGRAMS.items()},
    read=_read,
)
"""The programs that a scenario can name: ours, and those of packages with an entry point in the group
`agentworld.programs`."""


def _run(name: str, call: CommandCall) -> CommandResult:
    try:
        return known_programs.get(name)(call)
    except (AgentworldError, DeadlinePassed, Endless, OSError, RecursionError):
        raise
    except Exception as error:
        package = ", ".join(known_programs.packages(name)) or "agentworld-sim"
        raise EngineFailure(
            f"the program {name!r} of the package {package!r} failed ({type(error).__name__}: {error})."
        ) from error


@cache
def programs() -> Mapping[str, Command]:
    """Those that are installed. The module of one is imported when it first runs."""
    missing = _PROGRAMS.keys() - PACKAGE_OF_COMMAND
    return {name: partial(_run, name) for name in known_programs.names() if name not in missing}


COMMANDS: Mapping[str, Command] = {name: late_command(*place) for name, place in FUNCTIONS.items()}
"""Those that every machine has."""


def prepare_programs(script: str, commands: Container[str]) -> None:
    """Compiles what `script` calls, where that was never done: it takes seconds, which are not the script's."""
    if "python3" in commands and re.search("py|pip", script):
        python = import_module("..wasi.python.python_program", __name__)
        with python.interpreter().lend():
            pass


_CLIENTS: Mapping[str, Command] = {name: late_command(name, name) for name in CLIENT_NAMES}


@lru_cache(maxsize=8)
def programs_of(machine: Machine) -> Mapping[str, Command]:
    """Those of a machine.

    Raises:
        UsageError: it is to have a program that is not there, or cannot be used.
    """
    installed = programs()
    for name in machine.programs or ():
        known_programs.get(name)
        if name not in installed:
            raise UsageError(
                f"machine.programs: {name!r} is not installed. Install it: pip install"
                " 'agentworld-sim[machine]'; or leave it away."
            )
    if machine.programs is None:
        return installed
    wanted = {*machine.programs, *command_names(machine)}
    return {name: command for name, command in installed.items() if name in wanted}


def commands_of(machine: Machine) -> Mapping[str, Command]:
    """The commands of a machine that are written here or are programs. A package's program takes the place of what has
    its name."""
    return {**COMMANDS, **(_CLIENTS if machine.has_internet else {}), **programs_of(machine)}


@lru_cache(maxsize=8)
def missing_on(machine: Machine) -> frozenset[str]:
    """What the embedded shell has and a machine has not."""
    return MISSING.difference(names_in_path(machine))


@lru_cache(maxsize=8)
def names_in_path(machine: Machine) -> tuple[str, ...]:
    """What lies in a machine's `/usr/bin`."""
    return tuple(sorted({*command_names(machine), *programs_of(machine)}))


_IN_ORDER = "chgrp chmod chown cp du find ln ls mkdir mv readlink realpath stat touch"
IN_ORDER = frozenset(_IN_ORDER.split())
"""Commands whose messages and output keep their order when both go the same way.

bashkit would put all output before all messages. None of these reads standard input: it could not
run anything else while one waits.
"""


@cache
def readers() -> frozenset[str]:
    """Commands that may read and write bytes as they go."""
    return frozenset({*programs(), *CLIENT_NAMES, "timeout"})


_RUNS_SCRIPTS = frozenset(". alias bash eval exec make sh source trap".split())


@lru_cache(maxsize=1)
def plain_commands() -> frozenset[str]:
    """Names that are sure to be no programs of the extra, and to run no script that may call one."""
    embedded = frozenset(Bash().capabilities().builtins)
    return embedded.union(COMMANDS) - _RUNS_SCRIPTS - readers()
