"""Commands written here because the embedded shell's own differ from a plain Debian machine's.

Each module holds the commands of one kind, as functions of their names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module

from bashkit import Bash

from agentworld_sim.engines.shell._command import HELPER, Command, CommandCall, CommandResult
from agentworld_sim.engines.shell.bash_shims import (
    APART_AWK,
    DEVICE_DD,
    ENDLESS,
    FORKS,
    RECURSIVE_GREP,
)
from agentworld_sim.engines.shell.image import PROGRAM_START
from agentworld_sim.engines.shell.machine import Machine
from agentworld_sim.engines.shell.programs import CLIENT_NAMES, MISSING, PACKAGE_OF_COMMAND

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


PROGRAMS: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(
        ("python", "python3", "python3.12"), (".wasi.python.python_program", "python3")
    ),
    "openssl": ("openssl_program", "openssl"),
    "sqlite3": ("sqlite_shell", "sqlite3"),
}
"""The module, seen from here, and the function of each program that comes with the extra `machine`. A program is there
when what its package in `data/packages.control` needs is installed."""

_INSTALLED = {name: place for name, place in PROGRAMS.items() if name in PACKAGE_OF_COMMAND}

COMMANDS: Mapping[str, Command] = {
    name: late_command(*place) for name, place in {**FUNCTIONS, **_INSTALLED}.items()
}


def prepare_programs(script: str) -> None:
    """Compiles what `script` calls, where that was never done: it takes seconds, which are not the script's."""
    if "python3" in COMMANDS and re.search("py|pip", script):
        python = import_module("..wasi.python.python_program", __name__)
        with python.interpreter().lend():
            pass


_CLIENTS: Mapping[str, Command] = {name: late_command(name, name) for name in CLIENT_NAMES}


def commands_of(machine: Machine) -> Mapping[str, Command]:
    """The commands that are written here, and are on a machine."""
    return {**COMMANDS, **_CLIENTS} if machine.has_internet else COMMANDS


_IN_ORDER = "chgrp chmod chown cp du find ln ls mkdir mv readlink realpath stat touch"
IN_ORDER = frozenset(_IN_ORDER.split())
"""Commands whose messages and output keep their order when both go the same way.

bashkit would put all output before all messages. None of these reads standard input: it could not
run anything else while one waits.
"""

READERS = frozenset({*PROGRAMS, *CLIENT_NAMES, "timeout"})
"""Commands that may read and write bytes as they go."""

_RUNS_SCRIPTS = frozenset(". alias bash eval exec make sh source trap".split())


@lru_cache(maxsize=1)
def plain_commands() -> frozenset[str]:
    """Names that are sure to be no programs of the extra, and to run no script that may call one."""
    embedded = frozenset(Bash().capabilities().builtins)
    return embedded.union(COMMANDS) - _RUNS_SCRIPTS - READERS
