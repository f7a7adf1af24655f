"""Commands written here because the embedded shell's own differ from a plain Debian machine's.

Each module holds the commands of one kind and names them in a `COMMANDS` mapping.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from agentworld_sim.engines.shell._command import HELPER, Command, CommandCall, CommandResult
from agentworld_sim.engines.shell._packages import MISSING
from agentworld_sim.engines.shell.bash_shims import APART_AWK, DEVICE_DD, ENDLESS, FORKS
from agentworld_sim.engines.shell.image import PROGRAM_START

_MODULES: Mapping[str, tuple[str, ...]] = {
    "builtins": ("enable",),
    "shuf_mktemp": ("mktemp", "shuf"),
    "helper": (HELPER, PROGRAM_START),
    "identity": (
        "arch", "getent", "groups", "hostname", "id", "logname", "uname", "which", "whoami",
    ),
    "apt": (*sorted(MISSING), "apt", "apt-get"),
    "ps": ("ps", "watch"),
    "df_free": ("df", "free", "nproc", "uptime"),
    "date_timeout": ("date", "sleep", "timeout"),
    "chmod_chown": ("chmod", "chown", "chgrp"),
    "awk_jq": (APART_AWK, "jq"),
    "seq_dd": ("seq", "yes", DEVICE_DD, ENDLESS, FORKS),
    "du": ("du",),
    "touch": ("touch", "truncate"),
    "stat": ("stat",),
    "cp_mv": ("cp", "mv"),
    "mkdir_rm": ("mkdir", "rm"),
    "ln_realpath": ("ln", "realpath"),
    "find": ("find",),
    "diff_cmp": ("diff",),
    "expr": ("expr",),
    "xargs": ("xargs",),
    "ls": ("ls",),
}  # fmt: skip
"""The commands of each module, which is imported when one of them is first called."""


def _imported_when_called(module: str, name: str) -> Command:
    def command(call: CommandCall) -> CommandResult:
        return import_module(f"{__name__}.{module}").COMMANDS[name](call)

    return command


COMMANDS: Mapping[str, Command] = {
    name: _imported_when_called(module, name)
    for module, names in _MODULES.items()
    for name in names
}

_IN_ORDER = "chgrp chmod chown cp du find ln ls mkdir mv readlink realpath stat touch"
IN_ORDER = frozenset(_IN_ORDER.split())
"""Commands whose messages and output keep their order when both go the same way.

bashkit would put all output before all messages. None of these reads standard input: it could not
run anything else while one waits.
"""
